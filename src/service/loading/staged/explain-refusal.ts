/**
 * Names all rows with problems after PostgreSQL refused one, because PostgreSQL reports only the first.
 */
import type { ClientBase } from 'pg';
import { maxListedProblems } from '../../../core/errors.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { completeName, hideLocalShard, namesByHash } from '../../postgres/citus/worker-errors.ts';
import { conditionOf, isDeadlock, isLackOfPrivilege } from '../../postgres/sqlstate.ts';
import type { Refusal } from '../copying/refusal.ts';
import { findFailingDefault } from './failing-default.ts';
import { findInStaged, findOrphan } from './find-in-staged.ts';
import { findRefusedRow } from './find-refused-row.ts';
import { findViolations } from './find-violations.ts';
import { generatedKey } from './generated-key.ts';
import { inputRules, makeInputCheck } from './input-check.ts';
import { findSurplus, isRefusal, shapeOf } from './move-rows.ts';
import { type FailingDefault, type LongKey, rowProblem } from './row-problem.ts';
import { isSelfReference, namesOf, type RowRule } from './row-rules.ts';
import { copyShardedRows } from './sharded-copies.ts';
import type { StagedLoad } from './staged-load.ts';
import { stagingTable, typedStagingTable } from './staging-table.ts';
import { findRowsWithNull, findRowWithout } from './try-rows.ts';
import { byRowNumber, findLargestKey, type LargestKey, type SentRows } from './violation-queries.ts';

/** The table that refused the rows. */
export interface RefusingTable {
  /** The name of the table, quoted. */
  relation: string;
  columns: LoadColumn[];
  /** Citus stores the table at its workers. */
  isSharded: boolean;
  /** Reads every rule that the rows must meet. */
  readRules(client: ClientBase): Promise<RowRule[]>;
}

/** A load whose rows PostgreSQL refused. */
export interface RefusedLoad {
  refusal: Refusal;
  target: RefusingTable;
  places: CellPlaces;
  /** The rows in the staging table; undefined: they are not staged. The target table then no longer has any rows of the upload. */
  staged?: StagedLoad | undefined;
  /** The rows in a new table. PostgreSQL refused to create its keys and references. */
  stored?: SentRows | undefined;
}

/**
 * Adds every row with a problem to the problems. If none is found, adds the row that PostgreSQL refused.
 *
 * @throws AppError `invalid-data`; PostgreSQL's error if it is not about a row
 */
export async function explainRefusal(
  client: ClientBase,
  load: RefusedLoad,
  problems: Problems,
): Promise<never> {
  const { refusal, places, target } = load;
  const before = problems.count;
  if (target.isSharded) {
    hideLocalShard(refusal.error, target.relation);
    completeName(refusal.error, await namesByHash(client, namesOf(await target.readRules(client))));
  }
  const search = load.stored ? findBrokenKeys : findFaultyRows;
  await searchIfPossible(() => search(client, load, problems));
  if (problems.count === before) problems.add(rowProblem(refusal, places));
  problems.throwIfAny();
  throw refusal.error;
}

/** Finds the rows of a new table that break its keys and references. The table has checked everything else. */
async function findBrokenKeys(
  client: ClientBase,
  { refusal, target, places, stored }: RefusedLoad,
  problems: Problems,
): Promise<void> {
  const before = problems.count;
  const all = (await target.readRules(client)).filter(({ kind }) => kind !== 'check');
  const { sent, rules, unreadable } = stored!.isCopied
    ? await copyShardedRows(client, { isSharded: true, conflict: stored!.conflict }, stored!, all)
    : { sent: stored!, rules: all, unreadable: [] };
  const unchecked = [...unreadable, ...(await findViolations(client, sent, rules, { places, problems }))];
  if (problems.count > before && !isAbout(refusal.error, unchecked)) return;
  const largest = await largestKeyOf(client, refusal.error, stored!, rules);
  problems.add(rowProblem(largest ? { ...refusal, largest } : refusal, places));
}

/** Finds the rows with problems in the staging table. */
async function findFaultyRows(client: ClientBase, load: RefusedLoad, problems: Problems): Promise<void> {
  const { refusal, target, places, staged } = load;
  const inputCheck = await makeInputCheck(client, target.columns);
  const sent = staged && (await prepareSearch(client, staged, inputCheck));
  const ofDefault = await findDefaultAtFault(client, load);
  if (ofDefault) {
    problems.add(rowProblem(ofDefault, places));
    return;
  }
  if (!isRefusal(refusal.error, target.columns)) {
    // An expression of the table (a CHECK, a policy or an index) may have caused the error.
    const found = await withRefusedRow(client, load);
    if (found.row === undefined) throw refusal.error;
    problems.add(rowProblem(found, places));
    return;
  }
  if (!staged || !sent) return;
  const before = problems.count;
  const rules = await target.readRules(client);
  await findInvalidInput(client, staged, inputCheck, problems);
  const unchecked = await findInStaged(client, staged, sent, rules, problems);
  if (problems.count > before && !isAbout(refusal.error, unchecked)) return;
  await findOtherCause(client, { ...load, staged }, { sent, rules, unchecked }, problems);
}

/** Returns the refusal with the row that PostgreSQL refused, if it can be found. */
async function withRefusedRow(client: ClientBase, { refusal, staged }: RefusedLoad): Promise<Refusal> {
  if (refusal.row !== undefined || !staged) return refusal;
  return { ...refusal, ...(await findRefusedRow(client, staged, refusal)) };
}

/** The queries over the sent rows, which have not found the cause. */
interface Searched {
  sent: SentRows;
  rules: RowRule[];
  /** The result of `findViolations`. */
  unchecked: string[];
}

/**
 * Adds the rows that PostgreSQL refuses for a cause that no query over the sent rows can find: a NULL after triggers and defaults, a key
 * that PostgreSQL fills in, a foreign key to the table itself, which the role may not read, a trigger or an exclusion constraint.
 */
async function findOtherCause(
  client: ClientBase,
  load: RefusedLoad & { staged: StagedLoad },
  { sent, rules, unchecked }: Searched,
  problems: Problems,
): Promise<void> {
  const { refusal, places, staged } = load;
  if (conditionOf(refusal.error) === 'not_null_violation') {
    const nulls = await findRowsWithNull(client, staged, maxListedProblems);
    for (const { row, error } of nulls) problems.add(rowProblem({ error, row }, places));
    if (nulls.length > 0) return;
  }
  const known = await withSentColumns(client, load);
  const generated = await generatedKey(client, known, staged, rules, unchecked);
  if (generated) {
    problems.add(rowProblem(generated, places));
    return;
  }
  // For triggers and exclusion constraints the problem contains PostgreSQL's own message, for the first refused row.
  const { constraint } = refusal.error as { constraint?: string };
  const key = rules
    .filter(isSelfReference)
    .find(({ name }) => name === constraint && unchecked.includes(name));
  const found = key
    ? { ...refusal, ...(await findOrphan(client, staged, sent, key, refusal)) }
    : await withRefusedRow(client, { ...load, refusal: known });
  if (!problems.namesKeyOf(found.row)) problems.add(rowProblem(found, places));
}

/**
 * Finds the row with a repeated key, and the columns that it has. For an ordinary table the move has recorded them (`progress`), which it
 * cannot do for a table of Citus.
 */
async function withSentColumns(
  client: ClientBase,
  load: RefusedLoad & { staged: StagedLoad },
): Promise<Refusal> {
  const { refusal, staged } = load;
  const isKnown = refusal.moved !== undefined || refusal.row !== undefined;
  if (!staged.isSharded || isKnown || conditionOf(refusal.error) !== 'unique_violation') return refusal;
  const found = await withRefusedRow(client, load);
  const shape = found.row === undefined ? undefined : await shapeOf(client, found.row);
  return shape === undefined ? found : { ...found, sentColumns: staged.shapes.all[shape]! };
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
  await findViolations(client, sent, rules, { places, problems });
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
async function findDefaultAtFault(
  client: ClientBase,
  { refusal, target, staged }: RefusedLoad,
): Promise<FailingDefault | undefined> {
  const { error, row, firstRow, sentColumns, moved, isDeferred } = refusal;
  if (isDeferred) return undefined;
  const { relation, columns } = target;
  const alwaysSent = sentColumns ?? staged?.shapes.common() ?? [];
  const column = await findFailingDefault(client, relation, columns, alwaysSent, error);
  if (column === undefined) return undefined;
  const movedRow = moved && !moved.sentColumns.includes(column) ? moved.row : undefined;
  const rowAtFault =
    row ?? firstRow ?? movedRow ?? (staged && (await findRowWithout(client, staged, column)));
  return { defaultOf: columns[column]!, error, row: rowAtFault };
}

/**
 * Returns whether PostgreSQL's error may be about a rule that could not be checked.
 *
 * @param unchecked the result of `findViolations`; the name '' in it means that any rule may be unchecked
 */
function isAbout(error: Error, unchecked: string[]): boolean {
  const { constraint } = error as { constraint?: string };
  // The search does not include NOT NULL.
  if (conditionOf(error) === 'not_null_violation') return true;
  return unchecked.some((name) => name === '' || name === constraint);
}

/**
 * Returns the largest key of a new table, if PostgreSQL refused a key that is too long for an index (more than about 2,700 bytes).
 * Returns undefined if the error is about something else.
 */
async function largestKeyOf(
  client: ClientBase,
  error: Error,
  sent: SentRows,
  rules: RowRule[],
): Promise<LongKey['largest'] | undefined> {
  if (conditionOf(error) !== 'program_limit_exceeded') return undefined;
  let largest: (LargestKey & { rule: RowRule }) | undefined;
  for (const rule of rules) {
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
