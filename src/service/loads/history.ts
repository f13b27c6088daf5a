/**
 * Removes loads with their problems, idempotency keys and processes after their retention time.
 *
 * A statement removes a limited number of rows, so that it neither lasts long nor locks much. Statements follow until nothing is left to
 * remove. No statement reads rows that an earlier one has removed, or rows that are not old.
 */
import type { Pool } from 'pg';
import { beforeAllTimes, beforeAllUuids, inBatches, removeInOrder } from '../../postgres/in-batches.ts';
import type { Log } from '../../postgres/log.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { runStatement } from '../../postgres/transaction.ts';
import { removeOldKeys } from './idempotency-statements.ts';
import { removeOldLoads } from './load-statements.ts';
import { removeOldProcesses } from './process-statements.ts';

export interface HistoryOptions {
  schema: ServiceSchema;
  recordPool: Pool;
  historyDays: number;
  leaseSeconds: number;
  log: Log;
}

const everyMs = 3_600_000;
/** The maximum number of rows that one statement removes. */
const batchRows = 1000;

export class History {
  readonly #options: HistoryOptions;
  #removing: Promise<void> | undefined;
  #removedAtMs = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Removes old rows in the background, if the last removal was at least an hour ago. */
  removeIfDue(): void {
    if (this.#removing !== undefined || this.#isStopped) return;
    if (performance.now() - this.#removedAtMs < everyMs) return;
    this.#removedAtMs = performance.now();
    this.#removing = this.#remove()
      .catch((error) =>
        this.#options.log.warn(
          { err: error },
          'Old records could not be removed; the service tries again in an hour',
        ),
      )
      .finally(() => {
        this.#removing = undefined;
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#removing;
  }

  async #remove(): Promise<void> {
    const { schema, recordPool, historyDays, leaseSeconds } = this.#options;
    const isStopped = () => this.#isStopped;
    const removeKeys = (place: string, atMost: number) => removeOldKeys(schema, leaseSeconds, atMost, place);
    await removeInOrder(recordPool, batchRows, beforeAllTimes, removeKeys, isStopped);
    const removeLoads = (place: string, atMost: number) => removeOldLoads(schema, historyDays, atMost, place);
    await removeInOrder(recordPool, batchRows, beforeAllUuids, removeLoads, isStopped);
    const processes = removeOldProcesses(schema, leaseSeconds, batchRows);
    const removeProcesses = async () => (await runStatement(recordPool, processes)).rowCount ?? 0;
    await inBatches(batchRows, removeProcesses, isStopped);
  }
}
