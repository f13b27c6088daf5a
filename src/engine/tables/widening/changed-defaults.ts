/** Finds constants that would be other values in the new rows of a wider column than in its old ones: 0.1 of a float4 would become 0.10000000149. */
import type { ClientBase } from 'pg';
import type { Widening } from '../../../encoding/widening/misfits.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { readDefaultsOfTree, rowValueOf } from '../change/alter/own-defaults.ts';

/**
 * Returns descriptions of the defaults, also of tables below.
 *
 * @param relation the name of the table, quoted
 * @param convert returns SQL for the value of the new type that a stored value becomes, and for one that PostgreSQL casts
 * @throws AppError `limit-exceeded` if the defaults are too long
 */
export async function findChangedDefaults(
  client: ClientBase,
  relation: string,
  widenings: Widening[],
  convert: (widening: Widening, value: string) => { stored: string; cast: string },
): Promise<string[]> {
  const { rows } = await client.query<{ oid: number }>('SELECT to_regclass($1)::oid::bigint::float8 AS oid', [
    relation,
  ]);
  const byName = new Map(widenings.map((widening) => [widening.column.name, widening]));
  const changed: string[] = [];
  for (const { column, table, sql } of await readDefaultsOfTree(
    client,
    rows[0]!.oid,
    [...byName.keys()],
    [],
  )) {
    const widening = byName.get(column)!;
    const value = sql === null ? undefined : rowValueOf(sql, widening.column.type);
    if (value === undefined) continue;
    const { stored } = convert(widening, 'c.v');
    const { cast } = convert(widening, sql!);
    const text = `SELECT ${stored}::pg_catalog.text IS DISTINCT FROM ${cast}::pg_catalog.text AS "isOther" FROM (SELECT ${value} AS v OFFSET 0) c`;
    if (await isTrue(client, text)) changed.push(`default value for column ${column} of table ${table}`);
  }
  return changed;
}

/** Returns false if PostgreSQL refuses the value: then no row can have it. */
async function isTrue(client: ClientBase, text: string): Promise<boolean> {
  try {
    return await runAndUndo(client, 'default', async () => {
      return (await client.query<{ isOther: boolean }>(text)).rows[0]!.isOther;
    });
  } catch (error) {
    if (!isRefusalOfInput(error)) throw error;
    return false;
  }
}
