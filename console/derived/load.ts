/** What the page derives from a load: whether it is running, its progress bars, and whether closing the page would lose work. */
import type { TableDescription } from '../../client/client.ts';
import type { LoadOutcome } from '../load-outcome.ts';
import { recordOf } from '../load-outcome.ts';
import type { LoadProgress, RowSort, State } from '../state.ts';
import { countInWords, plural, sizeInWords, timeInWords } from './words.ts';

/** Returns the state of a load whose upload starts now. */
export function newLoad(
  facts: Pick<LoadProgress, 'key' | 'isOfParts' | 'fileName' | 'fileBytes' | 'expectedRows'>,
): LoadProgress {
  return {
    ...facts,
    sentBytes: 0,
    startedAt: performance.now(),
    rowsSince: undefined,
    isCancelling: false,
    outcome: { is: 'sending' },
    rows: undefined,
    rowsFailure: undefined,
  };
}

/** Returns whether the load is running, or may still be running although the page cannot follow it. */
export function isRunning(load: LoadProgress | undefined): boolean {
  if (load === undefined) return false;
  return load.outcome.is === 'sending' || recordOf(load.outcome) !== undefined;
}

/** Returns whether the load has ended and nothing is left to do with its file. */
export function isAllLoaded({ outcome }: LoadProgress): boolean {
  if (outcome.is === 'loaded') return (outcome.result.load.rows_left_out ?? 0) === 0;
  return outcome.is === 'tables-loaded';
}

/** Returns the existing table that keeps its rows beside those of the load. */
export function appendedTo({ existing, target }: Pick<State, 'existing' | 'target'>) {
  return existing.is === 'ready' && target.ifExists === 'append' ? (existing.value ?? undefined) : undefined;
}

/** Returns the order in which the page shows the rows of a table to which a load has added rows. The first rows are seldom those of the load, but those with the last keys often are. */
export function sortOfAppended(
  table: Pick<TableDescription, 'constraints'> | undefined,
): RowSort | undefined {
  const [column] = table?.constraints.primary_key.columns ?? [];
  return column === undefined ? undefined : { column, isDescending: true };
}

/** Describes what is known about a load that the page cannot follow any more. */
export function lostWords({ reason, record }: Extract<LoadOutcome, { is: 'unknown' }>): string {
  if (record === undefined)
    return 'The service has not answered. Look under Loads whether the file was loaded before you load it again.';
  const isRefused = reason.code !== undefined && !/token/.test(reason.code);
  return isRefused
    ? 'The service does not say how the load went on. Look at the rows of the table before you load the file again.'
    : 'The connection is lost. The load goes on at the service.';
}

export interface Bar {
  /** The completed part, from 0 to 1; undefined: the total is not known. */
  share: number | undefined;
  /** What is completed, in words. */
  words: string;
  rate: string;
  left: string;
}

/** Returns the progress bar of the sent bytes. @param now milliseconds since the page was opened */
export function sendingBar({ sentBytes, fileBytes, startedAt, outcome }: LoadProgress, now: number): Bar {
  const record = recordOf(outcome);
  const isSent = record !== undefined && record.state !== 'receiving';
  const done = isSent ? fileBytes : Math.min(sentBytes, fileBytes);
  const words = `${sizeInWords(done)} of ${sizeInWords(fileBytes)}`;
  if (isSent) return { share: 1, words, rate: '', left: '' };
  return {
    share: fileBytes === 0 ? 1 : done / fileBytes,
    words,
    ...rateOf(done, fileBytes, now - startedAt, sizeInWords),
  };
}

/** Returns the progress bar of the rows that the service has read. */
export function rowsBar({ expectedRows, rowsSince, outcome }: LoadProgress, now: number): Bar {
  const record = recordOf(outcome);
  const done = record?.rows_read ?? 0;
  const rows = (count: number): string => plural(Math.round(count), 'row');
  if (expectedRows === undefined)
    return { share: done > 0 ? undefined : 0, words: rows(done), rate: '', left: '' };
  const words = `${countInWords(done)} of ${plural(expectedRows, 'row')}`;
  const share = expectedRows === 0 ? 1 : Math.min(1, done / expectedRows);
  if (rowsSince === undefined || record?.ended_at != null) return { share, words, rate: '', left: '' };
  return { share, words, ...rateOf(done, expectedRows, now - rowsSince, rows) };
}

const minRateMs = 500;

function rateOf(
  done: number,
  all: number,
  ms: number,
  inWords: (amount: number) => string,
): { rate: string; left: string } {
  if (ms < minRateMs || done === 0 || done >= all) return { rate: '', left: '' };
  const perSecond = (done / ms) * 1000;
  return {
    rate: `${inWords(perSecond)} per second`,
    left: `${timeInWords(((all - done) / perSecond) * 1000)} left`,
  };
}

/** Parses the stored load of this tab: its id, or only the idempotency key while the service has not answered the upload. */
export function keptLoadOf(text: string | null): KeptLoad | undefined {
  try {
    const kept = JSON.parse(text ?? 'null');
    return typeof (kept?.id ?? kept?.key) === 'string' ? kept : undefined;
  } catch {
    return undefined;
  }
}

export interface KeptLoad {
  id?: string;
  key?: string;
  fileName?: string;
}

/** Returns whether closing the page would lose work: a chosen file, or an upload that is still being sent. */
export function losesWork(state: Pick<State, 'file' | 'togetherFiles' | 'load'>): boolean {
  const { load } = state;
  const isChosen = state.file !== undefined || state.togetherFiles.length > 0;
  if (load === undefined) return isChosen;
  const { outcome } = load;
  if (outcome.is === 'loaded' || outcome.is === 'tables-loaded') return false;
  if (outcome.is === 'not-loaded' || outcome.is === 'unsent') return isChosen;
  return (recordOf(outcome)?.state ?? 'receiving') === 'receiving';
}
