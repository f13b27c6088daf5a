/** The columns of a table as reading its rows needs them. */

import { AppError } from '../../core/errors.ts';
import { isKnownToCitus } from '../../postgres/citus/sharded-tables.ts';
import { isFailureOfExpression } from '../../postgres/sqlstate.ts';

export interface RowColumn {
  name: string;
  /** `GENERATED ALWAYS AS (…) VIRTUAL` (PostgreSQL 18) */
  isVirtual: boolean;
  /** The type, or the type that the domain is based on, is one of PostgreSQL's own. */
  isBuiltIn: boolean;
  isArray: boolean;
  /** A value may be long. */
  isLong: boolean;
  /** Citus stores the table at its workers, or knows it. */
  isSharded: boolean;
  /** `pg_type.oid` of the type, or of the type that the domain is based on. */
  base: number;
  /** The length of the text, or `bytea`, is known without reading it, and its beginning can be read alone. */
  isText: boolean;
  /** The collation as SQL; null: the type has none. */
  collation: string | null;
  /** The role of the transaction may read the column. */
  mayRead: boolean;
}

/** Returns the columns as `RowColumn`. The values are the names of the schema and the table. */
export const rowColumns = `
SELECT a.attname AS name, a.attgenerated = 'v' AS "isVirtual", b.typnamespace = 'pg_catalog'::regnamespace AS "isBuiltIn", a.attlen = -1 AS "isLong", ${isKnownToCitus('a.attrelid')} AS "isSharded",
  b.oid::bigint::float8 AS base, b.is_array AS "isArray", b.oid IN ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype) AS "isText",
  (SELECT format('%I.%I', s.nspname, o.collname) FROM pg_catalog.pg_collation o JOIN pg_catalog.pg_namespace s ON s.oid = o.collnamespace
    WHERE o.oid = a.attcollation) AS collation,
  has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "mayRead"
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
  WITH RECURSIVE base AS (
    SELECT t.oid, t.typtype, t.typbasetype, t.typnamespace, t.typcategory = 'A' AS is_array FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
    UNION ALL
    SELECT t.oid, t.typtype, t.typbasetype, t.typnamespace, t.typcategory = 'A' FROM base JOIN pg_catalog.pg_type t ON t.oid = base.typbasetype
    WHERE base.typtype = 'd')
  SELECT base.oid, base.typnamespace, base.is_array FROM base WHERE base.typtype <> 'd') AS b
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`;

/** Changes the error of a query of rows to name the columns that PostgreSQL computes when it reads the rows, if one of them may have caused it. */
export function ofVirtualColumns(error: unknown, columns: RowColumn[]): unknown {
  const virtual = columns.filter(({ isVirtual }) => isVirtual).map(({ name }) => `"${name}"`);
  if (virtual.length === 0 || !isFailureOfExpression(error)) return error;
  const which =
    virtual.length === 1 ? `the column ${virtual[0]}` : `one of the columns ${virtual.join(', ')}`;
  const detail = `PostgreSQL computes ${which} when it reads a row, and for one of the rows this fails: ${error.message}. Change its expression, or the row, in PostgreSQL.`;
  return new AppError('invalid-data', detail, { cause: error });
}

/**
 * Returns an expression for a value that `row_to_json` writes. A number has all its digits. PostgreSQL would call a cast to `json` that somebody has
 * made for a type of their own, and that function would run with the rights of the service. So values of types outside `pg_catalog` are
 * read as text, by the output function of the type, which only a superuser can make.
 */
export function asJson({ isBuiltIn }: RowColumn, value: string): string {
  if (isBuiltIn) return value;
  // `IS NULL` cannot be used here, because it is also true for a composite value whose fields are all null.
  return `CASE WHEN pg_catalog.num_nulls(${value}) OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('%s', ${value}) END`;
}
