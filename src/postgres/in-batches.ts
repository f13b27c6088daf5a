/** Repeats a statement that changes a limited number of rows, so that no statement lasts long or locks much. */
import { setTimeout as sleep } from 'node:timers/promises';

/** The pause between two statements, in which others use the connection. */
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
