import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadResult } from '../../engine/loading/request/load-request.ts';
import { maxListedChanges, type RowChange } from '../../engine/loading/request/row-change.ts';
import { maxChangeBytes, type StoredChanges, storedChanges } from './stored-changes.ts';
import { itemsFrom } from './stored-pages.ts';

const resultOf = (changes: RowChange[] | undefined): LoadResult =>
  ({ counts: { inserted: 1, changed: 2, unchanged: 3 }, changes }) as LoadResult;

const changesOf = (count: number, value: string): RowChange[] =>
  Array.from({ length: count }, (_, row) => ({
    kind: 'changed',
    row: row + 1,
    key: { id: String(row) },
    cells: [{ column: 'a', old: null, new: value }],
  }));

/** Reads items of the pages as the service does. */
async function read({ pages }: StoredChanges, after: number, end: number): Promise<RowChange[]> {
  const all: RowChange[] = [];
  const pageAt = async (at: number) => {
    const page = pages.findLast(({ first }) => first <= at);
    return page && { first: page.first, items: page.bytes.toString() };
  };
  for await (const list of itemsFrom<RowChange>(after, end, pageAt)) all.push(...list);
  return all;
}

test('nothing is stored of a load whose rows were not compared, and only counts if nothing has changed', () => {
  assert.equal(storedChanges(resultOf(undefined)), undefined);
  const counts = { inserted: 1, changed: 2, unchanged: 3 };
  assert.deepEqual(storedChanges(resultOf([])), { counts, count: 0, bytes: 0, pages: [] });
});

test('the first 10,000 changes are stored, and any part of them is read without a gap', async () => {
  const changes = changesOf(maxListedChanges + 1, 'x');
  const stored = storedChanges(resultOf(changes))!;
  assert.equal(stored.count, maxListedChanges);
  for (const [after, end] of [
    [0, 10_000],
    [0, 1],
    [499, 501],
    [500, 1700],
    [9999, 10_000],
    [10_000, 10_000],
  ] as const)
    assert.deepEqual(await read(stored, after, end), changes.slice(after, end));
  // The pages of the end were removed meanwhile. What was read must not look like the whole list.
  const rest = { ...stored, pages: stored.pages.slice(0, 2) };
  await assert.rejects(read(rest, 250, 2000), { code: 'load-not-found' });
});

test('of long changes as many are stored as fit into the limit, and no more', async () => {
  const changes = changesOf(maxListedChanges, 'ä😀"'.repeat(1000));
  const stored = storedChanges(resultOf(changes))!;
  const lengths = stored.pages.map(({ bytes }) => bytes.length);
  assert.ok(stored.bytes <= maxChangeBytes && stored.bytes > maxChangeBytes - 10_000, `${stored.bytes}`);
  assert.ok(Math.max(...lengths) < 300 * 1024, `${lengths}`);
  assert.deepEqual(await read(stored, 0, stored.count), changes.slice(0, stored.count));
  const huge = storedChanges(resultOf(changesOf(2, 'x'.repeat(maxChangeBytes))))!;
  assert.deepEqual([huge.count, huge.pages], [0, []]);
});
