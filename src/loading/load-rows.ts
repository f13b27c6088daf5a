/**
 * Loads the rows of an input into a table.
 *
 * There are two ways. Most rows are copied *straight* into the table, which is fast. Rows are *staged* in a temporary table and moved
 * from there if their keys may conflict with other rows (`on_conflict`), if the type of a column has no binary encoder, or if the table
 * does not accept COPY. If PostgreSQL refuses rows on the straight way, they are read again and staged, because every row with a
 * problem can be found in the staging table.
 */

import type { ClientBase } from 'pg';
import type { Warning } from '../errors.ts';
import { limitExceeded } from '../limit-exceeded.ts';
import { rollBackTo, setSavepoint } from '../postgres/savepoints.ts';
import { isBrokenReference, isLackOfPrivilege } from '../postgres/sqlstate.ts';
import { ColumnMatcher } from './column-matching.ts';
import { type CopiedRows, copyRows } from './copy-rows.ts';
import { manyRefusedRows } from './encoding-sink.ts';
import { lackOnColumns } from './lack-on-columns.ts';
import { cannotBeStaged, noGoodRow } from './left-out/faulty-rows.ts';
import { keepGoodRows, moveAtOnce } from './left-out/keep-good-rows.ts';
import type { LoadInput } from './load-input.ts';
import type { LoadTarget } from './load-target.ts';
import { type LoadedRows, receivedRows } from './loaded-rows.ts';
import { Problems } from './problems.ts';
import type { RowOptions } from './row-options.ts';
import { explainRefusal } from './staged/explain-refusal.ts';
import { warnOfKeylessRows } from './staged/keyless-rows.ts';
import { movedRows } from './staged/merge-statements.ts';
import { checkDeferred, inMovingOrder, type MovedRows, moveRows } from './staged/move-rows.ts';
import type { Refusal } from './staged/refusal.ts';
import { type StageOptions, stageRows } from './staged/stage-rows.ts';
import type { StagedLoad } from './staged/staged-load.ts';
import { maxStagedColumns } from './staged/staging-table.ts';
import { byPlace, byRowNumber } from './staged/violation-queries.ts';
import { isStagedAsText } from './target-columns.ts';

/** The savepoint before the first row. */
const savepoint = 'rows';

/** The most different sets of columns in one upload. Each set is moved separately, so more of them would take too long. */
const maxMovedShapes = 200;

interface RowLoad {
  input: LoadInput;
  target: LoadTarget;
  options: RowOptions;
  problems: Problems;
}

/**
 * Loads all rows that have no problem, and adds the problems of the others to `problems`. If these may be left out, `leftOut` of the
 * result is set; otherwise the caller refuses the upload if there is a problem.
 *
 * @throws AppError `invalid-data` with all problems if PostgreSQL refuses the rows; what the input throws; PostgreSQL's errors
 *   that are not about the rows
 */
export async function loadRows(
  client: ClientBase,
  input: LoadInput,
  target: LoadTarget,
  options: RowOptions,
  problems: Problems,
): Promise<LoadedRows> {
  const load = { input, target, options, problems };
  const isStaged =
    options.conflict !== undefined || target.takesNoCopy || target.columns.some(isStagedAsText);
  await setSavepoint(client, savepoint);
  try {
    const loaded = await (isStaged ? loadStaged(client, load) : loadStraight(client, load));
    return mayLeaveOut(load) ? leavingOut(loaded, load) : loaded;
  } catch (error) {
    if (target.isBare || !(error instanceof Error) || !isLackOfPrivilege(error)) throw error;
    await undoRows(client).catch(() => {
      throw error;
    });
    throw (await lackOnColumns(client, target, options, error)) ?? error;
  }
}

async function loadStraight(client: ClientBase, load: RowLoad): Promise<LoadedRows> {
  const { input, target, options, problems } = load;
  const { relation, columns, mayRefuseRows } = target;
  const copyOptions = {
    ...options,
    ...refusedRowsLimit(load),
    relation,
    columns,
    freezes: options.freezes,
    mayFill: () => true,
    mayUpdate: false,
  };
  const keepRows = mayRefuseRows || options.faulty !== undefined;
  const copied = await copyRows(client, input, { ...copyOptions, keepRows }, problems);
  countFaulty(load, copied.refused);
  const refusal = copied.refusal ?? (await refusalOfKeys(client, load));
  if (!refusal) return straightRows(relation, copied, copied.taken);

  await undoRows(client);
  const again = mayRefuseRows || mayLeaveOut(load) ? await stageAgain(client, load) : undefined;
  if (again && mayLeaveOut(load)) return keepStaged(client, load, again);
  if (mayLeaveOut(load)) problems.reason = cannotBeStaged;
  const staged = again?.staged;
  // Rows of one COPY cannot refer to rows of a later COPY. The staging table can move all rows at once.
  const isTooEarly = isBrokenReference(refusal.error) && copied.hasSeveralLists && problems.count === 0;
  const move = staged && isTooEarly ? await moveRows(client, staged) : undefined;
  if (move?.moved) return straightRows(relation, copied, move.moved.merged);
  return explainRefusal(
    client,
    move?.refusal ?? refusal,
    { target, places: copied.places, staged },
    problems,
  );
}

/** Returns PostgreSQL's refusal of the copied rows as a whole: by deferred constraints, or by the keys of a new table. */
async function refusalOfKeys(client: ClientBase, load: RowLoad): Promise<Refusal | undefined> {
  const { target } = load;
  if (!target.isBare) return checkDeferred(client);
  // Otherwise the keys are added when the load is finished.
  const error = mayLeaveOut(load) ? await target.addKeys(client) : undefined;
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
 * Adds the number of rows that were left out to the result.
 *
 * @throws AppError `invalid-data` if every row has a problem
 */
function leavingOut(loaded: LoadedRows, { options: { faulty }, problems }: RowLoad): LoadedRows {
  const leftOut = faulty!.count;
  if (receivedRows(loaded) === 0 && leftOut > 0) {
    problems.reason = noGoodRow;
    problems.throwIfAny();
  }
  return { ...loaded, leftOut };
}

/** Moves the rows of the staging table without those that have problems. */
async function keepStaged(
  client: ClientBase,
  load: RowLoad,
  { staged, copied }: Staged,
): Promise<LoadedRows> {
  const { target, options, problems } = load;
  const faulty = options.faulty!;
  const before = faulty.count;
  const moved = await keepGoodRows(client, target, staged, faulty, problems);
  const sent = copied.sent - (faulty.count - before);
  const keyless = await warnOfKeylessRows(client, staged);
  return stagedRows(staged, { ...copied, sent }, moved, keyless);
}

interface Staged {
  staged: StagedLoad;
  copied: CopiedRows;
}

/** Reads the rows once more, into the staging table. Returns undefined if they cannot be staged. */
async function stageAgain(client: ClientBase, load: RowLoad): Promise<Staged | undefined> {
  const { input, target, options } = load;
  if (target.columns.length > maxStagedColumns) return undefined;
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, 'ignore');
  const maxShapes = mayLeaveOut(load) ? maxMovedShapes : Number.POSITIVE_INFINITY;
  const stageOptions = {
    ...options,
    ...refusedRowsLimit(load),
    conflict: undefined,
    keepRows: false,
    maxShapes,
    matcher,
  };
  try {
    // The problems of cells are known already, so they are not collected again.
    const { staged, copied } = await stageRows(client, input, target, stageOptions, new Problems());
    if (!copied.refusal) return { staged, copied };
  } catch (error) {
    if (!isLackOfPrivilege(error)) throw error;
  }
  await undoRows(client);
  return undefined;
}

async function loadStaged(client: ClientBase, load: RowLoad): Promise<LoadedRows> {
  const { input, target, options, problems } = load;
  refuseTooManyColumns(target.columns.length);
  const stageOptions: StageOptions = {
    ...options,
    ...refusedRowsLimit(load),
    keepRows: false,
    maxShapes: maxMovedShapes,
  };
  const { staged, copied } = await stageRows(client, input, target, stageOptions, problems);
  countFaulty(load, copied.refused);
  if (copied.refusal) {
    await undoRows(client);
    if (mayLeaveOut(load)) problems.reason = cannotBeStaged;
    return explainRefusal(client, copied.refusal, { target, places: copied.places }, problems);
  }
  if (mayLeaveOut(load)) {
    const moved = await moveAtOnce(client, target, staged);
    if (moved === undefined) return keepStaged(client, load, { staged, copied });
    return stagedRows(staged, copied, moved, await warnOfKeylessRows(client, staged));
  }
  const { moved, refusal } = await moveRows(client, staged);
  if (refusal) return explainRefusal(client, refusal, { target, places: copied.places, staged }, problems);
  return stagedRows(staged, copied, moved, await warnOfKeylessRows(client, staged));
}

function straightRows(relation: string, copied: CopiedRows, inserted: number): LoadedRows {
  const { sent, places, warnings, rowOf } = copied;
  return {
    inserted,
    updated: 0,
    skipped: 0,
    suppressed: sent - inserted,
    warnings,
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
    places: copied.places,
    sent: { relation: movedRows(staged, inMovingOrder(staged)), numbering: byRowNumber, conflict },
  };
}

/** Rolls back all loaded rows. */
async function undoRows(client: ClientBase): Promise<void> {
  await rollBackTo(client, savepoint);
}

function refuseTooManyColumns(count: number): void {
  if (count <= maxStagedColumns) return;
  const what = `The table has ${count} columns, too many for on_conflict and for types that PostgreSQL reads from text`;
  throw limitExceeded(what, maxStagedColumns, 'columns');
}
