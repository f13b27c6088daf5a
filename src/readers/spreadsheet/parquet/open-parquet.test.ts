import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { assertShortSteps, measureSteps } from '../../../../test/support/event-loop.ts';
import { parquetOf, wideParquet } from '../../../../test/support/parquet-file.ts';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { withSecondReading } from '../../../core/cells/row-source.ts';
import { contentOf } from '../open-spreadsheet.ts';
import { openInFormat } from '../sheet-source.ts';
import { openParquetWithin } from './open-parquet.ts';

/** Counts the rows that a sink receives. */
class CountingSink implements CellSink {
  rows = 0;
  column(): void {}
  beginRow(): void {
    this.rows++;
  }
  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}
  drain(): undefined {}
}

const limits = spreadsheetLimits({ maxRows: 10_000_000, maxRatio: 1e6 });

async function countRows(
  file: Buffer,
  bounds: Parameters<typeof openParquetWithin>[0],
): Promise<{ rows: number; passes: number }> {
  const { signal } = new AbortController();
  const content = await contentOf(
    { size: file.length, read: async (target, position) => file.copy(target, 0, position) },
    limits,
    signal,
  );
  const options = { columnNames: 'exact', cellErrors: 'problem' } as const;
  const source = await openInFormat([{ open: openParquetWithin(bounds) }], content, options, limits, signal);
  let passes = 0;
  return withSecondReading(async () => {
    const sink = new CountingSink();
    passes++;
    await source!.read(sink, signal);
    return { rows: sink.rows, passes };
  });
}

/** Only Linux says how much memory a process has. */
const isMeasured = existsSync('/proc/self/status');

/** A file with pages so large that the process needs more than 140 MiB. */
const largePages = parquetOf(
  'SELECT repeat(md5(i::VARCHAR), 5) AS a FROM range(400000) t(i)',
  'ROW_GROUP_SIZE 400000',
);

test('a file that needs more memory than usual is read again with more', { skip: !isMeasured }, async () => {
  const file = await largePages;
  assert.deepEqual(await countRows(file, { usualMib: 140 - (12 * file.length) / 2 ** 20 }), {
    rows: 400_000,
    passes: 2,
  });
});

test('a file that needs more memory than all is refused, and says what to do', {
  skip: !isMeasured,
}, async () => {
  const refused = countRows(await largePages, { maxResidentMib: 140 });
  await assert.rejects(refused, {
    code: 'limit-exceeded',
    detail:
      'Reading this Parquet file takes too much memory: the limit is 140 MiB. Write it again with smaller pages, or as several files.',
  });
});

test('a process that sends nothing is ended', async () => {
  await assert.rejects(countRows(await parquetOf('SELECT 1 AS a'), { maxWaitMs: 1 }), {
    code: 'limit-exceeded',
    detail: /^Reading this Parquet file takes too long/,
  });
});

test('a file with too many columns is refused, and its list of columns does not block the service', async () => {
  const file = wideParquet(200_000, 4);
  const steps = await measureSteps(async () => {
    await assert.rejects(countRows(file, {}), {
      code: 'limit-exceeded',
      detail: 'The file has too many columns: the limit is 50 columns (MAX_COLUMNS).',
    });
  });
  assertShortSteps(steps);
});

test('a file without columns is refused at once, however many rows it states', async () => {
  for (const rows of [0, 500_000_000]) {
    await assert.rejects(countRows(wideParquet(0, 0, rows), { maxWaitMs: 5000 }), {
      code: 'invalid-file',
      detail: 'The Parquet file has no columns. Write it again with at least one column.',
    });
  }
});
