/** Adds foreign keys to a table that has its rows, within a transaction. */
import type { ClientBase } from 'pg';
import { changedMeanwhile } from './alter-table.ts';
import { planChanges } from './plan-changes.ts';
import { findTable, type RunOptions, runChanges } from './run-changes.ts';

/**
 * Adds the foreign keys.
 *
 * @param foreignKeys entries of `foreign_keys` as they were sent; nothing has checked them
 * @throws AppError `invalid-data` with the rows that break a foreign key; the errors of `planChanges` and `runChanges`
 */
export async function addForeignKeys(
  client: ClientBase,
  foreignKeys: readonly unknown[],
  options: Omit<RunOptions, 'table' | 'allowsLosses' | 'maxLockMs'>,
): Promise<void> {
  const whole = { ...options, table: {}, allowsLosses: false, maxLockMs: undefined };
  const found = await findTable(client, whole);
  if (found === undefined) throw changedMeanwhile();
  const table = {
    constraints: { foreign_keys: [...found.table.constraints.foreign_keys, ...foreignKeys] },
  };
  const plan = await planChanges(client, found, { ...whole, table });
  const changed = await runChanges(client, found, plan, { ...whole, table });
  if (changed === undefined) throw changedMeanwhile();
}
