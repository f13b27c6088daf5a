/**
 * Loads the rows of an input into a table.
 *
 * There are two ways. Most rows are copied *straight* into the table, which is fast. Rows are *staged* in a temporary table and moved
 * from there if their keys may conflict with other rows (`on_conflict`), if the type of a column has no binary encoder, or if the table
 * does not accept COPY. If PostgreSQL refuses rows on the straight way, they are read again and staged, because every row with a
 * problem can be found in the staging table.
 */

import type { ClientBase } from 'pg';
import type { Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import { Problems } from '../../encoding/problems/problems.ts';
import { manyRefusedRows } from '../../encoding/sink/encoding-sink.ts';
import { lacksSqlstate } from '../postgres/citus/worker-errors.ts';
import { rollBackTo, setSavepoint } from '../postgres/savepoints.ts';
import { isBrokenReference, isLackOfPrivilege } from '../postgres/sqlstate.ts';
import { asLackOfTemporary } from '../postgres/temporary-privilege.ts';
import type { CopiedRows } from './copying/copy-rows.ts';
import type { Refusal } from './copying/refusal.ts';
import { isStagedAsText } from './copying/target-columns.ts';
import type { LoadInput } from './inputs/load-input.ts';
import { cannotBeStaged, noGoodRow } from './left-out/faulty-rows.ts';
import { moveGoodRows } from './left-out/move-good-rows.ts';
import { type LoadedRows, receivedRows } from './loaded-rows.ts';
import { copyChanging } from './one-pass/copy-changing.ts';
import type { RowOptions } from './row-options.ts';
import { isDecidedByRows, shapesWithout } from './staged/decided-by-rows.ts';
import type { RefusedLoad } from './staged/explain-refusal.ts';
import { warnOfKeylessRows } from './staged/keyless-rows.ts';
import { movedRows } from './staged/merge-statements.ts';
import {
  checkDeferred,
  inMovingOrder,
  type MovedRows,
  type MoveResult,
  moveRows,
} from './staged/move-rows.ts';
import { columnsRead } from './staged/row-rules.ts';
import { copyMovedRows } from './staged/sharded-copies.ts';
import { stageRows } from './staged/stage-rows.ts';
import type { StagedLoad } from './staged/staged-load.ts';
import { maxStagedColumns } from './staged/staging-table.ts';
import { byPlace, byRowNumber } from './staged/violation-queries.ts';
import { lackOnColumns } from './target/lack-on-columns.ts';
import type { LoadTarget } from './target/load-target.ts';

/** The savepoint before the first row. */
const savepoint = 'rows';

/**
 * The maximum number of shapes in a load that is staged at once or may leave rows out. More are refused, because each shape is moved by
 * its own statement. Other loads have no such limit.
 */
const maxMovedShapes = 200;

/** PostgreSQL either accepted the rows or refused some of them. */
export type RowsOutcome = { loaded: LoadedRows; refused?: never } | { loaded?: never; refused: RefusedLoad };

interface RowLoad {
  input: LoadInput;
  target: LoadTarget;
  options: RowOptions;
  problems: Problems;
}

/** Rows that were copied into the target table or, if `staged` is set, into the staging table. */
interface Attempt {
  copied: CopiedRows;
  staged?: StagedLoad;
  /** PostgreSQL refused the rows: the transaction has failed. */
  refusal?: Refusal | undefined;
}

type RefusedAttempt = Attempt & { refusal: Refusal };

type Staged = Attempt & { staged: StagedLoad };

/**
 * Loads all rows that have no problem, and adds the problems that the service itself finds in the others to `problems`. If rows may be
 * left out, `leftOut` of the result is set; otherwise the caller refuses the upload if there is a problem.
 *
 * @returns the loaded rows, or PostgreSQL's refusal, which `explainRefusal` explains
 * @throws AppError `invalid-data` if too many rows must be left out; `permission-denied`; what the input throws; PostgreSQL's errors
 *   that are not about the rows
 */
export async function loadRows(
  client: ClientBase,
  input: LoadInput,
  target: LoadTarget,
  options: RowOptions,
  problems: Problems,
): Promise<RowsOutcome> {
  const load = { input, target, options, problems };
  await setSavepoint(client, savepoint);
  try {
    const first = await (isStagedAtOnce(load) ? stage(client, load) : copyStraight(client, load));
    if (!isRefused(first)) return await endTaken(client, load, first);
    await rollBackTo(client, savepoint);
    if (!isStagedAgain(load, first)) return await endRefused(client, load, first, undefined);
    const again = await stageAgain(client, load);
    if (!again) await rollBackTo(client, savepoint);
    return await endRefused(client, load, first, again);
  } catch (error) {
    if (!(error instanceof Error) || !isLackOfPrivilege(error)) throw error;
    await rollBackTo(client, savepoint).catch(() => {
      throw error;
    });
    throw await asLack(client, load, error);
  }
}

/**
 * Returns an error that names the missing privilege, or the same error if the privilege cannot be found. The failed statements were
 * rolled back.
 */
async function asLack(client: ClientBase, load: RowLoad, error: Error): Promise<unknown> {
  const { target, options } = load;
  const lack = isStagedAtOnce(load) ? await asLackOfTemporary(client, error) : error;
  if (lack !== error || target.isBare) return lack;
  return (await lackOnColumns(client, target, options, error)) ?? error;
}

/** Returns whether the rows cannot be copied straight into the table. */
function isStagedAtOnce({ target, options }: RowLoad): boolean {
  return options.conflict !== undefined || target.takesNoCopy || target.columns.some(isStagedAsText);
}

/** Returns whether the rows that PostgreSQL refused on the straight way are staged. */
function isStagedAgain(load: RowLoad, { staged }: Attempt): boolean {
  const { columns, mayRefuseRows } = load.target;
  return !staged && (mayRefuseRows || mayLeaveOut(load)) && columns.length <= maxStagedColumns;
}

/** Copies the rows straight into the table. */
async function copyStraight(client: ClientBase, load: RowLoad): Promise<Attempt> {
  const { input, target, options, problems } = load;
  const { relation, columns, mayRefuseRows, isSharded } = target;
  const copyOptions = {
    ...options,
    ...refusedRowsLimit(load),
    relation,
    columns,
    isSharded,
    mayFill: () => true,
    mayUpdate: false,
    keepRows: mayRefuseRows || options.faulty !== undefined,
  };
  const copied = await copyChanging(client, input, target, copyOptions, problems);
  countFaulty(load, copied.refused);
  return { copied, refusal: copied.refusal ?? (await refusalOfKeys(client, load)) };
}

/** Copies the rows into the staging table. */
async function stage(client: ClientBase, load: RowLoad): Promise<Attempt> {
  const { input, target, options, problems } = load;
  refuseTooManyColumns(target.columns.length);
  const stageOptions = { ...options, ...refusedRowsLimit(load), keepRows: false, maxShapes: maxMovedShapes };
  const { staged, copied } = await stageRows(client, input, target, stageOptions, problems);
  countFaulty(load, copied.refused);
  return { copied, staged, refusal: copied.refusal };
}

/** Reads the rows once more, into the staging table. Returns undefined if this is not possible; the transaction has failed then. */
async function stageAgain(client: ClientBase, load: RowLoad): Promise<Staged | undefined> {
  const { input, target, options } = load;
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, options.matcher.extraColumns);
  const stageOptions = {
    ...options,
    ...refusedRowsLimit(load),
    conflict: undefined,
    keepRows: false,
    maxShapes: mayLeaveOut(load) ? maxMovedShapes : Number.POSITIVE_INFINITY,
    matcher,
  };
  try {
    // The first pass has collected the problems of cells, so they are not collected again.
    const { staged, copied } = await stageRows(client, input, target, stageOptions, new Problems());
    return copied.refusal ? undefined : { staged, copied };
  } catch (error) {
    if (!isLackOfPrivilege(error)) throw error;
    return undefined;
  }
}

function isRefused(attempt: Attempt): attempt is RefusedAttempt {
  return attempt.refusal !== undefined;
}

/** Ends a load whose rows PostgreSQL accepted, into the table or into the staging table. */
async function endTaken(
  client: ClientBase,
  load: RowLoad,
  { copied, staged }: Attempt,
): Promise<RowsOutcome> {
  if (staged) return moveStaged(client, load, { copied, staged });
  return { loaded: withLeftOut(straightRows(load.target, copied, copied.taken), load) };
}

/**
 * Ends a load whose rows PostgreSQL refused. The rows were rolled back. `again` has the same rows in the staging table; undefined: they
 * could not be staged.
 */
async function endRefused(
  client: ClientBase,
  load: RowLoad,
  { copied, refusal }: RefusedAttempt,
  again: Staged | undefined,
): Promise<RowsOutcome> {
  const { target, problems } = load;
  if (!again) {
    if (mayLeaveOut(load)) problems.reason = cannotBeStaged;
    return { refused: { refusal, target, places: copied.places } };
  }
  // Rows of one COPY cannot refer to rows of a later COPY. The staging table can move all rows at once.
  const isTooEarly = isBrokenReference(refusal.error) && copied.hasSeveralLists;
  if (mayLeaveOut(load)) return { loaded: await moveGood(client, load, again, !isTooEarly) };
  const { staged } = again;
  const isOfKeys = target.addsKeysAtOnce && copied.refusal === undefined;
  const isMovedAgain = isOfKeys
    ? await needsStoredValues(client, target, staged)
    : (isTooEarly && problems.count === 0) || lacksSqlstate(refusal.error);
  const move = isMovedAgain ? await moveWithKeys(client, target, staged) : undefined;
  if (move?.moved) return { loaded: straightRows(target, copied, move.moved.merged) };
  const { refusal: last = refusal, stored } = move ?? {};
  return { refused: { refusal: last, target, places: copied.places, staged, stored } };
}

/** Moves the rows of the staging table into the target table. */
async function moveStaged(client: ClientBase, load: RowLoad, rows: Staged): Promise<RowsOutcome> {
  if (mayLeaveOut(load)) return { loaded: await moveGood(client, load, rows, false) };
  const { staged, copied } = rows;
  const { moved, refusal, stored } = await moveWithKeys(client, load.target, staged);
  if (refusal) return { refused: { refusal, target: load.target, places: copied.places, staged, stored } };
  return { loaded: stagedRows(staged, copied, moved, await warnOfKeylessRows(client, staged)) };
}

/**
 * Moves the rows of the staging table and, if the table needs that, adds its keys. After a refusal the table is unchanged, or `stored` has
 * its rows.
 */
async function moveWithKeys(
  client: ClientBase,
  target: LoadTarget,
  staged: StagedLoad,
): Promise<MoveResult & Pick<RefusedLoad, 'stored'>> {
  if (!target.isBare || !target.addsKeysAtOnce) return moveRows(client, staged);
  await setSavepoint(client, 'keys of shards');
  const result = await moveRows(client, staged);
  const error = result.moved && (await target.addKeys(client));
  if (!error) return result;
  const refusal = { error };
  if (await needsStoredValues(client, target, staged))
    return { refusal, stored: await copyMovedRows(client, staged) };
  await rollBackTo(client, 'keys of shards', error);
  return { refusal };
}

/** Returns whether PostgreSQL fills in a value of a key. Otherwise the staged rows have all values of the keys. */
async function needsStoredValues(
  client: ClientBase,
  target: LoadTarget,
  staged: StagedLoad,
): Promise<boolean> {
  const rules = await target.readRules(client);
  return rules.some(
    (rule) => !isDecidedByRows(rule, staged) || shapesWithout(columnsRead(rule), staged).length > 0,
  );
}

/**
 * Moves the rows of the staging table without those that have problems.
 *
 * @param wereRefused true: PostgreSQL has already refused these rows as a whole
 */
async function moveGood(
  client: ClientBase,
  load: RowLoad,
  { staged, copied }: Staged,
  wereRefused: boolean,
): Promise<LoadedRows> {
  const { target, options, problems } = load;
  const faulty = options.faulty!;
  const before = faulty.count;
  const moved = await moveGoodRows(client, target, staged, { wereRefused, faulty, problems });
  const sent = copied.sent - (faulty.count - before);
  const keyless = await warnOfKeylessRows(client, staged);
  return withLeftOut(stagedRows(staged, { ...copied, sent }, moved, keyless), load);
}

/** Returns PostgreSQL's refusal of the copied rows as a whole: by deferred constraints, or by the keys of a new table. */
async function refusalOfKeys(client: ClientBase, load: RowLoad): Promise<Refusal | undefined> {
  const { target } = load;
  if (!target.isBare) return checkDeferred(client);
  // If rows may not be left out and `addsKeysAtOnce` is false, the keys are added when the load is finished.
  const error = mayLeaveOut(load) || target.addsKeysAtOnce ? await target.addKeys(client) : undefined;
  return error && { error };
}

/** Returns whether rows may be left out. Otherwise all problems are searched for, and the upload is refused if there is one. */
function mayLeaveOut({ options: { faulty }, problems }: RowLoad): boolean {
  return faulty !== undefined && !faulty.areTooMany && !problems.concernsAll;
}

/** Counts rows with problems. If there are too many, `problems` gets this as the reason of the refusal. */
function countFaulty({ options: { faulty }, problems }: RowLoad, count: number): void {
  if (faulty === undefined) return;
  faulty.add(count);
  if (faulty.areTooMany && !problems.concernsAll) problems.reason = faulty.reasonOfTooMany;
}

function refusedRowsLimit({ options: { faulty } }: RowLoad): { maxRefusedRows?: number } {
  return faulty === undefined || faulty.max < manyRefusedRows ? {} : { maxRefusedRows: faulty.max };
}

/**
 * Adds the number of rows that were left out to the result, if rows may be left out.
 *
 * @throws AppError `invalid-data` if every row has a problem
 */
function withLeftOut(loaded: LoadedRows, load: RowLoad): LoadedRows {
  if (!mayLeaveOut(load)) return loaded;
  const { options, problems } = load;
  const leftOut = options.faulty!.count;
  if (receivedRows(loaded) === 0 && leftOut > 0) {
    problems.reason = noGoodRow;
    problems.throwIfAny();
  }
  if (leftOut > 0) refuseJoinedRows(load, leftOut);
  return { ...loaded, leftOut };
}

/**
 * Refuses the upload if a row that was left out may have other rows in it, which quotes have joined with it.
 *
 * @throws AppError `invalid-data`
 */
function refuseJoinedRows({ input, problems }: RowLoad, leftOut: number): void {
  const { joinedLines } = input;
  if (joinedLines === undefined) return;
  const listed = problems.listed();
  const areAllListed = listed.length >= leftOut && listed.length === problems.count;
  if (areAllListed && !listed.some(({ row }) => row !== undefined && joinedLines.rows.includes(row))) return;
  problems.reason = joinedLines.reason;
  problems.throwIfAny();
}

function straightRows({ relation }: LoadTarget, copied: CopiedRows, inserted: number): LoadedRows {
  const { sent, places, warnings, rowOf, hasSeveralLists } = copied;
  return {
    inserted,
    updated: 0,
    skipped: 0,
    suppressed: sent - inserted,
    warnings,
    hasSeveralLists,
    places,
    sent: { relation, numbering: byPlace(rowOf) },
  };
}

function stagedRows(
  staged: StagedLoad,
  copied: CopiedRows,
  moved: MovedRows,
  keyless: Warning[],
): LoadedRows {
  const { conflict } = staged;
  // If a trigger prevents the update of a row, `updated` counts the row, but `merged` does not.
  const inserted = Math.max(moved.merged - moved.updated, 0);
  const left = copied.sent - inserted;
  const skipped = conflict?.action === 'skip' ? Math.min(left, moved.skipped ?? left) : 0;
  const surplus = conflict?.action === 'update' ? moved.surplus : 0;
  const updated = Math.min(moved.updated, moved.merged) + surplus;
  return {
    ...(conflict && { conflictKey: conflict.isKeySent ? conflict.key.columns : [] }),
    inserted,
    updated,
    skipped,
    suppressed: left - updated - skipped,
    warnings: [...keyless, ...copied.warnings],
    hasSeveralLists: copied.hasSeveralLists,
    places: copied.places,
    sent: { relation: movedRows(staged, inMovingOrder(staged)), numbering: byRowNumber, conflict },
  };
}

function refuseTooManyColumns(count: number): void {
  if (count <= maxStagedColumns) return;
  const what = `The table has ${count} columns, too many for on_conflict and for types that PostgreSQL reads from text`;
  throw limitExceeded(what, maxStagedColumns, 'columns');
}
