/**
 * Finds the staged row that PostgreSQL refused, for refusals that name no row.
 *
 * With `on_conflict`, the surplus rows must have been found before.
 */
import type { ClientBase } from 'pg';
import type { CallersStatement } from '../../postgres/callers-statement.ts';
import { withSavepoint } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { conditionOf, sqlstateOf } from '../../postgres/sqlstate.ts';
import type { Refusal } from '../copying/refusal.ts';
import {
  lastMovedRow,
  mergeRows,
  mergeTogether,
  mergeWithSqlstate,
  resetProgress,
} from './merge-statements.ts';
import {
  inMovingOrder,
  readLastRowNumber,
  readMovedRow,
  refusalOfRows,
  requireDeferred,
} from './move-rows.ts';
import type { StagedLoad } from './staged-load.ts';

/** The refused data row (`row`), or the rows among which it is (`amongRows`). If the refusal is not about a single row, neither is set. */
export type RefusedRow = Pick<Refusal, 'row' | 'amongRows'>;

/** Returns the row that PostgreSQL refused. Rows of different shapes are tried in the way in which they were moved. */
export async function findRefusedRow(
  client: ClientBase,
  load: StagedLoad,
  refusal: Refusal,
): Promise<RefusedRow> {
  // Rows that conflict within one statement do not conflict if they are moved one after the other.
  if (conditionOf(refusal.error) === 'cardinality_violation') return {};
  const end = (await readLastRowNumber(client)) + 1;
  const order = inMovingOrder(load);
  for (const shapes of refusal.movedTogether ? [order] : order.map((shape) => [shape])) {
    const search = { client, load, refusal, shapes };
    await client.query(resetProgress);
    const error = await attempt(search, { from: 0, to: end });
    if (error) return (await rowBeingMoved(search, error)) ?? halve(search, end, error);
  }
  return {};
}

interface Search {
  client: ClientBase;
  load: StagedLoad;
  refusal: Refusal;
  shapes: number[];
}

/** A range of data row numbers, from `from` (included) to `to` (excluded). */
type NumberRange = { from: number; to: number };

/** Moves the rows of the range. If PostgreSQL accepts them, they stay in the table. Otherwise returns its error. */
async function attempt(
  { client, load, refusal, shapes }: Search,
  range: NumberRange,
): Promise<Error | undefined> {
  const refused = await refusalOfRows(() =>
    withSavepoint(client, 'part', async () => {
      await queryInCallersPath(client, mergeShapes(load, shapes, range));
      if (refusal.isDeferred) await requireDeferred(client);
    }),
  );
  return refused?.error;
}

function mergeShapes(load: StagedLoad, shapes: number[], range: NumberRange): CallersStatement {
  if (shapes.length === 1) return mergeWithSqlstate(load, shapes[0]!, range);
  return mergeTogether(shapes.map((shape) => mergeRows(load, shape, range)));
}

/**
 * Returns the row that was being moved when PostgreSQL refused the statement. If that is the last row of the statement, PostgreSQL
 * may have refused any of the rows, because it checks references and runs AFTER triggers at the end. Then the result is undefined.
 */
async function rowBeingMoved(
  { client, load, refusal, shapes }: Search,
  error: Error,
): Promise<RefusedRow | undefined> {
  if (refusal.isDeferred || !isSame(error, refusal)) return undefined;
  const moved = await readMovedRow(client, load);
  if (moved === undefined) return undefined;
  const { rows } = await client.query<{ row: number }>(lastMovedRow(load, shapes));
  return moved.row === rows[0]?.row ? undefined : { row: moved.row };
}

/**
 * Tries the rows half by half. A half that PostgreSQL accepts stays in the table during the search, so the whole search costs little
 * more than moving all rows once.
 *
 * PostgreSQL may refuse the first half for another reason: a row refers to a row of the second half. Then these rows are tried again
 * together with later ones.
 */
async function halve(search: Search, end: number, error: Error): Promise<RefusedRow> {
  const { refusal } = search;
  const mayBeAnother = !isSame(error, refusal);
  let last = error;
  let first = 0;
  let from = 0;
  let to = end;
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    const refused = await attempt(search, { from: first, to: middle });
    if (refused && (mayBeAnother || isSame(refused, refusal))) {
      to = middle;
      last = refused;
    } else {
      from = middle;
      if (!refused) first = middle;
    }
  }
  if (from === 0 || !isSame(last, refusal)) return {};
  return first === from ? { row: from } : { amongRows: [Math.max(first, 1), from] };
}

function isSame(error: Error, refusal: Refusal): boolean {
  return sqlstateOf(error) === sqlstateOf(refusal.error);
}
