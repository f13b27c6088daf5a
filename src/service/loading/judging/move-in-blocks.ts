/**
 * Moves the staged rows so that PostgreSQL judges each of them: rows that it refuses are left out, all others are in the table. The
 * result is that of one INSERT for each row, in the order of the file, each with a savepoint of its own. With `on_conflict=update` only
 * the last good row with a key is used.
 */
import type { ClientBase } from 'pg';
import { maxListedProblems } from '../../../core/errors.ts';
import { rollBackTo, setSavepoint } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { isPolicyViolation } from '../../postgres/server-internals.ts';
import { errorsNotOfRows, errorsNotOfRowsOrPrivileges } from '../../postgres/sqlstate.ts';
import { findInputCheck } from '../staged/input-check.ts';
import {
  checkConstraintsNow,
  commitInTwoPhases,
  countUpdatedRows,
  createUpdateCounter,
  resetUpdateCounter,
  takeTurn,
} from '../staged/merge-statements.ts';
import {
  checkDeferred,
  countsBySequence,
  findSurplus,
  lockRowsToUpdate,
  type MovedRows,
  mayTryAgain,
  moveRows,
} from '../staged/move-rows.ts';
import { isSelfReference, namesOf } from '../staged/row-rules.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { analyzeStagingTable, indexByRow, stagingTable, typedStagingTable } from '../staged/staging-table.ts';
import { countSurplusRows, emptySurplusTable } from '../staged/surplus-rows.ts';
import {
  countWaitingRows,
  createPassTables,
  deleteRefusedRows,
  passOver,
  readPassState,
  readRange,
  refusedNumbers,
  refuseWaitingRows,
  takeWaitingRows,
} from './block-statements.ts';
import type { Judgement } from './judgement.ts';
import { addRefusedRows } from './refused-problems.ts';
import { deleteRows, rowsOfShapes, temporaryTable } from './staged-statements.ts';

/** The number of times that rows are tried again because other rows with the same keys were refused. */
const maxRounds = 20;

/**
 * The number of rows that one statement moves. It is small enough that `STATEMENT_TIMEOUT_MS` suffices for any number of rows.
 */
const rowsPerStatement = 100_000;

/** The savepoint before the first moved row. */
const savepoint = 'pass';

interface Pass extends Judgement {
  /** true: deferred constraints are checked after each row instead of at the end. */
  isImmediate: boolean;
  /** The SQLSTATE of a missing privilege means that a policy of row-level security refuses a row. */
  hasPolicies: boolean;
}

/**
 * Moves all staged rows that PostgreSQL accepts. The others are left out, and their problems are added.
 *
 * @returns undefined: the upload must be refused, because too many rows have problems, or because PostgreSQL refuses the rows for a reason
 *   that is not about a single row
 */
export async function moveInBlocks(judgement: Judgement): Promise<MovedRows | undefined> {
  const { client, load, faulty, refusesAll } = judgement;
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
        await client.query(deleteRefusedRows);
        return countMoved(client, load, passed);
      }
      // An earlier row with the same key may replace a refused one.
      const { rows } = await client.query<{ rows: number[] }>(refusedNumbers);
      await rollBackTo(client, savepoint);
      await client.query(deleteRows(rows[0]!.rows));
      await setSavepoint(client, savepoint);
      const { moved } = await moveRows(client, load, true);
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
  updated: number;
  refused: number;
}

/**
 * The result of a pass. With `has policies` and `has deferred` it must be run again with this knowledge, and after a deadlock it can be
 * run again.
 */
type Passed = PassState | 'has policies' | 'has deferred' | 'deadlock';

/** @param deadlocks the number of deadlocks of earlier passes */
async function runPass(pass: Pass, deadlocks: number): Promise<Passed> {
  try {
    return await passAndCheck(pass);
  } catch (error) {
    if (!pass.hasPolicies && isPolicyViolation(error)) return 'has policies';
    if (mayTryAgain(error, deadlocks)) return 'deadlock';
    throw error;
  }
}

async function passAndCheck(pass: Pass): Promise<Passed> {
  const { client, load, isImmediate } = pass;
  await client.query(createPassTables);
  if (load.isSharded) await queryInCallersPath(client, commitInTwoPhases(load, 0));
  if (isImmediate) await queryInCallersPath(client, checkConstraintsNow);
  await prepareConflict(pass);
  for (const source of sourcesOf(pass)) await passOverAll({ ...pass, load: { ...load, source } });
  await passOverWaiting(pass);
  const { rows } = await client.query<PassState>(readPassState);
  if (rows[0]!.refused > mostRefused(pass)) return rows[0]!;
  const deferred = await checkDeferred(client);
  if (deferred === undefined) return rows[0]!;
  if (isImmediate) throw deferred.error;
  return 'has deferred';
}

async function prepareConflict({ client, load, refusesAll }: Pass): Promise<void> {
  const { relation, columns, conflict, isSharded } = load;
  if (!conflict) return;
  const staged = typedStagingTable(columns, await findInputCheck(client, columns));
  await findSurplus(client, staged, conflict);
  if (!isSharded) await lockRowsToUpdate(client, relation, staged, conflict);
  // PostgreSQL itself skips the rows whose key is in the table, in the order of the file.
  if (conflict.action === 'skip' && !refusesAll) await client.query(emptySurplusTable);
  if (!countsBySequence(load)) return;
  await queryInCallersPath(client, createUpdateCounter);
  await queryInCallersPath(client, resetUpdateCounter);
}

/**
 * Returns the tables whose rows are moved one after the other. If no row may be left out, rows with the key of `on_conflict` come first, as in
 * `inMovingOrder`.
 */
function sourcesOf({ load: { conflict, shapes }, refusesAll }: Pass): string[] {
  const first = conflict?.shapes ?? [];
  if (!refusesAll || first.length === 0 || first.length === shapes.all.length) return [stagingTable];
  return [
    rowsOfShapes(first),
    rowsOfShapes([...shapes.all.keys()].filter((shape) => !first.includes(shape))),
  ];
}

/** Returns the number of refused rows after which the pass may go on. If no row is loaded, the answer lists no more than these and one. */
function mostRefused({ faulty, refusesAll }: Judgement): number {
  return refusesAll ? maxListedProblems - 1 : faulty.max - faulty.count;
}

async function passOverAll(pass: Pass): Promise<void> {
  const { client, load, rules, problems } = pass;
  const { rows } = await client.query<{ first: number | null; last: number }>(readRange(load.source));
  const { first, last } = rows[0]!;
  const options = {
    maxRefused: mostRefused(pass),
    maxListed: problems.maxFound,
    notOfRows: pass.hasPolicies ? errorsNotOfRows : errorsNotOfRowsOrPrivileges,
    countsUpdates: countsBySequence(load),
    ownReferences: namesOf(rules.filter(isSelfReference)),
  };
  for (let from = first ?? Number.POSITIVE_INFINITY; from <= last; from += rowsPerStatement) {
    const to = Math.min(from + rowsPerStatement, last + 1);
    await queryInCallersPath(client, passOver(load, { ...options, from, to }));
  }
}

/**
 * Moves the rows that wait, which refer to rows of the table that were not there. It does so again as long as more of these rows are
 * there. Then it refuses the others.
 */
async function passOverWaiting(pass: Pass): Promise<void> {
  const { client, load } = pass;
  const countWaiting = async () => (await client.query<{ count: number }>(countWaitingRows)).rows[0]!.count;
  let before = Number.POSITIVE_INFINITY;
  for (let count = await countWaiting(); count > 0 && count < before; count = await countWaiting()) {
    before = count;
    const source = temporaryTable('waiting rows');
    await client.query(takeWaitingRows(source));
    await passOverAll({ ...pass, load: { ...load, source } });
  }
  await client.query(refuseWaitingRows);
}

async function countMoved(
  client: ClientBase,
  load: StagedLoad,
  { merged, updated: inShards }: PassState,
): Promise<MovedRows> {
  if (load.conflict?.action !== 'update') return { merged, updated: 0, surplus: 0, skipped: undefined };
  const count = async (statement: string) =>
    (await client.query<{ count: number }>(statement)).rows[0]!.count;
  const updated = load.isSharded ? inShards : await count(countUpdatedRows);
  return { merged, updated, surplus: await count(countSurplusRows), skipped: undefined };
}
