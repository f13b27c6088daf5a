import type { Pool } from 'pg';
import { AppError } from '../../core/errors.ts';
import type { Config } from '../../core/settings/config.ts';
import type { KnownTables } from '../../engine/loading/known/known-tables.ts';
import type { DatabaseCheck } from '../../postgres/pool.ts';
import type { MemoryBudget } from '../../readers/spreadsheet/memory-budget.ts';
import type { Records } from '../loads/records.ts';
import type { AllowedAddresses } from '../outgoing/allowed-addresses.ts';
import type { Lines } from './admission/lines.ts';
import type { RequestQuotas } from './admission/request-quotas.ts';
import type { Measures } from './observing/measures.ts';
import type { Tracing } from './observing/trace-requests.ts';
import type { TokenVerifier } from './tokens/token-verifier.ts';

/** The parts of the running service that the routes use. */
export interface HttpContext {
  config: Config;
  pool: Pool;
  /** The connections of exports. They are separate, because a client may read for long, and uploads must not wait for it. */
  exportPool: Pool;
  databaseCheck: DatabaseCheck;
  records: Records;
  tokens: TokenVerifier;
  lines: Lines;
  /** What is known about the tables that small uploads were appended to. */
  knownTables: KnownTables;
  quotas: RequestQuotas;
  measures: Measures;
  /** undefined: no traces are sent. */
  tracing: Tracing | undefined;
  /** The maximum number of connections that are served at the same time. */
  maxConnections: number;
  /** The addresses to which the service may send requests for a caller. */
  addresses: AllowedAddresses;
  /** The memory for all files that are read. */
  memoryBudget: MemoryBudget;
  /** False while the service starts and stops. */
  isReady: () => boolean;
  /** True while the service, at its start, waits for a database that it cannot reach. The service is then not ready. */
  isWaitingForDatabase: () => boolean;
  /** Aborted when the service must end the running requests. */
  stopping: AbortSignal;
}

/** Checks that the service is ready. @throws AppError `shutting-down`, `database-unavailable` */
export function requireReady({
  isReady,
  isWaitingForDatabase,
}: Pick<HttpContext, 'isReady' | 'isWaitingForDatabase'>): void {
  if (isReady()) return;
  const headers = { 'retry-after': '5' };
  if (!isWaitingForDatabase()) {
    throw new AppError('shutting-down', 'The service is starting or stopping.', { headers });
  }
  const detail = 'The service has started, and waits for its database. Send the request again later.';
  throw new AppError('database-unavailable', detail, { headers });
}
