/**
 * Loads the rows of an input into a table.
 *
 * There are two ways. Most rows are copied *straight* into the table, which is fast. Rows are *staged* in a temporary table and moved
 * from there if their keys may conflict with other rows (`on_conflict`), if the type of a column has no binary encoder, or if the table
 * does not accept COPY or has rules. If PostgreSQL refuses rows on the straight way, they are staged, too, because every row with a problem can be
 * found in the staging table (judging/judge-rows.ts).
 */

import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import { Problems } from '../../encoding/problems/problems.ts';
import { manyRefusedRows } from '../../encoding/sink/encoding-sink.ts';
import { lacksSqlstate } from '../../postgres/citus/worker-errors.ts';
import { rollBackTo, setSavepoint } from '../../postgres/savepoints.ts';
import { isBrokenReference, isLackOfPrivilege, isRefusalOfInput } from '../../postgres/sqlstate.ts';
import { asLackOfTemporary } from '../../postgres/temporary-privilege.ts';
import type { CopiedRows } from './copying/copy-rows.ts';
import type { Refusal } from './copying/refusal.ts';
import { isStagedAsText } from './copying/target-columns.ts';
import { listChanges } from './difference/list-changes.ts';
import type { LoadInput } from './inputs/load-input.ts';
import { cannotBeStaged, noGoodRow } from './judging/faulty-rows.ts';
import { judgeRows, moveAtOnce, refuseUnstaged } from './judging/judge-rows.ts';
import { type LoadedRows, receivedRows, straightRows } from './loaded-rows.ts';
import { type MissingResult, removeMissingRows } from './missing/remove-missing-rows.ts';
import { copyChanging } from './one-pass/copy-changing.ts';
import type { RowChange } from './request/row-change.ts';
import type { RowOptions } from './row-options.ts';
import { measuredColumns } from './staged/computed-bytes.ts';
import { warnOfKeylessRows } from './staged/keyless-rows.ts';
import { checkDeferred, type MovedRows } from './staged/move-rows.ts';
import { maxMovedShapes } from './staged/shapes.ts';
import { stageRows } from './staged/stage-rows.ts';
import { stageStored } from './staged/stage-stored.ts';
import type { StagedLoad } from './staged/staged-load.ts';
import { maxStagedColumns } from './staged/staging-table.ts';
import { lackOnColumns } from './target/lack-on-columns.ts';
import type { LoadTarget } from './target/load-target.ts';

/** The savepoint before the first row. */
const savepoint = 'rows';

interface RowLoad {
  input: LoadInput;
  target: LoadTarget;
  options: RowOptions;
  problems: Problems;
  /** See `measuredColumns`. */
  measured: readonly string[] | undefined;
  /** The first differences between the rows and the table, of the last attempt to move the rows. */
  changes?: RowChange[] | undefined;
}

/** Rows that were copied into the target table or, if `staged` is set, into the staging table. */
interface Attempt {
  copied: CopiedRows;
  staged?: StagedLoad | undefined;
  /** PostgreSQL's refusal of the rows; undefined: it accepted them. */
  refusal?: Refusal | undefined;
  /** PostgreSQL refused the keys of a new table. The rows are in the table, without these keys. */
  isOfKeys?: boolean;
  /** The missing rows. They stay deleted or marked if the staged rows are moved again. */
  missing?: MissingResult | undefined;
}

/**
 * Loads all rows that have no problem, and adds the problems of the others to `problems`. If rows may be left out, `leftOut` of the result
 * is set; otherwise the caller refuses the upload if there is a problem. A new table has its keys afterwards.
 *
 * @throws AppError `invalid-data` if PostgreSQL refuses rows and none may be left out, or if too many rows must be left out;
 *   `permission-denied`; what the input throws; PostgreSQL's errors that are not about the rows
 */
export async function loadRows(
  client: ClientBase,
  input: LoadInput,
  target: LoadTarget,
  options: RowOptions,
  problems: Problems,
): Promise<LoadedRows> {
  const load: RowLoad = { input, target, options, problems, measured: await measuredColumns(client, target) };
  await setSavepoint(client, savepoint);
  try {
    const first = await (isStagedAtOnce(load) ? stageAndMove(client, load) : copyStraight(client, load));
    const loaded = 'loaded' in first ? first.loaded : await loadRefused(client, load, first);
    await first.missing?.afterMove?.();
    return withLeftOut({ ...loaded, missing: first.missing }, load);
  } catch (error) {
    if (!(error instanceof Error) || !isLackOfPrivilege(error)) throw error;
    await rollBackTo(client, savepoint).catch(() => {
      throw error;
    });
    throw await asLack(client, load, error);
  }
}

type Refused = Attempt & { refusal: Refusal };

/** Loads the rows again after PostgreSQL has refused some of them, and leaves out or reports these rows. */
async function loadRefused(client: ClientBase, load: RowLoad, first: Refused): Promise<LoadedRows> {
  const { target, options, problems } = load;
  const { refusal, copied } = first;
  const staged = first.staged ?? (await stageRefused(client, load, first));
  if (staged === undefined) {
    await rollBackTo(client, savepoint);
    if (mayLeaveOut(load)) problems.reason = cannotBeStaged;
    return refuseUnstaged(client, target, refusal, copied.places, problems);
  }
  // The rows were sent by several COPYs, and a row of one COPY cannot refer to a row of a later one. If the rows are staged, one statement can move all of them.
  // The keys of a new table are added when it has all rows.
  const isTooEarly = isBrokenReference(refusal.error) && copied.hasSeveralLists && !first.isOfKeys;
  const isMovedAgain = !first.staged && (isTooEarly || lacksSqlstate(refusal.error));
  const again = isMovedAgain ? await moveAtOnce(client, target, staged) : { refusal };
  if (again.moved) return stagedRows(client, load, staged, copied, again.moved);
  const faulty = mayLeaveOut(load) ? options.faulty : undefined;
  const before = faulty?.count ?? 0;
  const moved = await judgeRows(client, { target, staged, refusal: again.refusal }, faulty, problems);
  return stagedRows(
    client,
    load,
    staged,
    { ...copied, sent: copied.sent + before - (faulty?.count ?? 0) },
    moved,
  );
}

/**
 * Returns an error that names the privilege which the role lacks, or the same error if this privilege cannot be found. The failed
 * statements must have been rolled back.
 */
async function asLack(client: ClientBase, load: RowLoad, error: Error): Promise<unknown> {
  const { target, options } = load;
  const lack = isStagedAtOnce(load) ? await asLackOfTemporary(client, error) : error;
  if (lack !== error || target.isNew) return lack;
  return (await lackOnColumns(client, target, options, error)) ?? error;
}

/** Returns whether the rows cannot be copied straight into the table, or are measured while they are moved. */
function isStagedAtOnce(load: RowLoad): boolean {
  return mustBeStaged(load) || load.measured !== undefined;
}

function mustBeStaged({ target, options }: RowLoad): boolean {
  // COPY ignores rules (CREATE RULE), which act on each row that is judged.
  const isCopied = !target.takesNoCopy && !target.hasRules;
  return options.conflict !== undefined || !isCopied || target.columns.some(isStagedAsText);
}

type Loaded = Pick<Attempt, 'missing'> & { loaded: LoadedRows };

/** Copies the rows straight into the table. */
async function copyStraight(client: ClientBase, load: RowLoad): Promise<Loaded | Refused> {
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
    // In a load in one pass, each pass keeps the rows.
    keepRows: mayRefuseRows || options.faulty !== undefined || (options.keepsRows && !options.changingTypes),
  };
  const copied = await copyChanging(client, input, target, copyOptions, problems);
  countFaulty(load, copied);
  if (copied.refusal) return { copied, refusal: copied.refusal };
  const refusal = await refusalAtEnd(client, target);
  return refusal ? { copied, refusal, isOfKeys: target.isNew } : { loaded: straightRows(copied) };
}

/** Copies the rows into the staging table, and moves them from there. */
async function stageAndMove(client: ClientBase, load: RowLoad): Promise<Loaded | Refused> {
  const { input, target, options, problems } = load;
  refuseTooManyColumns(target.columns.length);
  const { measured } = load;
  const keepRows = options.faulty !== undefined || options.keepsRows;
  const maxShapes = mustBeStaged(load) || mayLeaveOut(load) ? maxMovedShapes : Number.POSITIVE_INFINITY;
  const stageOptions = { ...options, ...refusedRowsLimit(load), keepRows, maxShapes, measured };
  const { staged, copied } = await stageRows(client, input, target, stageOptions, problems);
  countFaulty(load, copied);
  if (copied.refusal) return { copied, refusal: copied.refusal };
  staged.beforeMove = async () => {
    load.changes = await listChanges(client, staged);
  };
  const missing = await decideMissing(client, load, staged, copied);
  const { moved, refusal } = await moveAtOnce(client, target, staged);
  if (!moved) return { copied, staged, refusal, missing };
  return { loaded: await stagedRows(client, load, staged, copied, moved), missing };
}

/** Counts, deletes or marks the rows of the table that the upload does not have, if the request says so and the rows may be loaded. */
async function decideMissing(
  client: ClientBase,
  load: RowLoad,
  staged: StagedLoad,
  copied: CopiedRows,
): Promise<MissingResult | undefined> {
  const { options, problems } = load;
  const { missing: option } = options;
  if (option === undefined || staged.conflict === undefined) return undefined;
  const isRefused = problems.count > 0 && !mayLeaveOut(load);
  if (isRefused && option.action === 'keep') return undefined;
  try {
    return await removeMissingRows(client, { ...load, option, staged, copied });
  } catch (error) {
    // The problems of the rows come first. Without this error the rows are moved, to find all of their problems.
    if (isRefused) problems.throwIfAny();
    throw error;
  }
}

/** Stages rows that were refused after they were copied straight. Returns undefined if this is not possible. */
async function stageRefused(
  client: ClientBase,
  load: RowLoad,
  { copied, isOfKeys }: Attempt,
): Promise<StagedLoad | undefined> {
  const { target } = load;
  if (isStagedAtOnce(load) || target.columns.length > maxStagedColumns) return undefined;
  try {
    // If rows are only read to find problems, the staging table can be a view. With Citus it cannot, because Citus does not join a view with temporary tables.
    const areRead = !mayLeaveOut(load) && !target.isSharded;
    const isStored = isOfKeys && target.isNew && target.keepsOrder;
    const stored =
      isStored &&
      (await stageStored(client, target, copied, load.options.writtenLimits.maxUnpackRatio, areRead));
    if (stored) return stored;
    if (!target.mayRefuseRows && !mayLeaveOut(load)) return undefined;
    await rollBackTo(client, savepoint);
    return await stageAgain(client, load);
  } catch (error) {
    if (!isLackOfPrivilege(error) && !isRefusalOfInput(error)) throw error;
    return undefined;
  }
}

/** Reads the rows once more, into the staging table. Returns undefined if PostgreSQL cannot store them there. */
async function stageAgain(client: ClientBase, load: RowLoad): Promise<StagedLoad | undefined> {
  const { input, target, options } = load;
  const { extraColumns, filled } = options.matcher;
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, extraColumns, filled);
  const stageOptions = {
    ...options,
    ...refusedRowsLimit(load),
    conflict: undefined,
    measured: undefined,
    keepRows: false,
    maxShapes: mayLeaveOut(load) ? maxMovedShapes : Number.POSITIVE_INFINITY,
    matcher,
  };
  // The problems of cells go to a new list that is not used, because the first pass has collected them already.
  const { staged, copied } = await stageRows(client, input, target, stageOptions, new Problems());
  return copied.refusal ? undefined : staged;
}

/** Returns PostgreSQL's refusal that comes only after all rows were copied: from deferred constraints, or from the keys of a new table. */
async function refusalAtEnd(client: ClientBase, target: LoadTarget): Promise<Refusal | undefined> {
  if (!target.isNew) return checkDeferred(client);
  const error = await target.addKeys(client);
  return error && { error };
}

/** Returns whether rows may be left out. Otherwise all problems are searched for, and the upload is refused if there is one. */
function mayLeaveOut({ options: { faulty }, problems }: RowLoad): boolean {
  return faulty !== undefined && !faulty.areTooMany && !problems.concernsAll;
}

/** Counts rows with problems. If there are too many, `problems` gets this as the reason of the refusal. */
function countFaulty({ options: { faulty }, problems }: RowLoad, { sent, refused }: CopiedRows): void {
  if (faulty === undefined) return;
  faulty.setRows(sent + refused);
  faulty.add(refused);
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
 * Refuses the upload if a row that was left out may contain further rows, because an unclosed quote has joined several lines.
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

async function stagedRows(
  client: ClientBase,
  { changes }: RowLoad,
  staged: StagedLoad,
  copied: Pick<CopiedRows, 'sent' | 'warnings' | 'hasSeveralLists' | 'places'>,
  moved: MovedRows,
): Promise<LoadedRows> {
  const { conflict } = staged;
  const { unchanged } = moved;
  const changed = Math.min(moved.changed, moved.merged);
  // In a table with rules, changes that a trigger prevents count in `changed` but not in `merged`.
  const inserted = Math.max(moved.merged - moved.changed, 0);
  const left = copied.sent - inserted;
  const skipped = conflict?.action === 'skip' ? Math.min(left, moved.skipped ?? left) : 0;
  return {
    ...(conflict && { conflictKey: conflict.isKeySent ? conflict.key.columns : [] }),
    inserted,
    changed,
    unchanged,
    skipped,
    suppressed: left - changed - unchanged - skipped,
    warnings: [...(await warnOfKeylessRows(client, staged)), ...copied.warnings],
    hasSeveralLists: copied.hasSeveralLists,
    places: copied.places,
    changes,
  };
}

function refuseTooManyColumns(count: number): void {
  if (count <= maxStagedColumns) return;
  const what = `The table has ${count} columns, too many for on_conflict and for types that PostgreSQL reads from text`;
  throw limitExceeded(what, maxStagedColumns, 'columns');
}
