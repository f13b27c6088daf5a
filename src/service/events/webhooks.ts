/**
 * Webhooks: URLs to which the service sends events for its callers.
 *
 * Each webhook stores the position of the last event for which its deliveries were made. One transaction makes the deliveries and moves the position, so
 * each event has exactly one delivery for each webhook that wants it, whichever process makes it. A delivery is attempted until the receiver answers with
 * 2xx, or for 24 hours.
 *
 * Each transaction makes deliveries for one caller, and the callers take turns. The work of a transaction is limited in everything that a caller chooses:
 * events, webhooks and patterns. If too many deliveries of a webhook wait, its further events stay in the outbox, where each event is stored only once.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAllTimes, inBatches, removeInOrder } from '../../postgres/in-batches.ts';
import type { Log } from '../../postgres/log.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { readRows, runStatement, runStatements } from '../../postgres/transaction.ts';
import { type AllowedAddresses, RefusedAddress } from '../outgoing/allowed-addresses.ts';
import { pingEvent } from './event.ts';
import { type EventFeed, keptDays } from './event-feed.ts';
import { type Outcome, sendWebhook } from './send-webhook.ts';
import * as queries from './webhook-statements.ts';

export interface WebhooksOptions {
  schema: ServiceSchema;
  /** The pool for requests of callers. */
  pool: Pool;
  /** The pool for deliveries. The caller must end it after `stop`. */
  recordPool: Pool;
  feed: EventFeed;
  addresses: AllowedAddresses;
  log: Log;
}

export const maxWebhooksPerCaller = 100;
/** The maximum number of patterns of schemas in all webhooks of a caller. */
export const maxPatternsPerCaller = 1000;
/**
 * For each caller: the number of waiting deliveries at which its webhooks are paused, and the number of its newest deliveries that
 * are kept after they have ended. The webhooks of a caller share these numbers equally.
 */
export const maxPendingPerCaller = 5000;
const maxKeptPerCaller = 10_000;
/** How often the database is asked for new events while there are webhooks (`busyMs`), and while there are none (`idleMs`), because another process may create the first one. */
const busyMs = 1000;
const idleMs = 30_000;
/** The maximum number of attempts at the same time: in this process, for all webhooks of one caller, and for one webhook. */
const maxAttempts = 64;
const maxAttemptsPerCaller = 16;
const maxAttemptsPerWebhook = 4;
/** How long the look-up of a host may take when a webhook is created. */
const lookupMs = 5000;
/** How long a process reserves a delivery. It is longer than an attempt can take. */
const leaseSeconds = 60;
/** How many deliveries one statement ends or removes at most. */
const batch = 10_000;
/** How often the removal of a webhook waits for a lock, each time for a second (`ownLimits`). */
const maxLockTries = 10;
/** How many comparisons one statement makes at most, of events with webhooks or of names of schemas with patterns. */
const maxComparisons = 10_000;
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
  /** The last work that uses `recordPool`. It never rejects. */
  #recording: Promise<unknown> = Promise.resolve();

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Stops the running attempts. Another process repeats them, or this one at its next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await this.#loop;
    await Promise.all(this.#attempts);
  }

  /** Creates a webhook. Returns it with its secret, or what the caller has too many of. */
  async create(
    webhook: Omit<queries.NewWebhook, 'id' | 'secret' | 'position'>,
  ): Promise<(queries.WebhookView & { secret: string }) | 'webhooks' | 'patterns'> {
    const { last } = await this.#options.feed.range();
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const row = { ...webhook, id: randomUUID(), secret, position: last };
    const max = { webhooks: maxWebhooksPerCaller, patterns: maxPatternsPerCaller };
    const statements = queries.insertWebhook(this.#options.schema, row, max);
    const [, inserted, counted] = await runStatements(this.#options.pool, statements);
    const created: queries.WebhookView | undefined = inserted!.rows[0];
    if (created === undefined) return counted!.rows[0].count < max.webhooks ? 'patterns' : 'webhooks';
    this.#wake();
    return { ...created, secret };
  }

  /** @throws RefusedAddress if webhooks must not be sent to the URL */
  async checkUrl(url: URL): Promise<void> {
    await this.#options.addresses.resolve(url, AbortSignal.timeout(lookupMs)).catch((error) => {
      if (error instanceof RefusedAddress) throw error;
      throw new RefusedAddress(`The host ${url.hostname} could not be looked up in time.`);
    });
  }

  async list(owner: Buffer): Promise<queries.ListedWebhook[]> {
    return readRows(
      this.#options.pool,
      queries.listWebhooks(this.#options.schema, owner, maxPendingPerCaller),
    );
  }

  /** Returns the webhook; undefined: the caller has none with this id. */
  async find(id: string, owner: Buffer): Promise<queries.WebhookView | undefined> {
    const { pool, schema } = this.#options;
    return (await readRows<queries.WebhookView>(pool, queries.findWebhook(schema, id, owner)))[0];
  }

  /**
   * Disables a webhook at once, and removes it after its deliveries, which several statements remove if there are many. It waits while
   * another transaction has locked the webhook or a delivery.
   *
   * @returns the webhook as it was; undefined: the caller has none with this id
   */
  async remove(id: string, owner: Buffer): Promise<queries.WebhookView | undefined> {
    const { pool, schema } = this.#options;
    const found = await this.find(id, owner);
    if (found === undefined) return undefined;
    let atMost = batch;
    let lockTries = maxLockTries;
    await inBatches(1, async () => {
      try {
        const [, , webhooks] = await runStatements(pool, queries.deleteWebhook(schema, id, atMost));
        // A delivery that changed meanwhile was not removed, so the number of removed ones does not say whether some are left.
        return webhooks!.rowCount === 0 && (await this.find(id, owner)) !== undefined ? 1 : 0;
      } catch (error) {
        const condition = conditionOf(error);
        // On a busy server the statement takes too long.
        if (condition === 'query_canceled' && atMost > 1) atMost = Math.ceil(atMost / 4);
        else if (condition !== 'lock_not_available' || --lockTries === 0) throw error;
        return 1;
      }
    });
    return found;
  }

  async deliveries(
    id: string,
    filter: { state: queries.DeliveryState | undefined; limit: number },
  ): Promise<queries.DeliveryView[]> {
    return readRows(this.#options.pool, queries.listDeliveries(this.#options.schema, id, filter));
  }

  /** Sends a test event to this webhook only. @returns the id of the event; undefined: the webhook is disabled or paused */
  async ping(webhook: string, owner: Buffer): Promise<string | undefined> {
    const id = randomUUID();
    const event = pingEvent(webhook, id, new Date());
    const { pool, schema } = this.#options;
    const statements = [
      queries.insertDelivery(schema, webhook, { id, event }, maxPendingPerCaller),
      queries.removeSurplus(schema, owner, maxKeptPerCaller),
    ];
    const [inserted] = await runStatements(pool, statements);
    this.#wake();
    return inserted!.rowCount === 0 ? undefined : id;
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
    const progress = await this.#inTurn(() =>
      readRows<queries.CallerProgress>(recordPool, queries.readProgress(schema)),
    );
    if (progress.length === 0) return false;
    const { last } = await feed.range();
    for (const caller of progress) {
      if (caller.position < last && (await this.#makeSome(caller, last))) this.#wake();
    }
    await this.#startAttempts();
    return true;
  }

  /** Makes deliveries of the next events for the webhooks of one caller. It never rejects. @returns whether more events can follow at once */
  async #makeSome({ owner, webhooks, patterns }: queries.CallerProgress, last: number): Promise<boolean> {
    const { schema, recordPool } = this.#options;
    const maxPending = shareOf(maxPendingPerCaller, webhooks);
    const events = Math.min(shareOf(maxComparisons, webhooks + patterns), maxPending);
    const round = { owner, last, events, maxPending, maxKept: maxKeptPerCaller };
    try {
      const [made] = await this.#inTurn(() =>
        runStatements(recordPool, queries.makeDeliveries(schema, round)),
      );
      return made!.rows.some(({ position }) => position < last);
    } catch (error) {
      // The error is only logged, so that the other callers still get their deliveries.
      this.#warn(error);
      return false;
    }
  }

  /** Runs works that use `recordPool` one after the other, so that records of loads always find a connection. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#recording.then(work);
    this.#recording = done.catch(() => {});
    return done;
  }

  /** From time to time, ends and removes old deliveries. */
  async #tidyUp(): Promise<void> {
    if (Date.now() - this.#removedAt < removalMs) return;
    this.#removedAt = Date.now();
    const { schema, recordPool } = this.#options;
    await this.#repeat(queries.endDeliveries(schema, batch));
    const remove = (from: string, atMost: number) => queries.removeDeliveries(schema, keptDays, atMost, from);
    await removeInOrder(recordPool, batch, beforeAllTimes, remove, () => this.#stopping.signal.aborted);
  }

  /** Runs a statement until it changes fewer rows than its limit. */
  async #repeat(statement: Statement): Promise<void> {
    const { recordPool } = this.#options;
    const run = async () => (await this.#inTurn(() => runStatement(recordPool, statement))).rowCount ?? 0;
    await inBatches(batch, run, () => this.#stopping.signal.aborted);
  }

  async #startAttempts(): Promise<void> {
    const limit = maxAttempts - this.#attempts.size;
    if (limit <= 0) return;
    const [perWebhook, perCaller] = [maxAttemptsPerWebhook, maxAttemptsPerCaller];
    const claim = { limit, perWebhook, perCaller, running: this.#running, leaseSeconds };
    const { recordPool, schema } = this.#options;
    const claiming = () => runStatement(recordPool, queries.claimDeliveries(schema, claim));
    const claimed: queries.ClaimedDelivery[] = (await this.#inTurn(claiming)).rows;
    for (const delivery of claimed) {
      const attempt = this.#attempt(delivery)
        .catch((error: unknown) => this.#warn(error))
        .finally(() => {
          this.#attempts.delete(attempt);
          this.#count(delivery.webhook, -1);
          // There may be further deliveries that are due.
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

  async #attempt(delivery: queries.ClaimedDelivery): Promise<void> {
    const { addresses, recordPool } = this.#options;
    const { signal } = this.#stopping;
    const outcome = await sendWebhook(delivery, addresses, signal);
    await this.#inTurn(() => runStatements(recordPool, this.#ending(delivery, outcome, signal.aborted)));
    if (outcome.status === gone) await this.#repeat(queries.endDeliveries(this.#options.schema, batch));
  }

  #ending(delivery: queries.ClaimedDelivery, outcome: Outcome, isStopping: boolean): Statement[] {
    const { schema } = this.#options;
    const { status } = outcome;
    if (status !== undefined && status >= 200 && status < 300) {
      return [queries.endDelivery(schema, delivery, 'delivered', outcome)];
    }
    if (status === gone) {
      // The webhook is locked before its delivery, in the same order as when it is removed.
      const { webhook } = delivery;
      return [
        queries.disableWebhook(schema, webhook),
        queries.endDelivery(schema, delivery, 'dead', outcome),
      ];
    }
    if (isStopping && status === undefined) return [queries.returnDelivery(schema, delivery)];
    const pause = pauseAfter(delivery.attempts);
    if (delivery.age + pause > maxAgeSeconds) return [queries.endDelivery(schema, delivery, 'dead', outcome)];
    return [queries.delayDelivery(schema, delivery, pause, outcome)];
  }

  #warn(error: unknown): void {
    this.#options.log.warn({ err: error }, 'The deliveries of webhooks failed; the service tries again');
  }
}

function shareOf(number: number, webhooks: number): number {
  return Math.max(1, Math.floor(number / webhooks));
}

/** Returns the seconds until the next attempt. They vary by a tenth, so that a receiver does not get all retries at the same time. */
function pauseAfter(attempts: number): number {
  const pause = pauses[Math.min(attempts, pauses.length) - 1]!;
  return pause * (0.9 + Math.random() * 0.2);
}
