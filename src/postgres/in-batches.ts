/** Repeats a statement that changes a limited number of rows, so that no statement lasts long or locks much. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Statement } from './sql.ts';
import { conditionOf } from './sqlstate.ts';
import { runStatement } from './transaction.ts';

/** The pause between two statements, so that other requests can use the connection. */
const pauseMs = 10;

/**
 * Repeats the work until it changes fewer rows than its limit.
 *
 * @param limit the most rows that the work changes at once
 * @param changeSome does the work, and returns the number of changed rows
 * @param isStopped returns whether the rest is left for later
 */
export async function inBatches(
  limit: number,
  changeSome: () => Promise<number>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  while (!isStopped() && (await changeSome()) >= limit) await sleep(pauseMs);
}

/** The result of a statement that removes the oldest rows of a table: one row. */
export interface RemovedRows {
  count: number;
  /** The value by which the rows are ordered, of the last removed row; null: none was removed. */
  last: string | null;
}

/** Values that come before all others, for rows that are ordered by times and by UUIDs. */
export const beforeAllTimes = '-infinity';
export const beforeAllUuids = '00000000-0000-0000-0000-000000000000';

/**
 * Removes old rows in their order. Each statement begins where the previous one ended. Otherwise it would read all rows that were
 * removed before: PostgreSQL keeps them in the index as long as any older transaction runs in the database.
 *
 * PostgreSQL cancels a statement that takes too long, for example because other tables refer to the rows. The next one then removes half as many.
 *
 * @param limit the most rows that one statement removes
 * @param first a place before the first row
 * @param removeFrom returns the statement that removes the oldest rows from a place on, at most `atMost`, which returns `RemovedRows`
 */
export async function removeInOrder(
  pool: Pool,
  limit: number,
  first: string,
  removeFrom: (place: string, atMost: number) => Statement,
  isStopped: () => boolean,
): Promise<void> {
  let place = first;
  let atMost = limit;
  while (!isStopped()) {
    try {
      const { rows } = await runStatement(pool, removeFrom(place, atMost));
      const { count, last }: RemovedRows = rows[0]!;
      place = last ?? place;
      if (count < atMost) return;
    } catch (error) {
      if (conditionOf(error) !== 'query_canceled' || atMost === 1) throw error;
      atMost = Math.ceil(atMost / 2);
    }
    await sleep(pauseMs);
  }
}
