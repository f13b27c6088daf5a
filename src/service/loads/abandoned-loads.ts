/** Ends the loads of processes whose leases have expired, and gives up the records of this process that have no load in it any more. */
import type { Pool } from 'pg';
import { toPrepared } from '../../postgres/callers-statement.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { inTransaction, readRows, runStatement } from '../../postgres/transaction.ts';
import { ownLimits } from '../../postgres/transaction-settings.ts';
import { insertEvents } from '../events/outbox.ts';
import type { Lease } from './lease.ts';
import { type KeptAnswer, tablesOf } from './load-record.ts';
import { type AbandonedLoad, disownLoads, failAbandonedLoads, readUnendedOf } from './load-statements.ts';
import { endLeases } from './process-statements.ts';

export interface AbandonedLoadsOptions {
  schema: ServiceSchema;
  recordPool: Pool;
  lease: Lease;
  /** The answer that is stored for a load whose process ended. */
  answer: KeptAnswer;
  /** Returns whether a load runs in this process. */
  isRunning: (id: string) => boolean;
}

export class AbandonedLoads {
  readonly #options: AbandonedLoadsOptions;
  /** The ids of the records without a load that the last sweep found. */
  #strays: ReadonlySet<string> = new Set();

  constructor(options: AbandonedLoadsOptions) {
    this.#options = options;
  }

  /** Ends the leases of processes that are known to have ended, so that the next sweep need not wait for them to expire. */
  async endLeases(processes: string[]): Promise<void> {
    if (processes.length > 0) {
      const { schema, recordPool } = this.#options;
      await runStatement(recordPool, endLeases(schema, processes));
    }
  }

  /** Records the abandoned loads of other processes as failed. */
  async sweep(): Promise<void> {
    await this.#disownStrays();
    const { schema, lease, answer } = this.#options;
    await this.failWith(failAbandonedLoads(schema, lease.process, lease.seconds, answer), answer);
  }

  /** Runs a statement that ends loads as failed and returns an `AbandonedLoad` for each, writes their events, and returns these loads. */
  async failWith<Load extends AbandonedLoad>(
    failing: Statement,
    { status, code }: KeptAnswer,
  ): Promise<Load[]> {
    const { recordPool, schema } = this.#options;
    const refusal = { status, code };
    return inTransaction(
      recordPool,
      ownLimits,
      async (_, { begun, endWith }) => {
        const failed = begun!.rows as Load[];
        const events = failed
          .filter(({ dryRun }) => !dryRun)
          .flatMap(({ id, parts, ...first }) => {
            const type = 'load.failed' as const;
            const tables = tablesOf({ ...first, parts: parts ?? undefined });
            return tables.map((table) => ({ type, ...table, load: id, refusal }));
          });
        await endWith(insertEvents(schema, events).map(toPrepared));
        return failed;
      },
      failing,
    );
  }

  /**
   * Gives up the records of this process that have no load in it, so that the sweep treats them like records of a process that has
   * ended. Such a record is left if the database did not answer when the load ended. It must be found twice, because a load that is
   * just being taken from the queue is not in the registry of this process yet.
   */
  async #disownStrays(): Promise<void> {
    const { schema, recordPool, lease, isRunning } = this.#options;
    const rows = await readRows<{ id: string }>(recordPool, readUnendedOf(schema, lease.process));
    const strays = rows.map(({ id }) => id).filter((id) => !isRunning(id));
    const again = strays.filter((id) => this.#strays.has(id));
    this.#strays = new Set(strays);
    if (again.length > 0) await runStatement(recordPool, disownLoads(schema, lease.process, again));
  }
}
