/**
 * Moves the staged rows that have no problem into the table and leaves the others out (`faulty_rows=leave_out`). PostgreSQL has judged
 * exactly the rows that are kept: the last statements, with the constraints that are deferred to the end of the transaction, succeeded
 * over these rows.
 *
 * There are two ways. First queries find the rows that break keys, references and checks, and all other rows are moved at once. If
 * PostgreSQL refuses these, it judges the rows one by one.
 */
import type { ClientBase } from 'pg';
import { rollBackTo, setSavepoint } from '../../postgres/savepoints.ts';
import type { LoadTarget } from '../load-target.ts';
import type { Problems } from '../problems.ts';
import { type MovedRows, moveRows } from '../staged/move-rows.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { FaultyRows } from './faulty-rows.ts';
import { moveRowByRow } from './move-row-by-row.ts';
import { removeViolations } from './remove-violations.ts';

/**
 * Counts the rows that were left out in `faulty`, and adds their problems. A new table has its keys afterwards.
 *
 * @throws AppError `invalid-data` if more rows have problems than may be left out, or if PostgreSQL refuses the rows for a reason that
 *   is not one of single rows
 */
export async function keepGoodRows(
  client: ClientBase,
  target: LoadTarget,
  load: StagedLoad,
  faulty: FaultyRows,
  problems: Problems,
): Promise<MovedRows> {
  const rules = await target.readRules(client);
  // Triggers and rules of the table may change the rows, so queries over the rows that were sent say nothing.
  const isDecidedByRows = !load.changesRows && !load.hasRules;
  const aside = isDecidedByRows ? await removeViolations(client, load, rules, faulty, problems) : undefined;
  if (aside && faulty.count + aside.count > faulty.max) await aside.leaveOut();
  if (faulty.areTooMany) refuse(problems, faulty.reasonOfTooMany);
  const movedAtOnce = await moveAtOnce(client, target, load);
  if (movedAtOnce) {
    await aside?.leaveOut();
    return movedAtOnce;
  }
  await aside?.takeBack();
  const error = await target.addKeys(client);
  if (error) throw error;
  const moved = await moveRowByRow(client, { ...load, isBare: false }, rules, faulty, problems);
  return moved ?? refuse(problems, faulty.areTooMany ? faulty.reasonOfTooMany : unexplained);
}

const unexplained = 'PostgreSQL still refuses the upload without the rows that have problems.';

/**
 * Moves all staged rows, and adds the keys of a new table.
 *
 * @returns undefined: PostgreSQL refused the rows or the keys, and nothing was moved
 */
export async function moveAtOnce(
  client: ClientBase,
  target: LoadTarget,
  load: StagedLoad,
): Promise<MovedRows | undefined> {
  await setSavepoint(client, 'at once');
  const { moved } = await moveRows(client, load, true);
  if (moved && (await target.addKeys(client)) === undefined) return moved;
  await rollBackTo(client, 'at once');
  return undefined;
}

function refuse(problems: Problems, reason: string): never {
  problems.reason = reason;
  problems.throwIfAny();
  throw new Error('no problem was found');
}
