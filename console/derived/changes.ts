/** The difference between a file and the table that it updates: what the check and the page of a load show of it. */
import type { LoadChanges, RowChange } from '../../client/client.ts';
import type { LoadResult } from '../load-outcome.ts';
import { countInWords, plural } from './words.ts';

/** The number of changes on a page of the list. */
export const changesOnPage = 100;

/** Returns whether the service compared the rows with those of the table, so that it lists changes. */
export function isCompared({ conflict_key: key = [], updated, skipped }: LoadResult['load']): boolean {
  return key.length > 0 && (updated > 0 || skipped === 0);
}

/** Returns how many rows are new, changed, unchanged and missing in the file, each with its label. */
export function differenceOf(load: LoadResult['load']): [string, number][] {
  const { inserted, changed, unchanged, missing, deleted, marked, unmarked } = load;
  const counts: [string, number | undefined][] = [
    ['New', inserted],
    ['Changed', changed],
    ['Unchanged', unchanged],
    ['Missing', missing],
    ['Deleted', deleted],
    ['Marked', marked],
    ['Unmarked', unmarked],
  ];
  return counts.flatMap(([label, count]) => (count === undefined ? [] : [[label, count]]));
}

/** The kinds of changes. The sign and the word make them distinguishable without their colour. */
export const kindsOfChanges: Record<RowChange['kind'], { sign: string; word: string }> = {
  inserted: { sign: '+', word: 'new' },
  changed: { sign: '≠', word: 'changed' },
  missing: { sign: '?', word: 'missing' },
  deleted: { sign: '−', word: 'deleted' },
  marked: { sign: '!', word: 'marked' },
};

/** Returns the columns in which changes are shown: those of the key first, then each that differs, in the order in which they occur. */
export function columnsOfChanges(changes: RowChange[]): string[] {
  const keys = changes.flatMap(({ key }) => Object.keys(key));
  const others = changes.flatMap(({ cells }) => cells.map(({ column }) => column));
  return [...new Set([...keys, ...others])];
}

/** A cell of a row that is shown. `old` or `now` is undefined if there is no such value; null is NULL. */
export interface CellChange {
  old: string | null | undefined;
  now: string | null | undefined;
}

/** @returns undefined: the row has the same value in this column as before */
export function cellOfChange({ key, cells, kind }: RowChange, column: string): CellChange | undefined {
  const cell = cells.find((one) => one.column === column);
  if (cell !== undefined) return { old: cell.old, now: cell.new };
  if (!Object.hasOwn(key, column)) return undefined;
  return kind === 'deleted' ? { old: key[column], now: undefined } : { old: undefined, now: key[column] };
}

/** Says which changes of all the page shows. */
export function pageWords({ counts, changes_stored: stored, changes }: LoadChanges, after: number): string {
  const all = counts === null ? stored : counts.inserted + counts.changed + (counts.missing ?? 0);
  const shown = `${countInWords(after + 1)} to ${countInWords(after + changes.length)}`;
  const rest = stored < all ? `, of which the first ${countInWords(stored)} are listed` : '';
  return `${shown} of ${plural(all, 'change')}${rest}`;
}
