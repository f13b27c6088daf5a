/**
 * Removes the staged rows that break a rule of the table, with one query for each rule. This is fast for any number of rows, but it
 * does not know all that PostgreSQL may refuse (triggers, exclusion constraints, values that PostgreSQL generates).
 *
 * If the upload will be refused, each query reads all rows, so that the answer names also a row that repeats the key of a row with
 * another problem. If rows are left out, a query reads only the rows that have no other problem.
 */
import type { ClientBase } from 'pg';
import { queryWithSavepoint, runAndUndo } from '../../../postgres/savepoints.ts';
import { isLackOfPrivilege, isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { dropOwnInputCheck, ownInputCheck } from '../../tables/loading/input-check.ts';
import { columnsRead, isSelfReference, type RowRule } from '../../tables/rules/row-rules.ts';
import { inputRules, makeInputCheck } from '../staged/input-check.ts';
import { findSurplus } from '../staged/move-rows.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { analyzeStagingTable, stagingTable, typedStagingTable } from '../staged/staging-table.ts';
import { dropSurplusTable } from '../staged/surplus-rows.ts';
import { dropUnchangedTable, findsUnchanged, findUnchanged } from '../staged/unchanged-rows.ts';
import {
  isChecked,
  isDecidedByRows,
  ownReferencedColumns,
  shapesWithout,
  stagedNames,
} from './decided-by-rows.ts';
import type { Judgement } from './judgement.ts';
import { rowProblem } from './row-problem.ts';
import { copyShardedRows } from './sharded-copies.ts';
import { deleteFound } from './staged-statements.ts';
import {
  createAnswers,
  dropView,
  type FoundViolation,
  isHidden,
  newAnswers,
  type SentRows,
  storeAnswer,
  toViolation,
  type ViolationQuery,
  violationQueries,
} from './violation-queries.ts';

export interface Removal {
  /** The rows that repeat the key of an earlier row. They are not removed here, because such a row is good if PostgreSQL refuses the earlier row. */
  repeated?: Found | undefined;
  /** If no row may be left out: the other rows with problems. They are not removed yet. */
  found?: Found[];
  /** No other row can have a problem: the queries have checked every rule of the table for every row. */
  isComplete: boolean;
  /** Rows were removed because a text in them is not valid for the type of its column. */
  hasInvalidText: boolean;
}

/** The maximum number of rounds. Each round removes the rows that refer to rows which were removed in the round before. */
const maxRounds = 20;

/** Removes rows with problems and adds the problems. */
export async function removeViolations(judgement: Judgement): Promise<Removal> {
  const { client, target, load, rules, refusesAll } = judgement;
  const hasInvalidText = await removeInvalidText(judgement);
  // If triggers or rules (CREATE RULE) of the table may change the rows, queries over the rows that were sent say nothing about the stored rows.
  if (load.changesRows || load.hasRules) return { isComplete: false, hasInvalidText };
  const judged = rules.filter((rule) => isDecidedByRows(rule, load) && !isHidden(rule));
  const read = judged.flatMap((rule) => [...columnsRead(rule), ...ownReferencedColumns(rule)]);
  if (!load.fill) await client.query(analyzeStagingTable(stagedNames(read, load)));
  const sent = sentRows(judgement);
  // If the upload is refused, rows that other rows with the same key replace are not reported.
  const surplus = refusesAll ? load.conflict : undefined;
  if (surplus) await findSurplus(client, sent.relation, surplus);
  if (sent.leavesUnchanged) await findUnchanged(client, load, undefined);
  const copied = await copyShardedRows(client, load, sent, judged);
  const queries = violationQueries(copied.sent, copied.rules);
  if (!refusesAll) {
    const repeated = await removeInOrder(judgement, queries);
    if (sent.leavesUnchanged) await client.query(dropUnchangedTable);
    return { repeated, isComplete: false, hasInvalidText };
  }
  const { found, areAllChecked } = await findAll(judgement, queries);
  for (const one of found) await addProblems(judgement, one);
  if (surplus) await client.query(dropSurplusTable);
  if (sent.leavesUnchanged) await client.query(dropUnchangedTable);
  const areReadable = copied.unreadable.length === 0 && !rules.some(isHidden);
  const isComplete =
    areReadable && areAllChecked && !target.hasOtherRules && rules.every((rule) => isChecked(rule, load));
  return { found, isComplete, hasInvalidText };
}

/** Returns the staged rows in the form that the queries read. Rows with text that is not valid for its type must have been removed before. */
export function sentRows({ load, refusesAll }: Judgement): SentRows {
  const { stored, columns, isBare, conflict } = load;
  return {
    relation: typedStagingTable(columns, undefined),
    existing: isBare ? undefined : stored,
    conflict,
    judgesSurplusRows: !refusesAll,
    leavesUnchanged: findsUnchanged(load),
    shapesWithout: (names) => shapesWithout(names, load),
  };
}

/**
 * Removes the rows that violate a rule. Rules between rows of the upload (repeated keys) are checked last, because the first row
 * with a key is kept, and a row with another problem must not be the one that is kept.
 *
 * @returns the rows with a repeated key, if all other rows are good once these are removed
 */
async function removeInOrder(judgement: Judgement, queries: ViolationQuery[]): Promise<Found | undefined> {
  const { client, load } = judgement;
  const ofKeys = queries.filter(({ rule, isOfExisting }) => rule.kind === 'unique' && !isOfExisting);
  const ofOwnReferences = queries.filter(({ rule }) => isSelfReference(rule));
  const { found } = await findAll(
    judgement,
    queries.filter((query) => isOfOneRow(query, load)),
  );
  await remove(judgement, found);
  if (!(await removeOrphans(judgement, ofOwnReferences)) || load.conflict) return undefined;
  const { found: repeated } = await findAll(judgement, ofKeys);
  // If there are several keys, or if rows refer to rows with a repeated key, the order of the rows decides which rows are good. So
  // PostgreSQL itself must decide it, row by row.
  const [ofKey] = repeated;
  if (ofKey === undefined || repeated.length > 1) return undefined;
  const orphans = await runAndUndo(client, 'repeated', async () => {
    await client.query(deleteFound(ofKey.table));
    return findAll(judgement, ofOwnReferences);
  });
  return orphans.found.length === 0 ? ofKey : undefined;
}

/**
 * Returns whether the query checks each row independently of the others. With `on_conflict`, the order of the rows decides which of
 * them has a key that another row already has.
 */
function isOfOneRow({ rule, isOfExisting }: ViolationQuery, { conflict }: StagedLoad): boolean {
  if (rule.kind === 'unique') return isOfExisting === true && conflict === undefined;
  return !isSelfReference(rule);
}

/** Removes the rows that have a text which is not valid for its type. Returns whether there were any. */
async function removeInvalidText(judgement: Judgement): Promise<boolean> {
  const { client, load } = judgement;
  const check = await makeInputCheck(client, load.columns);
  const queries = violationQueries({ relation: stagingTable }, inputRules(load.columns, check));
  const { found } = await findAll(judgement, queries);
  await remove(judgement, found);
  if (check === ownInputCheck) await client.query(dropOwnInputCheck);
  return found.length > 0;
}

/**
 * Removes the rows whose foreign key refers neither to a row of the upload nor to a row of the table. @returns false: after
 * `maxRounds` rounds, rows may still refer to removed rows
 */
async function removeOrphans(judgement: Judgement, ofOwnReferences: ViolationQuery[]): Promise<boolean> {
  for (let round = 0; round < maxRounds; round += 1) {
    const { found } = await findAll(judgement, ofOwnReferences);
    if (found.length === 0) return true;
    await remove(judgement, found);
  }
  return false;
}

/** The rows that a query has found. */
export interface Found {
  rule: RowRule;
  /** The quoted name of the table with the rows that the queries of one call of `findAll` found. */
  table: string;
  /** The number of the query in this table. */
  query: number;
  count: number;
}

/**
 * Runs the queries and returns those that found rows. If a query cannot check a rule, PostgreSQL checks it later, when the rows are
 * moved.
 *
 * @param among see `storeAnswer`
 */
export async function findAll(
  { client }: Pick<Judgement, 'client'>,
  queries: ViolationQuery[],
  among?: string,
): Promise<{ found: Found[]; areAllChecked: boolean }> {
  const found: Found[] = [];
  let areAllChecked = true;
  if (queries.length === 0) return { found, areAllChecked };
  const answers = newAnswers();
  await client.query(createAnswers(answers));
  for (const [index, query] of queries.entries()) {
    try {
      const results = await queryWithSavepoint(client, 'rule', storeAnswer(query, index, answers, among));
      const count = results.find(({ command }) => command === 'INSERT')!.rowCount!;
      if (count > 0) found.push({ rule: query.rule, table: answers.table, query: index, count });
    } catch (error) {
      if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
      areAllChecked = false;
    }
  }
  await client.query(dropView(answers));
  return { found, areAllChecked };
}

/** Reads at most `limit` of the rows that were found, in their order. */
export async function readFound(
  client: ClientBase,
  { table, query }: Found,
  limit: number,
): Promise<FoundViolation[]> {
  const text = `SELECT number, other, value FROM ${table} WHERE query = ${query} ORDER BY number LIMIT ${limit}`;
  return (await client.query<FoundViolation>(text)).rows;
}

/** Removes the rows that were found. A row may have several problems. */
async function remove(judgement: Judgement, found: Found[]): Promise<void> {
  const { client, faulty } = judgement;
  for (const one of found) await addProblems(judgement, one);
  faulty.add(await deleteAll(client, found));
}

/** Deletes the rows that one or more calls of `findAll` found, all rows of each call. Returns the number of deleted rows. */
export async function deleteAll(client: ClientBase, found: Found[]): Promise<number> {
  let deleted = 0;
  for (const table of new Set(found.map((one) => one.table)))
    deleted += (await client.query(deleteFound(table))).rowCount ?? 0;
  return deleted;
}

/** Adds the problems of rows that have been removed or will not be loaded. */
export async function addFound(judgement: Judgement, found: Found): Promise<void> {
  await addProblems(judgement, found);
  judgement.faulty.add(found.count);
}

async function addProblems({ client, load, problems }: Judgement, found: Found): Promise<void> {
  const areRowsMissing = problems.count > 0;
  const rows = await readFound(client, found, problems.maxFound);
  const listed = rows.map((row) => rowProblem(toViolation(found.rule, row, areRowsMissing), load.places));
  for (const problem of listed) problems.add(problem);
  const last = listed.at(-1);
  if (last) problems.addUnlisted(found.count - listed.length, last.column ?? '', last.code);
}
