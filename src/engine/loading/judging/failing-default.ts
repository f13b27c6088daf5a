/**
 * Finds the column whose default caused an error. PostgreSQL's error names at most the row.
 */
import { type ClientBase, DatabaseError } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { isShortExpression } from '../../../postgres/expression-trees.ts';
import { runAndUndo } from '../../../postgres/savepoints.ts';
import { enterCallersPath } from '../../../postgres/search-path.ts';
import type { Refusal } from '../copying/refusal.ts';
import type { FailingDefault } from './row-problem.ts';

/**
 * Finds the column whose default causes the error, by evaluating the defaults one at a time. Call it only in a transaction that has not
 * failed. It does not make the transaction fail. The numbers that these evaluations take from sequences are lost.
 *
 * @param table its `relation` is quoted
 * @returns undefined: no default alone causes the error
 */
export async function failingDefault(
  client: ClientBase,
  { relation, columns }: { relation: string; columns: LoadColumn[] },
  { error, row, firstRow, sentColumns = [], isDeferred }: Refusal,
): Promise<FailingDefault | undefined> {
  if (!(error instanceof DatabaseError) || isDeferred) return undefined;
  const candidates = columns.filter(
    (column, index) => column.default !== 'none' && !sentColumns.includes(index),
  );
  if (candidates.length === 0) return undefined;
  const ids = candidates.map(({ id }) => id);
  const { rows } = await client.query<{ id: number; query: string }>(defaultQueries, [relation, ids]);
  for (const { id, query } of rows) {
    // The search path is set first, because functions in the default may expect the callers' search path.
    const inPath = `${query} WHERE (SELECT ${enterCallersPath}) IS NOT NULL`;
    if ((await sqlstateOf(client, inPath)) !== error.code) continue;
    return { defaultOf: columns.find((one) => one.id === id)!, error, row: row ?? firstRow };
  }
  return undefined;
}

async function sqlstateOf(client: ClientBase, query: string): Promise<string | undefined> {
  try {
    await runAndUndo(client, 'default', () => client.query(query));
    return undefined;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return error.code;
  }
}

const defaultQueries = `
SELECT a.attnum AS id, format('SELECT CAST((%s) AS %s)',
  pg_get_expr(coalesce(d.adbin, t.typdefaultbin), 0), format_type(a.atttypid, a.atttypmod)) AS query
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::regclass AND a.attnum = ANY ($2::int2[]) AND a.attidentity = ''
  AND ${isShortExpression('coalesce(d.adbin, t.typdefaultbin)')}
ORDER BY a.attnum`;
