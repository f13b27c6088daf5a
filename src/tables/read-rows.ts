/**
 * Reads the first rows of a table as JSON, exactly as PostgreSQL has them.
 *
 * PostgreSQL itself writes the JSON, so a number has all its digits. For that it would call a cast to `json` that somebody has made for a
 * type of their own, and that function would run with the rights of the service. So values of types outside `pg_catalog` are read as
 * text, by the output function of the type, which only a superuser can make.
 */
import type { ClientBase } from 'pg';
import { limitExceeded } from '../limit-exceeded.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified } from '../postgres/sql.ts';
import { conditionOf } from '../postgres/sqlstate.ts';

/** The longest list of rows. */
const maxListedRowsBytes = 16 * 1024 * 1024;

export interface FirstRows {
  /** One JSON object for each row, as text. Its members are the columns, in their order. */
  rows: string[];
  /** The table has further rows. */
  hasMore: boolean;
}

/**
 * Reads rows in the order in which PostgreSQL stores them: after a load this is the order of the file, as long as no row was changed.
 *
 * @throws AppError `limit-exceeded` if the first row is too long, or if PostgreSQL cannot write a row as JSON because it is too long; PostgreSQL's errors, for example if the role may not read a column
 */
export async function readFirstRows(
  client: ClientBase,
  schema: string,
  name: string,
  limit: number,
): Promise<FirstRows> {
  const relation = quoteQualified(schema, name);
  const { rows: columns } = await client.query<RowColumn>(rowColumns, [schema, name]);
  const { rows } = await queryInCallersPath<{ row: string | null; bytes: string }>(
    client,
    firstRows(relation, columns, limit + 1),
  ).catch((error) => {
    if (conditionOf(error) !== 'program_limit_exceeded') throw error;
    throw limitExceeded('A row is too long to be listed', maxListedRowsBytes, 'bytes');
  });
  const fitting = rows.slice(0, limit).flatMap(({ row }) => (row === null ? [] : [row]));
  if (fitting.length === 0 && rows.length > 0) {
    throw limitExceeded('The first row is too long to be listed', maxListedRowsBytes, 'bytes');
  }
  return { rows: fitting, hasMore: rows.length > fitting.length };
}

interface RowColumn {
  name: string;
  /** The type, or the type that the domain is based on, is one of PostgreSQL's own. */
  isBuiltIn: boolean;
}

/**
 * Also switches off a setting with which a large table is not read from its beginning if another session reads it
 * (`synchronize_seqscans`).
 */
const rowColumns = `
SELECT a.attname AS name,
  (WITH RECURSIVE base AS (
    SELECT t.typtype, t.typbasetype, t.typnamespace FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
    UNION ALL
    SELECT t.typtype, t.typbasetype, t.typnamespace FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype
    WHERE b.typtype = 'd')
   SELECT b.typnamespace = 'pg_catalog'::regnamespace FROM base b WHERE b.typtype <> 'd') AS "isBuiltIn",
  set_config('synchronize_seqscans', 'off', true) AS setting
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`;

/** Returns a query of the rows. `row` is null if the rows up to this one are too long together. */
function firstRows(relation: string, columns: RowColumn[], limit: number): string {
  const values = columns.map(({ name, isBuiltIn }) => {
    const column = `t.${quoteIdentifier(name)}`;
    if (isBuiltIn) return column;
    // `IS NULL` cannot be used here, because it is also true for a composite value whose fields are all null.
    return `CASE WHEN pg_catalog.num_nulls(${column}) OPERATOR(pg_catalog.=) 0
      THEN pg_catalog.format('%s', ${column}) END AS ${quoteIdentifier(name)}`;
  });
  return `
SELECT CASE WHEN summed.bytes OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} THEN summed.row END AS row
FROM (
  SELECT written.row, pg_catalog.sum(pg_catalog.octet_length(written.row)) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
  FROM (
    SELECT pg_catalog.row_to_json(v.*)::pg_catalog.text AS row
    FROM (SELECT ${values.join(', ')} FROM ${relation} AS t LIMIT ${limit}) AS v
  ) AS written
) AS summed`;
}
