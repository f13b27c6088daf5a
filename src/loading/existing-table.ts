/**
 * Opens an existing table to add rows to it, or to empty it first. The table itself is the definition.
 */
import type { ClientBase } from 'pg';
import { AppError, wrongParameter } from '../errors.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../postgres/sql.ts';
import { isOtherKindOfObject, isRefusalOfColumn, isUndefinedTable } from '../postgres/sqlstate.ts';
import { isTable, readLoadColumns } from '../tables/describe-table.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import { refuseReferences } from '../tables/replace-table.ts';
import type { InferredColumn } from './infer-types.ts';
import type { LoadTarget } from './load-target.ts';
import type { ConflictKey } from './staged/conflict-rule.ts';
import { type RowRule, readRowRules } from './staged/row-rules.ts';

export interface ExistingTable {
  schema: string;
  name: string;
  /** The table is emptied first. Readers wait from then until the commit. */
  truncate: boolean;
  /** Returns the columns to add, given the names of those that the table has; undefined: none may be added. */
  addColumns: ((known: string[]) => InferredColumn[]) | undefined;
}

export async function openExistingTable(
  client: ClientBase,
  { schema, name, truncate, addColumns }: ExistingTable,
): Promise<LoadTarget> {
  const relation = quoteQualified(schema, name);
  if (truncate) await refuseReferences(client, schema, name);
  // The strongest lock that will be needed is taken first, because two uploads that strengthen their locks later would
  // deadlock.
  const mode = addColumns ? 'ACCESS EXCLUSIVE' : 'ROW EXCLUSIVE';
  const lock = async () =>
    addColumns || (await mayLock(client, relation))
      ? `LOCK TABLE ${relation} IN ${mode} MODE`
      : lockByPrepare(relation);
  await lockTable(client, truncate ? await truncateStatement(client, relation) : await lock());
  const { kind, hasRowSecurity, hasRowTriggers, changesRows, hasRules } = await readRowTreatment(
    client,
    relation,
  );
  if (!isTable(kind)) throw droppedMeanwhile();
  let columns = await readLoadColumns(client, schema, name);
  const added = addColumns?.(columns.map((column) => column.name)) ?? [];
  if (added.length > 0) {
    await add(client, relation, added);
    columns = await readLoadColumns(client, schema, name);
  }
  const rules = await readRowRules(client, schema, name);
  return {
    relation,
    columns: changesRows ? columns.map(leaveNotNullToPostgres) : columns,
    added: added.map((column) => column.name),
    isBare: false,
    mayRefuseRows: rules.length > 0 || hasRowTriggers,
    changesRows,
    hasRules,
    takesNoCopy: hasRowSecurity,
    primaryKey: rules.find((rule) => rule.kind === 'unique' && rule.isPrimary)?.columns,
    keys: keysOf(rules),
    warnings: [],
    readRules: async () => rules,
  };
}

/** Returns whether the role has one of the privileges on the whole table that LOCK TABLE needs. */
async function mayLock(client: ClientBase, relation: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean | null }>(
    "SELECT pg_catalog.has_table_privilege(pg_catalog.to_regclass($1), 'INSERT, UPDATE, DELETE, TRUNCATE') AS may",
    [relation],
  );
  return rows[0]!.may ?? true;
}

/**
 * Returns statements that take the same lock for a role that may insert into some columns only. PostgreSQL takes the lock when
 * it prepares an INSERT, and keeps it until the transaction ends.
 */
function lockByPrepare(relation: string): string {
  const name = quoteIdentifier(randomName('lock'));
  return `PREPARE ${name} AS INSERT INTO ${relation} DEFAULT VALUES; DEALLOCATE ${name}`;
}

/** @throws AppError `write-conflict` if another session dropped the table, which was found before */
async function lockTable(client: ClientBase, statement: string): Promise<void> {
  try {
    await queryInCallersPath(client, statement);
  } catch (error) {
    if (!isUndefinedTable(error) && !isOtherKindOfObject(error)) throw error;
    throw droppedMeanwhile(error);
  }
}

function droppedMeanwhile(cause?: unknown): AppError {
  const detail = 'Another session dropped or renamed the table at the same moment; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

async function add(client: ClientBase, relation: string, columns: InferredColumn[]): Promise<void> {
  const additions = columns.map(
    ({ name, type }) => `ADD COLUMN ${quoteIdentifier(name)} ${typeForSql(type)}`,
  );
  try {
    await queryInCallersPath(client, `ALTER TABLE ${relation} ${additions.join(', ')}`);
  } catch (error) {
    if (!isRefusalOfColumn(error)) throw error;
    const detail = `PostgreSQL refused to add the columns to this table: ${error.message}.`;
    throw wrongParameter('extra_columns', detail, { value: 'add' });
  }
}

/** Returns a type name for SQL. SQL keywords must not have a schema. */
function typeForSql(type: string): string {
  const isKeyword = /^(boolean|bigint|numeric|double precision|interval|timestamp|time)\b/.test(type);
  return isKeyword ? type : `pg_catalog.${type}`;
}

/** Returns the TRUNCATE statement. Tables that inherit from this one keep their rows. Partitions are part of the table. */
async function truncateStatement(client: ClientBase, relation: string): Promise<string> {
  const { rows } = await client.query<{ relkind: string }>(
    'SELECT relkind FROM pg_class WHERE oid = pg_catalog.to_regclass($1)',
    [relation],
  );
  return `TRUNCATE ${rows[0]?.relkind === 'p' ? '' : 'ONLY'} ${relation}`;
}

/**
 * Lets PostgreSQL check NOT NULL, because a trigger may set the column before that check. The NOT NULL of a domain is checked
 * before triggers run, so the service still checks it.
 */
function leaveNotNullToPostgres(column: LoadColumn): LoadColumn {
  return { ...column, isNullable: true };
}

interface RowTreatment {
  /** The kind of the relation, as in `pg_class.relkind`. */
  kind: string;
  hasRowSecurity: boolean;
  /** The table has triggers that run for each row. */
  hasRowTriggers: boolean;
  /** The table has triggers that run for each row before it is inserted. */
  changesRows: boolean;
  /** The table has rules for INSERT or UPDATE. */
  hasRules: boolean;
}

async function readRowTreatment(client: ClientBase, relation: string): Promise<RowTreatment> {
  const { rows } = await client.query<RowTreatment>(rowTreatment, [relation]);
  return rows[0]!;
}

// The bits of `tgtype` (catalog/pg_trigger.h): 1 for each row, 2 BEFORE, 4 INSERT. A partition may have its own triggers.
// session_replication_role decides which triggers are enabled.
const rowTreatment = `
WITH triggers AS (
  SELECT tgtype::int AS type FROM pg_catalog.pg_trigger
  WHERE (tgrelid = $1::regclass OR tgrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree($1::regclass)))
    AND NOT tgisinternal AND tgtype::int & 1 = 1
    AND tgenabled IN ('A', CASE pg_catalog.current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END))
SELECT (SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = $1::regclass) AS kind,
  pg_catalog.row_security_active($1::regclass) AS "hasRowSecurity", EXISTS (SELECT FROM triggers) AS "hasRowTriggers",
  EXISTS (SELECT FROM triggers WHERE type & 7 = 7) AS "changesRows",
  EXISTS (SELECT FROM pg_catalog.pg_rewrite WHERE ev_class = $1::regclass AND ev_type IN ('2', '3')) AS "hasRules"`;

/** A key that is checked at the end of the transaction cannot decide between rows (documentation of INSERT). */
function keysOf(rules: RowRule[]): ConflictKey[] {
  const uniques = rules.filter((rule) => rule.kind === 'unique');
  const keys = uniques.filter((key) => !key.isDeferrable && !key.predicate);
  return [...keys.filter((key) => key.isPrimary), ...keys.filter((key) => !key.isPrimary)];
}
