/**
 * Reads the events in their order, for any number of readers in this process. While a reader waits, the feed regularly asks the database for new
 * events; this also works over a pooler and for events of other replicas, where LISTEN does not.
 */

import type { Pool } from 'pg';
import { inBatches } from '../postgres/in-batches.ts';
import type { Log } from '../postgres/log.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import { readRows, runStatements } from '../postgres/transaction.ts';
import { numberEvents, readEvents, readState, removeEvents, type StoredEvent } from './outbox.ts';

/** How long events are kept. */
export const keptDays = 7;
const removalMs = 3_600_000;
/** How many events are removed in one transaction. */
const removalSize = 5000;
/** How often the database is asked while a reader waits. */
const pollMs = 500;
/** The longest wait of a reader, after which it can check whether it should stop. */
const maxWaitMs = 1000;
const pageSize = 100;

interface OutboxState {
  isNew: boolean;
  last: number;
  removedTo: number;
}

export class EventFeed {
  readonly #schema: ServiceSchema;
  readonly #pool: Pool;
  readonly #log: Log;
  #waiting = new Set<() => void>();
  #polling: NodeJS.Timeout | undefined;
  #removing: NodeJS.Timeout | undefined;
  #last = 0;

  /** @param pool connections that no request uses. The caller ends it */
  constructor(schema: ServiceSchema, pool: Pool, log: Log) {
    this.#schema = schema;
    this.#pool = pool;
    this.#log = log;
  }

  /** Removes old events from time to time. */
  start(): void {
    const remove = () => this.removeOld().catch((error: unknown) => this.#warn(error));
    this.#removing = setInterval(remove, removalMs);
    this.#removing.unref();
  }

  stop(): void {
    clearInterval(this.#removing);
    clearTimeout(this.#polling);
    this.#wake();
  }

  /** Returns the position after which all events are still kept, and that of the last event. */
  async range(): Promise<{ removedTo: number; last: number }> {
    return this.#refresh();
  }

  /** Returns the next events after a position. */
  async read(after: number): Promise<StoredEvent[]> {
    return readRows(this.#pool, readEvents(this.#schema, after, pageSize));
  }

  /** Waits until there are events after the position, but at most a second. Returns whether there are. */
  async wait(after: number): Promise<boolean> {
    if (this.#last > after) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxWaitMs);
    this.#waiting.add(resolve);
    this.#poll();
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
    return this.#last > after;
  }

  /** Removes the events that are too old. */
  async removeOld(days = keptDays, size = removalSize): Promise<void> {
    // An event without a position was never read. It gets one, so that its removal is remembered.
    await this.#refresh();
    const statements = removeEvents(this.#schema, days, size);
    await inBatches(size, async () => (await runStatements(this.#pool, statements))[1]!.rows[0]?.count ?? 0);
  }

  #poll(): void {
    if (this.#polling !== undefined) return;
    this.#polling = setTimeout(async () => {
      try {
        const before = this.#last;
        const { last } = await this.#refresh();
        if (last > before) this.#wake();
      } catch (error) {
        this.#warn(error);
      }
      this.#polling = undefined;
      if (this.#waiting.size > 0) this.#poll();
    }, pollMs);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  /** Gives all new events their positions. */
  async #refresh(): Promise<OutboxState> {
    const read = () => readRows<OutboxState>(this.#pool, readState(this.#schema));
    let [state] = await read();
    while (state!.isNew) {
      await runStatements(this.#pool, numberEvents(this.#schema));
      [state] = await read();
    }
    // After the database was restored from a backup it is lower than before.
    this.#last = state!.last;
    return state!;
  }

  #warn(error: unknown): void {
    this.#log.warn({ err: error }, 'The events could not be read; the service tries again');
  }
}
