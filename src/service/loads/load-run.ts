/** A load that runs in this process. */

import type { LoadColumn } from '../../encoding/columns/load-column.ts';
import type { NotationOf } from '../../encoding/text-reading/natural/natural-reading.ts';
import type { LoadObserver, LoadResult } from '../../engine/loading/request/load-request.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import type { LastStatement } from '../../postgres/transaction.ts';
import type { EventFacts } from '../events/event.ts';
import { insertEvents } from '../events/outbox.ts';
import { eventsOfCommit } from './load-events.ts';
import type { KeptAnswer, LoadedInto, LoadFacts, LoadSnapshot } from './load-record.ts';
import { canReach, hasEnded, type LoadState } from './load-state.ts';
import { commitLoad } from './load-statements.ts';
import { changeList, type StoredChanges, storedChanges } from './stored-changes.ts';
import { type StoredList, type StoredPage, storePages, storePagesAtCommit } from './stored-pages.ts';
import { FoundProblems, faultyRowsList, problemList } from './stored-problems.ts';

export interface RunOptions {
  id: string;
  /** The service's own schema; undefined: the load has no record. */
  schema: ServiceSchema | undefined;
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

/** A load that was taken from the queue. */
export interface TakenRun {
  id: string;
  facts: LoadFacts;
  bytesReceived: number;
  createdAt: Date;
}

/** The states in which the problems of a load are stored. The input of a load that was cancelled or failed may not have been read to its end, so its problems are not complete. */
const storesProblems: ReadonlySet<LoadState> = new Set(['refused', 'checked', 'committed']);

/** The states in which the changes of a load are stored. */
const storesChanges: ReadonlySet<LoadState> = new Set(['checked', 'committed']);

export class LoadRun implements LoadObserver {
  readonly id: string;
  readonly facts: LoadFacts;
  readonly createdAt: Date;
  /** The problems that are stored with the end of the load. */
  readonly found = new FoundProblems();
  rows = (): number => 0;
  problems = (): number => 0;
  columns: readonly LoadColumn[] = [];
  notationOf: NotationOf | undefined;
  /** Makes the answer to the request from the result. It must be set before the load begins. */
  toAnswer: (result: LoadResult) => KeptAnswer = () => {
    throw new Error('the load has no answer');
  };
  /** The id under which callers find the load; undefined: it has not begun, or it has no record. */
  shownId: string | undefined;
  /** Whether the table of loads has a row for the load. */
  isRecorded = false;
  /** The last attempt to write the row. */
  recording: Promise<void> | undefined;
  /** Whether the transaction is being committed. It has locked the row of the load, so no other statement may write the row. */
  isCommitting = false;
  answer: KeptAnswer | undefined;
  /** Returns the digest of the file that was sent; undefined: it is not compared with earlier files, or has not arrived. */
  digest: () => Buffer | undefined = () => undefined;
  /** See `LoadSnapshot.fileName`. */
  fileName: string | undefined;
  /**
   * Whether the caller gets an answer that tells how the load ended. It is false for a load from the queue, because nobody waits
   * for its answer, and if the connection to the database broke at the COMMIT: then only the record tells how the load ended.
   */
  isAnswered = false;
  readonly #options: RunOptions;
  readonly #cancelling = new AbortController();
  #startedAt: Date | undefined;
  #endedAt: Date | undefined;
  #end: LoadState | undefined;
  #events: EventFacts[] = [];
  /** The changes with which the load ends if it is committed or checked. */
  #changes: StoredChanges | undefined;
  #tableOid: number | undefined;
  /** The tables that the load has emptied if it is committed. */
  #emptied: LoadSnapshot['emptied'];
  #pages: StoredPage[] = [];

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

  /** Records that the work on the rows begins. @returns the time */
  start(): Date {
    this.#startedAt ??= new Date();
    return this.#startedAt;
  }

  opened(oid: number, part?: number): void {
    if (part === undefined) this.#tableOid = oid;
    else this.facts.parts![part]!.oid = oid;
  }

  committing(result: LoadResult): void {
    this.#changes = storedChanges(result);
    this.#tableOid = result.tableOid;
    this.committingTables(this.toAnswer(result), [{ ...this.facts, result }]);
  }

  /** Notes the answer and the events of a load, also of several tables, before it commits. The changes of several tables are not stored. */
  committingTables(answer: KeptAnswer, tables: (LoadedInto & { result: LoadResult })[]): void {
    this.answer = answer;
    const emptied = tables.filter(({ result }) => result.tableChange === 'emptied');
    this.#emptied = emptied.length === 0 ? undefined : emptied.map(({ result }) => result.tableOid);
    this.#events = tables.flatMap((table) => eventsOfCommit(this.id, table, table.result));
    this.#pages = [...this.found.pages(), ...(this.#changes?.pages ?? [])];
  }

  /** Returns the statements that record the load as committed, with its events. They run in the transaction that writes its rows. */
  commitStatements(): LastStatement[] {
    const { schema } = this.#options;
    if (schema === undefined) return [];
    this.isCommitting = true;
    return [
      commitLoad(schema, this.#committed()),
      ...storePagesAtCommit(schema, this.id, this.#pages),
      ...insertEvents(schema, this.#events),
    ];
  }

  /** Call this if the transaction was not committed. It is tried again or rolled back. */
  commitRefused(): void {
    this.isCommitting = false;
  }

  /** Ends the load. For a committed load, its transaction has recorded this already. @param isCertain false: the load may have been committed */
  end(state: LoadState, answer: KeptAnswer | undefined, isCertain = true): void {
    if (!canReach(this.state, state)) throw new Error(`A load that is ${this.state} cannot become ${state}`);
    this.isCommitting = false;
    this.#end = state;
    this.#endedAt = new Date();
    this.answer = answer;
    this.isAnswered = isCertain && this.#options.isTaken !== true;
  }

  /** Returns the statements that store what was found with the end of a load that was not committed. */
  storeFound(schema: ServiceSchema): Statement[] {
    if (!storesProblems.has(this.state)) return [];
    const pages = this.state === 'checked' ? this.#pages : this.found.pages();
    return storePages(schema, this.id, pages);
  }

  /** Returns the lists that are stored with the end of the load. */
  storedLists(): StoredList[] {
    const { stored, changes } = this.snapshot();
    return [
      ...(stored ? [problemList] : []),
      ...(stored?.rows ? [faultyRowsList] : []),
      ...(changes?.count ? [changeList] : []),
    ];
  }

  snapshot(): LoadSnapshot {
    const { process, facts, bytesReceived, isTaken = false } = this.#options;
    return {
      id: this.id,
      isTaken,
      state: this.state,
      facts,
      process,
      bytesReceived: bytesReceived(),
      rowsRead: this.rows(),
      problemsFound: this.problems(),
      createdAt: this.createdAt,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      // Until the load has ended, `answer` is the answer that it gets if it is committed.
      answer: this.hasEnded ? this.answer : undefined,
      stored: storesProblems.has(this.state) ? this.#stored() : undefined,
      tableOid: this.#tableOid,
      emptied: undefined,
      changes: storesChanges.has(this.state) ? this.#changes : undefined,
      fileName: this.fileName,
      digest: undefined,
    };
  }

  #committed(): LoadSnapshot {
    const end = { state: 'committed', endedAt: new Date(), answer: this.answer } as const;
    // A file without rows, such as an export that is empty today, may be loaded each day.
    const digest = this.rows() > 0 ? this.digest() : undefined;
    const found = { stored: this.#stored(), changes: this.#changes, emptied: this.#emptied };
    return { ...this.snapshot(), ...end, ...found, digest };
  }

  #stored(): LoadSnapshot['stored'] {
    const { count, bytes, rows } = this.found;
    return count === 0 ? undefined : { count, bytes, rows: rows?.count, rowBytes: rows?.bytes };
  }
}
