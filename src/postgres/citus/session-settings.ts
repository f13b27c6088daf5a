/** The settings of a transaction in a database with Citus. */
import { type CallersStatement, qualified } from '../callers-statement.ts';
import { quoteLiteral } from '../sql.ts';

/** An SQL expression for whether the server has Citus. */
export const hasCitus = `(pg_catalog.current_setting('citus.propagate_set_commands', true) IS NOT NULL)`;

/**
 * The maximum number of connections that one upload opens to each worker. Without this limit, a COPY into a table that is
 * distributed by a column opens one for each shard, up to 16. See docs/scale.md.
 */
const connectionsPerWorker = 4;

/**
 * Returns one statement that makes settings at the coordinator and at the workers, for the rest of the transaction. Without it, a worker would
 * use its own time zone and timeouts: a conversion to text would give another result there, and a COPY could wait for a lock without a limit.
 *
 * Settings that are made later in the transaction are not sent to the workers. For example, their search path must remain the administrator's.
 * Each setting is a separate statement within DO, because for each setting in a message Citus sends the whole message to the workers.
 *
 * @param settings `SET LOCAL` statements
 */
export function settingsOfCluster(settings: string[]): string {
  const statements = [
    `SET LOCAL citus.propagate_set_commands TO 'local'`,
    ...settings,
    `SET LOCAL citus.propagate_set_commands TO 'none'`,
    `SET LOCAL citus.max_adaptive_executor_pool_size TO ${connectionsPerWorker}`,
  ];
  const executed = statements.map((statement) => `EXECUTE ${quoteLiteral(statement)};`);
  return `DO ${quoteLiteral(`BEGIN ${executed.join(' ')} END`)}`;
}

/**
 * Returns statements that run one statement which defines something for this session only, such as a temporary function. By default
 * Citus defines functions at all nodes, and refuses that after rows were sent to several shards.
 */
export function atThisNodeOnly(statement: CallersStatement): CallersStatement[] {
  const propagate = (value: 'on' | 'off') =>
    qualified`SELECT pg_catalog.set_config('citus.enable_ddl_propagation', '${value}', true) WHERE ${hasCitus}`;
  return [propagate('off'), statement, propagate('on')];
}
