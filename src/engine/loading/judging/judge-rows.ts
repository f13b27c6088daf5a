/**
 * Finds out which rows of a refused upload have problems (`judgeRows`).
 *
 * First, one query for each rule of the table takes the rows that violate it out of the staging table. The other rows are moved
 * with one statement. If PostgreSQL still refuses rows, the rows are moved block by block, so that PostgreSQL itself shows which of
 * them it refuses (move-in-blocks.ts). With `faulty_rows=leave_out` the good rows are then in the table: PostgreSQL has accepted
 * exactly these rows, and deferred constraints were checked. With `faulty_rows=fail` the upload is refused with the problems.
 */
import type { ClientBase } from 'pg';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { completeName, hideLocalShard, namesByHash } from '../../../postgres/citus/worker-errors.ts';
import { rollBackTo, setSavepoint } from '../../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { conditionOf, isDeadlock, isLackOfPrivilege } from '../../../postgres/sqlstate.ts';
import { namesOf, type RowRule } from '../../tables/rules/row-rules.ts';
import type { Refusal } from '../copying/refusal.ts';
import { restartTable } from '../staged/merge-statements.ts';
import { isRefusal, type MovedRows, type MoveResult, moveRows } from '../staged/move-rows.ts';
import { maxMovedShapes } from '../staged/shapes.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { LoadTarget } from '../target/load-target.ts';
import { failingDefault } from './failing-default.ts';
import { FaultyRows } from './faulty-rows.ts';
import { generatedKey } from './generated-key.ts';
import type { Judgement } from './judgement.ts';
import { moveInBlocks } from './move-in-blocks.ts';
import { isBroken } from './refused-problems.ts';
import { addFound, deleteAll, type Found, removeViolations } from './remove-violations.ts';
import { rowProblem } from './row-problem.ts';
import { deleteFound } from './staged-statements.ts';

export interface RefusedRows {
  target: LoadTarget;
  staged: StagedLoad;
  refusal: Refusal;
}

/**
 * Moves the staged rows that have no problem, and adds the problems of the others. A new table has its keys afterwards.
 *
 * @param faulty counts the rows that are left out; undefined: no row may be left out
 * @throws AppError `invalid-data` if no row may be left out, if more rows have problems than may be left out, or if PostgreSQL refuses
 *   the rows for a reason that is not one of single rows; PostgreSQL's error if it is not about a row
 */
export async function judgeRows(
  client: ClientBase,
  { target, staged: load, refusal }: RefusedRows,
  faulty: FaultyRows | undefined,
  problems: Problems,
): Promise<MovedRows> {
  if (isOfTableRules(load, refusal)) throw refusal.error;
  const rules = await target.readRules(client);
  await completeNames(client, target, refusal, rules);
  const judgement = { client, target, load, rules, problems };
  if (faulty) {
    const moved = await judge({ ...judgement, faulty, refusesAll: false }, refusal);
    return moved ?? refuse(problems, faulty.areTooMany ? faulty.reasonOfTooMany : unexplained);
  }
  await refuseUnlessOfRow(client, target, refusal, load, problems);
  const before = problems.count;
  const all = { ...judgement, faulty: new FaultyRows(Number.POSITIVE_INFINITY), refusesAll: true };
  await unlessImpossible(() => judge(all, refusal));
  if (problems.count === before) addRefusal(target, refusal, load.places, problems);
  return refuse(problems);
}

/** Returns whether PostgreSQL refuses `on_conflict` because of the table's rules (CREATE RULE), before it reads a row. */
function isOfTableRules({ hasRules, conflict }: StagedLoad, { error, moved }: Refusal): boolean {
  return (
    hasRules &&
    conflict !== undefined &&
    moved === undefined &&
    conditionOf(error) === 'feature_not_supported'
  );
}

/**
 * Adds the problem of rows that PostgreSQL refused and that cannot be staged.
 *
 * @throws AppError `invalid-data`; PostgreSQL's error if it is not about a row
 */
export async function refuseUnstaged(
  client: ClientBase,
  target: LoadTarget,
  refusal: Refusal,
  places: CellPlaces,
  problems: Problems,
): Promise<never> {
  await completeNames(client, target, refusal, target.isSharded ? await target.readRules(client) : []);
  const ofDefault = await failingDefault(client, target, refusal);
  if (ofDefault) problems.add(rowProblem(ofDefault, places));
  else addRefusal(target, refusal, places, problems);
  return refuse(problems);
}

/**
 * Refuses an upload for an error that PostgreSQL never raises for the values of a row: a default may have raised it, or the error is about
 * the whole statement.
 */
async function refuseUnlessOfRow(
  client: ClientBase,
  target: LoadTarget,
  refusal: Refusal,
  { places }: StagedLoad,
  problems: Problems,
): Promise<void> {
  const { error, moved, row = moved?.row, sentColumns = moved?.sentColumns } = refusal;
  if (isRefusal(error, target.columns)) return;
  const ofDefault = await failingDefault(client, target, { ...refusal, row, sentColumns });
  if (ofDefault) {
    problems.add(rowProblem(ofDefault, places));
    refuse(problems);
  }
  if (row === undefined && !target.isSharded) throw error;
}

/** Adds a problem for a refusal if it is not known which row caused it. @throws PostgreSQL's error if it is not about a row */
function addRefusal(target: LoadTarget, refusal: Refusal, places: CellPlaces, problems: Problems): void {
  if (!isRefusal(refusal.error, target.columns) && refusal.row === undefined) throw refusal.error;
  problems.add(rowProblem(refusal, places));
}

/** Replaces the names of shards in PostgreSQL's error by the names of the tables, which the caller knows. */
async function completeNames(
  client: ClientBase,
  { isSharded, relation }: LoadTarget,
  { error }: Refusal,
  rules: RowRule[],
): Promise<void> {
  if (!isSharded) return;
  hideLocalShard(error, relation);
  completeName(error, await namesByHash(client, namesOf(rules)));
}

/** Returns undefined if the upload must be refused. The transaction may then have moved some rows. */
async function judge(judgement: Judgement, refusal: Refusal): Promise<MovedRows | undefined> {
  const { client, target, load, rules, faulty, refusesAll } = judgement;
  const before = faulty.count;
  const { repeated, found = [], isComplete, hasInvalidText } = await removeViolations(judgement);
  const areFewer = faulty.count > before || found.length > 0;
  if (refusesAll) {
    const isOfRule = hasInvalidText || rules.some((rule) => isBroken(rule, refusal.error, load));
    if (await addGeneratedKey(judgement, refusal)) return undefined;
    // No rule is left that could refuse another row, and the upload is refused in any case. So PostgreSQL need not try the other rows.
    if (areFewer && isComplete && isOfRule) return undefined;
    if (load.shapes.all.length > maxMovedShapes) return undefined;
    await load.fill?.();
    await deleteAll(client, found);
  }
  if (repeated && faulty.count + repeated.count > faulty.max) await addFound(judgement, repeated);
  if (faulty.areTooMany) return undefined;
  const rest = areFewer || repeated ? await moveRest(judgement, repeated) : undefined;
  if (rest) return rest;
  const error = await addKeys(client, target);
  if (error) throw error;
  await restartNumbering(client, target);
  return moveInBlocks({ ...judgement, load: { ...load, isBare: false } });
}

/** Moves all staged rows except those with a repeated key. If PostgreSQL refuses them, the rows with a repeated key are staged again. */
async function moveRest(judgement: Judgement, repeated: Found | undefined): Promise<MovedRows | undefined> {
  const { client, target, load } = judgement;
  await setSavepoint(client, 'rest');
  if (repeated) await client.query(deleteFound(repeated.table));
  const { moved } = await moveAtOnce(client, target, load);
  if (!moved) await rollBackTo(client, 'rest');
  else if (repeated) await addFound(judgement, repeated);
  return moved;
}

/**
 * Adds the problem of a key that PostgreSQL generated with a sequence, if the refusal is about one. This must be done before the
 * rows are moved again, because the sequence then gives other numbers.
 */
async function addGeneratedKey(judgement: Judgement, refusal: Refusal): Promise<boolean> {
  const generated = await generatedKey(judgement, refusal);
  if (generated?.numbered === undefined) return false;
  judgement.problems.add(rowProblem(generated, judgement.load.places));
  return true;
}

/** Moves all staged rows, and adds the keys of a new table. After a refusal nothing was moved. */
export async function moveAtOnce(
  client: ClientBase,
  target: LoadTarget,
  load: StagedLoad,
): Promise<MoveResult> {
  await setSavepoint(client, 'at once');
  const result = await moveRows(client, load);
  const error = result.moved && (await addKeys(client, target));
  if (result.moved && !error) return result;
  await rollBackTo(client, 'at once');
  return error ? { refusal: { error } } : result;
}

/** Adds the keys of a new table. An existing table has its keys already. Returns PostgreSQL's error if the rows violate a key. */
async function addKeys(client: ClientBase, target: LoadTarget): Promise<Error | undefined> {
  return target.isNew ? target.addKeys(client) : undefined;
}

/** Restarts the sequences of a new table, so that its rows get the numbers that they would have got at the first attempt. */
async function restartNumbering(
  client: ClientBase,
  { isNew, isSharded, relation }: LoadTarget,
): Promise<void> {
  if (isNew && !isSharded) await queryInCallersPath(client, restartTable(relation));
}

const unexplained = 'PostgreSQL still refuses the upload without the rows that have problems.';

/** @param reason why the upload is refused although the request allows rows to be left out */
function refuse(problems: Problems, reason = problems.reason): never {
  problems.reason = reason;
  problems.throwIfAny();
  throw new Error('no problem was found');
}

/**
 * Searches for problems in an upload that will be refused in any case. The search ends without an error if there is not enough
 * time, if the role lacks a privilege, or if PostgreSQL ends it because of a deadlock. The transaction has failed then.
 */
async function unlessImpossible(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (conditionOf(error) !== 'query_canceled' && !isDeadlock(error) && !isLackOfPrivilege(error))
      throw error;
  }
}
