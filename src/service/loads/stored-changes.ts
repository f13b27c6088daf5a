/** Stores the differences of loads from their tables: the first 10,000 for each load, and their counts. */
import type { LoadResult } from '../../engine/loading/request/load-request.ts';
import { maxListedChanges, type RowCounts } from '../../engine/loading/request/row-change.ts';
import type { StoredList, StoredPage } from './stored-pages.ts';

export const changeList: StoredList = {
  table: 'load_changes',
  items: 'changes',
  type: 'json',
  count: 'changes_stored',
  bytes: 'change_bytes',
  kept: { loads: 1000, bytes: 64 * 1024 * 1024 },
};

/** The most bytes of the changes of a load. They are written at once when the load ends, so more would block the event loop for too long. */
export const maxChangeBytes = 4 * 1024 * 1024;
/** The numbers of changes of the first page and of the longest one. The other pages get about `pageBytes`, because a page is parsed at once. */
const firstPage = 20;
const maxPage = 1000;
const pageBytes = 256 * 1024;

export interface StoredChanges {
  counts: RowCounts;
  /** The number and the length of the stored changes. */
  count: number;
  bytes: number;
  pages: StoredPage[];
}

/** Returns the changes of a load as they are stored; undefined: its rows were not compared with those of the table. */
export function storedChanges(result: LoadResult): StoredChanges | undefined {
  const { counts, changes } = result;
  if (changes === undefined) return undefined;
  const stored: StoredChanges = { counts, count: 0, bytes: 0, pages: [] };
  let size = firstPage;
  while (stored.count < Math.min(changes.length, maxListedChanges)) {
    const first = stored.count;
    const page = changes.slice(first, Math.min(first + size, maxListedChanges));
    const json = Buffer.from(JSON.stringify(page));
    if (stored.bytes + json.length > maxChangeBytes) {
      if (size === 1) break;
      size = Math.ceil(size / 2);
      continue;
    }
    stored.pages.push({ list: changeList, first, bytes: json });
    stored.count += page.length;
    stored.bytes += json.length;
    size = Math.max(1, Math.min(maxPage, Math.round((page.length * pageBytes) / json.length)));
  }
  return stored;
}
