/**
 * Names all rows with problems after PostgreSQL refused one, because PostgreSQL reports only the first.
 *
 * There are two cases. PostgreSQL refuses rows while they are moved into the table (`explainRefusal`), or it refuses to create
 * the keys of a new table that has the rows already (`explainRefusedKeys`).
 */
import type { ClientBase } from 'pg';
import type { Problem } from '../../errors.ts';
import { conditionOf, isDeadlock, isLackOfPrivilege } from '../../postgres/sqlstate.ts';
import type { LoadColumn } from '../../tables/load-column.ts';
import { maxListedProblems, type Problems } from '../problems.ts';
import { failingDefault, findFailingDefault } from './failing-default.ts';
import { findInStaged } from './find-in-staged.ts';
import { findRefusedRow } from './find-refused-row.ts';
import { findViolations } from './find-violations.ts';
import { generatedKey } from './generated-key.ts';
import { inputRules, makeInputCheck } from './input-check.ts';
import { findSurplus, isRefusal } from './move-rows.ts';
import { type Refusal, refusalProblem } from './refusal.ts';
import type { RowRule } from './row-rules.ts';
import type { CellPlaces, StagedLoad } from './staged-load.ts';
import { stagingTable, typedStagingTable } from './staging-table.ts';
import { findRowsWithNull, findRowWithout } from './try-rows.ts';
import { violationPlace } from './violation-problems.ts';
import { byRowNumber, findLargestKey, type LargestKey, type SentRows } from './violation-queries.ts';

/** The table that refused the rows. It no longer has any rows of the upload. */
export interface RefusingTable {
  /** The name of the table, quoted. */
  relation: string;
  columns: LoadColumn[];
  /** The table is new, and its keys are created after the rows are copied. */
  isBare: boolean;
  readRules: () => Promise<RowRule[]>;
}

export interface RefusedLoad {
  target: RefusingTable;
  places: CellPlaces;
  /** undefined: the rows cannot be staged. */
  staged: StagedLoad | undefined;
}

/**
 * Adds every row with a problem to the problems. If none is found, adds the row that PostgreSQL refused.
 *
 * @throws AppError `invalid-data`; PostgreSQL's error if it is not about a row
 */
export async function explainRefusal(
  client: ClientBase,
  refusal: Refusal,
  load: RefusedLoad,
  problems: Problems,
): Promise<never> {
  const before = problems.count;
  await searchIfPossible(() => findFaultyRows(client, refusal, load, problems));
  if (problems.count === before) problems.add(refusalProblem(refusal, load.places));
  problems.throwIfAny();
  throw refusal.error;
}

/**
 * Explains why PostgreSQL refused to create the keys or references of a new table that has the rows already. It works like
 * `explainRefusal`.
 *
 * @param sent the rows in the table
 */
export async function explainRefusedKeys(
  client: ClientBase,
  error: Error,
  sent: SentRows,
  rules: RowRule[],
  places: CellPlaces,
  problems: Problems,
): Promise<never> {
  const before = problems.count;
  await searchIfPossible(async () => {
    const unchecked = await findViolations(client, sent, rules, places, problems);
    if (problems.count > before && !isAbout(error, unchecked)) return;
    const largest = await findLargest(client, error, sent, rules);
    const place = largest && violationPlace(largest.rule, largest, places);
    problems.add({ ...place, ...refusalProblem({ error }, places) });
  });
  if (problems.count === before) problems.add(refusalProblem({ error }, places));
  problems.throwIfAny();
  throw error;
}

async function findFaultyRows(
  client: ClientBase,
  refusal: Refusal,
  load: RefusedLoad,
  problems: Problems,
): Promise<void> {
  const { error } = refusal;
  const { target, places, staged } = load;
  const { columns } = target;
  const inputCheck = await makeInputCheck(client, columns);
  const sent = staged && (await prepareSearch(client, staged, inputCheck));
  const ofDefault = await problemOfDefault(client, refusal, load);
  if (ofDefault) {
    problems.add(ofDefault);
    return;
  }
  const findRow = async (): Promise<Refusal> =>
    refusal.row !== undefined || !staged
      ? refusal
      : { ...refusal, ...(await findRefusedRow(client, staged, refusal)) };
  if (!isRefusal(error, columns)) {
    // An expression of the table may cause it: a CHECK, a policy or an index.
    const found = await findRow();
    if (found.row === undefined) throw error;
    problems.add(refusalProblem(found, places));
    return;
  }
  if (!staged || !sent) return;
  const before = problems.count;
  const rules = await target.readRules();
  await findInvalidInput(client, staged, inputCheck, problems);
  const unchecked = await findInStaged(client, staged, sent, rules, problems);
  if (problems.count > before && !isAbout(error, unchecked)) return;
  if (conditionOf(error) === 'not_null_violation') {
    const nulls = await findRowsWithNull(client, staged, maxListedProblems);
    for (const { row, error } of nulls) problems.add(refusalProblem({ error, row }, places));
    if (nulls.length > 0) return;
  }
  const generated = await generatedKey(client, refusal, staged, rules, unchecked);
  if (generated) {
    problems.add(generated);
    return;
  }
  // For triggers and exclusion constraints the problem contains PostgreSQL's own message, for the first refused row.
  const found = await findRow();
  if (!problems.namesKeyOf(found.row)) problems.add(refusalProblem(found, places));
}

/** Adds the rows with text that is not valid input for the type of its column. */
async function findInvalidInput(
  client: ClientBase,
  { columns, places }: StagedLoad,
  inputCheck: string,
  problems: Problems,
): Promise<void> {
  const rules = inputRules(columns, inputCheck);
  const sent = { relation: stagingTable, numbering: byRowNumber };
  await findViolations(client, sent, rules, places, problems);
}

/** Finds the surplus rows again, because the rollback of the move removed that result. */
async function prepareSearch(
  client: ClientBase,
  { relation, columns, conflict, isBare }: StagedLoad,
  inputCheck: string,
): Promise<SentRows> {
  const staged = typedStagingTable(columns, inputCheck);
  if (conflict) await findSurplus(client, staged, conflict);
  const existing = isBare ? undefined : relation;
  return { relation: staged, numbering: byRowNumber, existing, conflict };
}

/** Returns undefined if no default causes the error. */
async function problemOfDefault(
  client: ClientBase,
  { error, row, firstRow, sentColumns, moved, isDeferred }: Refusal,
  { target, places, staged }: RefusedLoad,
): Promise<Problem | undefined> {
  if (isDeferred) return undefined;
  const { relation, columns } = target;
  const alwaysSent = sentColumns ?? staged?.shapes.common() ?? [];
  const column = await findFailingDefault(client, relation, columns, alwaysSent, error);
  if (column === undefined) return undefined;
  const movedRow = moved && !moved.sentColumns.includes(column) ? moved.row : undefined;
  const rowAtFault =
    row ?? firstRow ?? movedRow ?? (staged && (await findRowWithout(client, staged, column)));
  return failingDefault(columns[column]!, error, rowAtFault, places);
}

/**
 * Returns whether PostgreSQL's error may be about a rule that could not be checked.
 *
 * @param unchecked the result of `findViolations`; '' in it may be any rule
 */
function isAbout(error: Error, unchecked: string[]): boolean {
  const { constraint } = error as { constraint?: string };
  // The search does not include NOT NULL.
  if (conditionOf(error) === 'not_null_violation') return true;
  return unchecked.some((name) => name === '' || name === constraint);
}

/** Finds the row of a new table with the largest key, because an index cannot store a value of more than about 2,700 bytes. */
async function findLargest(
  client: ClientBase,
  error: Error,
  sent: SentRows,
  rules: RowRule[],
): Promise<{ rule: RowRule; row: number | undefined; value: string | null } | undefined> {
  let largest: (LargestKey & { rule: RowRule }) | undefined;
  for (const rule of conditionOf(error) === 'program_limit_exceeded' ? rules : []) {
    if (rule.kind !== 'unique') continue;
    const { rows } = await client.query<LargestKey>(findLargestKey(sent, rule));
    if (rows[0] && rows[0].size > (largest?.size ?? 0)) largest = { ...rows[0], rule };
  }
  return largest && { ...largest, row: sent.numbering.rowOf(largest.number) };
}

/**
 * Runs the search. It ends without an error if the time or the role's privileges are not sufficient, or if PostgreSQL ends it in a
 * deadlock. The transaction has failed then.
 */
async function searchIfPossible(search: () => Promise<void>): Promise<void> {
  try {
    await search();
  } catch (error) {
    if (conditionOf(error) !== 'query_canceled' && !isDeadlock(error) && !isLackOfPrivilege(error))
      throw error;
  }
}
