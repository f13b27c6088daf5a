import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { readRecords } from './cell-records.ts';
import { RecordBuffer } from './record-buffer.ts';

function readAll(bytes: Buffer): { isValid: boolean; cells: unknown[] } {
  const cells: unknown[] = [];
  const isValid = readRecords(bytes, {
    cell: (kind, from, start, end) => cells.push([kind, from.toString('utf8', start, end)]),
    moment: (kind, days, microseconds) => cells.push([kind, days, microseconds]),
    fault: (fault, from, start, end) => cells.push(['fault', fault, from.toString('utf8', start, end)]),
  });
  return { isValid, cells };
}

test('records give the cells that were written', () => {
  const out = new RecordBuffer(1000);
  const start = out.length;
  out.flag(kinds.NULL);
  out.flag(kinds.TRUE);
  out.value(kinds.STRING, Buffer.from('äb'), 0, 3);
  out.moment(kinds.UTC_TIMESTAMP, -3, 86_399_999_999);
  out.fault(kinds.NANOSECONDS, '1');
  assert.deepEqual(readAll(out.bytes.subarray(start, out.length)), {
    isValid: true,
    cells: [
      [kinds.NULL, ''],
      [kinds.TRUE, ''],
      [kinds.STRING, 'äb'],
      [kinds.UTC_TIMESTAMP, -3, 86_399_999_999],
      ['fault', kinds.NANOSECONDS, '1'],
    ],
  });
});

test('any bytes are records or not, and nothing else happens', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(typeof readAll(Buffer.from(bytes)).isValid, 'boolean');
    }),
    { numRuns: 2000 },
  );
});
