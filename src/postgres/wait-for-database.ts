/** Waits at the start for a database that is not there yet. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseAway } from './database-away.ts';

const firstPauseMs = 250;
const longestPauseMs = 5000;

/**
 * Tries `open` until it succeeds.
 *
 * @param onAway is called after each attempt in which the database was not there
 * @returns the result of `open`
 * @throws the error of `open` if waiting would not help, such as that of a wrong password; the reason of the signal
 */
export async function whenDatabaseIsThere<Result>(
  open: () => Promise<Result>,
  { signal, onAway }: { signal: AbortSignal; onAway: (error: Error) => void },
): Promise<Result> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await open();
    } catch (error) {
      signal.throwIfAborted();
      if (!isDatabaseAway(error)) throw error;
      onAway(error);
    }
    await sleep(pauseMs, undefined, { signal });
  }
}
