/**
 * The records of the service: everything that it stores in its own schema. They are opened when the database can be reached. If the service
 * has no schema of its own, uploads run without a record, and the endpoints for loads, events and webhooks answer `not-enabled`.
 */

import { AppError } from '../../core/errors.ts';
import type { LastStatement } from '../../postgres/transaction.ts';
import type { EventFacts } from '../events/event.ts';
import type { EventFeed } from '../events/event-feed.ts';
import { insertEvents } from '../events/outbox.ts';
import type { Webhooks } from '../events/webhooks.ts';
import type { Profiles } from '../profiles/profiles.ts';
import { LoadRun } from './load-run.ts';
import type { Loads } from './loads.ts';
import type { QueueCounts } from './queue-statements.ts';
import type { QueuedLoads, QueueWork } from './queued-loads.ts';
import { uuidV7 } from './uuid-v7.ts';

export interface OpenedRecords {
  loads: Loads;
  queuedLoads: QueuedLoads;
  events: EventFeed;
  webhooks: Webhooks;
  profiles: Profiles;
}

/** The part of `Loads` that runs uploads. */
export type UploadLoads = Pick<
  Loads,
  'create' | 'begin' | 'record' | 'end' | 'amend' | 'discard' | 'errorOf' | 'warnOfSameFile'
>;

/** Runs uploads without a record, so that only the request of an upload knows about it. */
const unrecordedLoads: UploadLoads = {
  create: (facts, body) => new LoadRun({ id: uuidV7(), schema: undefined, process: '', facts, ...body }),
  begin: (run) => run,
  record: async () => {},
  end: async (run, state, answer) => run.end(state, answer),
  amend: async () => {},
  discard: async () => {},
  errorOf: async (_, error) => error,
  warnOfSameFile: async () => [],
};

export class Records {
  #opened: OpenedRecords | undefined;

  /** Call this once, when the database can be reached. @param opened undefined: the service has no schema of its own */
  open(opened: OpenedRecords | undefined): void {
    this.#opened = opened;
  }

  /** Returns the records. @throws AppError `not-enabled` */
  require(): OpenedRecords {
    if (this.#opened !== undefined) return this.#opened;
    throw new AppError(
      'not-enabled',
      'This service keeps no records of loads and events, because it has no schema of its own in the database (SERVICE_SCHEMA).',
    );
  }

  /** Runs uploads: with a record of each, or without if there is no schema. */
  get uploads(): UploadLoads {
    return this.#opened?.loads ?? unrecordedLoads;
  }

  /** Whether the service accepts asynchronous uploads. */
  get acceptsLater(): boolean {
    return this.#opened?.queuedLoads.canAccept === true;
  }

  /** Returns the statements that record events in the transaction that causes them. */
  eventStatements(events: EventFacts[]): LastStatement[] {
    return this.#opened === undefined ? [] : insertEvents(this.#opened.loads.schema, events);
  }

  /** Call this when a transaction with events was committed. */
  noteEvents(): void {
    this.#opened?.events.noteCommit();
  }

  /** The id under which this process has its lease; undefined: it has none. */
  get leaseId(): string | undefined {
    return this.#opened?.loads.process;
  }

  /** Returns the ids of the loads that run in this process. */
  runningIds(): string[] {
    return this.#opened?.loads.runningIds() ?? [];
  }

  /** Counts the asynchronous loads that have not ended; undefined: the service has none. */
  async queueCounts(): Promise<QueueCounts | undefined> {
    return this.#opened?.queuedLoads.counts();
  }

  /** Begins to run the asynchronous loads that wait. */
  async takeQueuedLoads(work: QueueWork): Promise<void> {
    await this.#opened?.queuedLoads.start(work);
  }

  /** Begins to send events to webhooks. */
  startWebhooks(): void {
    this.#opened?.webhooks.start();
  }

  /** Writes the records that were not written yet. @param endLoads ends the asynchronous loads that run. They wait for the next start */
  async stop(endLoads: () => void): Promise<void> {
    const { events, queuedLoads, loads, webhooks } = this.#opened ?? {};
    events?.stop();
    endLoads();
    await queuedLoads?.stop();
    await Promise.all([loads?.stop(), webhooks?.stop()]);
    await events?.end();
  }
}
