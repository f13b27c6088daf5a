/** The settings of a transaction in a database with Citus. */
import { type CallersStatement, qualified } from '../callers-statement.ts';
import { quoteLiteral } from '../sql.ts';

/** An expression: whether the server has Citus. */
export const hasCitus = `(pg_catalog.current_setting('citus.propagate_set_commands', true) IS NOT NULL)`;

/**
 * How many connections one upload may open to each worker. A COPY into a table that is distributed by a column would otherwise open one
 * for each shard, up to 16. See docs/scale.md.
 */
const connectionsPerWorker = 4;

/**
 * Returns one statement that makes the settings at the coordinator and at the workers, for the rest of the transaction. A worker has its
 * own time zone and its own timeouts otherwise, so a conversion to text would give another result there, and a COPY could wait for a
 * lock without an end.
 *
 * Later settings are not sent. The search path of the workers, for example, must stay that of the administrator. Each setting is a
 * statement of its own within DO, because Citus sends the whole message of the client for each setting in it.
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
 * Returns the statements that run one that defines something only this session uses, such as a temporary function. Citus would otherwise
 * refuse it after rows were sent to several shards, because it defines functions at all nodes.
 */
export function atThisNodeOnly(statement: CallersStatement): CallersStatement[] {
  const propagate = (value: 'on' | 'off') =>
    qualified`SELECT pg_catalog.set_config('citus.enable_ddl_propagation', '${value}', true) WHERE ${hasCitus}`;
  return [propagate('off'), statement, propagate('on')];
}
