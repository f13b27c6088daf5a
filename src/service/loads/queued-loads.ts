/**
 * Runs asynchronous loads. The body of a load is stored in a folder, and its record waits in a queue. Each process that can read the folder takes loads from
 * the queue. If the process of a load ends, or the database becomes unreachable, the load waits in the queue again. A load is never committed twice, because
 * the transaction that writes its rows also changes its record to `committed`, and fails if the record has ended.
 *
 * A load may be the reason why its process ended. So a load that was started without reaching an end is a suspect. A process runs one suspect at a time, so
 * that other suspects are not started together with the one that ends the process. After `maxAttempts` starts the load is given up, whatever the reason was.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { AppError } from '../../core/errors.ts';
import { isDatabaseAway } from '../../postgres/database-away.ts';
import type { Log } from '../../postgres/log.ts';
import type { Statement } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { readRows, runStatement, runStatements } from '../../postgres/transaction.ts';
import { leaseLost } from './load-errors.ts';
import type { KeptAnswer, LoadFacts } from './load-record.ts';
import type { LoadRun, TakenRun } from './load-run.ts';
import type { Loads } from './loads.ts';
import { serveSpool } from './process-statements.ts';
import { QueueLimits, type QueueLimitValues } from './queue-limits.ts';
import * as queries from './queue-statements.ts';
import { StoredBodies } from './stored-bodies.ts';

/** A load that was taken from the queue. */
export interface TakenLoad extends TakenRun {
  /** The length of the stored body; undefined: an older version of the service has accepted the load. */
  storedBytes: number | undefined;
  /** How often the load was started, including this time. */
  attempts: number;
  request: queries.StoredRequest;
}

/**
 * Runs a load that was taken from the queue, and records its end.
 *
 * @param chunks returns the stored body
 * @returns `ended`: its end was recorded; `not-begun`: it must wait again, because there was no place for it or the service stops;
 *   `interrupted`: it must wait again, because the database became unreachable or a disk is full. Only `interrupted` counts as an attempt
 */
export type RunTaken = (
  load: TakenLoad,
  run: LoadRun,
  chunks: () => AsyncGenerator<Buffer>,
) => Promise<'ended' | 'not-begun' | 'interrupted'>;

export interface QueueWork {
  run: RunTaken;
  /** Is called for each load that was given up, after its end was recorded. */
  onGivenUp: (load: queries.GivenUpLoad) => void;
}

export interface QueuedLoadsOptions {
  loads: Loads;
  recordPool: Pool;
  /** The folder of the stored bodies. It is created when the first load is accepted. */
  folder: string;
  /** false: the folder cannot be written to, so the service accepts no asynchronous loads. */
  canAccept: boolean;
  /** The maximum number of loads that run at the same time. */
  places: number;
  limits: QueueLimitValues;
  lostAnswer: KeptAnswer;
  /** The answer that is stored for a load that was given up. */
  givenUpAnswer: KeptAnswer;
  /** The answer that is stored for a load whose work threw an unexpected exception. */
  failedAnswer: KeptAnswer;
  log: Log;
}

/** The pause before the place of a load that had to wait again takes another load, and between attempts to reach the database. */
const againMs = 1000;
/** The maximum number of owners that the process remembers, to take loads of other owners first. */
const maxServed = 100;

export class QueuedLoads {
  /** Whether `accept` may be called. */
  readonly canAccept: boolean;
  readonly #options: QueuedLoadsOptions;
  readonly #limits: QueueLimits;
  readonly #jobs = new Set<Promise<void>>();
  #bodies: StoredBodies | undefined;
  #work: QueueWork | undefined;
  #runsSuspect = false;
  /** The owners whose loads this process has taken. The most recent one is at the end. */
  #served: Buffer[] = [];
  #sweeping: NodeJS.Timeout | undefined;
  #sweep: Promise<void> | undefined;
  #taking: Promise<void> | undefined;
  /** Whether `#take` was called while loads were being taken. There may then be one more load to take. */
  #takesAgain = false;
  #isStopped = false;

  constructor(options: QueuedLoadsOptions) {
    this.#options = options;
    this.canAccept = options.canAccept;
    this.#limits = new QueueLimits(options.loads.schema, options.limits, (statement) => this.#ask(statement));
  }

  /** Begins to take loads from the queue. */
  async start(work: QueueWork): Promise<void> {
    this.#work = work;
    await this.#sweepOnce();
    if (this.#isStopped) return;
    this.#sweeping = setInterval(() => this.#sweepOnce(), this.#options.loads.lease.ms / 3);
    this.#sweeping.unref();
  }

  /** Takes no more loads, and waits until each running load has ended or is in the queue again. The caller must have aborted the running loads before. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#sweeping);
    await this.#sweep;
    await this.#taking?.catch(() => {});
    await Promise.all(this.#jobs);
  }

  /**
   * Stores the body of a load and puts the load into the queue. When this resolves, the load will be run, even if this process ends.
   *
   * @param readAgain is called with the stored body before the load is put into the queue
   * @param also returns more statements for the transaction that puts the load into the queue
   * @throws AppError `queue-full`, `storage-full`; the errors of `chunks`; PostgreSQL's errors
   */
  async accept(
    run: LoadRun,
    request: queries.StoredRequest,
    chunks: AsyncIterable<Buffer>,
    readAgain: (chunks: () => AsyncGenerator<Buffer>) => Promise<void>,
    also: () => string[],
  ): Promise<void> {
    const bodies = await this.#openBodies();
    const { owner, bytesExpected = 0 } = run.facts;
    const place = await this.#limits.enter(bodies.id, owner, bytesExpected);
    try {
      const bytes = await bodies.store(run.id, chunks, place.arrived);
      const queue = async (): Promise<void> => {
        await place.check();
        await readAgain(() => bodies.chunks(run.id, bytes));
        await this.#queue(run, { spool: bodies.id, bytes }, request, also);
      };
      await queue().catch((error) => this.#removeUnlessQueued(run, bodies, error));
    } finally {
      place.release();
    }
    this.#take();
  }

  async #queue(
    run: LoadRun,
    body: { spool: string; bytes: number },
    request: queries.StoredRequest,
    also: () => string[],
  ): Promise<void> {
    const { loads, recordPool } = this.#options;
    run.isCommitting = true;
    const statements = [...queries.queueLoad(loads.schema, run.snapshot(), body, request), ...also()];
    await runStatements(recordPool, statements);
  }

  /**
   * Removes the body of a load that could not be put into the queue. If the connection broke at the COMMIT, the body is kept: the load may be in the queue
   * already, or PostgreSQL may still be working on the COMMIT. If the load ends in another way, `removeRemnants` removes the body.
   *
   * @throws `error`, or another one that says more
   */
  async #removeUnlessQueued(run: LoadRun, bodies: StoredBodies, error: unknown): Promise<never> {
    run.isCommitting = false;
    if (error instanceof AppError && error.isOutcomeUnknown) throw error;
    await bodies.remove(run.id);
    // Another process may have ended the load, because this process did not renew its lease in time. That process has then also removed the body.
    const [end] = await this.#ask(queries.readEnds(this.#options.loads.schema, [run.id])).catch(() => []);
    throw end?.hasEnded === true ? leaseLost() : error;
  }

  /** Counts the loads of the folder that have not ended. */
  async counts(): Promise<queries.QueueCounts> {
    const { loads, recordPool } = this.#options;
    if (this.#bodies === undefined) return { queued: 0, running: 0, queuedBytes: 0, runningBytes: 0 };
    const [counts] = await readRows<queries.QueueCounts>(
      recordPool,
      queries.readQueueCounts(loads.schema, this.#bodies.id),
    );
    return counts!;
  }

  /** Runs `#sweepNow`, unless it is already running. */
  #sweepOnce(): Promise<void> {
    this.#sweep ??= this.#sweepNow()
      .catch((error) => this.#warn(error))
      .finally(() => {
        this.#sweep = undefined;
      });
    return this.#sweep;
  }

  /** Gives up the loads that were begun too often, puts the others of processes that have ended back into the queue, removes the stored bodies of loads that have ended, and takes loads. */
  async #sweepNow(): Promise<void> {
    const { loads, lostAnswer, givenUpAnswer } = this.#options;
    const { schema, process, abandoned, lease } = loads;
    // Another process may have created the folder since the last sweep.
    this.#bodies ??= await StoredBodies.openExisting(this.#options.folder);
    const bodies = this.#bodies;
    // From now on this process counts as one that serves the folder, so `failUnservedLoads` gives up none of its loads.
    if (bodies) await this.#ask(serveSpool(schema, process, bodies.id));
    await abandoned.failWith(queries.failUnservedLoads(schema, lostAnswer), lostAnswer);
    const givingUp = queries.giveUpLoads(schema, process, lease.seconds, givenUpAnswer);
    for (const load of await abandoned.failWith<queries.GivenUpLoad>(givingUp, givenUpAnswer))
      this.#work!.onGivenUp(load);
    await this.#ask(queries.queueAbandonedLoads(schema, process, lease.seconds));
    if (bodies === undefined) return;
    await bodies.removeRemnants(async (ids) => {
      const rows = await this.#ask(queries.readEnds(schema, ids));
      return new Map(rows.map(({ id, hasEnded }) => [id as string, hasEnded as boolean]));
    });
    this.#take();
  }

  async #openBodies(): Promise<StoredBodies> {
    if (this.#bodies === undefined) {
      const { loads, folder } = this.#options;
      const bodies = await StoredBodies.open(folder);
      await this.#ask(serveSpool(loads.schema, loads.process, bodies.id));
      this.#bodies = bodies;
    }
    return this.#bodies;
  }

  /** Takes loads from the queue until all places are in use. */
  #take(): void {
    if (this.#isStopped) return;
    if (this.#taking !== undefined) {
      this.#takesAgain = true;
      return;
    }
    this.#takesAgain = false;
    this.#taking = this.#takeAll().finally(() => {
      this.#taking = undefined;
      if (this.#takesAgain) this.#take();
    });
    this.#inBackground(this.#taking);
  }

  async #takeAll(): Promise<void> {
    const { loads, places } = this.#options;
    const bodies = this.#bodies!;
    while (!this.#isStopped && this.#jobs.size < places) {
      await loads.lease.hold();
      const { schema, process } = loads;
      const options = { spool: bodies.id, process, takesSuspects: !this.#runsSuspect, served: this.#served };
      const [row] = await this.#ask(queries.takeQueuedLoad(schema, options));
      if (row === undefined) return;
      const load = takenOf(row);
      this.#noteServed(load.facts.owner);
      const isSuspect = load.attempts > 1;
      if (isSuspect) this.#runsSuspect = true;
      const job: Promise<void> = this.#runTaken(load, bodies)
        .catch((error) => this.#options.log.warn({ err: error, load: load.id }, notEnded))
        .finally(() => {
          this.#jobs.delete(job);
          if (isSuspect) this.#runsSuspect = false;
          this.#take();
        });
      this.#jobs.add(job);
    }
  }

  #noteServed(owner: Buffer): void {
    this.#served = [...this.#served.filter((one) => !one.equals(owner)), owner].slice(-maxServed);
  }

  async #runTaken(load: TakenLoad, bodies: StoredBodies): Promise<void> {
    const { loads } = this.#options;
    const run = loads.adopt(load);
    let outcome: Awaited<ReturnType<RunTaken>> = 'ended';
    try {
      outcome = await this.#work!.run(load, run, () => bodies.chunks(load.id, load.storedBytes));
    } catch (error) {
      if (!run.hasEnded) await loads.end(run, 'failed', this.#options.failedAnswer);
      this.#options.log.warn({ err: error, load: load.id }, 'An asynchronous load ended with an exception');
    }
    if (outcome === 'ended') {
      // The body is removed only if the load has ended. If the lease of this process has expired, another process may have taken the load and needs the body.
      const [found] = await this.#ask(queries.readEnds(loads.schema, [load.id]));
      if (found?.hasEnded !== false) await bodies.remove(load.id);
      return;
    }
    loads.forget(run);
    const attempts = outcome === 'interrupted' ? load.attempts : load.attempts - 1;
    await this.#queueAgain(load.id, attempts);
    if (!this.#isStopped) await sleep(againMs, undefined, { ref: false });
  }

  /**
   * Puts a load back into the queue. If the database does not answer or the row is locked, this is tried until it succeeds or the service stops. If
   * the connection broke at the COMMIT of the load but the COMMIT succeeded, this has no effect, because the record of the load has ended.
   */
  async #queueAgain(id: string, attempts: number): Promise<void> {
    const { schema, process } = this.#options.loads;
    for (;;) {
      try {
        await this.#ask(queries.queueAgain(schema, id, process, attempts));
        return;
      } catch (error) {
        const isLocked = conditionOf(error) === 'lock_not_available';
        if (this.#isStopped || !(isLocked || isDatabaseAway(error))) throw error;
      }
      await sleep(againMs, undefined, { ref: false });
    }
  }

  async #ask(statement: Statement): Promise<Record<string, unknown>[]> {
    return (await runStatement(this.#options.recordPool, statement)).rows;
  }

  #inBackground(work: Promise<void>): void {
    work.catch((error) => this.#warn(error));
  }

  #warn(error: unknown): void {
    this.#options.log.warn(
      { err: error },
      'Asynchronous loads could not be taken from the queue; the service tries again',
    );
  }
}

const notEnded = 'The work after an asynchronous load could not be completed; the service completes it later';

function takenOf(row: Record<string, unknown>): TakenLoad {
  const { id, bytesReceived, storedBytes, attempts, createdAt, request, ...facts } = row;
  const given = facts as unknown as LoadFacts &
    Record<'subject' | 'role' | 'bytesExpected' | 'profile' | 'parts', unknown>;
  return {
    id: id as string,
    bytesReceived: bytesReceived as number,
    storedBytes: (storedBytes as number | null) ?? undefined,
    attempts: attempts as number,
    createdAt: createdAt as Date,
    request: request as queries.StoredRequest,
    facts: {
      ...given,
      subject: given.subject ?? undefined,
      role: given.role ?? undefined,
      bytesExpected: given.bytesExpected ?? undefined,
      profile: given.profile ?? undefined,
      parts: given.parts ?? undefined,
    },
  };
}
