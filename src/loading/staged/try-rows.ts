/**
 * Moves some of the staged rows and undoes it, to see which ones PostgreSQL refuses.
 *
 * The surplus rows must have been found before, if there is `on_conflict`.
 */
import type { ClientBase } from 'pg';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { conditionOf, sqlstateOf } from '../../postgres/sqlstate.ts';
import { mergeRows } from './merge-statements.ts';
import { checkDeferred, inMovingOrder, mayBeOfRow, refusalOf, shapeOf } from './move-rows.ts';
import type { Refusal } from './refusal.ts';
import type { StagedLoad } from './staged-load.ts';
import { firstRowOf, lastRowNumber } from './staging-table.ts';

/**
 * Returns the data row that PostgreSQL refused; undefined: the refusal is not about a single row.
 *
 * The rows are tried half by half. Halves that PostgreSQL takes stay in the table during the search, so that the whole search
 * costs little more than moving all rows once.
 */
export async function findRefusedRow(
  client: ClientBase,
  load: StagedLoad,
  refusal: Refusal,
): Promise<number | undefined> {
  // Rows that meet within one statement do not meet when they are moved one after the other.
  if (conditionOf(refusal.error) === 'cardinality_violation') return undefined;
  const { rows } = await client.query<{ count: number }>(lastRowNumber);
  const end = rows[0]!.count + 1;
  const attempt = async (shape: number, from: number, to: number): Promise<Error | undefined> => {
    await client.query('SAVEPOINT "part"');
    const refused =
      (await refusalOf(mayBeOfRow, async () => {
        await queryInCallersPath(client, mergeRows(load, shape, { from, to }).text);
      })) ?? (refusal.isDeferred ? await checkDeferred(client) : undefined);
    await client.query(`${refused ? 'ROLLBACK TO' : 'RELEASE'} SAVEPOINT "part"`);
    return refused?.error;
  };
  for (const shape of inMovingOrder(load)) {
    let refused = await attempt(shape, 0, end);
    if (!refused) continue;
    let from = 0;
    let to = end;
    while (to - from > 1) {
      const middle = Math.floor((from + to) / 2);
      const error = await attempt(shape, from, middle);
      if (error) to = middle;
      else from = middle;
      refused = error ?? refused;
    }
    return from > 0 && sqlstateOf(refused) === sqlstateOf(refusal.error) ? from : undefined;
  }
  return undefined;
}

/**
 * Moves some rows alone, one after the other.
 *
 * @returns PostgreSQL's refusal; undefined: it takes the rows
 */
export async function tryRows(
  client: ClientBase,
  load: StagedLoad,
  rows: number[],
): Promise<Error | undefined> {
  await client.query('SAVEPOINT "part"');
  const refusal =
    (await refusalOf(mayBeOfRow, async () => {
      for (const row of rows) {
        const shape = (await shapeOf(client, row))!;
        await queryInCallersPath(client, mergeRows(load, shape, { from: row, to: row + 1 }).text);
      }
    })) ?? (await checkDeferred(client));
  await client.query('ROLLBACK TO SAVEPOINT "part"; RELEASE SAVEPOINT "part"');
  return refusal?.error;
}

/** Returns the first data row that does not bring the column, an index. */
export async function findRowWithout(
  client: ClientBase,
  { shapes }: StagedLoad,
  column: number,
): Promise<number | undefined> {
  const { rows } = await client.query<{ row: number | null }>(firstRowOf(shapes.without(column)));
  return rows[0]!.row ?? undefined;
}
