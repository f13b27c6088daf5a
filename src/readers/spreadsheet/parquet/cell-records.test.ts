import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { pauseForOthers } from '../../../core/pause-for-others.ts';
import { readRecords } from './cell-records.ts';
import { RecordBuffer } from './record-buffer.ts';

async function readAll(bytes: Buffer): Promise<{ isValid: boolean; cells: unknown[] }> {
  const cells: unknown[] = [];
  const isValid = await readRecords(bytes, {
    cell: (kind, from, start, end) =>
      cells.push([kind, end - start > 1000 ? end - start : from.toString('utf8', start, end)]),
    longCell: async (kind, _from, start, end) => {
      await pauseForOthers();
      cells.push([kind, 'in turns', end - start]);
    },
    moment: (kind, days, microseconds) => cells.push([kind, days, microseconds]),
    fault: (fault, from, start, end) => cells.push(['fault', fault, from.toString('utf8', start, end)]),
  });
  return { isValid, cells };
}

test('records give the cells that were written, and long arrays in turns', async () => {
  const long = Buffer.from(JSON.stringify(Array(150_000).fill(1)));
  const out = new RecordBuffer(4 * long.length);
  const start = out.length;
  out.flag(kinds.NULL);
  out.flag(kinds.TRUE);
  out.value(kinds.STRING, Buffer.from('äb'), 0, 3);
  out.value(kinds.ARRAY, Buffer.from('[1]'), 0, 3);
  out.value(kinds.ARRAY, long, 0, long.length);
  out.value(kinds.STRING, long, 0, long.length);
  out.moment(kinds.UTC_TIMESTAMP, -3, 86_399_999_999);
  out.fault(kinds.NANOSECONDS, '1');
  assert.deepEqual(await readAll(out.bytes.subarray(start, out.length)), {
    isValid: true,
    cells: [
      [kinds.NULL, ''],
      [kinds.TRUE, 'TRUE'],
      [kinds.STRING, 'äb'],
      [kinds.ARRAY, '[1]'],
      [kinds.ARRAY, 'in turns', long.length],
      [kinds.STRING, long.length],
      [kinds.UTC_TIMESTAMP, -3, 86_399_999_999],
      ['fault', kinds.NANOSECONDS, '1'],
    ],
  });
});

test('any bytes are records or not, and nothing else happens', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), async (bytes) => {
      assert.equal(typeof (await readAll(Buffer.from(bytes))).isValid, 'boolean');
    }),
    { numRuns: 2000 },
  );
});
