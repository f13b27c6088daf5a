/**
 * The loads of this process, and their records in the database.
 *
 * A load is recorded in the transaction that writes its rows. Before that it is recorded only if it lasts long, so that short loads
 * cost nothing more. If a load fails, its end is recorded before it is answered.
 *
 * A process that has recorded loads renews a lease. If a process ends before it has recorded the end of its loads, its lease expires, and another
 * process records its loads as failed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Warning } from '../../core/errors.ts';
import type { Log } from '../../postgres/log.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { readRows, runStatement, runStatements } from '../../postgres/transaction.ts';
import { AbandonedLoads } from './abandoned-loads.ts';
import { History } from './history.ts';
import { claimIdempotencyKey, type KeyClaim, type RequestKey } from './idempotency-key.ts';
import { Lease } from './lease.ts';
import { isRefusedCommit, leaseLost, loadCancelled, loadIsCommitting } from './load-errors.ts';
import { LoadReader, watchedMs } from './load-reader.ts';
import type { KeptAnswer, LoadFacts } from './load-record.ts';
import { LoadRun, type RunOptions, type TakenRun } from './load-run.ts';
import type { LoadState } from './load-state.ts';
import {
  amendAnswer,
  readRequestsAbout,
  removeLoad,
  requestCancel,
  type Visible,
  type WrittenLoad,
  writeLoads,
} from './load-statements.ts';
import { type EarlierLoad, readEarlierLoad, sameFile } from './same-file.ts';
import { removeOlderPages } from './stored-pages.ts';
import { uuidV7 } from './uuid-v7.ts';

/** The pools for records. The caller must end them. */
export interface RecordPools {
  /** For requests of callers. */
  pool: Pool;
  /** For the records of loads and events, so that no request makes them wait. */
  recordPool: Pool;
  /** For the renewal of the lease of this process, so that slow records do not make it wait. */
  leasePool: Pool;
}

export interface LoadsOptions extends RecordPools {
  schema: ServiceSchema;
  log: Log;
  historyDays: number;
  /** The answer of a load whose process ended. */
  abandonedAnswer: KeptAnswer;
  /** Called when the end of a load of this process was committed together with its events. Default: nothing is called. */
  onEvents?: () => void;
  leaseMs?: number;
}

export const defaultLeaseMs = 15_000;
/** How often the process checks its running loads. */
const tickMs = 250;
/** A load is recorded before its end only if it has lasted this long. */
const recordAfterMs = 200;
/** How often the progress of a load is written if no client watches it. */
const unwatchedMs = 5000;
const sweepMs = 60_000;
/** How often a request to cancel a load is tried while the row of the load is locked, and the pause between. Only a COMMIT locks the row for longer than a moment. */
const cancelTries = 5;
const cancelPauseMs = 50;
/** How long the answer of a load waits until the end of the load is recorded. */
const recordWaitMs = 2000;

interface Running {
  run: LoadRun;
  startedAtMs: number;
  writtenAtMs: number;
  isWatched: boolean;
}

export class Loads {
  readonly schema: ServiceSchema;
  readonly lease: Lease;
  readonly abandoned: AbandonedLoads;
  /** Reads the loads of all processes. */
  readonly reader: LoadReader;
  readonly #options: LoadsOptions;
  readonly #history: History;
  readonly #running = new Map<string, Running>();
  /** The claims of the requests with idempotency keys that run in this process. */
  readonly #claims = new Set<string>();
  /** For each owner and key, the last request of this process that is claiming the key. The promises never reject. */
  readonly #claiming = new Map<string, Promise<unknown>>();
  #ticking: NodeJS.Timeout | undefined;
  #sweeping: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: LoadsOptions) {
    this.#options = options;
    const { schema, recordPool, leasePool, historyDays, abandonedAnswer, leaseMs = defaultLeaseMs } = options;
    const { log } = options;
    this.schema = schema;
    const isNeeded = (): boolean => this.#running.size > 0 || this.#claims.size > 0;
    this.lease = new Lease({ schema, leasePool, ms: leaseMs, isNeeded, log });
    const isRunning = (id: string): boolean => this.#running.has(id);
    this.reader = new LoadReader(schema, options.pool, (id) => this.#running.get(id)?.run);
    const { lease } = this;
    this.abandoned = new AbandonedLoads({ schema, recordPool, lease, answer: abandonedAnswer, isRunning });
    this.#history = new History({ schema, recordPool, historyDays, leaseSeconds: lease.seconds, log });
  }

  /** Identifies this process. */
  get process(): string {
    return this.lease.process;
  }

  /** Records the abandoned loads of other processes as failed and removes old records, now and from time to time. */
  async start(): Promise<void> {
    await this.abandoned.sweep();
    this.#history.removeIfDue();
    const sweep = (): void => {
      this.abandoned.sweep().catch((error) => this.#warn(error));
      this.#history.removeIfDue();
    };
    this.#sweeping = setInterval(sweep, Math.min(sweepMs, this.lease.ms));
    this.#sweeping.unref();
  }

  /** Writes the records that were not written yet, and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#sweeping);
    clearTimeout(this.#ticking);
    await Promise.all([this.#writing, this.#history.stop()]);
    await this.#writeDue(true).catch((error) => this.#warn(error));
    this.lease.stop();
  }

  /** Claims an idempotency key for a request of this process, and renews the lease of the process while the request runs. */
  async withKey<Result>(key: RequestKey, work: (claim: KeyClaim) => Promise<Result>): Promise<Result> {
    this.#claims.add(key.claim);
    this.#tickLater();
    try {
      return await work(await this.#claimInTurn(key));
    } finally {
      this.#claims.delete(key.claim);
    }
  }

  /**
   * Claims a key when no other request of this process is claiming it. The statement gets a list of all claims of this process. If another
   * request claimed the key after the list was made, its claim would not be in the list, and would look like one of a request that has ended.
   */
  async #claimInTurn(key: RequestKey): Promise<KeyClaim> {
    const name = `${key.owner.toString('hex')} ${key.key}`;
    const before = this.#claiming.get(name);
    const claimed = before === undefined ? this.#claim(key) : before.then(() => this.#claim(key));
    const settled = claimed.catch(() => {});
    this.#claiming.set(name, settled);
    try {
      return await claimed;
    } finally {
      if (this.#claiming.get(name) === settled) this.#claiming.delete(name);
    }
  }

  async #claim(key: RequestKey): Promise<KeyClaim> {
    const { lease, schema } = this;
    await lease.hold();
    return claimIdempotencyKey(this.#options.recordPool, schema, key, lease, [...this.#claims]);
  }

  /** Records a load at once. Without this call, a load is recorded only if it lasts long. */
  async record(run: LoadRun): Promise<void> {
    await this.#write([run]);
  }

  /** Returns a new load, which has not begun yet. */
  create(facts: LoadFacts, body: Pick<RunOptions, 'bytesReceived' | 'isReceived'>): LoadRun {
    return new LoadRun({ id: uuidV7(), schema: this.schema, process: this.process, facts, ...body });
  }

  /** Begins a load. The caller must call `end`, `forget` or `discard` when it ends. */
  begin(run: LoadRun, writtenAtMs = Number.NEGATIVE_INFINITY): LoadRun {
    run.shownId = run.id;
    this.#running.set(run.id, { run, startedAtMs: performance.now(), writtenAtMs, isWatched: false });
    this.#tickLater();
    return run;
  }

  /**
   * Ends a load. When this resolves, its end is recorded, or will be recorded soon if the database does not answer.
   *
   * @param isCertain false: the load may have been committed nevertheless
   */
  async end(
    run: LoadRun,
    state: LoadState,
    answer: KeptAnswer | undefined,
    isCertain?: boolean,
  ): Promise<void> {
    run.end(state, answer, isCertain);
    if (state === 'committed') {
      this.forget(run);
      this.#options.onEvents?.();
      this.#removeOlderLists(run);
      return;
    }
    const written = this.#write([run]).then(this.#options.onEvents, (error) => this.#warn(error));
    await Promise.race([written, sleep(recordWaitMs, undefined, { ref: false })]);
  }

  /** Warns if the file of a load was loaded into the same table before. It never rejects. @param visible the loads that the warning may name */
  async warnOfSameFile(run: LoadRun, visible: Visible): Promise<Warning[]> {
    const digest = run.digest();
    if (digest === undefined) return [];
    const statement = readEarlierLoad(this.schema, run.facts, digest, visible);
    const found = await readRows<EarlierLoad>(this.#options.recordPool, statement).catch((error) => {
      this.#options.log.warn({ err: error }, 'It could not be found out whether a file was loaded before');
      return [];
    });
    return found.map(sameFile);
  }

  /** Returns the ids of the loads that run in this process. */
  runningIds(): string[] {
    return [...this.#running.keys()];
  }

  /** Replaces the body of the answer of a committed load, because a warning was found after the COMMIT. It never rejects. */
  async amend({ id }: LoadRun, { body }: KeptAnswer): Promise<void> {
    const amending = runStatement(this.#options.recordPool, amendAnswer(this.schema, id, body));
    await amending.catch((error) => this.#warn(error));
  }

  /**
   * Cancels a load of this process or of another one. When this resolves with `accepted`, the load will not be committed.
   *
   * @throws AppError `database-busy` if the load is being committed
   */
  async cancel(id: string, visible: Visible): Promise<'accepted' | 'ended' | 'unknown'> {
    const run = this.#running.get(id)?.run;
    const isOwn = run !== undefined && (visible.owner === undefined || visible.owner.equals(run.facts.owner));
    if (isOwn && !run.isRecorded && !run.hasEnded) await this.#write([run]);
    for (let tries = 0; tries < cancelTries; tries++) {
      if (tries > 0) await sleep(cancelPauseMs);
      const found = await this.reader.read(id, visible);
      if (found === undefined) return 'unknown';
      if (found.endedAt !== null) return 'ended';
      const { rowCount } = await runStatement(this.#options.recordPool, requestCancel(this.schema, id));
      if (rowCount === 0) continue;
      run?.cancel(loadCancelled());
      return 'accepted';
    }
    throw loadIsCommitting();
  }

  /** Returns the error for the caller of a load. If the record of the load has refused its transaction, this is an error that says whether the load was cancelled or failed by another process. */
  async errorOf({ id }: LoadRun, error: unknown): Promise<unknown> {
    if (!isRefusedCommit(error)) return error;
    const all: Visible = { owner: undefined, schemas: undefined, maySee: () => true };
    const found = await this.reader.read(id, all).catch(() => undefined);
    return found?.cancelRequested === true ? loadCancelled() : leaseLost();
  }

  /** Runs a load of the queue in this process. The caller must call `end` or `forget` when it ends. */
  adopt({ id, facts, bytesReceived, createdAt }: TakenRun): LoadRun {
    const body = { isTaken: true, bytesReceived: () => bytesReceived, isReceived: () => true };
    const run = new LoadRun({ id, schema: this.schema, process: this.process, facts, createdAt, ...body });
    run.isRecorded = true;
    run.start();
    return this.begin(run, performance.now());
  }

  /** Removes a load from the registry of this process, because another process may continue it. */
  forget(run: LoadRun): void {
    if (this.#running.get(run.id)?.run === run) this.#running.delete(run.id);
  }

  /** Removes a load from the registry and its record from the database, because there was no place for it. It counts as not begun. */
  async discard(run: LoadRun): Promise<void> {
    run.shownId = undefined;
    this.forget(run);
    try {
      await run.recording?.catch(() => {});
      if (run.isRecorded) await runStatement(this.#options.recordPool, removeLoad(this.schema, run.id));
    } catch (error) {
      // The error is only logged: the record has no load in this process any more, so `sweep` ends it.
      this.#warn(error);
    }
  }

  #tickLater(): void {
    if (this.#isStopped || (this.#running.size === 0 && this.#claims.size === 0)) return;
    this.lease.keep();
    if (this.#ticking !== undefined) return;
    this.#ticking = setTimeout(() => this.#tick(), tickMs);
  }

  async #tick(): Promise<void> {
    this.#writing = this.#writeDue(false).catch((error) => this.#warn(error));
    await this.#writing;
    this.#ticking = undefined;
    this.#tickLater();
  }

  /** Writes the records that are due, and reads which loads of this process were cancelled through another process. */
  async #writeDue(isLast: boolean): Promise<void> {
    const { recordPool } = this.#options;
    const now = performance.now();
    const due: LoadRun[] = [];
    const others: LoadRun[] = [];
    for (const { run, startedAtMs, writtenAtMs, isWatched } of this.#running.values()) {
      const pauseMs = isWatched ? watchedMs : unwatchedMs;
      const isDue = run.hasEnded || (now - startedAtMs >= recordAfterMs && now - writtenAtMs >= pauseMs);
      if (isDue && !run.isCommitting) due.push(run);
      else if (run.isRecorded) others.push(run);
    }
    if (due.length > 0) await this.#writeApart(due);
    if (others.length === 0 || isLast) return;
    const ids = others.map(({ id }) => id);
    this.#note(others, await readRows<WrittenLoad>(recordPool, readRequestsAbout(this.schema, ids)));
  }

  /** Writes the rows of loads. If one of them stays locked, the others are written separately. */
  async #writeApart(runs: LoadRun[]): Promise<void> {
    try {
      await this.#write(runs);
    } catch (error) {
      if (conditionOf(error) !== 'lock_not_available' || runs.length === 1) throw error;
      for (const run of runs) await this.#write([run]).catch((reason) => this.#warn(reason));
    }
  }

  #write(runs: LoadRun[]): Promise<void> {
    const written = this.#writeRows(runs);
    for (const run of runs) run.recording = written;
    return written;
  }

  /** Writes the rows of loads. Before that it renews the lease of this process, if one of the loads needs it. */
  async #writeRows(wanted: LoadRun[]): Promise<void> {
    const { recordPool } = this.#options;
    if (wanted.some((run) => !run.hasEnded)) await this.lease.hold();
    // The row of a load that is being committed is left out, because its transaction writes it.
    const runs = wanted.filter((run) => !run.isCommitting);
    if (runs.length === 0) return;
    const now = performance.now();
    const rows = runs.map((run) => run.snapshot());
    const ended = runs.filter((run) => run.hasEnded);
    const found = ended.flatMap((run) => run.storeFound(this.schema));
    const [written] = await runStatements(recordPool, [writeLoads(this.schema, rows), ...found]);
    for (const run of ended) this.#removeOlderLists(run);
    for (const run of runs) {
      run.isRecorded = true;
      const running = this.#running.get(run.id);
      if (running?.run === run) running.writtenAtMs = now;
    }
    this.#note(runs, written!.rows as WrittenLoad[]);
  }

  #removeOlderLists(run: LoadRun): void {
    for (const list of run.storedLists()) {
      const removal = removeOlderPages(this.schema, list, run.facts.owner);
      runStatement(this.#options.recordPool, removal).catch((error) => this.#warn(error));
    }
  }

  /** Cancels the loads that were cancelled through another process. If a load is not among the found rows, another process has ended it. */
  #note(runs: LoadRun[], found: WrittenLoad[]): void {
    const byId = new Map(found.map((one) => [one.id, one]));
    for (const run of runs) {
      const running = this.#running.get(run.id);
      const one = byId.get(run.id);
      // A load that this process has received may run in it already, taken from the queue.
      if (running?.run !== run) continue;
      if (run.hasEnded) this.#running.delete(run.id);
      // A load that is being committed may be missing because its own transaction has just ended it.
      else if (one === undefined && !run.isCommitting) run.cancel(leaseLost());
      else if (one === undefined) continue;
      else if (one.cancelRequested) run.cancel(loadCancelled());
      if (one) running.isWatched = one.isWatched;
    }
  }

  #warn(error: unknown): void {
    this.#options.log.warn(
      { err: error },
      'The records of loads could not be written; the service tries again',
    );
  }
}
