/**
 * The lease of this process in the database. As long as the process renews it, other processes do not end its loads and do not take its keys.
 *
 * The lease has its own connection, timer and transactions. Otherwise a renewal could wait for another record, for example for the row of a
 * load that is being committed, and the lease could expire although its process is running.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Log } from '../../postgres/log.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { runStatements } from '../../postgres/transaction.ts';
import { renewLease } from './process-statements.ts';

export interface LeaseOptions {
  schema: ServiceSchema;
  /** For renewals only. The caller ends it. */
  leasePool: Pool;
  ms: number;
  /** Returns whether the process has loads or keys that the lease protects. */
  isNeeded: () => boolean;
  log: Log;
}

/** The shortest pause before a renewal by the timer. Most loads are shorter, and are recorded only at their end, so they need no lease. */
const pauseMs = 250;
/** The pause after a renewal that failed. */
const againMs = 1000;

export class Lease {
  /** Identifies this process. */
  readonly process = randomUUID();
  /** How long other processes assume that this process runs after each renewal of its lease. */
  readonly ms: number;
  readonly #options: LeaseOptions;
  readonly #stopping = new AbortController();
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | undefined;
  #isKept = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.ms = options.ms;
  }

  get seconds(): number {
    return this.ms / 1000;
  }

  /** Starts the timer that renews the lease, as long as it is needed. Call this whenever the process gets something that the lease protects. */
  keep(): void {
    if (this.#isKept || this.#stopping.signal.aborted) return;
    this.#isKept = true;
    void this.#renewWhileNeeded();
  }

  /** Renews the lease if it expires soon. Call this before something that it must protect is written to the database. @throws PostgreSQL's errors */
  async hold(): Promise<void> {
    if (this.#ageMs() > (this.ms * 2) / 3) await this.#renew();
  }

  /** Call this when another statement has renewed the lease. @param sinceMs when it was sent */
  renewed(sinceMs: number): void {
    this.#renewedAtMs = Math.max(this.#renewedAtMs, sinceMs);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #renewWhileNeeded(): Promise<void> {
    const { isNeeded, log } = this.#options;
    const { signal } = this.#stopping;
    let waitMs = pauseMs;
    while (!signal.aborted) {
      const dueMs = this.ms / 3 - this.#ageMs();
      await sleep(Math.max(waitMs, dueMs), undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted || !isNeeded()) break;
      waitMs = pauseMs;
      try {
        // `hold` may have renewed the lease meanwhile.
        if (this.#ageMs() >= this.ms / 3) await this.#renew();
      } catch (error) {
        log.warn({ err: error }, 'The lease of this process could not be renewed; the service tries again');
        waitMs = againMs;
      }
    }
    this.#isKept = false;
  }

  #ageMs(): number {
    return performance.now() - this.#renewedAtMs;
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewNow().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const { leasePool, schema } = this.#options;
    const now = performance.now();
    // The COMMIT does not wait for the disk or a standby, because these must not delay the renewal. If PostgreSQL crashes and loses the renewal, the next one follows soon.
    await runStatements(leasePool, ['SET LOCAL synchronous_commit TO off', renewLease(schema, this.process)]);
    this.renewed(now);
  }
}
