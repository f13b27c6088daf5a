/**
 * Rows of an input → encoded rows in a table, and what became of them.
 *
 * Two ways: *straight* into the table, the fast one; or *staged* in a temporary table and moved from there, where rows
 * may meet others with the same key (`on_conflict`) or a column's type has no binary encoder.
 */
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../errors.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { conditionOf, isBrokenReference, isLackOfPrivilege, isRefusalOfData } from '../postgres/sqlstate.ts';
import type { SourceWarning } from '../sources/row-source.ts';
import { Spool } from '../sources/spool.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { ColumnMatcher } from './column-matching.ts';
import { CopySession } from './copy-session.ts';
import { EncodingSink, type TargetColumn } from './encoding-sink.ts';
import type { LoadInput } from './load-input.ts';
import { headerProblems, type Problems, shortenValue } from './problems.ts';
import { failingDefault } from './staged/failing-default.ts';
import { findInStaged } from './staged/find-in-staged.ts';
import {
  findViolations,
  largestKey,
  type RowPlaces,
  refusedRow,
  refusedStagedRow,
} from './staged/find-violations.ts';
import { generatedKey } from './staged/generated-keys.ts';
import {
  checkDeferred,
  findRefusedRow,
  findRowWithout,
  inMovingOrder,
  isRefusal,
  makeInputCheck,
  maxStagedShapes,
  moveRows,
  type Refusal,
  Shapes,
  setSurplusApart,
  shapesWithKey,
  sourcesOf,
} from './staged/move-rows.ts';
import type { RowRule } from './staged/row-rules.ts';
import {
  beginShape,
  type ConflictKey,
  type ConflictRule,
  countRowsWithout,
  createStagingTable,
  maxStagedColumns,
  movedRows,
  rowNumberColumn,
  shapeOfRow,
  stagingTable,
  typedStagingTable,
} from './staged/staging-table.ts';
import type { SentRows } from './staged/violation-queries.ts';
import { isStagedAsText, targetColumns } from './target-columns.ts';

export interface LoadRowsOptions {
  /** Quoted; the table that the rows go into. */
  relation: string;
  columns: LoadColumn[];
  matcher: ColumnMatcher;
  /** Rules may be broken by a row while it is copied: the rows are kept, to find out which ones and why. */
  keepRows: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  /** The table takes no COPY, as rules for single rows are in force for the role (row-level security). */
  takesNoCopy: boolean;
  conflict: ConflictOption | undefined;
  /** The table is empty, and its keys come after the rows. */
  isBare: boolean;
  maxRows: number;
  /** The types of the columns were inferred: nobody chose them. */
  typesAreInferred?: boolean;
  /** For each statement but the COPY, which lasts as long as the client takes to send. */
  statementTimeoutMs: number;
  signal: AbortSignal;
}

/** `on_conflict`, and the keys that it may go by, the preferred one first. */
export interface ConflictOption {
  action: ConflictRule['action'];
  keys: ConflictKey[];
}

export interface LoadedRows {
  inserted: number;
  updated: number;
  /** Left out, because another row had the key. */
  skipped: number;
  /** Left out by a trigger of the table. */
  suppressed: number;
  /** The columns of the key by which rows were compared; none: the data brings no key; undefined: without `on_conflict`. */
  conflictKey?: string[];
  /** What a person should know of the rows that were loaded. */
  warnings: SourceWarning[];
  places: RowPlaces;
  /** PostgreSQL's refusal of a row; nothing but `explain` can be done then. */
  refusal: Error | undefined;
  /** Adds every row that breaks a rule to the problems, or else the one that PostgreSQL refused. */
  explain: (
    refusal: Error,
    existing: ExistingRows | undefined,
    readRules: () => Promise<RowRule[]>,
  ) => Promise<void>;
}

/** A table whose rows count beside those sent. */
export interface ExistingRows {
  quoted: string;
  schema: string;
  name: string;
}

/**
 * Loads all rows that have no problem; the problems are told to `problems`.
 *
 * @param use is called before what was kept is released
 * @throws what the input throws; PostgreSQL's errors that are not about the rows
 */
export function loadRows<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const isStaged =
    options.conflict !== undefined || options.takesNoCopy || options.columns.some(isStagedAsText);
  const load = isStaged ? loadStaged : loadStraight;
  return load(client, input, problems, options, use).catch(async (error) => {
    if (!isLackOfPrivilege(error)) throw error;
    throw (await lackOnColumns(client, options, error)) ?? error;
  });
}

/** A privilege on the whole table is not needed: PostgreSQL's refusal names the table, and this error the columns. */
async function lackOnColumns(
  client: ClientBase,
  { relation, columns, matcher, conflict, isBare }: LoadRowsOptions,
  cause: Error,
): Promise<AppError | undefined> {
  if (isBare) return undefined;
  await client.query('ROLLBACK TO SAVEPOINT "rows"').catch(() => {
    throw cause;
  });
  const brought = columns.map(({ name }) => name).filter((name) => matcher.isTaken(name));
  const privileges = conflict?.action === 'update' ? ['INSERT', 'UPDATE'] : ['INSERT'];
  // An update does not set the columns of a key.
  const keyColumns = conflict?.keys.flatMap((key) => key.columns) ?? [];
  const { rows } = await client.query<{ role: string; privilege: string; columns: string[] }>(
    `SELECT current_user::text AS role, p AS privilege, pg_catalog.array_agg(pg_catalog.format('"%s"', c)) AS columns
FROM pg_catalog.unnest($2::text[]) c, pg_catalog.unnest($3::text[]) p
WHERE NOT pg_catalog.has_column_privilege($1, c, p) AND NOT (p = 'UPDATE' AND c = ANY ($4::text[])) GROUP BY p ORDER BY p LIMIT 1`,
    [relation, brought, privileges, keyColumns],
  );
  const [lack] = rows;
  if (lack === undefined) return undefined;
  const named = lack.columns.slice(0, 20).map(shortenValue).join(', ');
  const detail = `The role "${lack.role}" lacks ${lack.privilege} on these columns of the table ${relation}: ${named}.`;
  return new AppError('permission-denied', detail, { cause });
}

async function loadStraight<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const { columns, relation, keepRows, isBare } = options;
  const targets = await targetColumns(client, columns, isSheet(input), () => true);
  const tee = keepRows ? new Spool({ maxBytes: Number.MAX_SAFE_INTEGER }) : undefined;
  try {
    const session = new CopySession(client, relation, namesOf(columns), { tee });
    await client.query('SAVEPOINT "rows"');
    const { sink, places } = await copyRows(client, input, problems, options, targets, session, false);
    let staged: Shapes | undefined;
    const stage = async (): Promise<Shapes | undefined> => {
      if (staged) return staged;
      await client.query('ROLLBACK TO SAVEPOINT "rows"');
      await queryInCallersPath(client, createStagingTable(columns, () => false).text);
      const shapes = new Shapes(Number.POSITIVE_INFINITY);
      // What is too large for the table is so for the staging table, too.
      if (await session.replay(stagingTable, (shape) => stageShape(client, shapes, shape))) return undefined;
      staged = shapes;
      return staged;
    };
    const canBeStaged = tee !== undefined && columns.length <= maxStagedColumns;
    let inserted = session.rowsTaken;
    let refusal: Refusal | undefined;
    if (session.refusal) {
      const mayBeTooEarly = isBrokenReference(session.refusal) && session.hasShapes && problems.count === 0;
      const moved = canBeStaged && mayBeTooEarly ? await moveAgain(client, options, stage) : undefined;
      inserted = moved ?? inserted;
      if (moved === undefined) refusal = { error: session.refusal, isDeferred: false };
    } else if (!isBare) {
      refusal = await checkDeferred(client);
    }
    return await use({
      inserted,
      updated: 0,
      skipped: 0,
      suppressed: sink.loaded - inserted,
      warnings: sink.lossWarnings(),
      places,
      refusal: refusal?.error,
      explain: async (error, existing, readRules) => {
        if (!refusal) {
          await orElse(problems, refusedStagedRow(error, undefined, places), async () => {
            await findInMoved(client, error, { relation, existing }, await readRules(), places, problems);
          });
          return;
        }
        const named = refusedRow(error, session.rowsBefore, places);
        await client.query('ROLLBACK TO SAVEPOINT "rows"');
        const failed = { relation, columns, brought: session.refusedColumns, error };
        const findRow = () => named.row ?? places.rowNumbers.rowOf(session.rowsBefore);
        const ofDefault = session.refusal && (await failingDefault(client, failed, places, findRow));
        if (ofDefault) return problems.add(ofDefault);
        // A row may also be refused by an error in an expression of the table: a CHECK, a policy, an index.
        if (!isRefusalOfData(error) && named.row === undefined) throw error;
        if (!canBeStaged) return problems.add(named);
        await orElse(problems, named, async () => {
          const shapes = await stage();
          if (!shapes) return;
          const rules = await readRules();
          const before = problems.count;
          const sent = { relation: stagingTable, existing };
          const load = { ...options, conflict: undefined, hasDataRowNumbers: false };
          const unread = await findInStaged(client, sent, rules, places, problems, load, shapes);
          if (problems.count > before && !isUnread(error, unread)) return;
          const brought = session.refusedColumns.map((position) => columns[position]!.name);
          const generated = await generatedKey(
            client,
            error,
            named.row,
            brought,
            rules,
            unread,
            load,
            places,
          );
          if (generated) return problems.add(generated);
          // A trigger, an exclusion constraint: PostgreSQL's own words, for the first such row.
          if (named.row !== undefined) return problems.add(named);
          const ordinal = await findRefusedRow(client, load, shapes, refusal);
          const row = ordinal === undefined ? undefined : places.rowNumbers.rowOf(ordinal - 1);
          problems.add(refusedStagedRow(error, row, places));
        });
      },
    });
  } finally {
    await tee?.close();
  }
}

/**
 * Rows of one COPY cannot refer to those of a later one: so they are staged, and moved in one statement.
 *
 * @param stage undoes what was copied, and stages it
 * @returns the rows inserted; undefined where they are refused again, or the role may make no temporary table
 */
async function moveAgain(
  client: ClientBase,
  options: LoadRowsOptions,
  stage: () => Promise<Shapes | undefined>,
): Promise<number | undefined> {
  const shapes = await stage().catch((error) => {
    if (!isLackOfPrivilege(error)) throw error;
  });
  if (!shapes) return undefined;
  const { refusal, merged } = await moveRows(client, { ...options, conflict: undefined }, shapes);
  return refusal ? undefined : merged;
}

async function loadStaged<Result>(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  use: (rows: LoadedRows) => Promise<Result>,
): Promise<Result> {
  const { columns, relation } = options;
  const targets = await targetColumns(client, columns, isSheet(input), mayFill(options.conflict));
  if (columns.length > maxStagedColumns) {
    throw new AppError(
      'limit-exceeded',
      `A table of ${columns.length} columns takes neither on_conflict nor types that are staged as text; the limit is ${maxStagedColumns}.`,
    );
  }
  await queryInCallersPath(client, createStagingTable(columns, isStagedAsText).text);
  const shapes = new Shapes(maxStagedShapes);
  const session = new CopySession(client, stagingTable, namesOf(columns), {
    leadingColumn: rowNumberColumn,
    beforeCopy: (shape) => stageShape(client, shapes, shape),
  });
  const { sink, places } = await copyRows(client, input, problems, options, targets, session, true);
  if (session.refusal) {
    if (!isRefusalOfData(session.refusal)) throw session.refusal;
    problems.add(refusedRow(session.refusal, session.rowsBefore, places));
    problems.throwIfAny();
  }

  const conflict = options.conflict && conflictRule(options.conflict, columns, shapes, places.sourceColumn);
  const move = { ...options, conflict, countsExisting: options.changesRows || options.hasRules };
  const { refusal, ...moved } = await moveRows(client, move, shapes);
  // What a trigger keeps from being updated is counted among the updated ones, and not among the merged.
  const inserted = Math.max(moved.merged - moved.updated, 0);
  const surplus = { skip: 0, update: moved.surplus, none: 0 }[conflict?.action ?? 'none'];
  const left = sink.loaded - inserted;
  const skipped = conflict?.action === 'skip' ? Math.min(left, moved.skipped ?? left) : 0;
  const updated = Math.min(moved.updated, moved.merged) + surplus;
  const keyless = conflict && !refusal ? await findKeylessRows(client, move, conflict, shapes) : undefined;
  const isKeyBrought = conflict?.key.columns.every((name) => isBrought(name, columns, places.sourceColumn));
  return use({
    ...(conflict && { conflictKey: isKeyBrought ? conflict.key.columns : [] }),
    inserted,
    updated,
    skipped,
    suppressed: sink.loaded - inserted - updated - skipped,
    warnings: [
      ...(keyless ? [keyNotBrought(conflict!, columns, keyless, places)] : []),
      ...sink.lossWarnings(),
    ],
    places,
    refusal: refusal?.error,
    explain: (error, existing, readRules) =>
      orElse(problems, refusedStagedRow(error, undefined, places), async () => {
        const rules = await readRules();
        if (!refusal) {
          // The table is new: its keys were refused, and its rows are in it.
          const brought = shapes.common().map((position) => columns[position]!);
          const order = inMovingOrder({ conflict }, shapes);
          const moved = movedRows(relation, brought, isStagedAsText, order, conflict !== undefined);
          return findInMoved(client, error, { relation: moved, conflict }, rules, places, problems);
        }
        const before = problems.count;
        const inputCheck = await makeInputCheck(client, columns);
        const staged = typedStagingTable(columns, isStagedAsText, inputCheck);
        // Those that were set apart for the move were undone with it.
        if (conflict) await setSurplusApart(client, staged, conflict);
        const findRow = async (column: number) =>
          (await findRefusedRow(client, move, shapes, refusal)) ?? findRowWithout(client, shapes, column);
        const failed = { relation, columns, brought: shapes.common(), error };
        const ofDefault = await failingDefault(client, failed, places, findRow);
        if (ofDefault) return problems.add(ofDefault);
        if (!isRefusal(error, columns)) {
          const row = await findRefusedRow(client, move, shapes, refusal);
          if (row === undefined) throw error;
          return problems.add(refusedStagedRow(error, row, places));
        }
        const inputs = inputRules(columns, inputCheck);
        await findViolations(client, { relation: stagingTable }, inputs, places, problems);
        const sent = { relation: staged, existing, conflict };
        const load = { ...move, hasDataRowNumbers: true };
        const unread = await findInStaged(client, sent, rules, places, problems, load, shapes);
        if (problems.count > before && !isUnread(error, unread)) return;
        const { movedRow } = refusal;
        const brought = await broughtBy(client, movedRow, columns, shapes);
        const generated =
          brought && (await generatedKey(client, error, movedRow, brought, rules, unread, load, places));
        if (generated) return problems.add(generated);
        const refused = await findRefusedRow(client, move, shapes, refusal);
        if (!problems.namesKeyOf(refused)) problems.add(refusedStagedRow(error, refused, places));
      }),
  });
}

/** Adds the rows of a new table that break one of its keys or references, or else the one with the largest key. */
async function findInMoved(
  client: ClientBase,
  error: Error,
  sent: SentRows,
  rules: RowRule[],
  places: RowPlaces,
  problems: Problems,
): Promise<void> {
  const before = problems.count;
  const unread = await findViolations(client, sent, rules, places, problems);
  if (problems.count > before && !isUnread(error, unread)) return;
  problems.add(await largestKey(client, error, sent.relation, rules, places));
}

/** The names of the columns that a staged row has; undefined: there is no such row. */
async function broughtBy(
  client: ClientBase,
  row: number | undefined,
  columns: LoadColumn[],
  shapes: Shapes,
): Promise<string[] | undefined> {
  if (row === undefined) return undefined;
  const { rows } = await client.query<{ shape: number }>(shapeOfRow(row));
  return rows[0] && shapes.all[rows[0].shape]!.map((position) => columns[position]!.name);
}

/**
 * Which columns a row that does not bring them may have filled in before it is staged. An update must not change what a row
 * does not bring, and a row that does not bring the key must be told from one that does.
 */
function mayFill(conflict: ConflictOption | undefined): (column: LoadColumn) => boolean {
  if (conflict?.action === 'update') return () => false;
  const keyColumns = new Set(conflict?.keys.flatMap((key) => key.columns));
  return ({ name }) => !keyColumns.has(name);
}

/** Chooses the first key whose columns the data has; without one no row takes part. */
function conflictRule(
  { action, keys }: ConflictOption,
  columns: LoadColumn[],
  shapes: Shapes,
  sourceColumn: (name: string) => number,
): ConflictRule {
  const found = keys.find((key) => key.columns.every((name) => isBrought(name, columns, sourceColumn)));
  const { columns: names, equals, nullsNotDistinct } = found ?? keys[0]!;
  // The staged rows have no value in a generated column: NULL there means nothing.
  const isComputed = columns.some(({ name, isGenerated }) => isGenerated && names.includes(name));
  const key = { columns: names, equals, nullsNotDistinct: nullsNotDistinct && !isComputed };
  return { action, key, shapes: shapesWithKey(key, columns, shapes) };
}

/** Whether the data has a column of a key, or what PostgreSQL computes it from. */
function isBrought(name: string, columns: LoadColumn[], sourceColumn: (name: string) => number): boolean {
  return sourcesOf(name, columns).every((source) => sourceColumn(source) >= 0);
}

/** Rows that bring no value for a column of the key, to which `on_conflict` does not apply. */
interface KeylessRows {
  count: number;
  /** The first data row. */
  row: number;
}

/** One more scan of the staged rows, where some of them may have no key. */
async function findKeylessRows(
  client: ClientBase,
  { columns, changesRows }: Pick<LoadRowsOptions, 'columns' | 'changesRows'>,
  { key, shapes: withKey }: ConflictRule,
  shapes: Shapes,
): Promise<KeylessRows | undefined> {
  const mayBeNull = columns.filter(
    ({ name, isNullable, isGenerated }) => isNullable && !isGenerated && key.columns.includes(name),
  );
  // A trigger may fill the key in before PostgreSQL compares it.
  const names = key.nullsNotDistinct || changesRows ? [] : mayBeNull.map(({ name }) => name);
  if (withKey.length === shapes.all.length && names.length === 0) return undefined;
  const { rows } = await client.query<KeylessRows>(countRowsWithout(withKey, names));
  return rows[0]!.count > 0 ? rows[0] : undefined;
}

function keyNotBrought(
  { action, key }: ConflictRule,
  columns: LoadColumn[],
  { count, row }: KeylessRows,
  { locate }: RowPlaces,
): SourceWarning {
  const list = (names: string[]) => names.map((name) => `"${shortenValue(name)}"`).join(', ');
  const needed = [...new Set(key.columns.flatMap((name) => sourcesOf(name, columns)))];
  const place = locate(row, -1, '').cell ?? `row ${row}`;
  const rows = count === 1 ? 'One row brings' : `${count} rows bring`;
  const first = count === 1 ? `It is ${place}` : `The first is ${place}`;
  const value = needed.length === 1 ? 'a value for' : 'values for all of';
  return {
    code: 'key-not-brought',
    detail: `${rows} no complete key (${list(key.columns)}), so on_conflict=${action} does not apply, and PostgreSQL inserts such rows each time that they are sent. ${first}. Send ${value} ${list(needed)} in every row, or add a unique constraint to columns that every row brings.`,
  };
}

/** Whether PostgreSQL refused a row by a rule that could not be looked at; one whose name it chose is among them. */
function isUnread(error: Error, unread: string[]): boolean {
  const { constraint } = error as { constraint?: string };
  // NOT NULL is no rule of those that are looked for.
  if (conditionOf(error) === 'not_null_violation') return true;
  return unread.some((name) => name === '' || name === constraint);
}

/** What the search for the rows at fault may end without: any problem found, the time or the privileges for it. */
async function orElse(problems: Problems, named: Problem, search: () => Promise<void>): Promise<void> {
  const before = problems.count;
  try {
    await search();
  } catch (error) {
    if (conditionOf(error) !== 'query_canceled' && !isLackOfPrivilege(error)) throw error;
  }
  if (problems.count === before) problems.add(named);
}

async function stageShape(client: ClientBase, shapes: Shapes, columns: readonly number[]): Promise<void> {
  await queryInCallersPath(client, beginShape(shapes.numberOf(columns)).text);
}

function inputRules(columns: LoadColumn[], inputCheck: string): RowRule[] {
  return columns.filter(isStagedAsText).map(({ name, type }) => {
    const { name: shown, sqlName = shown } = type;
    return { kind: 'input', name: '', columns: [name], type: shown, typeSql: sqlName, inputCheck };
  });
}

/** Pushes all rows of the input through the encoders into the session, to its end. */
async function copyRows(
  client: ClientBase,
  input: LoadInput,
  problems: Problems,
  options: LoadRowsOptions,
  targets: TargetColumn[],
  session: CopySession,
  sendsRowNumbers: boolean,
): Promise<{ sink: EncodingSink; places: RowPlaces }> {
  const { matcher, maxRows, signal } = options;
  const sink = new EncodingSink({
    targets,
    matcher,
    locate: input.locate,
    problems,
    output: session,
    sendsRowNumbers,
    maxRows,
    typesAreInferred: options.typesAreInferred ?? false,
    mayUpdate: options.conflict?.action === 'update',
    onTooManyRows: () => {
      throw new AppError('limit-exceeded', `The upload has more than ${maxRows} rows (MAX_ROWS).`);
    },
  });
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    await input.read(sink, signal);
    sink.endOfRows();
    for (const problem of headerProblems(input)) problems.add(problem);
    await sink.finish();
    await session.finish();
  } catch (error) {
    await session.abort(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
  if (!session.refusal) await client.query(`SET LOCAL statement_timeout = ${options.statementTimeoutMs}`);
  const sourceColumn = (name: string) => sink.sourceColumn(name);
  return { sink, places: { rowNumbers: sink.rowNumbers, locate: input.locate, sourceColumn } };
}

function isSheet({ nameMatching }: LoadInput): boolean {
  return nameMatching === 'loose';
}

function namesOf(columns: LoadColumn[]): string[] {
  return columns.map((column) => column.name);
}
