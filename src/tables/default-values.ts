/**
 * What the defaults of columns come to in this transaction, in the types' binary form.
 */
import type { ClientBase } from 'pg';

/**
 * Evaluates defaults that are the same for every row (stable ones; never ask for a volatile one).
 *
 * @param relation quoted
 * @param ids `attnum`s of columns that have a default, their own or their domain's
 * @returns by `attnum`; null: the default is NULL
 */
export async function readDefaultValues(
  client: ClientBase,
  relation: string,
  ids: number[],
): Promise<Map<number, Buffer | null>> {
  if (ids.length === 0) return new Map();
  const { rows: expressions } = await client.query<{ id: number; expression: string }>(defaultExpressions, [
    relation,
    ids,
  ]);
  const list = expressions.map(({ expression }) => expression).join(', ');
  const { rows } = await client.query<(Buffer | null)[]>({ text: `SELECT ${list}`, rowMode: 'array' });
  const [values] = rows;
  return new Map(expressions.map(({ id }, index) => [id, values![index]!]));
}

// The cast applies the column's own type and modifier, as PostgreSQL does when it fills the column in. A type's send
// function answers what binary COPY wants to have.
const defaultExpressions = `
SELECT a.attnum AS id, format('%s(CAST((%s) AS %s))', t.typsend,
  coalesce(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(t.typdefaultbin, 0)),
  format_type(a.atttypid, a.atttypmod)) AS expression
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::regclass AND a.attnum = ANY ($2::int2[])
ORDER BY a.attnum`;
