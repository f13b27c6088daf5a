/**
 * The error of a column's default, as a problem that names the column. PostgreSQL's error names the row at best.
 */
import type { ClientBase } from 'pg';
import { DatabaseError } from 'pg';
import type { Problem } from '../../errors.ts';
import { enterCallersPath } from '../../postgres/search-path.ts';
import type { LoadColumn } from '../../tables/load-column.ts';
import type { RowPlaces } from './find-violations.ts';

export interface FailedLoad {
  /** Quoted; the table that the rows go into. */
  relation: string;
  columns: LoadColumn[];
  /** The columns that every row brings, as indexes. */
  brought: readonly number[];
  error: Error;
}

/**
 * Returns the problem if a default raises the same error on its own; undefined: no default does.
 *
 * @param findRow finds the data row that needed the default of the column with this index
 */
export async function failingDefault(
  client: ClientBase,
  { relation, columns, brought, error }: FailedLoad,
  places: RowPlaces,
  findRow: (column: number) => Promise<number | undefined> | number | undefined,
): Promise<Problem | undefined> {
  if (!(error instanceof DatabaseError)) return undefined;
  const candidates = columns.filter((column, index) => column.default !== 'none' && !brought.includes(index));
  if (candidates.length === 0) return undefined;
  const failing = await findFailingDefault(client, relation, candidates, error);
  if (failing === undefined) return undefined;
  const { name } = failing;
  const row = await findRow(columns.indexOf(failing));
  const place = row === undefined ? {} : { ...places.locate(row, places.sourceColumn(name), name), row };
  const detail = `the column's default cannot be evaluated: ${error.message}; send a value`;
  return { ...place, column: name, code: 'failing-default', detail };
}

/**
 * Finds the column whose default raises the error, by evaluating the defaults one at a time: PostgreSQL's error does not name
 * it. The transaction must not be failed, and is not afterwards. Numbers taken from sequences meanwhile are not given back.
 *
 * @param relation quoted
 * @param columns columns with a default
 */
async function findFailingDefault(
  client: ClientBase,
  relation: string,
  columns: LoadColumn[],
  error: DatabaseError,
): Promise<LoadColumn | undefined> {
  const ids = columns.map(({ id }) => id);
  const { rows } = await client.query<{ id: number; query: string }>(defaultQueries, [relation, ids]);
  for (const { id, query } of rows) {
    // The condition is evaluated first: functions in the default then run in the path that they expect.
    const inPath = `${query} WHERE (SELECT ${enterCallersPath}) IS NOT NULL`;
    if ((await sqlstateOf(client, inPath)) === error.code) return columns.find((column) => column.id === id);
  }
  return undefined;
}

async function sqlstateOf(client: ClientBase, query: string): Promise<string | undefined> {
  await client.query('SAVEPOINT "default"');
  try {
    await client.query(query);
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.code;
  } finally {
    await client.query('ROLLBACK TO SAVEPOINT "default"; RELEASE SAVEPOINT "default"');
  }
}

const defaultQueries = `
SELECT a.attnum AS id, pg_catalog.format('SELECT CAST((%s) AS %s)',
  pg_catalog.pg_get_expr(coalesce(d.adbin, t.typdefaultbin), 0), pg_catalog.format_type(a.atttypid, a.atttypmod)) AS query
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::regclass AND a.attnum = ANY ($2::int2[]) AND a.attidentity = ''
  AND coalesce(d.adbin, t.typdefaultbin) IS NOT NULL
ORDER BY a.attnum`;
