import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RowNumbers } from './row-numbers.ts';

test('rows are found by their place in the stream, whatever rows were left out', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 300 })), (rows) => {
      const numbers = new RowNumbers();
      for (const row of rows) numbers.add(row);
      assert.deepEqual(
        rows.map((_, ordinal) => numbers.rowOf(ordinal)),
        rows,
      );
    }),
  );
});

test('numbers of several streams keep their order', () => {
  fc.assert(
    fc.property(fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 20 })), (streams) => {
      const all = new RowNumbers();
      const part = new RowNumbers();
      for (const stream of streams) {
        for (const row of stream) part.add(row);
        all.take(part);
        assert.equal(part.count, 0);
      }
      const expected = streams.flat();
      assert.equal(all.count, expected.length);
      assert.deepEqual(
        expected.map((_, ordinal) => all.rowOf(ordinal)),
        expected,
      );
    }),
  );
});
