import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WrittenBytes } from './written-bytes.ts';

const mib = 1024 * 1024;

test('rows and defaults together are limited by MAX_WRITTEN_BYTES', () => {
  const written = new WrittenBytes({ maxWrittenBytes: 10 * mib, maxUnpackRatio: 250 });
  written.add(10 * mib, 9 * mib, mib);
  assert.throws(
    () => written.add(1, 1, 0),
    /take too many bytes: the limit is 10 MiB \(MAX_WRITTEN_BYTES\)\.$/,
  );
});

test('defaults are limited to 64 MiB, or to a multiple of the values in the rows', () => {
  const limits = { maxWrittenBytes: 1000 * mib, maxUnpackRatio: 10 };
  const empty = new WrittenBytes(limits);
  empty.add(64 * mib, 0, 64 * mib);
  assert.throws(() => empty.add(1, 0, 1), /the limit is 64 MiB\./);
  const full = new WrittenBytes(limits);
  full.add(110 * mib, 10 * mib, 100 * mib);
  assert.throws(() => full.add(1, 0, 1), /the limit is 100 MiB\./);
});
