/**
 * Webhooks: callers name URLs to which the service sends events.
 *
 * Each webhook remembers the position of the last event for which its deliveries were made. Making deliveries and moving the position is
 * one transaction, so each event has exactly one delivery for each webhook to which it must be sent, whichever process makes it. A delivery is
 * attempted until the receiver answers with 2xx, or for 24 hours.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAllTimes, inBatches, removeInOrder } from '../postgres/in-batches.ts';
import type { Log } from '../postgres/log.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import type { Statement } from '../postgres/sql.ts';
import { readRows, runStatement, runStatements } from '../postgres/transaction.ts';
import { pingEvent } from './event.ts';
import { type EventFeed, keptDays } from './event-feed.ts';
import { type Outcome, sendWebhook } from './send-webhook.ts';
import { RefusedAddress, type WebhookAddresses } from './webhook-addresses.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliveryState,
  type DeliveryView,
  delayDelivery,
  deleteWebhook,
  disableWebhook,
  endDeliveries,
  endDelivery,
  findWebhook,
  insertDelivery,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  makeDeliveries,
  type NewWebhook,
  readProgress,
  removeDeliveries,
  returnDelivery,
  type WebhookView,
} from './webhook-statements.ts';

export interface WebhooksOptions {
  schema: ServiceSchema;
  /** For requests of callers. */
  pool: Pool;
  /** For deliveries. The caller ends it after `stop`. */
  recordPool: Pool;
  feed: EventFeed;
  addresses: WebhookAddresses;
  log: Log;
}

export const maxWebhooksPerCaller = 100;
/** How often the database is asked while there are webhooks, and while there are none. Another process may have created the first one. */
const busyMs = 1000;
const idleMs = 30_000;
/** The maximum number of attempts at the same time: in this process, for all webhooks of one caller, and for one webhook. */
const maxAttempts = 64;
const maxAttemptsPerCaller = 16;
const maxAttemptsPerWebhook = 4;
/** How long the look-up of a host may take when a webhook is created. */
const lookupMs = 5000;
/** Longer than an attempt can take. */
const leaseSeconds = 60;
/** How many deliveries are made, ended or removed in one statement, at most. */
const batch = 10_000;
/** The seconds between two attempts. The last one is repeated. Together they reach 24 hours. */
const pauses = [5, 30, 120, 600, 1800, 3600, 7200, 14_400];
const maxAgeSeconds = 86_400;
const removalMs = 3_600_000;
const gone = 410;

export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #stopping = new AbortController();
  readonly #attempts = new Set<Promise<void>>();
  #running: Record<string, number> = {};
  #loop: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #removedAt = 0;

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Ends the running attempts. Another process, or the next start, repeats them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#loop;
    await Promise.all(this.#attempts);
  }

  /** Returns the new webhook with its secret; undefined: the caller has too many webhooks. */
  async create(
    webhook: Omit<NewWebhook, 'id' | 'secret' | 'position'>,
  ): Promise<(WebhookView & { secret: string }) | undefined> {
    const { last } = await this.#options.feed.range();
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const row = { ...webhook, id: randomUUID(), secret, position: last };
    const statements = insertWebhook(this.#options.schema, row, maxWebhooksPerCaller);
    const results = await runStatements(this.#options.pool, statements);
    const created: WebhookView | undefined = results.at(-1)!.rows[0];
    this.#wake();
    return created && { ...created, secret };
  }

  /** @throws RefusedAddress if webhooks must not be sent to the URL */
  async checkUrl(url: URL): Promise<void> {
    await this.#options.addresses.resolve(url, AbortSignal.timeout(lookupMs)).catch((error) => {
      if (error instanceof RefusedAddress) throw error;
      throw new RefusedAddress(`The host ${url.hostname} could not be looked up in time.`);
    });
  }

  async list(owner: Buffer): Promise<WebhookView[]> {
    return readRows(this.#options.pool, listWebhooks(this.#options.schema, owner));
  }

  /** Returns the webhook; undefined: the caller has none with this id. */
  async find(id: string, owner: Buffer): Promise<WebhookView | undefined> {
    const { pool, schema } = this.#options;
    return (await readRows<WebhookView>(pool, findWebhook(schema, id, owner)))[0];
  }

  /**
   * Removes a webhook and its deliveries. It is disabled at once; if its deliveries are many, they are removed before it, by several statements.
   *
   * @returns the webhook as it was; undefined: the caller has none with this id
   */
  async remove(id: string, owner: Buffer): Promise<WebhookView | undefined> {
    const { pool, schema } = this.#options;
    const found = await this.find(id, owner);
    if (found === undefined) return undefined;
    const statements = deleteWebhook(schema, id, batch);
    await inBatches(1, async () => {
      const [, deliveries, webhooks] = await runStatements(pool, statements);
      return webhooks!.rowCount === 0 ? deliveries!.rowCount! : 0;
    });
    return found;
  }

  async deliveries(
    id: string,
    filter: { state: DeliveryState | undefined; limit: number },
  ): Promise<DeliveryView[]> {
    return readRows(this.#options.pool, listDeliveries(this.#options.schema, id, filter));
  }

  /** Sends a test event to this webhook only. @returns the id of the event; undefined: the webhook is disabled */
  async ping(id: string): Promise<string | undefined> {
    const eventId = randomUUID();
    const event = pingEvent(id, eventId, new Date());
    const { pool, schema } = this.#options;
    const { rowCount } = await runStatement(pool, insertDelivery(schema, id, eventId, event));
    this.#wake();
    return rowCount === 0 ? undefined : eventId;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const woken = Promise.withResolvers<void>();
      this.#wake = woken.resolve;
      const hasWebhooks = await this.#work().catch((error: unknown) => {
        this.#warn(error);
        return true;
      });
      if (this.#stopping.signal.aborted) return;
      const timer = setTimeout(woken.resolve, hasWebhooks ? busyMs : idleMs);
      await woken.promise;
      clearTimeout(timer);
    }
  }

  /** Makes the deliveries of new events and starts the attempts that are due. @returns whether there are webhooks */
  async #work(): Promise<boolean> {
    const { schema, feed, recordPool } = this.#options;
    await this.#tidyUp();
    const [progress] = await readRows<{ count: number; position: number }>(recordPool, readProgress(schema));
    const { count } = progress!;
    if (count === 0) return false;
    const { last } = await feed.range();
    const events = Math.max(1, Math.floor(batch / count));
    for (let { position } = progress!; position < last; ) {
      position = Math.min(last, position + events);
      await runStatements(recordPool, makeDeliveries(schema, position));
    }
    await this.#startAttempts();
    return true;
  }

  /** Ends and removes deliveries, once in a while. */
  async #tidyUp(): Promise<void> {
    if (Date.now() - this.#removedAt < removalMs) return;
    this.#removedAt = Date.now();
    const { schema, recordPool } = this.#options;
    await this.#repeat(endDeliveries(schema, batch));
    const remove = (from: string) => removeDeliveries(schema, keptDays, batch, from);
    await removeInOrder(recordPool, batch, beforeAllTimes, remove, () => this.#stopping.signal.aborted);
  }

  /** Runs a statement until it changes fewer rows than its limit. */
  async #repeat(statement: Statement): Promise<void> {
    const run = async () => (await runStatement(this.#options.recordPool, statement)).rowCount ?? 0;
    await inBatches(batch, run, () => this.#stopping.signal.aborted);
  }

  async #startAttempts(): Promise<void> {
    const limit = maxAttempts - this.#attempts.size;
    if (limit <= 0) return;
    const [perWebhook, perCaller] = [maxAttemptsPerWebhook, maxAttemptsPerCaller];
    const claim = { limit, perWebhook, perCaller, running: this.#running, leaseSeconds };
    const { recordPool, schema } = this.#options;
    const claimed: ClaimedDelivery[] = (await runStatement(recordPool, claimDeliveries(schema, claim))).rows;
    for (const delivery of claimed) {
      const attempt = this.#attempt(delivery)
        .catch((error: unknown) => this.#warn(error))
        .finally(() => {
          this.#attempts.delete(attempt);
          this.#count(delivery.webhook, -1);
          // More deliveries may be due.
          this.#wake();
        });
      this.#attempts.add(attempt);
      this.#count(delivery.webhook, 1);
    }
  }

  #count(webhook: string, change: number): void {
    const count = (this.#running[webhook] ?? 0) + change;
    if (count > 0) this.#running[webhook] = count;
    else delete this.#running[webhook];
  }

  async #attempt(delivery: ClaimedDelivery): Promise<void> {
    const { addresses, recordPool } = this.#options;
    const { signal } = this.#stopping;
    const outcome = await sendWebhook(delivery, addresses, signal);
    await runStatements(recordPool, this.#ending(delivery, outcome, signal.aborted));
    if (outcome.status === gone) await this.#repeat(endDeliveries(this.#options.schema, batch));
  }

  #ending(delivery: ClaimedDelivery, outcome: Outcome, isStopping: boolean): Statement[] {
    const { schema } = this.#options;
    const { status } = outcome;
    if (status !== undefined && status >= 200 && status < 300) {
      return [endDelivery(schema, delivery, 'delivered', outcome)];
    }
    if (status === gone) {
      // The webhook is locked before its deliveries, as when it is removed.
      const { webhook } = delivery;
      return [disableWebhook(schema, webhook), endDelivery(schema, delivery, 'dead', outcome)];
    }
    if (isStopping && status === undefined) return [returnDelivery(schema, delivery)];
    const pause = pauseAfter(delivery.attempts);
    if (delivery.age + pause > maxAgeSeconds) return [endDelivery(schema, delivery, 'dead', outcome)];
    return [delayDelivery(schema, delivery, pause, outcome)];
  }

  #warn(error: unknown): void {
    this.#options.log.warn({ err: error }, 'The deliveries of webhooks failed; the service tries again');
  }
}

/** Returns the seconds until the next attempt. They vary by a tenth, so that receivers are not called for everything at once. */
function pauseAfter(attempts: number): number {
  const pause = pauses[Math.min(attempts, pauses.length) - 1]!;
  return pause * (0.9 + Math.random() * 0.2);
}
