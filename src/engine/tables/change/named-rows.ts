/** The rows of an existing table, and how problems name them. */
import type { ClientBase } from 'pg';
import { AppError, maxListedProblems } from '../../../core/errors.ts';
import { qualified } from '../../../postgres/callers-statement.ts';
import { queryWithSavepoint } from '../../../postgres/savepoints.ts';
import { throughView } from '../../../postgres/search-path.ts';
import { quoteQualified, type Statement } from '../../../postgres/sql.ts';

export interface NamedRows {
  schema: string;
  name: string;
  /**
   * The columns of the primary key as the table has them now. If it has none, `ctid`, the place where PostgreSQL stores the row, which
   * `WHERE ctid = '(0,5)'` finds until the row changes, and if the table has partitions or children also `tableoid`.
   */
  keyColumns: string[];
  /** false: problems have neither keys nor values, only their columns and counts. */
  areShown: boolean;
}

/**
 * Reads how the rows of a table are named.
 *
 * @param mayRead the token has the scope `table:read`. Rows are shown only if the role may also read the columns
 * @throws AppError `permission-denied` if row-level security hides rows from the role, because a change of the table concerns them, too
 */
export async function readNamedRows(
  client: ClientBase,
  schema: string,
  name: string,
  mayRead: boolean,
): Promise<NamedRows> {
  const { rows } = await client.query<FactsOfRows>(factsOfRows(schema, name));
  const { isHidden, keyColumns, mayReadKey } = rows[0]!;
  if (isHidden) {
    const detail =
      'Row-level security hides rows of the table from the role, also from its owner (FORCE ROW LEVEL SECURITY), so the service cannot check them.';
    throw new AppError('permission-denied', detail);
  }
  return { schema, name, keyColumns, areShown: mayRead && mayReadKey };
}

interface FactsOfRows {
  isHidden: boolean;
  keyColumns: string[];
  mayReadKey: boolean;
}

function factsOfRows(schema: string, name: string): Statement {
  return {
    text: `
SELECT row_security_active(c.oid) AS "isHidden",
  CASE WHEN k.names IS NOT NULL THEN k.names WHEN c.relhassubclass THEN ARRAY['tableoid', 'ctid'] ELSE ARRAY['ctid'] END AS "keyColumns",
  coalesce(k.may_read, has_table_privilege(c.oid, 'SELECT')) AS "mayReadKey"
FROM pg_class c, LATERAL (
  SELECT array_agg(a.attname::text ORDER BY x.position) AS names, bool_and(has_column_privilege(c.oid, a.attnum, 'SELECT')) AS may_read
  FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS x(attnum, position), pg_attribute a
  WHERE i.indrelid = c.oid AND i.indisprimary AND x.position <= i.indnkeyatts AND a.attrelid = c.oid AND a.attnum = x.attnum) AS k
WHERE c.oid = to_regclass($1)`,
    values: [quoteQualified(schema, name)],
  };
}

export type Key = Record<string, string>;

/** Returns the key of a row from its values, which `keyValues` reads. */
export function keyOf({ keyColumns }: NamedRows, values: string[]): Key {
  return Object.fromEntries(keyColumns.map((column, index) => [column, values[index]!]));
}

/**
 * Returns SQL for the values of a row's key as texts; NULL if rows are not shown. `tableoid` is written as the name of its table.
 *
 * @param columnSql returns SQL for the value of a column of the key
 */
export function keyValues(
  { keyColumns, areShown }: NamedRows,
  columnSql: (column: string) => string,
): string {
  if (!areShown) return 'NULL::text[]';
  const values = keyColumns.map((column) => {
    const value = column === 'tableoid' ? `${columnSql(column)}::regclass` : columnSql(column);
    // The output function of a type, unlike a cast to text, is never a function of another role.
    return `left(format('%s', ${value}), 200)`;
  });
  return `ARRAY[${values.join(', ')}]`;
}

export interface CountedRows<Row> {
  problems: number;
  losses: number;
  /** The first of the rows with a problem. */
  listed: Row[];
}

/**
 * Counts the rows of a query, and reads the first of them. It reads the table once and needs little memory, however many rows it finds.
 *
 * @param query has the columns of `Row`, and `is_problem`, which is false for a row that only loses something
 */
export async function countRows<Row>(client: ClientBase, query: string): Promise<CountedRows<Row>> {
  const text = `
SELECT count(*) FILTER (WHERE is_problem)::float8 AS problems, count(*) FILTER (WHERE NOT is_problem)::float8 AS losses,
  coalesce(json_agg(to_json(numbered)) FILTER (WHERE is_problem AND nth <= ${maxListedProblems}), '[]') AS listed
FROM (SELECT found.*, count(*) FILTER (WHERE is_problem) OVER (ROWS UNBOUNDED PRECEDING) AS nth FROM (${query}) AS found) AS numbered`;
  const statements = throughView(text, (view) => qualified`TABLE ${view}`);
  const results = await queryWithSavepoint(client, 'found rows', statements);
  return results.find(({ fields }) => fields.some(({ name }) => name === 'listed'))!.rows[0];
}
