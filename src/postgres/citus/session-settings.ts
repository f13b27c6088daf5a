/** The settings of a transaction in a database with Citus. */

/** An expression: whether the server has Citus. */
export const hasCitus = `(pg_catalog.current_setting('citus.propagate_set_commands', true) IS NOT NULL)`;

/**
 * How many connections one upload may open to each worker. A COPY into a table that is distributed by a column would otherwise open one
 * for each shard, up to 16. See docs/scale.md.
 */
const connectionsPerWorker = 4;

/**
 * Returns statements that send the settings to the workers, too, for the rest of the transaction. A worker has its own time zone and its
 * own timeouts otherwise, so a conversion to text would give another result there, and a COPY could wait for a lock without an end.
 *
 * @param settings `SET LOCAL` statements
 * @param isCitus whether the server has Citus; undefined: it is not known yet
 */
export function sentToWorkers(settings: string[], isCitus: boolean | undefined): string[] {
  if (isCitus === false) return settings;
  // Later settings are not sent. The search path of the workers, for example, must stay that of the administrator.
  const before = { propagate_set_commands: 'local' };
  const after = { propagate_set_commands: 'none', max_adaptive_executor_pool_size: String(connectionsPerWorker) };
  const set = (values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) =>
      isCitus
        ? `SET LOCAL citus.${name} TO '${value}'`
        : `SELECT pg_catalog.set_config('citus.${name}', '${value}', true) WHERE ${hasCitus}`,
    );
  return [...set(before), ...settings, ...set(after)];
}
