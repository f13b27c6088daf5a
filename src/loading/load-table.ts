/**
 * The whole pipeline: input → (infer) → encode → COPY → constraints → describe → commit, in one transaction.
 */
import type { ClientBase, Pool, PoolClient } from 'pg';
import { AppError, wrongParameter } from '../errors.ts';
import { inTransaction, type TransactionEdges, type TransactionOptions } from '../postgres/transaction.ts';
import { type SourceWarning, withSecondReading } from '../sources/row-source.ts';
import { compareWithStanding } from '../tables/compare-definition.ts';
import { tableExists, uploadRemedies } from '../tables/create-table.ts';
import type { TableDescription } from '../tables/definition.ts';
import { describeTable, isTable } from '../tables/describe-table.ts';
import { explainDottedName } from '../tables/dotted-name.ts';
import { findLoadTarget, type NeededRights } from '../tables/find-load-target.ts';
import { prepareTable } from '../tables/prepare-table.ts';
import type { PreparedTable } from '../tables/prepared-table.ts';
import { refuseDependents } from '../tables/replace-table.ts';
import { ColumnMatcher, type ExtraColumns, looseName } from './column-matching.ts';
import { openExistingTable } from './existing-table.ts';
import { type InferredColumn, TypeInference } from './infer-types.ts';
import { mixedColumns, otherReadings, unfitNames } from './inferred-columns.ts';
import type { LoadInput } from './load-input.ts';
import { type ConflictOption, loadRows } from './load-rows.ts';
import type { LoadTarget } from './load-target.ts';
import { openNewTable } from './new-table.ts';
import { addRowFault, headerProblems, Problems } from './problems.ts';

export type IfExists = 'fail' | 'append' | 'truncate' | 'replace';
export type OnConflict = 'fail' | 'skip' | 'update';

export interface LoadRequest {
  schema: string;
  name: string;
  ifExists: IfExists;
  extraColumns: ExtraColumns;
  /** What happens to a row whose key another row has. */
  onConflict: OnConflict;
  /** Everything is done and checked, then rolled back. */
  dryRun: boolean;
  signal: AbortSignal;
  /** Throws where the caller may not create a table. */
  requireCreation: () => void;
  /** Throws where the caller may not refer to the tables of the schema. */
  admitSchema: (schema: string) => void;
}

export interface LoadContext {
  pool: Pool;
  transaction: TransactionOptions;
  /** What a default may call beside the built-in functions. */
  extraFunctions: readonly string[];
  limits: { maxColumns: number; maxRows: number };
}

export interface LoadResult {
  /** Created or replaced, in contrast to: rows were added to a table that stood. */
  isNew: boolean;
  table: TableDescription;
  /** Rows added. */
  rows: number;
  skipped: number;
  updated: number;
  /** See `LoadedRows.conflictKey`. */
  conflictKey?: string[];
  warnings: SourceWarning[];
}

/**
 * Loads an upload: all its rows and the table, or nothing.
 *
 * @throws AppError `invalid-data` with every problem, `invalid-definition`, `table-exists`, `nothing-to-load`, … ;
 *   PostgreSQL's errors; the signal's reason
 */
export async function loadTable(
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
): Promise<LoadResult> {
  const { pool, transaction } = context;
  const { schema, name } = request;
  const stands = await inTransaction(pool, { ...transaction, readOnly: true }, async (client) => {
    const isThere = await findLoadTarget(client, schema, name, neededRights(request));
    // They are looked for again at the swap; this spares the sender a long way to the same answer.
    if (isThere && request.ifExists === 'replace') await refuseDependents(client, schema, name);
    return isThere;
  });
  if (stands && request.ifExists === 'fail') {
    throw tableExists(schema, name, { oid: 0, kind: 'r' }, uploadRemedies);
  }
  if (!stands) request.requireCreation();
  await input.open();

  const addsRows = request.ifExists === 'append' || request.ifExists === 'truncate';
  const mayBeNew = !stands || !addsRows;
  const inferred = await inferWhereNeeded(context, request, input, mayBeNew);
  // An emptied table is locked until the end: not for as long as a client takes to send.
  if (request.ifExists === 'truncate' && !inferred) await input.keep(request.signal);
  const options = { ...transaction, rollback: request.dryRun };
  const load = async (client: PoolClient, edges: TransactionEdges): Promise<LoadResult> => {
    const problems = new Problems();
    const prepared = mayBeNew ? await prepare(client, context, request, input, inferred) : undefined;
    // Somebody else may have made the table meanwhile: that is what `append` and `truncate` are for.
    const isNew = prepared !== undefined && !(addsRows && isTable(prepared.standing?.kind ?? ''));
    // And somebody may have dropped the one that was to be replaced.
    if (isNew && prepared.standing === undefined) request.requireCreation();
    const target = isNew
      ? await openNewTable(
          client,
          prepared,
          {
            mayReplace: request.ifExists === 'replace',
            lockTimeoutMs: transaction.lockTimeoutMs ?? 0,
            signal: request.signal,
            extraFunctions: context.extraFunctions,
          },
          problems,
        )
      : await openExisting(client, request, input, inferred, problems);
    const matcher = new ColumnMatcher(target.columns, input.nameMatching, request.extraColumns);
    const { suppressed, told, ...counts } = await fill(
      client,
      context,
      request,
      input,
      target,
      matcher,
      problems,
    );
    if (!isNew) await refuseDisagreement(client, context, request, input);
    const brought = counts.rows + counts.skipped + counts.updated + suppressed;
    // An export that came out empty empties no table, and replaces none.
    if (brought === 0 && input.definition === undefined) throw nothingToLoad(input);
    if (brought > 0) matcher.refuseStrangers();
    const dotted = isNew && (await explainDottedName(client, schema, name, request.admitSchema));
    const made = inferred === undefined ? [] : columnsMade(inferred, input, isNew, target);
    const ended = await target.end?.(edges.endAtOnce);
    return {
      isNew,
      table: ended?.table ?? (await describeTable(client, schema, name, context.extraFunctions)),
      ...counts,
      warnings: [
        ...input.warnings,
        ...(isNew && addsRows ? [createdTable(schema, name)] : []),
        ...(dotted ? [{ code: 'dotted-name', detail: dotted }] : []),
        ...(isNew ? prepared.warnings : []),
        ...(brought === 0 ? noRows(input) : []),
        ...ignoredColumns(matcher),
        ...(isNew && input.definition === undefined ? [] : made.map(addedColumn)),
        ...mixedColumns(made, input.locate),
        ...otherReadings(made, input.locate),
        ...suppressedRows(suppressed),
        ...ownNumbers(target, matcher),
        ...told,
        ...(ended?.warnings ?? []),
      ],
    };
  };
  return withSecondReading(() => inTransaction(pool, options, load));
}

/** For rows that go into a table that stands, or for its replacement. */
function neededRights({ ifExists, extraColumns, onConflict }: LoadRequest): NeededRights {
  const none = { privileges: [], ownership: undefined, temporary: undefined };
  if (ifExists === 'fail') return none;
  if (ifExists === 'replace') return { ...none, ownership: 'if_exists=replace' };
  return {
    privileges: [
      ...(ifExists === 'truncate' ? ['TRUNCATE'] : []),
      'INSERT',
      // Documentation of INSERT: the columns of the key are read.
      ...(onConflict === 'fail' ? [] : ['SELECT']),
      ...(onConflict === 'update' ? ['UPDATE'] : []),
    ],
    ownership: extraColumns === 'add' ? 'extra_columns=add' : undefined,
    temporary: onConflict === 'fail' ? undefined : `on_conflict=${onConflict}`,
  };
}

/** Types are inferred where a table is to be made without a definition, or columns are to be added. */
async function inferWhereNeeded(
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  isNew: boolean,
): Promise<TypeInference | undefined> {
  const isNeeded = request.extraColumns === 'add' || (isNew && input.definition === undefined);
  if (!isNeeded) return undefined;
  // What is wrong is told by the pass that loads, together with all other problems, unless there is nothing to load.
  const { inference, faultyRows } = await withSecondReading(async () => {
    const faultyRows = new Problems();
    const inference = new TypeInference(context.limits, (row, column, _name, fault, bytes, start, end) => {
      if (column < 0) addRowFault(faultyRows, input.locate, row, fault, bytes, start, end);
    });
    await input.readAndKeep(inference, request.signal);
    return { inference, faultyRows };
  });
  const unfit = new Problems();
  for (const problem of unfitNames(inference, input.locate)) unfit.add(problem);
  if (unfit.count > 0) for (const problem of headerProblems(input)) unfit.add(problem);
  unfit.throwIfAny();
  if (isNew && input.definition === undefined && inference.columns().length === 0) {
    faultyRows.throwIfAny();
    throw nothingToLoad(input);
  }
  return inference;
}

function nothingToLoad(input: LoadInput): AppError {
  const why = input.warnings.find(({ code }) => code === 'no-rows')?.detail ?? '';
  const detail = 'The upload holds neither a definition (`table`) nor a row with a column.';
  return new AppError('nothing-to-load', why === '' ? detail : `${detail} ${why}`);
}

function prepare(
  client: ClientBase,
  { extraFunctions }: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  inferred: TypeInference | undefined,
): Promise<PreparedTable> {
  const { schema, name, admitSchema } = request;
  const columns = inferred?.columns().map((column) => ({ name: column.name, type: column.type })) ?? [];
  const sent = input.definition;
  const table =
    sent === undefined
      ? { columns }
      : request.extraColumns === 'add'
        ? extendDefinition(sent, columns, input)
        : sent;
  return prepareTable(client, { schema, name, table, admitSchema, extraFunctions });
}

/** The definition sent and the columns that it lacks; one that is not of the right shape is left to the checks. */
function extendDefinition(sent: unknown, columns: { name: string }[], input: LoadInput): unknown {
  const definition = sent as DefinedColumns | null;
  if (!Array.isArray(definition?.columns)) return sent;
  const added = lacking(columns, namesOf(definition), input);
  return { ...definition, columns: [...definition.columns, ...added] };
}

interface DefinedColumns {
  columns: { name?: unknown }[];
}

function namesOf({ columns }: DefinedColumns): string[] {
  return columns.map((column) => String(column?.name));
}

/** The columns that are as they were inferred: all of a table without a definition, else those added to it. */
function columnsMade(
  inferred: TypeInference,
  input: LoadInput,
  isNew: boolean,
  { added }: LoadTarget,
): InferredColumn[] {
  const columns = inferred.columns();
  if (!isNew) return columns.filter(({ name }) => added.includes(name));
  if (input.definition === undefined) return columns;
  return lacking(columns, namesOf(input.definition as DefinedColumns), input);
}

function lacking<Column extends { name: string }>(
  columns: Column[],
  known: string[],
  input: LoadInput,
): Column[] {
  const isLoose = input.nameMatching === 'loose';
  const names = new Set(isLoose ? known.map(looseName) : known);
  return columns.filter((column) => !names.has(isLoose ? looseName(column.name) : column.name));
}

async function openExisting(
  client: ClientBase,
  request: LoadRequest,
  input: LoadInput,
  inferred: TypeInference | undefined,
  problems: Problems,
): Promise<LoadTarget> {
  const { schema, name } = request;
  const truncate = request.ifExists === 'truncate';
  const addColumns = inferred && ((known: string[]) => lacking(inferred.columns(), known, input));
  return openExistingTable(client, { schema, name, truncate, addColumns }, problems);
}

interface Counts {
  rows: number;
  skipped: number;
  updated: number;
  suppressed: number;
  conflictKey?: string[];
  told: SourceWarning[];
}

/** Loads the rows, where there are any, and does what is to be done after them. */
function fill(
  client: ClientBase,
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  target: LoadTarget,
  matcher: ColumnMatcher,
  problems: Problems,
): Promise<Counts> {
  const { relation, columns, isBare, keepRows, changesRows, hasRules, takesNoCopy } = target;
  const conflict = conflictOption(request, target, input.definition !== undefined);
  const { maxRows } = context.limits;
  const statementTimeoutMs = context.transaction.statementTimeoutMs ?? 0;
  const { signal } = request;
  const options = {
    relation,
    columns,
    isBare,
    matcher,
    keepRows,
    changesRows,
    hasRules,
    takesNoCopy,
    conflict,
    maxRows,
    statementTimeoutMs,
    signal,
    typesAreInferred: isBare && input.definition === undefined,
  };
  return loadRows(client, input, problems, options, async (rows) => {
    const told = await target.finish(rows);
    const { inserted, skipped, updated, suppressed, conflictKey } = rows;
    return {
      rows: inserted,
      skipped,
      updated,
      suppressed,
      ...(conflictKey && { conflictKey }),
      told: [...told, ...rows.warnings],
    };
  });
}

/** @throws AppError `invalid-parameter` where there is no key that rows could have in common */
function conflictOption(
  { onConflict, name }: LoadRequest,
  { keys, isBare, end }: LoadTarget,
  hasDefinition: boolean,
): ConflictOption | undefined {
  if (onConflict === 'fail') return undefined;
  if (keys.length > 0) return { action: onConflict, keys };
  const needs = `on_conflict=${onConflict} needs a primary key or a unique constraint`;
  const refusal = (detail: string) => wrongParameter('on_conflict', detail, { code: 'no-key' });
  if (!isBare) {
    throw refusal(
      `${needs}, and the table has none. Add a primary key to it in PostgreSQL, or load the table again with if_exists=replace and a definition that has a primary_key.`,
    );
  }
  if (hasDefinition) {
    throw refusal(`${needs}, and the definition has none. Add \`constraints.primary_key\` to \`table\`.`);
  }
  const state = end ? 'A new table replaces' : 'There is no table';
  throw refusal(
    `${needs}. ${state} "${name}"${end ? '' : ' yet'}, and the rows alone give it no key. Send \`table\` with \`constraints.primary_key\`.`,
  );
}

/** A definition sent along with rows for a table that stands must agree with it. */
async function refuseDisagreement(
  client: ClientBase,
  { extraFunctions }: LoadContext,
  request: LoadRequest,
  input: LoadInput,
): Promise<void> {
  if (input.definition === undefined) return;
  const { schema, name, admitSchema } = request;
  const table = input.definition;
  const differences = await compareWithStanding(client, {
    schema,
    name,
    table,
    admitSchema,
    extraFunctions,
  });
  if (differences.length === 0) return;
  throw new AppError('invalid-definition', 'The definition does not agree with the existing table.', {
    errors: differences,
  });
}

/** Rows for a table that is there may have missed it by a slip in its name. */
function createdTable(schema: string, name: string): SourceWarning {
  const detail = `There was no table "${name}" in the schema "${schema}"; it was created.`;
  return { code: 'table-created', detail };
}

/** A workbook says itself what was found in place of rows. */
function noRows(input: LoadInput): SourceWarning[] {
  if (input.warnings.some(({ code }) => code === 'no-rows')) return [];
  return [{ code: 'no-rows', detail: 'The upload brought no row.' }];
}

function ignoredColumns(matcher: ColumnMatcher): SourceWarning[] {
  return matcher.ignored.map((column) => ({
    code: 'ignored-column',
    column,
    detail: `The table has no column "${column}"; its values were left out.`,
  }));
}

function addedColumn({ name, type }: InferredColumn): SourceWarning {
  const detail = `The table had no column "${name}"; it was added, of type ${type}.`;
  return { code: 'added-column', column: name, detail };
}

/** Moving the sequence on here could set it back for a transaction that takes numbers at the same moment. */
function ownNumbers(target: LoadTarget, matcher: ColumnMatcher): SourceWarning[] {
  if (target.isBare) return [];
  const numbered = target.columns.filter(
    ({ name, identity }) => identity !== 'none' && matcher.isTaken(name),
  );
  return numbered.map(({ name }) => ({
    code: 'own-numbers',
    column: name,
    detail: `The rows set "${name}" themselves and its sequence was not advanced, so generated values may collide later. Advance it with setval().`,
  }));
}

function suppressedRows(count: number): SourceWarning[] {
  if (count === 0) return [];
  const rows = count === 1 ? 'one row' : `${count} rows`;
  return [{ code: 'suppressed-rows', detail: `A trigger or a rule of the table left out ${rows}.` }];
}
