/**
 * Decides about the missing rows of an existing table (`missing_rows`): the rows that the upload does not have are counted, deleted or marked. This
 * happens after the rows were staged and before they are moved, so that unique values can move from missing rows to new ones. It is not repeated if rows
 * are moved again without those that PostgreSQL refuses, because a row that is left out is not missing.
 */
import type { ClientBase } from 'pg';
import { AppError, maxListedProblems, wrongParameter } from '../../../core/errors.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type Problems, shortenValue } from '../../../encoding/problems/problems.ts';
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { isPolicyViolation } from '../../../postgres/server-internals.ts';
import { conditionOf, isRefusalOfData } from '../../../postgres/sqlstate.ts';
import { dropOwnInputCheck, ownInputCheck } from '../../tables/loading/input-check.ts';
import { equalityOf } from '../../tables/rules/equality.ts';
import type { CopiedRows } from '../copying/copy-rows.ts';
import { isStagedAsText } from '../copying/target-columns.ts';
import type { LoadInput } from '../inputs/load-input.ts';
import { nothingToLoad } from '../inputs/nothing-to-load.ts';
import { noGoodRow } from '../judging/faulty-rows.ts';
import { rowProblem, type Violation } from '../judging/row-problem.ts';
import type { MissingRows } from '../request/load-request.ts';
import { maxListedChanges, type RowChange } from '../request/row-change.ts';
import { rowsOfLimit, textOfLimit } from '../request/row-limit.ts';
import type { ConflictRule } from '../staged/conflict-rule.ts';
import { inputRules, makeInputCheck } from '../staged/input-check.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { analyzeStagingTable, stagingTable, typedStagingTable } from '../staged/staging-table.ts';
import type { LoadTarget } from '../target/load-target.ts';
import { copyKeys, type KeyOptions, type SentRows } from './faulty-keys.ts';
import { isBoolean } from './missing-option.ts';
import * as statements from './missing-statements.ts';
import { refuseReferring } from './refuse-referring.ts';

export interface MissingResult {
  /** The number of missing rows, and what happened to them. */
  counts: { missing: number; deleted?: number; marked?: number; unmarked?: number };
  /** The first of the missing rows. */
  changes: RowChange[];
  /** Call this after the rows were moved. @throws AppError `invalid-parameter` if a deleted row has returned */
  afterMove?: () => Promise<void>;
}

export interface MissingLoad {
  option: MissingRows;
  input: LoadInput;
  target: LoadTarget;
  staged: StagedLoad;
  copied: CopiedRows;
  options: KeyOptions;
  problems: Problems;
}

/**
 * Counts, deletes or marks the missing rows. Nobody else may write to the table (`openExistingTable`), unless the rows are only counted.
 *
 * @returns undefined: the rows are only counted, and they cannot be compared
 * @throws AppError `nothing-to-load`, `invalid-data` (no good row, a key that cannot be read, a row that PostgreSQL does not delete), `invalid-parameter`,
 *   `loses-data` (too many missing rows), `dependent-objects`, `permission-denied`
 */
export async function removeMissingRows(
  client: ClientBase,
  load: MissingLoad,
): Promise<MissingResult | undefined> {
  const { option, target, staged } = load;
  const { action } = option;
  if (target.isNew) return resultOf(action, 0, { changed: 0, unmarked: 0 }, []);
  if (action !== 'keep') {
    refuseRepairedRows(load, action);
    refuseWithoutRows(load);
  }
  if (!isComparable(staged.conflict!, staged.columns)) {
    if (action === 'keep') return undefined;
    const list = staged.conflict!.key.columns.map((name) => `"${shortenValue(name)}"`).join(', ');
    const detail = `missing_rows=${action} compares rows by their key (${list}), so the data must have all of its columns, and PostgreSQL must not compute one of them. Send these columns, or conflict_key=… with another key.`;
    throw wrongParameter('missing_rows', detail, { code: 'no-key' });
  }
  refuseColumns(load, staged.conflict!);
  const { rows: facts } = await client.query<statements.FactsOfTable>(
    statements.factsOfTable(target.relation),
  );
  const search = await searchOf(client, load, staged.conflict!, facts[0]!);
  if (search === undefined) return action === 'keep' ? undefined : refuseUnreadable(load);
  if (action !== 'keep') await refuseWithoutKeys(client, search, action);
  return settle(client, load, search, facts[0]!);
}

async function settle(
  client: ClientBase,
  load: MissingLoad,
  search: statements.Search,
  facts: statements.FactsOfTable,
): Promise<MissingResult> {
  const { option, target } = load;
  const { action } = option;
  const missing = await find(client, search);
  await client.query(statements.analyzeMissingRows);
  if (action !== 'keep') await refuseTooMany(client, search, option, missing);
  const changes = missing === 0 ? [] : await readChanges(client, load, search, facts);
  const unmarked = search.mark ? await change(client, load, statements.unmarkRows(search, search.mark)) : 0;
  if (missing === 0 || action === 'keep') return resultOf(action, missing, { changed: 0, unmarked }, changes);
  if (action === 'delete') {
    if (facts.hasDeleteRules) throw wrongParameter('missing_rows', refusalOfRules);
    await refuseReferring(client, target.relation, search, option.areKeysShown);
  }
  const statement = search.mark
    ? statements.markMissingRows(search, search.mark)
    : statements.deleteMissingRows(search);
  const changed = await change(client, load, statement);
  if (changed < missing && facts.hasRowSecurity) throw hiddenByPolicies(action, missing - changed);
  const mayReturn = action === 'delete' && changed > 0 && (target.hasRowTriggers || lacksKeys(load, search));
  return {
    ...resultOf(action, missing, { changed, unmarked }, changes),
    ...(mayReturn && { afterMove: () => refuseReturned(client, search) }),
  };
}

/** Returns whether rows of the upload lack a column of the key. PostgreSQL fills it in, which may give the key of a missing row. */
function lacksKeys({ staged: { columns, shapes } }: MissingLoad, { key }: statements.Search): boolean {
  return shapesWith({ columns, shapes }, key.columns).length < shapes.all.length;
}

/**
 * Refuses the upload if a deleted row is in the table again: its new row has another key than in the upload, and should have updated the row.
 */
async function refuseReturned(client: ClientBase, search: statements.Search): Promise<void> {
  if (!(await isFound(client, statements.hasReturned(search)))) return;
  const detail =
    'A row that missing_rows=delete has deleted returned with the rows of the upload: a row of the data lacks a part of its key, which PostgreSQL fills in, or a trigger of the table changes the key or inserts the row again. Send the whole key in every row, as the table stores it (empty_cells=null sends empty cells as NULL), or missing_rows=keep.';
  throw wrongParameter('missing_rows', detail);
}

async function isFound(client: ClientBase, statement: CallersStatement): Promise<boolean> {
  return (await queryInCallersPath<{ found: boolean }>(client, statement)).rows[0]!.found;
}

const refusalOfRules =
  'The table has a rule (CREATE RULE) for DELETE, so missing_rows=delete could do something else. Send missing_rows=mark:<column>, or drop the rule.';

function resultOf(
  action: MissingRows['action'],
  missing: number,
  { changed, unmarked }: { changed: number; unmarked: number },
  changes: RowChange[],
): MissingResult {
  const done = action === 'delete' ? { deleted: changed } : action === 'mark' ? { marked: changed } : {};
  return { counts: { missing, ...done, ...(unmarked > 0 && { unmarked }) }, changes };
}

/** A file of repaired rows has only the rows that an earlier upload left out, so the rows of that upload would be missing. */
function refuseRepairedRows({ options }: MissingLoad, action: MissingRows['action']): void {
  if (!options.matcher.ignored.some(({ name }) => name === problemColumn)) return;
  const detail = `The data has the column "${problemColumn}", so it has only the rows that another upload left out, and missing_rows=${action} would ${action} all others. Send missing_rows=keep. If the data has all rows, remove the column.`;
  throw wrongParameter('missing_rows', detail);
}

/** An export that is empty by accident, or all of whose rows have problems, must not empty a table. */
function refuseWithoutRows({ copied, input, problems }: MissingLoad): void {
  if (copied.sent > 0) return;
  problems.reason ||= noGoodRow;
  problems.throwIfAny();
  throw nothingToLoad(input);
}

/** Refuses a column of `missing_within` that the data does not have, and a column for the mark that the data has or that belongs to the key. */
function refuseColumns({ option, staged: { places } }: MissingLoad, { key }: ConflictRule): void {
  const isInData = (name: string) => places.sourceColumn(name) >= 0;
  const { column, within } = option;
  const outside = within.find((name) => !isInData(name));
  if (outside !== undefined) {
    const detail = `missing_within must name columns of the table that the data has, and it has no column "${shortenValue(outside)}".`;
    throw wrongParameter('missing_within', detail);
  }
  if (column === undefined) return;
  const shown = `Missing rows are marked in the column "${shortenValue(column)}"`;
  if (key.columns.includes(column))
    throw wrongParameter('missing_rows', `${shown}, and it belongs to the key.`);
  if (isInData(column))
    throw wrongParameter(
      'missing_rows',
      `${shown}, and the data has this column, too. Send the data without it, or name another column.`,
    );
}

/** Returns whether the data has the key as the table stores it. PostgreSQL computes generated columns only when it stores a row. */
function isComparable({ key, isKeySent }: ConflictRule, columns: LoadColumn[]): boolean {
  return isKeySent && !columns.some(({ name, isGenerated }) => isGenerated && key.columns.includes(name));
}

/** Returns undefined if the key of a row cannot be read. */
async function searchOf(
  client: ClientBase,
  load: MissingLoad,
  { key }: ConflictRule,
  { isPartitioned }: statements.FactsOfTable,
): Promise<statements.Search | undefined> {
  const { option, input, target, staged, copied, options, problems } = load;
  const names = new Set([...key.columns, ...option.within]);
  const sent: SentRows | undefined =
    copied.refused > 0
      ? await copyKeys(client, input, staged.columns, { names, rows: copied.sent + copied.refused }, options)
      : { table: stagingTable, columns: staged.columns, shapes: staged.shapes };
  if (sent === undefined) return undefined;
  const columns = sent.columns.filter(({ name }) => names.has(name));
  const invalid = await invalidTexts(client, sent.table, columns);
  if (invalid.length > 0) {
    // If the rows are only counted, they are judged later.
    if (option.action !== 'keep')
      for (const violation of invalid) problems.add(rowProblem(violation, staged.places));
    return undefined;
  }
  await client.query(analyzeStagingTable([...names], sent.table));
  return {
    from: `${isPartitioned ? '' : 'ONLY '}${target.relation}`,
    sent: typedStagingTable(columns, undefined, sent.table),
    key: {
      columns: key.columns,
      equals: key.equals,
      areNullsEqual: key.nullsNotDistinct,
      shapes: shapesWith(sent, key.columns),
    },
    keyColumns: key.columns.map((name) => columns.find((column) => column.name === name)!),
    within: option.within.length === 0 ? undefined : withinOf(sent, option.within),
    mark: markOf(option, target.columns),
  };
}

function withinOf(sent: SentRows, within: readonly string[]): statements.Compared {
  const equals = within.map((name) => equalityOf(sent.columns.find((column) => column.name === name)));
  return { columns: within, equals, areNullsEqual: true, shapes: shapesWith(sent, within) };
}

function markOf({ column: name }: MissingRows, columns: LoadColumn[]): statements.Mark | undefined {
  const column = columns.find((one) => one.name === name);
  return column && { column: column.name, isBoolean: isBoolean(column.type) };
}

/** Returns the shapes of the rows that have all of the columns. */
function shapesWith({ columns, shapes }: Omit<SentRows, 'table'>, names: readonly string[]): number[] {
  return [...shapes.all.keys()].filter((shape) => {
    const ofShape = shapes.all[shape]!.map((position) => columns[position]!.name);
    return names.every((name) => ofShape.includes(name));
  });
}

/** Finds texts that only PostgreSQL can read and that are not valid. */
async function invalidTexts(client: ClientBase, table: string, columns: LoadColumn[]): Promise<Violation[]> {
  if (!columns.some(isStagedAsText)) return [];
  const check = await makeInputCheck(client, columns);
  const found: Violation[] = [];
  for (const rule of inputRules(columns, check)) {
    const statement = statements.readInvalidTexts(table, rule, maxListedProblems);
    const { rows } = await queryInCallersPath<{ row: number; value: string }>(client, statement);
    found.push(...rows.map((row) => ({ ...row, rule, otherRow: null, areRowsMissing: false })));
  }
  if (check === ownInputCheck) await client.query(dropOwnInputCheck);
  return found;
}

function refuseUnreadable({ option, problems }: MissingLoad): undefined {
  problems.reason = `The key of a row cannot be read, so it is not known which rows of the table the upload does not have (missing_rows=${option.action}).`;
  problems.throwIfAny();
  return undefined;
}

/** Refuses rows of which none has a key, because every row of the table would be missing. */
async function refuseWithoutKeys(client: ClientBase, search: statements.Search, action: string) {
  if (await isFound(client, statements.hasSentKey(search))) return;
  const detail = `No row of the data has a complete key, so all rows of the table would be missing (missing_rows=${action}). Send the key in every row that is in the table.`;
  throw wrongParameter('missing_rows', detail, { code: 'no-key' });
}

async function find(client: ClientBase, search: statements.Search): Promise<number> {
  try {
    return (await queryInCallersPath(client, statements.findMissingRows(search))).rowCount ?? 0;
  } catch (error) {
    if (search.within === undefined || conditionOf(error) !== 'undefined_function') throw error;
    const detail = 'missing_within names a column whose type PostgreSQL cannot compare.';
    throw wrongParameter('missing_within', detail);
  }
}

/** @throws AppError `loses-data` */
async function refuseTooMany(
  client: ClientBase,
  search: statements.Search,
  { action, max, within }: MissingRows,
  missing: number,
): Promise<void> {
  if (missing === 0 || (typeof max === 'number' && missing <= max)) return;
  const { rows } = await queryInCallersPath<{ count: number }>(client, statements.countRows(search));
  const all = rows[0]!.count;
  const allowed = rowsOfLimit(max, all);
  if (missing <= allowed) return;
  const isPart = within.length > 0;
  const scope = isPart
    ? ''
    : ' If the upload is only a part of the rows, name the part with `missing_within`.';
  const compared = isPart ? 'rows of the table that `missing_within` compares' : 'rows of the table';
  const detail = `The upload lacks ${missing} of the ${all} ${compared}, and max_missing_rows=${textOfLimit(max)} allows ${allowed}. To ${action} them, send max_missing_rows=${missing}.${scope}`;
  throw new AppError('loses-data', detail);
}

/** The most cells of missing rows that are read, so that wide rows do not make the list large. No more fit into the 4 MiB that are stored of a load. */
const maxListedCells = 170_000;

async function readChanges(
  client: ClientBase,
  { option, staged }: MissingLoad,
  search: statements.Search,
  { readable }: statements.FactsOfTable,
): Promise<RowChange[]> {
  const { columns } = search.key;
  const others = staged.columns.filter(({ name }) => !columns.includes(name) && readable.includes(name));
  const limit = Math.min(maxListedChanges, Math.ceil(maxListedCells / Math.max(others.length, 1)));
  const { rows } = await queryInCallersPath<{ key: (string | null)[]; old: (string | null)[] }>(
    client,
    statements.readMissingRows(search, others, limit),
  );
  const kind = ({ keep: 'missing', delete: 'deleted', mark: 'marked' } as const)[option.action];
  const shown = (value: string | null | undefined) => (value == null ? null : shortenValue(value));
  return rows.map(({ key, old }) => ({
    kind,
    key: Object.fromEntries(columns.map((column, at) => [column, shown(key[at])])),
    cells: others.map(({ name }, at) => ({ column: name, old: shown(old[at]) })),
  }));
}

/** Changes missing rows, and returns their number. @throws AppError `invalid-data` if PostgreSQL refuses it */
async function change(client: ClientBase, load: MissingLoad, statement: CallersStatement): Promise<number> {
  const { option, staged, problems } = load;
  try {
    return (await queryInCallersPath(client, statement)).rowCount ?? 0;
  } catch (error) {
    if (!isRefusalOfData(error) && !isPolicyViolation(error)) throw error;
    problems.reason = `PostgreSQL refuses to ${option.action} the rows that the upload does not have (missing_rows).`;
    // The value is that of a stored row, for which the table has no partition.
    const { value: _, ...problem } = rowProblem({ error }, staged.places);
    problems.add(problem);
    problems.throwIfAny();
    throw error;
  }
}

function hiddenByPolicies(action: string, count: number): AppError {
  const detail = `Policies of the table let the role see ${count} of the missing rows, but not ${action} them, so nothing was changed.`;
  return new AppError('permission-denied', detail);
}
