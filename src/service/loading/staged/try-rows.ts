/**
 * Moves some of the staged rows and rolls back, to find the rows that PostgreSQL refuses.
 *
 * With `on_conflict`, the surplus rows must have been found before.
 */
import type { ClientBase } from 'pg';
import { hideLocalShard } from '../../postgres/citus/worker-errors.ts';
import { runAndUndo } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import type { Refusal } from '../copying/refusal.ts';
import { mergeWithSqlstate, type RowRange } from './merge-statements.ts';
import {
  inMovingOrder,
  readLastRowNumber,
  readMovedRow,
  refusalOfRows,
  requireDeferred,
  shapeOf,
} from './move-rows.ts';
import type { StagedLoad } from './staged-load.ts';
import { analyzeStagingTable, firstRowOf, indexByShape } from './staging-table.ts';

/**
 * Returns the rows that PostgreSQL refuses because a column has no value after triggers and defaults, each with PostgreSQL's
 * error. At most `limit` rows are returned.
 *
 * PostgreSQL checks NOT NULL when it stores each row. So rows are moved from the beginning until one is refused, then from the
 * row after it, and so on. In all, each row is moved about once.
 */
export async function findRowsWithNull(
  client: ClientBase,
  load: StagedLoad,
  limit: number,
): Promise<{ row: number; error: Error }[]> {
  await queryInCallersPath(client, indexByShape);
  await client.query(analyzeStagingTable([]));
  const found: { row: number; error: Error }[] = [];
  const end = (await readLastRowNumber(client)) + 1;
  // Rows that are refused for other reasons use up attempts, too.
  let attempts = 2 * limit;
  for (const shape of inMovingOrder(load)) {
    for (let from = 0; from < end && found.length < limit && attempts > 0; attempts -= 1) {
      const refused = await tryRange(client, load, shape, { from, to: end });
      const moved = refused && (await readMovedRow(client, load));
      // If no row of this range was moved, PostgreSQL refused the whole statement.
      const isOfRow = moved && moved.row >= from && moved.sentColumns === load.shapes.all[shape];
      if (!refused || !isOfRow) break;
      const { row } = moved;
      if (conditionOf(refused.error) === 'not_null_violation') found.push({ row, error: refused.error });
      from = row + 1;
    }
  }
  return found;
}

/** Moves rows of one shape and rolls back. */
async function tryRange(
  client: ClientBase,
  load: StagedLoad,
  shape: number,
  range: RowRange,
): Promise<Refusal | undefined> {
  return refusalOfRows(() =>
    runAndUndo(client, 'part', async () => {
      await queryInCallersPath(client, mergeWithSqlstate(load, shape, range));
    }),
  );
}

/**
 * Moves some rows one after the other and rolls back.
 *
 * @returns PostgreSQL's refusal; undefined: it accepts the rows
 */
export async function tryRows(
  client: ClientBase,
  load: StagedLoad,
  rows: number[],
): Promise<Error | undefined> {
  const refusal = await refusalOfRows(() =>
    runAndUndo(client, 'part', async () => {
      for (const row of rows) {
        const shape = (await shapeOf(client, row))!;
        await queryInCallersPath(client, mergeWithSqlstate(load, shape, { from: row, to: row + 1 }));
      }
      await requireDeferred(client);
    }),
  );
  if (refusal && load.isSharded) hideLocalShard(refusal.error, load.relation);
  return refusal?.error;
}

/** Returns the first data row without the column. `column` is an index. */
export async function findRowWithout(
  client: ClientBase,
  { shapes }: StagedLoad,
  column: number,
): Promise<number | undefined> {
  const { rows } = await client.query<{ row: number | null }>(firstRowOf(shapes.without(column)));
  return rows[0]!.row ?? undefined;
}
