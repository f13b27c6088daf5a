/** Moves the staged rows into the target table, with one statement for each shape. */
import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CallersStatement } from '../../../postgres/callers-statement.ts';
import { lacksSqlstate } from '../../../postgres/citus/worker-errors.ts';
import { rollBackTo, setSavepoint } from '../../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { isPolicyViolation } from '../../../postgres/server-internals.ts';
import {
  isBrokenReference,
  isDeadlock,
  isFailureOfExpression,
  isRefusalOfData,
  isRefusalOfInput,
} from '../../../postgres/sqlstate.ts';
import type { Refusal } from '../copying/refusal.ts';
import { isStagedAsText } from '../copying/target-columns.ts';
import { asTooMuch, isMeasured, startMeasuring } from './computed-bytes.ts';
import type { ConflictRule } from './conflict-rule.ts';
import { findInputCheck } from './input-check.ts';
import { mergeInOrder, rowsPerStatement } from './merge-in-order.ts';
import * as statements from './merge-statements.ts';
import {
  countSkipped,
  countStoredRows,
  createStoredRows,
  mixesShapes,
  skipsInOrder,
} from './skipped-rows.ts';
import type { StagedLoad } from './staged-load.ts';
import {
  analyzeStagingTable,
  indexByRow,
  indexByShape,
  readRange,
  shapeOfRow,
  typedStagingTable,
} from './staging-table.ts';
import {
  analyzeSurplusTable,
  countSurplusRows,
  emptySurplusTable,
  findSurplusRows,
  readSurplusTexts,
} from './surplus-rows.ts';
import { countUnchangedRows, findsUnchanged, findUnchanged, indexUnchangedTable } from './unchanged-rows.ts';

/**
 * The maximum number of shapes for which each statement reads the whole staging table. If there are more, an index is created to find the
 * rows of each shape.
 */
const maxScans = 8;

/** The savepoint before the first moved row. */
const savepoint = 'move';

/** The number of deadlocks after which the upload fails. */
const maxDeadlocks = 20;

export interface MovedRows {
  /** The number of rows inserted or updated. */
  merged: number;
  /** The number of existing rows that were changed. */
  changed: number;
  /** With `update`: the number of rows that changed nothing, because an existing row has the same values, or because a later row of the upload has the same key. */
  unchanged: number;
  /**
   * The number of rows whose key exists in the table or in another row of the same upload. It is counted only if a trigger or a
   * rule may also leave out rows. Otherwise undefined.
   */
  skipped: number | undefined;
}

export type MoveResult = { moved: MovedRows; refusal?: never } | { moved?: never; refusal: Refusal };

/**
 * Moves all staged rows, one shape after the other. If PostgreSQL then refuses a reference, it moves all rows in one statement,
 * because a row may refer to a row of another shape.
 *
 * @returns the number of moved rows, or PostgreSQL's refusal; after a refusal the table is unchanged
 */
export async function moveRows(client: ClientBase, load: StagedLoad): Promise<MoveResult> {
  const { conflict, shapes } = load;
  if (shapes.all.length > maxScans) await queryInCallersPath(client, indexByShape);
  if (conflict) await client.query(analyzeStagingTable(conflict.key.columns));
  let attempt = await moveOrUndo(client, load, 'in turn');
  if (lacksSqlstate(attempt.refusal?.error))
    attempt = await moveOrUndo(client, load, 'in turn with SQLSTATE');
  const { refusal: first } = attempt;
  const refers = isBrokenReference(first?.error) && !first?.isDeferred && shapes.all.length > 1;
  if (refers && !mixesShapes(load)) attempt = await moveOrUndo(client, load, 'together');
  const { merged, refusal } = attempt;
  if (refusal) return { refusal: { ...refusal, moved: await readMovedRow(client, load) } };
  if (conflict?.action === 'update') return { moved: await countUpdates(client, load, attempt) };
  return { moved: { merged, changed: 0, unchanged: 0, skipped: await countSkipped(client, load, merged) } };
}

/** Counts the rows of a load with `on_conflict=update` after they were moved. @param moved the counts of `mergeAndCount`, if it was used */
export async function countUpdates(
  client: ClientBase,
  load: StagedLoad,
  { merged, changed }: Pick<MovedRows, 'merged' | 'changed'>,
): Promise<MovedRows> {
  const met = countsBySequence(load)
    ? (await client.query<statements.MetRows>(statements.readCounters)).rows[0]!
    : { changed, unchanged: 0 };
  const surplus = await readCount(client, countSurplusRows);
  const found = findsUnchanged(load) ? await readCount(client, countUnchangedRows) : 0;
  return { merged, changed: met.changed, unchanged: met.unchanged + surplus + found, skipped: undefined };
}

/** How the shapes are moved: one after the other, one after the other with slower statements whose errors have their SQLSTATE, or all in one statement. */
type Way = 'in turn' | 'in turn with SQLSTATE' | 'together';

interface MoveAttempt {
  merged: number;
  /** The number of changed rows that `mergeAndCount` counted; 0 if only a sequence counts them. */
  changed: number;
  refusal?: Refusal | undefined;
}

/** Moves the rows. After a refusal the moved rows are rolled back. After a deadlock the rows are rolled back and moved again. */
async function moveOrUndo(client: ClientBase, load: StagedLoad, way: Way): Promise<MoveAttempt> {
  await setSavepoint(client, savepoint);
  for (let deadlocks = 0; ; deadlocks += 1) {
    try {
      const attempt = await move(client, load, way);
      if (attempt.refusal) await rollBackTo(client, savepoint);
      return attempt;
    } catch (error) {
      if (!mayTryAgain(error, deadlocks)) throw asTooMuch(error, load.computed);
      await rollBackTo(client, savepoint, error);
      await client.query(statements.takeTurn(load.relation));
    }
  }
}

/**
 * Returns whether the error is a deadlock, after which the rows can be moved again. In a deadlock, PostgreSQL ends one of the
 * transactions. That upload takes its turn (`takeTurn`) after its rows were rolled back, and tries again. Uploads that had a deadlock
 * take turns, so only an upload that had none yet can conflict with the one whose turn it is.
 *
 * @param deadlocks the number of earlier deadlocks of the upload
 */
export function mayTryAgain(error: unknown, deadlocks: number): boolean {
  return isDeadlock(error) && deadlocks < maxDeadlocks;
}

/** Moves the rows, and checks the constraints that are deferred to the end of the transaction. After a refusal the transaction has failed. */
async function move(client: ClientBase, load: StagedLoad, way: Way): Promise<MoveAttempt> {
  const attempt: MoveAttempt = { merged: 0, changed: 0 };
  attempt.refusal = await refusalOfRows(async () => {
    if (load.computed) await client.query(startMeasuring);
    if (load.conflict) await prepareConflicts(client, load, load.conflict);
    if (way === 'together') attempt.merged = await moveTogether(client, load);
    else Object.assign(attempt, await moveInTurn(client, load, way === 'in turn with SQLSTATE'));
  });
  if (!load.isBare) attempt.refusal ??= await checkDeferred(client);
  return attempt;
}

/** Returns whether sequences count the rows that meet rows of the table: the table may have had rows before, and it is not sharded. */
export function countsBySequence({ conflict, isBare, isSharded }: StagedLoad): boolean {
  return conflict?.action === 'update' && !isBare && !isSharded;
}

/** Finds the rows that will be moved, locks the rows that will be updated if several statements update them, and reads the texts of the others. */
async function prepareConflicts(client: ClientBase, load: StagedLoad, conflict: ConflictRule): Promise<void> {
  await findMoved(client, load, conflict, conflict.shapes.length > 1);
  if (load.columns.some(isStagedAsText)) await queryInCallersPath(client, readSurplusTexts(load.columns));
}

/**
 * Finds the surplus rows and the unchanged rows, which are not moved.
 *
 * @param locks true: locks the existing rows that will be updated, in the order of the key. Uploads that update the rows in another order
 *   then wait for each other instead of causing a deadlock
 */
export async function findMoved(
  client: ClientBase,
  load: StagedLoad,
  conflict: ConflictRule,
  locks: boolean,
): Promise<void> {
  const inputCheck = await findInputCheck(client, load.columns);
  const staged = typedStagingTable(load.columns, inputCheck);
  if (countsBySequence(load)) await queryInCallersPath(client, statements.startCounting);
  await findSurplus(client, staged, conflict);
  if (skipsInOrder(load)) await client.query(`${emptySurplusTable}; ${createStoredRows}`);
  if (findsUnchanged(load)) {
    await findUnchanged(client, load, inputCheck);
    if (load.shapes.all.length > maxScans) await client.query(indexUnchangedTable);
  }
  // Citus cannot lock the rows of several shards. If such uploads wait for each other, PostgreSQL ends one of them with a deadlock, and it tries again.
  const mayLock = conflict.action === 'update' && !load.isBare && !load.isSharded;
  if (locks && mayLock) await queryInCallersPath(client, statements.lockExistingRows(load, staged, conflict));
  await load.beforeMove?.();
}

/**
 * Finds the surplus rows and writes their numbers into a temporary table.
 *
 * @param staged the staging table, or `typedStagingTable`
 */
export async function findSurplus(client: ClientBase, staged: string, conflict: ConflictRule): Promise<void> {
  await queryInCallersPath(client, findSurplusRows(staged, conflict));
  await client.query(analyzeSurplusTable);
}

/** Moves the shapes one after the other. */
async function moveInTurn(
  client: ClientBase,
  load: StagedLoad,
  withSqlstate: boolean,
): Promise<Pick<MoveAttempt, 'merged' | 'changed'>> {
  let merged = mixesShapes(load) ? await moveInOrder(client, load, load.conflict!) : 0;
  let changed = 0;
  const movedBefore = mixesShapes(load) ? load.conflict!.shapes.length : 0;
  for (const shape of inMovingOrder(load).slice(movedBefore)) {
    const merge = statements.mergeRows(load, shape);
    if (withSqlstate || statements.mustCountMerged(load, shape)) {
      if (load.isSharded) await queryInCallersPath(client, statements.commitInTwoPhases(load, shape));
      const { rows } = await queryInCallersPath<statements.MergedCount>(
        client,
        statements.mergeAndCount(load, merge),
      );
      merged += rows[0]!.count;
      changed += rows[0]!.changed;
    } else merged += (await queryInCallersPath(client, merge)).rowCount ?? 0;
  }
  return { merged, changed };
}

/** Moves the rows that have the key, and returns the number of stored rows. */
async function moveInOrder(client: ClientBase, load: StagedLoad, { shapes }: ConflictRule): Promise<number> {
  load.shapes.refuseToPlan(load.columns.length);
  await queryInCallersPath(client, indexByRow);
  const { rows } = await client.query<{ first: number | null; last: number }>(readRange());
  const { first, last } = rows[0]!;
  for (let from = first ?? Number.POSITIVE_INFINITY; from <= last; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, last + 1);
    await queryInCallersPath(client, mergeInOrder(load, shapes, from, to));
  }
  return readCount(client, countStoredRows);
}

function moveTogether(client: ClientBase, load: StagedLoad): Promise<number> {
  load.shapes.refuseToPlan(load.columns.length);
  const merges = inMovingOrder(load).map((shape) => statements.mergeRows(load, shape));
  return readCount(client, statements.mergeTogether(load, merges));
}

/**
 * Returns the shapes in the order in which they are moved. Shapes with the key of `on_conflict` come first. Therefore a row
 * whose generated key equals the key of such a row is refused. In the other order, the row with the key would silently update
 * or skip the row with the generated key.
 */
function inMovingOrder({ conflict, shapes }: Pick<StagedLoad, 'conflict' | 'shapes'>): number[] {
  const first = conflict?.shapes ?? [];
  return [...first, ...[...shapes.all.keys()].filter((shape) => !first.includes(shape))];
}

/** Returns the row that was moved last. The number remains known after a refusal. */
async function readMovedRow(
  client: ClientBase,
  { shapes, isSharded }: StagedLoad,
): Promise<Refusal['moved']> {
  if (isSharded) return undefined;
  const { rows } = await client.query<{ row: number | null }>(statements.readProgress);
  const row = rows[0]!.row;
  const shape = row === null ? undefined : await shapeOf(client, row);
  return row === null || shape === undefined ? undefined : { row, sentColumns: shapes.all[shape]! };
}

/** Returns the shape of a data row; undefined: the row is not in the staging table. */
async function shapeOf(client: ClientBase, row: number): Promise<number | undefined> {
  const { rows } = await client.query<{ shape: number }>(shapeOfRow(row));
  return rows[0]?.shape;
}

/**
 * Lets PostgreSQL check the deferred constraints before the commit, because a commit that fails looks like a lost connection.
 *
 * @returns PostgreSQL's refusal; the transaction has failed then
 */
export async function checkDeferred(client: ClientBase): Promise<Refusal | undefined> {
  const refusal = await refusalOf(isRefusalOfData, async () => {
    await queryInCallersPath(client, statements.checkConstraintsNow);
  });
  return refusal && { ...refusal, isDeferred: true };
}

/** Returns whether PostgreSQL's error refuses a value of a row, as opposed to an error about the statement or the server. */
export function isRefusal(error: unknown, columns: LoadColumn[]): boolean {
  const isOfData = columns.some(isStagedAsText) ? isRefusalOfInput : isRefusalOfData;
  return isOfData(error) || isPolicyViolation(error);
}

/**
 * Moves rows and returns PostgreSQL's error if it may be about a row. Errors that a default may have caused are included, because
 * the cause is searched for later.
 */
function refusalOfRows(move: () => Promise<void>): Promise<Refusal | undefined> {
  return refusalOf(mayBeOfRow, move);
}

function mayBeOfRow(error: unknown): boolean {
  if (isMeasured(error)) return false;
  return (
    isFailureOfExpression(error) ||
    isRefusalOfInput(error) ||
    isPolicyViolation(error) ||
    lacksSqlstate(error)
  );
}

/** Runs the work and returns the refusal that ended it, if any. Other errors are thrown. */
async function refusalOf(
  isExpected: (error: unknown) => boolean,
  work: () => Promise<void>,
): Promise<Refusal | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error;
    return { error };
  }
}

async function readCount(client: ClientBase, statement: CallersStatement): Promise<number> {
  const { rows } = await queryInCallersPath<{ count: number }>(client, statement);
  return rows[0]!.count;
}
