/**
 * Moves the staged rows that have no problem into the table and leaves the others out (`faulty_rows=leave_out`). PostgreSQL has judged
 * exactly the rows that are kept: the last statements, with the constraints that are deferred to the end of the transaction, succeeded
 * over these rows.
 *
 * There are three ways, from the fastest to the slowest. All rows are moved at once. If PostgreSQL refuses them, queries find the rows
 * that break keys, references and checks, and all other rows are moved at once. If PostgreSQL refuses these, too, it judges the rows
 * one by one.
 */
import type { ClientBase } from 'pg';
import type { Problems } from '../../../encoding/problems/problems.ts';
import { rollBackTo, setSavepoint } from '../../postgres/savepoints.ts';
import { type MovedRows, moveRows } from '../staged/move-rows.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import type { LoadTarget } from '../target/load-target.ts';
import type { FaultyRows } from './faulty-rows.ts';
import { moveRowByRow } from './move-row-by-row.ts';
import { removeViolations } from './remove-violations.ts';

export interface GoodRowsOptions {
  /** true: PostgreSQL has already refused these rows as a whole. */
  wereRefused: boolean;
  /** Counts the rows that are left out. */
  faulty: FaultyRows;
  /** Gets the problems of these rows. */
  problems: Problems;
}

/**
 * Moves all staged rows if PostgreSQL accepts them, and otherwise those without problems. A new table has its keys afterwards.
 *
 * @throws AppError `invalid-data` if more rows have problems than may be left out, or if PostgreSQL refuses the rows for a reason that
 *   is not one of single rows
 */
export async function moveGoodRows(
  client: ClientBase,
  target: LoadTarget,
  load: StagedLoad,
  { wereRefused, faulty, problems }: GoodRowsOptions,
): Promise<MovedRows> {
  const all = wereRefused ? undefined : await moveAtOnce(client, target, load);
  if (all) return all;
  const before = faulty.count;
  const rules = await target.readRules(client);
  // Triggers and rules of the table may change the rows, so queries over the rows that were sent say nothing.
  const isDecidedByRows = !load.changesRows && !load.hasRules;
  const aside = isDecidedByRows ? await removeViolations(client, load, rules, faulty, problems) : undefined;
  if (aside && faulty.count + aside.count > faulty.max) await aside.leaveOut();
  if (faulty.areTooMany) refuse(problems, faulty.reasonOfTooMany);
  const areFewer = aside !== undefined || faulty.count > before;
  const rest = areFewer ? await moveAtOnce(client, target, load) : undefined;
  if (rest) {
    await aside?.leaveOut();
    return rest;
  }
  await aside?.takeBack();
  const error = await addKeys(client, target);
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
async function moveAtOnce(
  client: ClientBase,
  target: LoadTarget,
  load: StagedLoad,
): Promise<MovedRows | undefined> {
  await setSavepoint(client, 'at once');
  const { moved } = await moveRows(client, load, true);
  if (moved && (await addKeys(client, target)) === undefined) return moved;
  await rollBackTo(client, 'at once');
  return undefined;
}

/** Adds the keys of a new table. An existing table has them already. Returns PostgreSQL's error if it refuses them. */
async function addKeys(client: ClientBase, target: LoadTarget): Promise<Error | undefined> {
  return target.isBare ? target.addKeys(client) : undefined;
}

function refuse(problems: Problems, reason: string): never {
  problems.reason = reason;
  problems.throwIfAny();
  throw new Error('no problem was found');
}
