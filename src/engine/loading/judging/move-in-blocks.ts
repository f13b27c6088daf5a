/**
 * Moves the staged rows in blocks, so that PostgreSQL accepts or refuses each row: refused rows are left out, and all others are
 * then in the table. The result is the same as that of one INSERT for each row, in the order of the file, each with its own
 * savepoint. With `on_conflict=update`, only the last good row with a key is used.
 */
import type { ClientBase } from 'pg';
import { maxListedProblems } from '../../../core/errors.ts';
import { rollBackTo, setSavepoint } from '../../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { isPolicyViolation } from '../../../postgres/server-internals.ts';
import { errorsNotOfRows, errorsNotOfRowsOrPrivileges } from '../../../postgres/sqlstate.ts';
import { isSelfReference, namesOf } from '../../tables/rules/row-rules.ts';
import { asTooMuch, measuredPattern, refuseLongIndexes, startMeasuring } from '../staged/computed-bytes.ts';
import { rowsPerStatement } from '../staged/merge-in-order.ts';
import { checkConstraintsNow, commitInTwoPhases, takeTurn } from '../staged/merge-statements.ts';
import * as moving from '../staged/move-rows.ts';
import { countSkipped } from '../staged/skipped-rows.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { analyzeStagingTable, indexByRow, readRange, stagingTable } from '../staged/staging-table.ts';
import { emptySurplusTable } from '../staged/surplus-rows.ts';
import { countUnchangedRows, deleteUnchangedRows, findsUnchanged } from '../staged/unchanged-rows.ts';
import * as blocks from './block-statements.ts';
import type { Judgement } from './judgement.ts';
import { addRefusedRows } from './refused-problems.ts';
import { deleteRows, rowsOfShapes, temporaryTable } from './staged-statements.ts';

/** The number of times that rows are tried again because other rows with the same keys were refused. */
const maxRounds = 20;

/** `rowsPerStatement` for a new table, whose indexes are then measured. An entry of an index may be much longer than its row. */
const rowsPerMeasure = 10_000;

/** The computed values of a block count again when PostgreSQL has refused it, so a pass may have so many times the limit. */
const timesMeasured = 8;

/** The savepoint before the first moved row. */
const savepoint = 'pass';

interface Pass extends Judgement {
  /** true: deferred constraints are checked after each row instead of at the end. */
  isImmediate: boolean;
  /** The table has policies of row-level security. A missing privilege then means that a policy refuses the row. */
  hasPolicies: boolean;
}

/**
 * Moves all staged rows that PostgreSQL accepts. The others are left out, and their problems are added.
 *
 * @returns undefined: the upload must be refused, because too many rows have problems, or because PostgreSQL refuses the rows for a reason
 *   that is not about a single row
 */
export async function moveInBlocks(judgement: Judgement): Promise<moving.MovedRows | undefined> {
  const { client, load, faulty, refusesAll } = judgement;
  if (load.conflict) load.shapes.refuseToPlan(load.columns.length);
  await queryInCallersPath(client, indexByRow);
  await client.query(analyzeStagingTable([]));
  await setSavepoint(client, savepoint);
  const pass = { ...judgement, isImmediate: false, hasPolicies: false };
  let deadlocks = 0;
  for (let round = 0; round < maxRounds; ) {
    const passed = await runPass(pass, deadlocks);
    if (typeof passed !== 'string') {
      await addRefusedRows(judgement, passed.refused);
      faulty.add(passed.refused);
      if (faulty.areTooMany || refusesAll) return undefined;
      if (load.conflict?.action !== 'update' || passed.refused === 0) {
        await client.query(blocks.deleteRefusedRows);
        return countMoved(client, load, passed);
      }
      // If a refused row had replaced an earlier row with the same key, the earlier row must be used instead. So all rows are moved again without the refused ones.
      const { rows } = await client.query<{ rows: number[] }>(blocks.refusedNumbers);
      await rollBackTo(client, savepoint);
      await client.query(deleteRows(rows[0]!.rows));
      await setSavepoint(client, savepoint);
      const { moved } = await moving.moveRows(client, load);
      if (moved) return moved;
    }
    await rollBackTo(client, savepoint);
    if (passed === 'deadlock') {
      deadlocks += 1;
      await client.query(takeTurn(load.relation));
    } else round += 1;
    if (passed === 'has policies') pass.hasPolicies = true;
    if (passed === 'has deferred') pass.isImmediate = true;
  }
  return undefined;
}

interface PassState {
  merged: number;
  /** It is counted only for a sharded table. */
  changed: number;
  refused: number;
}

/** A pass that has moved all rows. */
interface Ended extends PassState {
  /** The number of unchanged rows, which were not moved. */
  unmoved: number;
}

/**
 * The result of a pass. `has policies` and `has deferred` report that the table has policies or deferred constraints: the pass must
 * be repeated with this knowledge. After `deadlock` it can be repeated.
 */
type Passed = Ended | 'has policies' | 'has deferred' | 'deadlock';

/** @param deadlocks the number of deadlocks of earlier passes */
async function runPass(pass: Pass, deadlocks: number): Promise<Passed> {
  try {
    return await passAndCheck(pass);
  } catch (error) {
    if (!pass.hasPolicies && isPolicyViolation(error)) return 'has policies';
    if (moving.mayTryAgain(error, deadlocks)) return 'deadlock';
    throw asTooMuch(error, pass.load.computed);
  }
}

async function passAndCheck(judged: Pass): Promise<Passed> {
  const { computed } = judged.load;
  const limit = timesMeasured * (computed?.limit ?? 0);
  const pass = computed ? { ...judged, load: { ...judged.load, computed: { ...computed, limit } } } : judged;
  const { client, load, isImmediate } = pass;
  await client.query(blocks.createPassTables);
  if (load.computed) await client.query(startMeasuring);
  if (load.isSharded) await queryInCallersPath(client, commitInTwoPhases(load, 0));
  if (isImmediate) await queryInCallersPath(client, checkConstraintsNow);
  const unmoved = await prepareConflict(pass);
  for (const source of sourcesOf(pass)) await passOverAll({ ...pass, load: { ...load, source } });
  await passOverWaiting(pass);
  const { rows } = await client.query<PassState>(blocks.readPassState);
  const ended = { ...rows[0]!, unmoved };
  if (ended.refused > mostRefused(pass)) return ended;
  const deferred = await moving.checkDeferred(client);
  if (deferred === undefined) return ended;
  if (isImmediate) throw deferred.error;
  return 'has deferred';
}

/** Returns the number of unchanged rows, which are not moved. */
async function prepareConflict({ client, load, refusesAll }: Pass): Promise<number> {
  const { conflict } = load;
  if (!conflict) return 0;
  await moving.findMoved(client, load, conflict, true);
  // With `skip`, PostgreSQL itself skips each row whose key is in the table, in the order of the file, so no row is surplus beforehand.
  if (conflict.action === 'skip' && !refusesAll) await client.query(emptySurplusTable);
  if (!findsUnchanged(load)) return 0;
  const { rows } = await queryInCallersPath<{ count: number }>(client, countUnchangedRows);
  // Each of many small blocks would search the unchanged rows, so these are deleted.
  await client.query(deleteUnchangedRows);
  return rows[0]!.count;
}

/**
 * Returns the relations whose rows are moved, one after the other. If no row may be left out, rows with the key of `on_conflict`
 * come first, as in `inMovingOrder`.
 */
function sourcesOf({ load: { conflict, shapes }, refusesAll }: Pass): string[] {
  const first = conflict?.shapes ?? [];
  if (!refusesAll || first.length === 0 || first.length === shapes.all.length) return [stagingTable];
  return [
    rowsOfShapes(first),
    rowsOfShapes([...shapes.all.keys()].filter((shape) => !first.includes(shape))),
  ];
}

/** Returns the number of refused rows up to which the pass continues. If the upload will be refused, the pass stops when the answer has enough problems to list. */
function mostRefused({ faulty, refusesAll }: Judgement): number {
  return refusesAll ? maxListedProblems - 1 : faulty.max - faulty.count;
}

async function passOverAll(pass: Pass): Promise<void> {
  const { client, target, load, rules, problems } = pass;
  const { rows } = await client.query<{ first: number | null; last: number }>(readRange(load.source));
  const { first, last } = rows[0]!;
  const notOfRows = pass.hasPolicies ? errorsNotOfRows : errorsNotOfRowsOrPrivileges;
  const options = {
    maxRefused: mostRefused(pass),
    maxListed: problems.maxFound,
    notOfRows: load.computed ? `${notOfRows}|${measuredPattern}` : notOfRows,
    countsMet: moving.countsBySequence(load),
    ownReferences: namesOf(rules.filter(isSelfReference)),
  };
  const isMeasured = target.isNew && !load.isSharded;
  const step = isMeasured ? rowsPerMeasure : rowsPerStatement;
  for (let from = first ?? Number.POSITIVE_INFINITY; from <= last; from += step) {
    const to = Math.min(from + step, last + 1);
    await queryInCallersPath(client, blocks.passOver(load, { ...options, from, to }));
    if (isMeasured) await refuseLongIndexes(client, load.relation, load.mostAdded);
  }
}

/**
 * Moves the waiting rows, which refer to rows of the same table that did not exist yet. This is repeated as long as some of these
 * rows can be moved. The remaining rows are refused.
 */
async function passOverWaiting(pass: Pass): Promise<void> {
  const { client, load } = pass;
  const countWaiting = async () =>
    (await client.query<{ count: number }>(blocks.countWaitingRows)).rows[0]!.count;
  let before = Number.POSITIVE_INFINITY;
  for (let count = await countWaiting(); count > 0 && count < before; count = await countWaiting()) {
    before = count;
    const source = temporaryTable('waiting rows');
    await client.query(blocks.takeWaitingRows(source));
    await passOverAll({ ...pass, load: { ...load, source } });
  }
  await client.query(blocks.refuseWaitingRows);
}

async function countMoved(
  client: ClientBase,
  load: StagedLoad,
  { merged, changed, unmoved }: Ended,
): Promise<moving.MovedRows> {
  if (load.conflict?.action !== 'update')
    return { merged, changed: 0, unchanged: 0, skipped: await countSkipped(client, load, merged) };
  const counted = await moving.countUpdates(client, load, { merged, changed });
  return { ...counted, unchanged: counted.unchanged + unmoved };
}
