/** One load that runs in this process. */
import type { EventFacts } from '../events/event.ts';
import { insertEvents } from '../events/outbox.ts';
import type { LoadObserver, LoadResult } from '../loading/request/load-request.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { eventsOfCommit } from './load-events.ts';
import type { KeptAnswer, LoadFacts, LoadSnapshot } from './load-record.ts';
import { canReach, hasEnded, type LoadState } from './load-state.ts';
import { commitLoad } from './load-statements.ts';
import { FoundProblems, type ProblemPage, storePagesAtCommit } from './stored-problems.ts';

export interface RunOptions {
  id: string;
  schema: ServiceSchema;
  process: string;
  facts: LoadFacts;
  /** Default: now. */
  createdAt?: Date;
  /** true: the load was taken from the queue, so no caller waits for its answer. Default: false. */
  isTaken?: boolean;
  /** Returns the bytes of the body that have arrived. */
  bytesReceived: () => number;
  /** Returns whether the whole body has arrived. */
  isReceived: () => boolean;
}

/** What is known of a load that another process, or an earlier request of this one, has begun. */
export interface TakenRun {
  id: string;
  facts: LoadFacts;
  bytesReceived: number;
  createdAt: Date;
}

/** The ends with which the problems that were found are stored. A load that was cancelled or has failed was perhaps not read to its end. */
const storesProblems: ReadonlySet<LoadState> = new Set(['refused', 'checked', 'committed']);

export class LoadRun implements LoadObserver {
  readonly id: string;
  readonly facts: LoadFacts;
  readonly createdAt: Date;
  /** The problems that are stored with the end of the load. */
  readonly found = new FoundProblems();
  rows = (): number => 0;
  problems = (): number => 0;
  /** Makes the answer of the result. The caller sets it before the load begins. */
  toAnswer: (result: LoadResult) => KeptAnswer = () => {
    throw new Error('the load has no answer');
  };
  /** The row of the load exists. */
  isRecorded = false;
  /** The last attempt to write the row. */
  recording: Promise<void> | undefined;
  /** The transaction is being committed. Its row is locked, so nothing else may write it. */
  isCommitting = false;
  answer: KeptAnswer | undefined;
  /**
   * The caller gets or has an answer that says how the load ended. A load of the queue has no such answer, and neither has one whose connection broke
   * at the COMMIT: only the record says how it ended.
   */
  isAnswered = false;
  readonly #options: RunOptions;
  readonly #cancelling = new AbortController();
  #startedAt: Date | undefined;
  #endedAt: Date | undefined;
  #end: LoadState | undefined;
  #events: EventFacts[] = [];
  #pages: ProblemPage[] = [];

  constructor(options: RunOptions) {
    this.#options = options;
    this.id = options.id;
    this.facts = options.facts;
    this.createdAt = options.createdAt ?? new Date();
  }

  get state(): LoadState {
    return this.#end ?? (this.#options.isReceived() ? 'running' : 'receiving');
  }

  get hasEnded(): boolean {
    return hasEnded(this.state);
  }

  /** Aborted when the load is cancelled. The reason is the error for its caller. */
  get cancelled(): AbortSignal {
    return this.#cancelling.signal;
  }

  cancel(reason: Error): void {
    this.#cancelling.abort(reason);
  }

  /** Call this when the work on the rows begins. */
  start(): void {
    this.#startedAt ??= new Date();
  }

  committing(result: LoadResult): void {
    this.answer = this.toAnswer(result);
    this.#events = eventsOfCommit(this.id, this.facts, result);
    this.#pages = this.found.pages();
  }

  /** Returns the statements that record the load as committed in the transaction that writes its rows, with its events. */
  commitStatements(): string[] {
    this.isCommitting = true;
    return [
      commitLoad(this.#options.schema, this.#committed()),
      ...storePagesAtCommit(this.#options.schema, this.id, this.#pages),
      ...insertEvents(this.#options.schema, this.#events),
    ];
  }

  /** The transaction could not be committed, and is tried again or rolled back. */
  commitRefused(): void {
    this.isCommitting = false;
  }

  /** Ends the load. A committed load has been recorded by its transaction. @param isCertain nothing else may have ended it */
  end(state: LoadState, answer: KeptAnswer | undefined, isCertain = true): void {
    if (!canReach(this.state, state)) throw new Error(`A load that is ${this.state} cannot become ${state}`);
    this.isCommitting = false;
    this.#end = state;
    this.#endedAt = new Date();
    this.answer = answer;
    this.isAnswered = isCertain && this.#options.isTaken !== true;
  }

  /** Returns the pages of problems that are stored with the end of the load. */
  storedPages(): ProblemPage[] {
    return storesProblems.has(this.state) ? this.found.pages() : [];
  }

  snapshot(): LoadSnapshot {
    const { process, facts, bytesReceived } = this.#options;
    return {
      id: this.id,
      state: this.state,
      facts,
      process,
      bytesReceived: bytesReceived(),
      rowsRead: this.rows(),
      problemsFound: this.problems(),
      createdAt: this.createdAt,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      // While the load runs, the answer is one that it may get.
      answer: this.hasEnded ? this.answer : undefined,
      stored: storesProblems.has(this.state) ? this.#stored() : undefined,
    };
  }

  #committed(): LoadSnapshot {
    const { answer } = this;
    return { ...this.snapshot(), state: 'committed', endedAt: new Date(), answer, stored: this.#stored() };
  }

  #stored(): LoadSnapshot['stored'] {
    const { count, bytes } = this.found;
    return count === 0 ? undefined : { count, bytes };
  }
}
