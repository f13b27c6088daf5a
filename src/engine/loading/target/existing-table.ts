/**
 * Opens an existing table to add rows to it, or to empty it first. The table itself is the definition.
 */
import type { ClientBase } from 'pg';
import { AppError, type Warning, wrongParameter } from '../../../core/errors.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { Widening } from '../../../encoding/widening/misfits.ts';
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import { isOtherKindOfObject, isRefusalOfColumn, isUndefinedTable } from '../../../postgres/named-objects.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { apartInCallersPath, queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { setLockTimeout } from '../../../postgres/transaction-settings.ts';
import { admitBelow } from '../../tables/catalog/partitions.ts';
import { admitChanges } from '../../tables/change-memory.ts';
import { checkTexts, isTable } from '../../tables/describe-table.ts';
import { workSequentially } from '../../tables/distribution/place-table.ts';
import {
  changeColumnsOf,
  type KindOfTable,
  kindOfTable,
  type LockMode,
  lockByPrepare,
  lockTable,
  mayLockTable,
  type RowTreatment,
  rowTreatment,
  truncateTable,
} from '../../tables/loading/load-statements.ts';
import { readLoadColumns } from '../../tables/loading/read-load-columns.ts';
import { type LockOptions, LockTries } from '../../tables/lock-tries.ts';
import { refuseReferences } from '../../tables/replace/refuse-dependents.ts';
import { type RowRule, readRowRules } from '../../tables/rules/row-rules.ts';
import { refuseSharded, widenColumns } from '../../tables/widening/widen-columns.ts';
import type { ConflictKey } from '../staged/conflict-rule.ts';
import { TypesChanged } from '../widening/widen-where-needed.ts';
import type { ExistingTable } from './load-target.ts';

export interface ExistingTableOptions {
  schema: string;
  name: string;
  /** The table is emptied first. Readers wait from then until the commit. */
  truncate: boolean;
  /** Refuses a schema that the token may not use. The tables below the table may be in other schemas. */
  admitSchema: (schema: string) => void;
  /** Returns the columns to add, given the names of those that the table has; undefined: none may be added. */
  addColumns: ((known: string[]) => AddedColumn[]) | undefined;
  /** The columns for `provenance` that the table lacks, and that are added. */
  origins: AddedColumn[];
  /** undefined: the columns keep their types. */
  widening?: TableWidening | undefined;
  /**
   * Rows of the table that the upload does not have are changed. This is how the table is locked so that no other session may write to it until the
   * transaction ends; undefined: others may write. Readers do not wait.
   */
  againstWriters?: LockOptions | undefined;
}

interface AddedColumn {
  name: string;
  type: string;
}

/** The columns that get wider types before the rows are loaded. */
export interface TableWidening {
  columns: Widening[];
  lock: LockOptions;
  /** Called when the table is locked and still has the types from which it is widened. */
  beforeChange: () => Promise<void>;
}

export async function openExistingTable(
  client: ClientBase,
  options: ExistingTableOptions,
): Promise<ExistingTable> {
  const { schema, name, truncate, admitSchema, addColumns, origins, widening, againstWriters } = options;
  const relation = quoteQualified(schema, name);
  if (truncate) await refuseReferences(client, schema, name);
  if (truncate || againstWriters !== undefined) await admitBelow(client, relation, admitSchema, 'partitions');
  const mayAddColumns = addColumns !== undefined || origins.length > 0;
  if (mayAddColumns || widening !== undefined) await admitBelow(client, relation, admitSchema, 'inheriting');
  await lockAtOnce(client, relation, options, mayAddColumns);
  const treatment = await client.query<RowTreatment>(rowTreatment(relation));
  const { oid, kind, hasShortTrees, hasRowSecurity, hasRowTriggers, changesRows, ...others } =
    treatment.rows[0]!;
  const { mayPreventUpdates, hasRules, hasOtherRules, isSharded } = others;
  if (!isTable(kind)) throw droppedMeanwhile();
  // The answer must describe the table. If the texts of its defaults, checks and indexes are too long for that, the upload is refused before its rows are read.
  if (!hasShortTrees) await checkTexts(client, oid);
  let columns = await readLoadColumns(client, schema, name);
  if (widening !== undefined) {
    if (isSharded) throw refuseSharded(relation);
    await widen(client, relation, columns, widening);
    columns = await readLoadColumns(client, schema, name);
  }
  const known = columns.map((column) => column.name);
  const added = addColumns?.(known) ?? [];
  const originsAdded = origins.filter((column) => !known.includes(column.name));
  if (added.length + originsAdded.length > 0) {
    if (isSharded) await readKind(client, relation);
    await add(client, relation, [...added, ...originsAdded]);
    columns = await readLoadColumns(client, schema, name);
  }
  const rules = await readRowRules(client, schema, name);
  if (changesRows) columns = columns.map(leaveNotNullToPostgres);
  return {
    relation,
    oid,
    stored: kind === 'p' || isSharded ? relation : `ONLY ${relation}`,
    columns,
    added: added.map((column) => column.name),
    isNew: false,
    replaces: false,
    // The error of a COPY to a sharded table does not name the row. So the rows are kept, to find it.
    mayRefuseRows: rules.length > 0 || hasRowTriggers || isSharded,
    hasRowTriggers,
    changesRows,
    mayPreventUpdates,
    hasRules,
    hasOtherRules,
    isSharded,
    takesNoCopy: hasRowSecurity,
    primaryKey: rules.find((rule) => rule.kind === 'unique' && rule.isPrimary)?.columns,
    keyColumns: rules.flatMap((rule) => (rule.kind === 'unique' ? rule.columns : [])),
    keys: keysOf(rules),
    warnings: originsAdded.map(addedColumn),
    readRules: async () => rules,
  };
}

/** Takes the strongest lock that will be needed, because two uploads that strengthen their locks later would deadlock. */
export async function lockAtOnce(
  client: ClientBase,
  relation: string,
  {
    truncate,
    widening,
    againstWriters,
  }: Pick<ExistingTableOptions, 'truncate' | 'widening' | 'againstWriters'>,
  mayAddColumns: boolean,
): Promise<void> {
  if (widening !== undefined && !truncate)
    await lockInTries(client, [relation], 'ACCESS EXCLUSIVE', widening.lock);
  else if (againstWriters !== undefined && !mayAddColumns)
    await lockInTries(client, [relation], 'SHARE ROW EXCLUSIVE', againstWriters);
  else await lock(client, await lockingStatement(client, relation, truncate, mayAddColumns));
}

/** Returns the statement that takes the lock for rows, for TRUNCATE or for new columns. */
async function lockingStatement(
  client: ClientBase,
  relation: string,
  truncate: boolean,
  mayAddColumns: boolean,
): Promise<CallersStatement> {
  if (truncate) return truncateTable(relation, await readKind(client, relation));
  if (mayAddColumns) return lockTable(relation, 'ACCESS EXCLUSIVE');
  const { rows } = await client.query<{ may: boolean | null }>(mayLockTable(relation));
  return (rows[0]!.may ?? true) ? lockTable(relation, 'ROW EXCLUSIVE') : lockByPrepare(relation);
}

/** Returns the kind of the table; undefined: there is none. If the table is about to be changed, Citus may have to do this sequentially. */
export async function readKind(client: ClientBase, relation: string): Promise<string | undefined> {
  const { rows } = await client.query<KindOfTable>(kindOfTable(relation));
  if (rows[0]?.isSequential) await client.query(workSequentially);
  return rows[0]?.kind;
}

/**
 * Locks a table that was found before.
 *
 * @throws AppError `write-conflict` if another session has dropped the table meanwhile
 */
async function lock(client: ClientBase, statement: CallersStatement): Promise<void> {
  try {
    await queryInCallersPath(client, statement);
  } catch (error) {
    throw asDropped(error);
  }
}

/**
 * Takes a lock of all tables or of none, in short attempts, because all writers, and with the strongest lock all readers, wait for an attempt. The later
 * statements have the usual time limit for locks.
 *
 * @param relations quoted
 * @throws AppError `write-conflict` if another session has dropped a table meanwhile; the errors of `LockTries`
 */
export async function lockInTries(
  client: ClientBase,
  relations: readonly string[],
  mode: LockMode,
  options: LockOptions,
): Promise<void> {
  if (relations.length === 0) return;
  const statements = apartInCallersPath(...relations.map((relation) => lockTable(relation, mode)));
  try {
    await new LockTries(client, relations, options).run((first) =>
      pipeline(client, [...first, ...statements]),
    );
  } catch (error) {
    throw asDropped(error);
  }
  await client.query(setLockTimeout(options.lockTimeoutMs));
}

/** @throws TypesChanged; the errors of `widenColumns` */
async function widen(
  client: ClientBase,
  relation: string,
  columns: LoadColumn[],
  { columns: widenings, beforeChange }: TableWidening,
): Promise<void> {
  for (const { column } of widenings) {
    const { type } = columns.find(({ name }) => name === column.name) ?? {};
    if (type?.oid !== column.type.oid || type.typmod !== column.type.typmod) throw new TypesChanged();
  }
  await beforeChange();
  await widenColumns(client, relation, widenings);
}

function asDropped(error: unknown): unknown {
  return isUndefinedTable(error) || isOtherKindOfObject(error) ? droppedMeanwhile(error) : error;
}

function droppedMeanwhile(cause?: unknown): AppError {
  const detail = 'Another session dropped or renamed the table at the same moment; send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

export function addedColumn({ name, type }: AddedColumn): Warning {
  const detail = `The table had no column "${name}"; it was added, of type ${type}.`;
  return { code: 'added-column', column: name, detail };
}

async function add(client: ClientBase, relation: string, columns: AddedColumn[]): Promise<void> {
  await admitChanges(client, relation, { changes: columns.length, added: columns.length });
  try {
    await queryInCallersPath(client, changeColumnsOf(relation, { added: columns, converted: [] }));
  } catch (error) {
    if (!isRefusalOfColumn(error)) throw error;
    const detail = `PostgreSQL refused to add the columns to this table: ${error.message}.`;
    throw wrongParameter('extra_columns', detail, { value: 'add' });
  }
}

/**
 * Lets PostgreSQL check NOT NULL, because a trigger may set the column before that check. The NOT NULL of a domain is checked
 * before triggers run, so the service still checks it. The same is true of NULL in a distribution column.
 */
function leaveNotNullToPostgres(column: LoadColumn): LoadColumn {
  return { ...column, isNullable: column.isDistributionColumn !== true };
}

/**
 * Returns the keys that ON CONFLICT can use, the primary key first. It cannot use a key that is checked at the end of the
 * transaction (documentation of INSERT).
 */
function keysOf(rules: RowRule[]): ConflictKey[] {
  const uniques = rules.filter((rule) => rule.kind === 'unique');
  const keys = uniques.filter((key) => !key.isDeferrable && !key.predicate);
  return [...keys.filter((key) => key.isPrimary), ...keys.filter((key) => !key.isPrimary)];
}
