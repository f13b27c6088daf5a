/** What the service opens at its start and must end: PostgreSQL, the connections to it, the metrics and the traces. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Config } from '../../core/settings/config.ts';
import type { EmbeddedPostgres } from '../../postgres/embedded.ts';
import type { Log } from '../../postgres/log.ts';
import {
  createDatabaseCheck,
  createPool,
  createSinglePool,
  type DatabaseCheck,
} from '../../postgres/pool.ts';
import { Servers } from '../../postgres/servers.ts';
import { ownLimits } from '../../postgres/transaction-settings.ts';
import { type Lines, maxExports } from '../http/admission/lines.ts';
import type { Measures } from '../http/observing/measures.ts';
import type { Tracing } from '../http/observing/trace-requests.ts';
import { defaultLeaseMs, type RecordPools } from '../loads/loads.ts';
import { Records } from '../loads/records.ts';
import { type MetricsServer, startMetricsServer } from '../metrics/metrics-server.ts';
import type { ServiceState } from './service-state.ts';

/** How long the end of the service waits for connections to a database that does not answer. A COMMIT that was sent is never cancelled. */
const endMs = 5_000;

export interface OpenedMetrics {
  measures: Measures;
  /** undefined: the primary process of the workers serves the metrics. */
  server: MetricsServer | undefined;
  text: () => Promise<string>;
}

/** The parts that are set later are undefined if the service does not have them, or has not opened them yet. */
export class OpenedParts implements RecordPools {
  /** undefined: DATABASE_URL names the database. */
  readonly embedded: EmbeddedPostgres | undefined;
  readonly pool: Pool;
  readonly exportPool: Pool;
  readonly recordPool: Pool;
  readonly leasePool: Pool;
  readonly databaseCheck: DatabaseCheck;
  readonly records = new Records();
  metrics: OpenedMetrics | undefined;
  tracing: Tracing | undefined;

  constructor(database: Config['database'], embedded: EmbeddedPostgres | undefined, log: Log) {
    const url = new Servers(embedded?.url ?? database.url!);
    this.embedded = embedded;
    this.pool = createPool({ ...database, url }, log);
    this.exportPool = createPool({ ...database, url, poolSize: maxExports }, log);
    const { statementTimeoutMs } = ownLimits;
    this.recordPool = createPool({ url, poolSize: 2, statementTimeoutMs }, log);
    // The time limit is a third of the lease, so that if one renewal gets no answer, another one can be made before the lease expires.
    this.leasePool = createSinglePool(url, defaultLeaseMs / 3, log);
    this.databaseCheck = createDatabaseCheck(url, log);
  }

  /**
   * Ends everything. The requests must have ended.
   *
   * @returns false: the database did not answer in time
   */
  async end(state: ServiceState): Promise<boolean> {
    const { databaseCheck, metrics, tracing, embedded } = this;
    const ended = Promise.all([
      this.#endPools(state),
      databaseCheck.end(),
      metrics?.server?.close(),
      tracing?.stop(),
    ]);
    try {
      return await Promise.race([ended.then(() => true), sleep(endMs, false, { ref: false })]);
    } finally {
      await embedded?.stop();
    }
  }

  async #endPools(state: ServiceState): Promise<void> {
    await this.records.stop(() => state.endRequests());
    await Promise.all([this.leasePool.end(), this.recordPool.end(), this.exportPool.end(), this.pool.end()]);
  }
}

/** Starts the metrics; undefined: there are none. The library for metrics is loaded only if the settings ask for metrics. */
export async function openMetrics(
  { metrics: { host, port }, database: { poolSize } }: Config,
  parts: OpenedParts,
  lines: Lines,
  log: Log,
  worker: number | undefined,
): Promise<OpenedMetrics | undefined> {
  if (port === undefined) return undefined;
  const { createMetrics } = await import('../metrics/metrics.ts');
  const readQueue = () => parts.records.queueCounts();
  const { registry, measures } = createMetrics({ pool: parts.pool, poolSize, lines, readQueue }, worker);
  const text = () => registry.metrics();
  // A worker starts no server, because the primary process serves the metrics of all workers.
  const server = worker === undefined ? await startMetricsServer(text, { host, port }, log) : undefined;
  return { measures, server, text };
}
