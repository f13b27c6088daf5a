/** Moves the staged rows into the target table, with one statement for each shape. */
import type { ClientBase } from 'pg';
import { rollBackTo, setSavepoint } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { isPolicyViolation } from '../../postgres/server-internals.ts';
import {
  isBrokenReference,
  isDeadlock,
  isFailureOfExpression,
  isRefusalOfData,
  isRefusalOfInput,
} from '../../postgres/sqlstate.ts';
import type { LoadColumn } from '../../tables/load-column.ts';
import { isStagedAsText } from '../target-columns.ts';
import type { ConflictRule } from './conflict-rule.ts';
import { findInputCheck } from './input-check.ts';
import {
  countExistingKeys,
  countUpdatedRows,
  createUpdateCounter,
  lockExistingRows,
  mergeRows,
  mergeTogether,
  readProgress,
  resetUpdateCounter,
  takeTurn,
} from './merge-statements.ts';
import type { Refusal } from './refusal.ts';
import type { StagedLoad } from './staged-load.ts';
import { analyzeStagingTable, indexByShape, shapeOfRow, typedStagingTable } from './staging-table.ts';
import { analyzeSurplusTable, countSurplusRows, findSurplusRows } from './surplus-rows.ts';

/**
 * The most shapes for which each statement reads the whole staging table. If there are more, an index is created to find the
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
  updated: number;
  /** The number of rows that another row of the same upload with the same key replaces. */
  surplus: number;
  /**
   * The number of rows whose key exists in the table or in another row of the same upload. It is counted only if a trigger or a
   * rule may leave out rows, too. Otherwise undefined.
   */
  skipped: number | undefined;
}

/**
 * Moves all staged rows, one shape after the other. If PostgreSQL then refuses a reference, it moves all rows in one statement,
 * because a row may refer to a row of another shape.
 *
 * @param movesAgain true: the rows were moved before, and PostgreSQL refused them
 * @returns the number of moved rows, or PostgreSQL's refusal; after a refusal the table is unchanged
 */
export async function moveRows(
  client: ClientBase,
  load: StagedLoad,
  movesAgain = false,
): Promise<{ moved: MovedRows; refusal?: never } | { moved?: never; refusal: Refusal }> {
  const { conflict, isBare } = load;
  const updates = conflict?.action === 'update' && !isBare;
  if (updates) {
    await queryInCallersPath(client, createUpdateCounter.text);
    if (movesAgain) await queryInCallersPath(client, resetUpdateCounter.text);
  }
  if (load.shapes.all.length > maxScans) await queryInCallersPath(client, indexByShape.text);
  if (conflict) await client.query(analyzeStagingTable(conflict.key.columns));
  await setSavepoint(client, savepoint);
  const undo = async (): Promise<void> => {
    await rollBackTo(client, savepoint);
    if (updates) await queryInCallersPath(client, resetUpdateCounter.text);
  };
  let result = await tryToMove(client, load, moveInTurn, undo);
  const movedTogether = isBrokenReference(result.refusal?.error) && load.shapes.all.length > 1;
  if (movedTogether) {
    await undo();
    result = await tryToMove(client, load, moveTogether, undo);
  }
  const refusal = result.refusal ?? (isBare ? undefined : await checkDeferred(client));
  if (refusal) {
    await rollBackTo(client, savepoint);
    return { refusal: { ...refusal, movedTogether, moved: await readMovedRow(client, load) } };
  }
  const { merged = 0, existing } = result;
  const surplus = conflict ? await readCount(client, countSurplusRows) : 0;
  const updated = updates ? await readCount(client, countUpdatedRows) : 0;
  return { moved: { merged, updated, surplus, skipped: existing && existing.count + surplus } };
}

interface MoveAttempt {
  merged?: number;
  existing?: { count: number } | undefined;
  refusal?: Refusal | undefined;
}

/** Moves the rows, and tries again after a deadlock. */
function tryToMove(
  client: ClientBase,
  load: StagedLoad,
  move: typeof moveInTurn,
  undo: () => Promise<void>,
): Promise<MoveAttempt> {
  return retryAfterDeadlock(client, load.relation, undo, async () => {
    const attempt: MoveAttempt = {};
    attempt.refusal = await refusalOf(mayBeOfRow, async () => {
      attempt.existing = load.conflict && (await prepareConflicts(client, load, load.conflict));
      attempt.merged = await move(client, load);
    });
    return attempt;
  });
}

/**
 * Moves rows with `move`. In a deadlock, PostgreSQL ends one of the transactions. That upload then tries again, after the rows of the
 * other one were committed. Uploads that had a deadlock take turns, so only an upload that had none yet can conflict with the one whose
 * turn it is.
 *
 * @param relation the target table, quoted
 * @param undo rolls back to a savepoint before the moved rows
 */
export async function retryAfterDeadlock<Result>(
  client: ClientBase,
  relation: string,
  undo: () => Promise<void>,
  move: () => Promise<Result>,
): Promise<Result> {
  for (let deadlocks = 0; ; deadlocks += 1) {
    try {
      return await move();
    } catch (error) {
      if (!isDeadlock(error) || deadlocks === maxDeadlocks) throw error;
      await undo();
      await client.query(takeTurn(relation));
    }
  }
}

/**
 * Finds the surplus rows, and locks the rows that will be updated if several statements update them.
 *
 * @returns the number of rows whose key exists in the table, if it must be counted
 */
async function prepareConflicts(
  client: ClientBase,
  { relation, columns, isBare, changesRows, hasRules }: StagedLoad,
  conflict: ConflictRule,
): Promise<{ count: number } | undefined> {
  const staged = typedStagingTable(columns, await findInputCheck(client, columns));
  await findSurplus(client, staged, conflict);
  if (!isBare && conflict.shapes.length > 1) await lockRowsToUpdate(client, relation, staged, conflict);
  // Rows that a trigger or a rule leaves out are counted separately from rows that are skipped.
  if (!changesRows && !hasRules) return undefined;
  return { count: await readCount(client, countExistingKeys(relation, staged, conflict)) };
}

/**
 * Locks the existing rows that will be updated, in the order of the key. Uploads that update the rows in another order then wait for
 * each other instead of causing a deadlock.
 *
 * @param staged the staging table, or `typedStagingTable`
 */
export async function lockRowsToUpdate(
  client: ClientBase,
  relation: string,
  staged: string,
  conflict: ConflictRule,
): Promise<void> {
  if (conflict.action !== 'update') return;
  await queryInCallersPath(client, lockExistingRows(relation, staged, conflict).text);
}

/**
 * Finds the surplus rows and writes their numbers into a temporary table.
 *
 * @param staged the staging table, or `typedStagingTable`
 */
export async function findSurplus(client: ClientBase, staged: string, conflict: ConflictRule): Promise<void> {
  await queryInCallersPath(client, findSurplusRows(staged, conflict).text);
  await client.query(analyzeSurplusTable);
}

/**
 * Moves the shapes one after the other.
 *
 * @returns the number of rows inserted or updated
 */
async function moveInTurn(client: ClientBase, load: StagedLoad): Promise<number> {
  let merged = 0;
  for (const shape of inMovingOrder(load)) {
    merged += (await queryInCallersPath(client, mergeRows(load, shape).text)).rowCount ?? 0;
  }
  return merged;
}

function moveTogether(client: ClientBase, load: StagedLoad): Promise<number> {
  return readCount(client, mergeTogether(inMovingOrder(load).map((shape) => mergeRows(load, shape))));
}

/**
 * Returns the shapes in the order in which they are moved. Shapes with the key of `on_conflict` come first. Therefore a row
 * whose generated key equals the key of such a row is refused. In the other order, the row with the key would silently update
 * or skip the row with the generated key.
 */
export function inMovingOrder({ conflict, shapes }: Pick<StagedLoad, 'conflict' | 'shapes'>): number[] {
  const first = conflict?.shapes ?? [];
  return [...first, ...[...shapes.all.keys()].filter((shape) => !first.includes(shape))];
}

/** Returns the row that was moved last. The number remains known after a refusal. */
export async function readMovedRow(client: ClientBase, { shapes }: StagedLoad): Promise<Refusal['moved']> {
  const { rows } = await client.query<{ row: number | null }>(readProgress);
  const row = rows[0]!.row;
  const shape = row === null ? undefined : await shapeOf(client, row);
  return row === null || shape === undefined ? undefined : { row, sentColumns: shapes.all[shape]! };
}

/** Returns the shape of a data row; undefined: the row is not in the staging table. */
export async function shapeOf(client: ClientBase, row: number): Promise<number | undefined> {
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
    await queryInCallersPath(client, 'SET CONSTRAINTS ALL IMMEDIATE');
  });
  return refusal && { ...refusal, isDeferred: true };
}

/** Returns whether PostgreSQL refused a row for its values. */
export function isRefusal(error: unknown, columns: LoadColumn[]): boolean {
  const isOfData = columns.some(isStagedAsText) ? isRefusalOfInput : isRefusalOfData;
  return isOfData(error) || isPolicyViolation(error);
}

/**
 * Returns whether the error may be about a row. An error that a default may have caused is included. A later search finds the
 * cause.
 */
export function mayBeOfRow(error: unknown): boolean {
  return isFailureOfExpression(error) || isRefusalOfInput(error) || isPolicyViolation(error);
}

/** Runs the work and returns the refusal that ended it, if any. Other errors are thrown. */
export async function refusalOf(
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

async function readCount(client: ClientBase, statement: { text: string }): Promise<number> {
  const { rows } = await queryInCallersPath<{ count: number }>(client, statement.text);
  return rows[0]!.count;
}
