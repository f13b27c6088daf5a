/** The input may be cut anywhere, so the sink may be drained before any cell. These tests check that its output does not depend on that. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NUMBER } from '../../core/cells/cell-kind.ts';
import { ColumnMatcher } from '../columns/column-matching.ts';
import type { LoadColumn } from '../columns/load-column.ts';
import { columnEncoder } from '../encoders/column-encoder.ts';
import { Problems } from '../problems/problems.ts';
import { EncodingSink } from './encoding-sink.ts';
import { RowOrigin } from './row-origin.ts';

const columnCount = 3;
/** The last column is not in the data. It may get the number of the row. */
const columns: LoadColumn[] = Array.from({ length: columnCount + 1 }, (_, index) => ({
  id: index + 1,
  name: `c${index}`,
  type: { oid: 23, name: 'integer', typmod: -1, kind: 'base' },
  bareType: 'integer',
  isNullable: true,
  default: index === 0 ? 'computed' : 'none',
  isGenerated: false,
  identity: 'none',
}));
const fillOfNull = Buffer.from([0xff, 0xff, 0xff, 0xff]);

/** A cell: its column, and its number, or undefined for a cell with a problem. */
type TestCell = [column: number, value: number | undefined];

interface HandedOn {
  /** The rows as hexadecimal COPY bytes, by the columns of their shape. */
  rows: Record<string, string>;
  numbers: (number | undefined)[];
  problems: number;
}

/** @param isDrained called before each cell; every drain passes on all complete rows */
async function encode(
  rows: TestCell[][],
  isDrained: () => boolean,
  origin: RowOrigin | undefined,
): Promise<HandedOn> {
  const handed: Record<string, string> = {};
  const problems = new Problems();
  const sink = new EncodingSink({
    targets: columns.map((column, index) => ({
      column,
      encoder: columnEncoder(column.type)!,
      fill: index === 0 ? undefined : fillOfNull,
    })),
    matcher: new ColumnMatcher(columns, 'exact', 'fail'),
    locate: () => ({}),
    problems,
    origin,
    output: {
      write: async (shape, bytes) => {
        const name = shape.join();
        handed[name] = (handed[name] ?? '') + bytes.toString('hex');
        // The buffer is overwritten at once, as a source that reuses it would do.
        bytes.fill(0xee);
      },
    },
    maxRows: 1000,
    maxRowBytes: 1_000_000,
    writtenLimits: { maxWrittenBytes: 1_000_000, maxUnpackRatio: 1 },
    onTooManyRows: () => assert.fail(),
  });
  columns.slice(0, columnCount).forEach((column, index) => {
    sink.column(index, column.name);
  });
  for (const [index, row] of rows.entries()) {
    sink.beginRow(index + 1);
    for (const [column, value] of row) {
      if (isDrained()) await sink.finish();
      const text = Buffer.from(value === undefined ? '0.5' : String(value));
      sink.cell(column, NUMBER, text, 0, text.length);
    }
    if (isDrained()) await sink.finish();
    sink.endRow();
  }
  await sink.finish();
  const numbers = Array.from({ length: sink.loaded }, (_, ordinal) => sink.rowNumbers.rowOf(ordinal));
  return { rows: handed, numbers, problems: problems.count };
}

const cells = fc.uniqueArray(
  fc.tuple(
    fc.integer({ min: 0, max: columnCount - 1 }),
    fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 99 }) }, fc.constant(undefined)),
  ),
  { selector: ([column]) => column },
);

test('rows are complete wherever the sink is drained', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(cells, { maxLength: 12 }),
      fc.infiniteStream(fc.boolean()),
      fc.boolean(),
      async (rows, drains, hasOrigin) => {
        const field = { target: columnCount, value: Buffer.alloc(4), isRowNumber: true };
        const origin = hasOrigin ? new RowOrigin([field], () => 20) : undefined;
        const whole = await encode(rows, () => false, origin);
        const cut = await encode(rows, () => drains.next().value!, origin);
        assert.equal(cut.problems, whole.problems);
        // Which columns of a shape are filled depends on the rows in memory. But the number of rows without a problem must be the same.
        assert.equal(cut.numbers.length, whole.numbers.length);
        assert.deepEqual(cut.numbers.toSorted(), whole.numbers.toSorted());
        const read = readRows(cut.rows);
        assert.equal(read.length, whole.numbers.length);
        const numbers = whole.numbers.map((number) => number! + 20);
        if (hasOrigin) assert.deepEqual(read.map(([first]) => first).sort(), numbers.sort());
      },
    ),
  );
});

/** Reads the tuples as PostgreSQL would. It fails if they are incomplete. */
function readRows(rows: Record<string, string>): number[][] {
  const read: number[][] = [];
  for (const [shape, hex] of Object.entries(rows)) {
    const bytes = Buffer.from(hex, 'hex');
    const fields = shape === '' ? 0 : shape.split(',').length;
    for (let at = 0; at < bytes.length; ) {
      const values: number[] = [];
      read.push(values);
      assert.equal(bytes.readInt16BE(at), fields);
      at += 2;
      for (let field = 0; field < fields; field++) {
        const length = bytes.readInt32BE(at);
        assert.ok(length === 4 || length === -1, `a field of ${length} bytes`);
        if (length === 4) values.push(bytes.readInt32BE(at + 4));
        assert.ok((values.at(-1) ?? 0) < 100);
        at += 4 + Math.max(0, length);
      }
      assert.ok(at <= bytes.length);
    }
  }
  return read;
}
