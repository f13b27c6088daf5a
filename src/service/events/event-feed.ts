/**
 * Gives all new events their positions, announces them to PostgreSQL clients, and reads them in their order, for any number of
 * readers in this process.
 *
 * All this happens in rounds. A commit of this process starts a round at once (`noteCommit`). About once a second the database is
 * also asked for new events, whether anybody reads them or not. So an event does not wait longer if the process of its transaction
 * ended after the commit. This also works over a pooler, where LISTEN does not work.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { inBatches } from '../../postgres/in-batches.ts';
import type { Log } from '../../postgres/log.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { readRows, runStatements } from '../../postgres/transaction.ts';
import * as outbox from './outbox.ts';

/** How long events are kept. */
export const keptDays = 7;
const removalMs = 3_600_000;
/** How many events one transaction removes at most. */
const removalSize = 5000;
/** How often the database is asked for new events if no reader waits (`idleMs`) and while one waits (`readMs`). */
const idleMs = 1000;
const readMs = 500;
/** The bounds of the pause between two rounds, so that many small loads share a round. The pause is twice as long as the round before it. */
const [minRestMs, maxRestMs] = [100, 2000];
/** How long a reader waits at most. After that it can check whether it should stop. */
const maxWaitMs = 1000;
const pageSize = 100;

export class EventFeed {
  readonly #schema: ServiceSchema;
  readonly #pool: Pool;
  readonly #log: Log;
  readonly #stopping = new AbortController();
  #waiting = new Set<() => void>();
  /** The reads that run, by the position after which they read. Readers at one position share a read. */
  readonly #reads = new Map<number, Promise<outbox.StoredEvent[]>>();
  /** The next `range`, which has not begun. All who call it until it begins share it. */
  #nextRange: Promise<outbox.OutboxState> | undefined;
  #lastRange: Promise<unknown> = Promise.resolve();
  #removing: NodeJS.Timeout | undefined;
  #rounds: Promise<void> = Promise.resolve();
  #endPause: () => void = () => {};
  /** Whether the last round failed. Only the first of several failures is logged. */
  #hasFailed = false;
  #last = 0;

  /** @param pool connections that no request uses. The caller must end it */
  constructor(schema: ServiceSchema, pool: Pool, log: Log) {
    this.#schema = schema;
    this.#pool = pool;
    this.#log = log;
  }

  /** Begins to number and announce events, and to remove old ones from time to time. */
  start(): void {
    this.#rounds = this.#run();
    const remove = () => this.removeOld().catch((error: unknown) => this.#warn(error));
    this.#removing = setInterval(remove, removalMs);
    this.#removing.unref();
  }

  /** Ends the waits of the readers. */
  stop(): void {
    clearInterval(this.#removing);
    this.#stopping.abort();
    this.#endPause();
    this.#wake();
  }

  /** Numbers and announces the last events of this process. Call it after `stop`, when this process writes no more events. It never rejects. */
  async end(): Promise<void> {
    await this.#rounds;
    await this.#round();
  }

  /** Call this after this process has committed events, so that a round starts at once. */
  noteCommit(): void {
    this.#endPause();
  }

  /** Returns the position after which all events are still kept, and that of the last event. */
  async range(): Promise<{ removedTo: number; last: number }> {
    if (this.#nextRange === undefined) {
      const next = this.#lastRange.then(() => {
        this.#nextRange = undefined;
        return this.#refresh();
      });
      this.#nextRange = next;
      this.#lastRange = next.catch(() => {});
    }
    return this.#nextRange;
  }

  /** Returns the next events after a position. If another reader reads there at this moment, the newest ones may be missing. */
  async read(after: number): Promise<outbox.StoredEvent[]> {
    let page = this.#reads.get(after);
    if (page === undefined) {
      page = readRows<outbox.StoredEvent>(
        this.#pool,
        outbox.readEvents(this.#schema, after, pageSize),
      ).finally(() => this.#reads.delete(after));
      this.#reads.set(after, page);
    }
    return page;
  }

  /** Waits at most a second for events after the position. Returns whether there are any. */
  async wait(after: number): Promise<boolean> {
    if (this.#last > after) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxWaitMs);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
    return this.#last > after;
  }

  /** Removes the events that are too old. */
  async removeOld(days = keptDays, size = removalSize): Promise<void> {
    // An event without a position was never read. It gets a position, so that readers can notice its removal.
    await this.#refresh();
    const statements = outbox.removeEvents(this.#schema, days, size);
    await inBatches(size, async () => (await runStatements(this.#pool, statements))[1]!.rows[0]?.count ?? 0);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // A commit during the round also ends the pause after it.
      const pause = Promise.withResolvers<void>();
      this.#endPause = pause.resolve;
      const begunAtMs = performance.now();
      await this.#round();
      const twiceMs = 2 * (performance.now() - begunAtMs);
      const restMs = Math.min(maxRestMs, Math.max(minRestMs, twiceMs));
      await sleep(restMs, undefined, { signal, ref: false }).catch(() => {});
      const timer = setTimeout(pause.resolve, this.#waiting.size > 0 ? readMs : idleMs);
      timer.unref();
      await pause.promise;
      clearTimeout(timer);
    }
  }

  /** Numbers and announces all new events, and wakes the readers. */
  async #round(): Promise<void> {
    const before = this.#last;
    try {
      const { last, isUnannounced } = await this.#refresh();
      if (last > before) this.#wake();
      if (isUnannounced) await this.#announce();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#warn(error);
      this.#hasFailed = true;
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  /** Gives positions to all events that are new at this moment. */
  async #refresh(): Promise<outbox.OutboxState> {
    let [state] = await readRows<outbox.OutboxState>(this.#pool, outbox.readState(this.#schema));
    if (state!.isNew) {
      await inBatches(outbox.maxNumbered, async () => {
        const [, numbered, read] = await runStatements(this.#pool, outbox.numberEvents(this.#schema));
        state = read!.rows[0];
        return numbered!.rowCount!;
      });
    }
    // The position may be lower than before, if the database was restored from a backup.
    this.#last = state!.last;
    return state!;
  }

  async #announce(): Promise<void> {
    const statements = outbox.announceEvents(this.#schema);
    await inBatches(outbox.maxNumbered, async () => {
      const results = await runStatements(this.#pool, statements);
      return results.at(-1)!.rows[0]?.count ?? 0;
    });
  }

  #warn(error: unknown): void {
    this.#log.warn({ err: error }, 'The events could not be read or announced; the service tries again');
  }
}
