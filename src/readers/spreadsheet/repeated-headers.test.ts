import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ERROR_CELL, NULL, NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import type { CellSink } from '../../core/cells/cell-sink.ts';
import { RepeatedHeaderSink } from './repeated-headers.ts';

type Cell = { column: number; kind: number; text: string };

/** Records the rows that arrive. */
class Recorder implements CellSink {
  readonly rows: { row: number; cells: Cell[] }[] = [];
  column(): void {}
  beginRow(row: number): void {
    this.rows.push({ row, cells: [] });
  }
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.rows.at(-1)!.cells.push({ column, kind, text: bytes.toString('utf8', start, end) });
  }
  moment(column: number, kind: number, days: number): void {
    this.rows.at(-1)!.cells.push({ column, kind, text: String(days) });
  }
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.cell(column, fault, bytes, start, end);
  }
  endRow(): void {}
  drain(): undefined {}
}

const header = ['a', 'bé', ''];
const isHeader = (cells: Cell[]) => {
  const values = cells.filter(({ kind }) => kind !== NULL);
  return (
    values.length === 2 &&
    values.every(
      ({ column, kind, text }) => kind !== ERROR_CELL && column < 2 && text.trim() === header[column],
    )
  );
};
const cell = fc.record({
  kind: fc.constantFrom(STRING, TEXT, NUMBER, NULL, ERROR_CELL),
  text: fc.constantFrom('a', ' a', 'bé', 'bé ', 'b', '', 'x', 'aa'),
});

test('exactly the rows that equal the header are left out, and all others arrive as they were', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.option(cell), { maxLength: 4 })), (rows) => {
      const recorder = new Recorder();
      const sink = new RepeatedHeaderSink(recorder, () => header);
      const sent = rows.map((cells, index) => ({
        row: index + 1,
        cells: cells.flatMap((value, column): Cell[] => {
          if (value === null) return [];
          const { kind, text } = value;
          return [{ column, kind, text: kind === NULL ? '' : text }];
        }),
      }));
      for (const { row, cells } of sent) {
        sink.beginRow(row);
        for (const { column, kind, text } of cells) {
          const bytes = Buffer.from(text);
          if (kind === ERROR_CELL) sink.fault(column, kind, bytes, 0, bytes.length);
          else sink.cell(column, kind, bytes, 0, bytes.length);
        }
        sink.endRow();
      }
      // NULL below a text of the header is a value that differs.
      const differs = ({ cells }: { cells: Cell[] }) =>
        !isHeader(cells) || cells.some(({ column, kind }) => kind === NULL && header[column]);
      assert.deepEqual(recorder.rows, sent.filter(differs));
    }),
    { numRuns: 2000 },
  );
});
