/**
 * Pure functions that return the statements with which a load opens an existing table and sends its rows. Relations are quoted by
 * the caller (`quoteQualified`).
 */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { isKnownToCitus } from '../../../postgres/citus/sharded-tables.ts';
import { quoteIdentifier, randomName, type Statement } from '../../../postgres/sql.ts';
import { hasShortTrees } from '../catalog/expressions.ts';

/** `ROW EXCLUSIVE` suffices for rows, `SHARE ROW EXCLUSIVE` lets nobody else write, and new columns need `ACCESS EXCLUSIVE`. */
export type LockMode = 'ROW EXCLUSIVE' | 'SHARE ROW EXCLUSIVE' | 'ACCESS EXCLUSIVE';

/** Returns a statement that locks a table. */
export function lockTable(relation: string, mode: LockMode): CallersStatement {
  return qualified`LOCK TABLE ${relation} IN ${mode} MODE`;
}

/**
 * Returns statements that take the lock `ROW EXCLUSIVE` for a role that may insert into some columns only. PostgreSQL takes the lock
 * when it prepares an INSERT, and keeps it until the transaction ends.
 */
export function lockByPrepare(relation: string): CallersStatement {
  const name = quoteIdentifier(randomName('lock'));
  return qualified`PREPARE ${name} AS INSERT INTO ${relation} DEFAULT VALUES; DEALLOCATE ${name}`;
}

/** Returns a statement that removes all rows of a table and of its partitions. Tables that inherit from it keep their rows. */
export function truncateTable(relation: string, kind: string | undefined): CallersStatement {
  return truncateTables([{ relation, kind }]);
}

/** Returns a statement that does the same for several tables. PostgreSQL empties tables that refer to each other only together. */
export function truncateTables(tables: { relation: string; kind: string | undefined }[]): CallersStatement {
  const parts = tables.map(({ relation, kind }) => (kind === 'p' ? relation : `ONLY ${relation}`));
  return qualified`TRUNCATE ${parts.join(', ')}`;
}

/** How a column gets another type: each value is cast, a date becomes text of ISO 8601, or all values are NULL. */
export type ColumnConversion = 'cast' | 'date-to-text' | 'all-null';

/**
 * Returns a statement that adds columns and changes the types of others.
 *
 * @param change columns with inferred types, at least one
 */
export function changeColumnsOf(
  relation: string,
  change: {
    added: { name: string; type: string }[];
    converted: { name: string; type: string; conversion: ColumnConversion }[];
  },
): CallersStatement {
  const additions = change.added.map(
    ({ name, type }) => `ADD COLUMN ${quoteIdentifier(name)} ${typeForSql(type)}`,
  );
  const conversions = change.converted.map(
    ({ name, type, conversion }) =>
      `ALTER COLUMN ${quoteIdentifier(name)} TYPE ${typeForSql(type)} USING ${convertedValue(quoteIdentifier(name), conversion)}`,
  );
  return qualified`ALTER TABLE ${relation} ${[...additions, ...conversions].join(', ')}`;
}

function convertedValue(column: string, conversion: ColumnConversion): string {
  if (conversion === 'all-null') return 'NULL';
  // The format is given explicitly, because a cast writes a date as the setting `DateStyle` says.
  return conversion === 'date-to-text' ? `pg_catalog.to_char(${column}, 'YYYY-MM-DD')` : column;
}

/** Returns the name of an inferred type as SQL. Types that are keywords cannot have a schema. */
function typeForSql(type: string): string {
  const isKeyword = /^(boolean|bigint|numeric|double precision|interval|timestamp|time)\b/.test(type);
  return isKeyword ? type : `pg_catalog.${type}`;
}

export function copyInto(relation: string, columns: string[]): CallersStatement {
  return copyWith(relation, columns, 'FORMAT binary');
}

/**
 * Returns the COPY for a table with long generated values (`isLongGenerated`) or for rows that become long. The condition calls a volatile function, so PostgreSQL stores each row
 * before it computes the next one (CopyFrom in copyfrom.c). Without it, PostgreSQL gathers up to 1,000 rows with their generated values in memory.
 */
export function copyRowByRow(copy: CallersStatement): CallersStatement {
  return qualified`${copy} WHERE pg_catalog.random() OPERATOR(pg_catalog.>=) 0`;
}

/**
 * Copies rows as if VACUUM had frozen them already, so that neither the first reader nor VACUUM must write their pages again. PostgreSQL
 * accepts this only if the current subtransaction has created or truncated the table.
 */
export function copyFrozenInto(relation: string, columns: string[]): CallersStatement {
  return copyWith(relation, columns, 'FORMAT binary, FREEZE');
}

function copyWith(relation: string, columns: string[], options: string): CallersStatement {
  return qualified`COPY ${relation} (${columns.map(quoteIdentifier).join(', ')}) FROM STDIN (${options})`;
}

export function truncate(relation: string): CallersStatement {
  return qualified`TRUNCATE ${relation}`;
}

/** Inserts rows that have only defaults, because COPY cannot send rows without columns. */
export function insertDefaults(relation: string, rowCount: number): CallersStatement {
  return qualified`INSERT INTO ${relation} SELECT FROM pg_catalog.generate_series(1, ${rowCount})`;
}

/** Inserts such rows into a sharded table, because Citus cannot insert rows from a query without columns. @param column any column of the table */
export function insertDefaultsIntoShards(
  relation: string,
  column: string,
  rowCount: number,
): CallersStatement {
  return qualified`INSERT INTO ${relation} (${quoteIdentifier(column)}) VALUES ${Array(rowCount).fill('(DEFAULT)').join(', ')}`;
}

export interface KindOfTable {
  /** The kind of the relation, as in `pg_class.relkind`. */
  kind: string;
  /** The table is sharded and refers to other tables. The transaction must use sequential mode, because Citus would not read the other tables after a parallel change. */
  isSequential: boolean;
}

/** Returns a query of the `KindOfTable`. */
export function kindOfTable(relation: string): Statement {
  return {
    text: `SELECT c.relkind AS kind, ${isKnownToCitus('c.oid')}
  AND EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid) AS "isSequential"
FROM pg_class c WHERE c.oid = to_regclass($1)`,
    values: [relation],
  };
}

/**
 * Returns a query of `may`: whether the role has one of the privileges on the whole table that LOCK TABLE needs. It is false for a
 * table of Citus, because LOCK TABLE would lock it at every node and wait for all of them, which is not necessary for a lock for rows.
 */
export function mayLockTable(relation: string): Statement {
  return {
    text: `SELECT has_table_privilege(to_regclass($1), 'INSERT, UPDATE, DELETE, TRUNCATE')
  AND NOT ${isKnownToCitus('to_regclass($1)')} AS may`,
    values: [relation],
  };
}

export interface RowTreatment {
  oid: number;
  /** The kind of the relation, as in `pg_class.relkind`. */
  kind: string;
  /** The texts of the table's defaults and constraints are certainly not too long to be described. */
  hasShortTrees: boolean;
  hasRowSecurity: boolean;
  /** The table has triggers that run for each row. */
  hasRowTriggers: boolean;
  /** The table has triggers that run for each row before it is inserted. */
  changesRows: boolean;
  /** The table has triggers that run for each row before it is updated, and may prevent this. */
  mayPreventUpdates: boolean;
  /** The table has rules for INSERT or UPDATE. */
  hasRules: boolean;
  /** The table may refuse rows for a reason that `readRowRules` does not read: row triggers, policies, partitions, or other indexes. */
  hasOtherRules: boolean;
  /** Citus stores the table at its workers. */
  isSharded: boolean;
}

/** Returns a query of the `RowTreatment`: what PostgreSQL does to the rows of the table besides storing them. */
export function rowTreatment(relation: string): Statement {
  // The bits of `tgtype` (catalog/pg_trigger.h): 1 for each row, 2 BEFORE, 4 INSERT, 16 UPDATE. A partition may have its own triggers.
  // session_replication_role decides which triggers are enabled.
  const text = `
WITH triggers AS (
  SELECT tgtype::int AS type FROM pg_trigger
  WHERE (tgrelid = $1::regclass OR tgrelid IN (SELECT relid FROM pg_partition_tree($1::regclass)))
    AND NOT tgisinternal AND tgtype::int & 1 = 1
    AND tgenabled IN ('A', CASE current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END))
SELECT $1::regclass::oid::bigint::float8 AS oid, (SELECT relkind::text FROM pg_class WHERE oid = $1::regclass) AS kind,
  ${hasShortTrees('$1::regclass')} AS "hasShortTrees",
  row_security_active($1::regclass) AS "hasRowSecurity", EXISTS (SELECT FROM triggers) AS "hasRowTriggers",
  EXISTS (SELECT FROM triggers WHERE type & 7 = 7) AS "changesRows",
  EXISTS (SELECT FROM triggers WHERE type & 19 = 19) AS "mayPreventUpdates",
  EXISTS (SELECT FROM pg_rewrite WHERE ev_class = $1::regclass AND ev_type IN ('2', '3')) AS "hasRules",
  EXISTS (SELECT FROM triggers) OR row_security_active($1::regclass) OR EXISTS (SELECT FROM pg_partition_tree($1::regclass)) OR EXISTS (
    SELECT FROM pg_index WHERE indrelid = $1::regclass AND (indisexclusion OR indexprs IS NOT NULL)) AS "hasOtherRules",
  ${isKnownToCitus('$1::regclass')} AS "isSharded"`;
  return { text, values: [relation] };
}

export interface LackedPrivilege {
  role: string;
  privilege: string;
  columns: string[];
}

/**
 * Returns a query of one privilege that the role lacks on some of the columns, with these columns. It returns no row if the role has all privileges.
 *
 * @param privileges `INSERT` and `UPDATE`
 * @param notUpdated columns that need no UPDATE
 */
export function lackedPrivilege(
  relation: string,
  columns: string[],
  privileges: string[],
  notUpdated: string[],
): Statement {
  const text = `
SELECT current_user::text AS role, p AS privilege, array_agg(format('"%s"', c)) AS columns
FROM unnest($2::text[]) c, unnest($3::text[]) p
WHERE NOT has_column_privilege($1, c, p) AND NOT (p = 'UPDATE' AND c = ANY ($4::text[])) GROUP BY p ORDER BY p LIMIT 1`;
  return { text, values: [relation, columns, privileges, notUpdated] };
}
