/** How a load of the command ends: its report, its failure, and its cancellation after a signal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ConnectionError, type LoadedTable, ProblemError } from '../client/client.ts';
import { noteWarnings } from './as-options.ts';
import { exitCodes } from './exit-codes.ts';
import type { FindLoad } from './find-load.ts';
import { inCount, note, say, sayJson } from './print.ts';
import { errorDocument, noteProblems, reportError } from './report-error.ts';

export function reportLoaded(path: string, { table, load }: LoadedTable, isQuiet: boolean): void {
  const {
    rows,
    updated,
    unchanged = 0,
    skipped,
    missing = 0,
    deleted = 0,
    marked = 0,
    unmarked = 0,
    rows_left_out: leftOut = 0,
    left_out: problems = [],
    left_out_count: count = 0,
  } = load;
  if (!isQuiet) {
    noteWarnings(load.warnings);
    const parts = [`${inCount(rows, 'row')} loaded`];
    const same = unchanged > 0 ? ` (${unchanged} unchanged)` : '';
    if (updated > 0) parts.push(`${inCount(updated, 'row')} updated${same}`);
    if (skipped > 0) parts.push(`${inCount(skipped, 'row')} skipped`);
    if (deleted > 0) parts.push(`${inCount(deleted, 'row')} deleted`);
    if (marked > 0) parts.push(`${inCount(marked, 'row')} marked`);
    if (unmarked > 0) parts.push(`${inCount(unmarked, 'row')} unmarked`);
    if (missing > deleted + marked)
      parts.push(`${inCount(missing - deleted - marked, 'row')} missing and kept`);
    if (leftOut > 0) parts.push(`${inCount(leftOut, 'row')} left out`);
    const end = load.dry_run ? ' This was a dry run: nothing was changed.' : '';
    say(
      `${path} → ${table.schema}.${table.name}: ${parts.join(', ')}, ${(load.duration_ms / 1000).toFixed(1)} s.${end}`,
    );
  }
  noteProblems(problems, count);
}

/** @param isCertain true: nothing was loaded; false: the load may have been committed */
export function reportInterruption(path: string, isCertain: boolean, isJson: boolean): number {
  if (isJson) sayJson({ file: path, outcome: isCertain ? 'cancelled' : 'unknown' });
  note(isCertain ? 'Cancelled. Nothing was changed.' : stoppedUnconfirmed);
  return exitCodes.interrupted;
}

/** @param isUnknown true: the load may have been committed */
export function reportFailure(path: string, error: unknown, isUnknown: boolean, isJson: boolean): void {
  if (isJson) {
    sayJson({ file: path, ...(isUnknown && { outcome: 'unknown' }), error: errorDocument(error) });
    return;
  }
  note(isUnknown ? unknownOutcome(path) : `${path} was not loaded.`);
  reportError(error);
}

function unknownOutcome(path: string): string {
  return `It is not known whether ${path} was loaded, because the answer of the service was lost. See "tablewright loads".`;
}

/** Printed if the service did not confirm that the load is cancelled. */
const stoppedUnconfirmed =
  'Stopped without an answer of the service. A load whose whole body the service has received may go on: see "tablewright loads".';

export function isInterruption(error: unknown): boolean {
  if (error instanceof ProblemError) return error.code === 'load-cancelled';
  if (error instanceof ConnectionError) return true;
  return (error as Error | undefined)?.name === 'AbortError';
}

/** How long the service may take to find the load and then to end it. */
export const cancelMs = 5_000;

/** Cancels the load after a signal. `stop` aborts the upload if the service does not cancel the load. */
export function cancelAfterSignal(
  client: Client,
  findLoad: FindLoad,
  hasSent: () => boolean,
  { ended, stop }: { ended: AbortSignal; stop: AbortController },
) {
  const over = new AbortController();
  const cancel = async (): Promise<void> => {
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(cancelMs)]);
    let id: string | undefined;
    // The request may have reached the service without being recorded yet, so the load is searched for repeatedly.
    while (id === undefined && hasSent()) {
      id = await findLoad(signal);
      if (id === undefined) await sleep(findMs, undefined, { signal });
    }
    if (id !== undefined) {
      // If the load has just ended, the service refuses to cancel it, and the answer to the upload arrives soon.
      await client.cancel(id, { signal }).catch(ignoreRefusal);
      await sleep(cancelMs, undefined, { signal });
    }
    stop.abort();
  };
  const start = (): void => {
    note('Cancelling the load. Ctrl-C again ends at once.');
    // Aborting closes the connection. The service cancels a load whose body it has not received completely.
    cancel().catch(() => stop.abort());
  };
  ended.addEventListener('abort', start);
  return {
    end: () => {
      ended.removeEventListener('abort', start);
      over.abort();
    },
  };
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ProblemError)) throw error;
}

export const findMs = 250;
