/**
 * Wraps a spreadsheet so that its empty cells are NULL (`empty_cells=null`). Otherwise an empty cell is a missing value: its column gets
 * the default, and an update does not change it.
 */
import { NULL } from '../../../core/cells/cell-kind.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';
import type { LoadInput } from './load-input.ts';
import { wrapInput } from './wrap-input.ts';

export function readEmptyCellsAsNull(input: LoadInput): LoadInput {
  return wrapInput(input, { through: (sink) => new EmptyCellsSink(sink), warnings: () => [] });
}

const noBytes = Buffer.alloc(0);

/** Adds NULL at the end of a row for each column that has no cell in the row. It waits for the end because files may have the cells of a row in any order. */
class EmptyCellsSink extends ForwardingSink {
  /** For each column: the last row in which it had a cell. */
  #seenIn = new Int32Array(16);
  #columns = 0;
  #row = 0;

  override column(column: number, name: string, place?: number, type?: string): void {
    if (column >= this.#seenIn.length) {
      const larger = new Int32Array(Math.max(column + 1, this.#seenIn.length * 2));
      larger.set(this.#seenIn);
      this.#seenIn = larger;
    }
    this.#columns = Math.max(this.#columns, column + 1);
    super.column(column, name, place, type);
  }

  override beginRow(row: number): void {
    this.#row = row;
    super.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#seenIn[column] = this.#row;
    super.cell(column, kind, bytes, start, end);
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#seenIn[column] = this.#row;
    super.moment(column, kind, days, microseconds);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (column >= 0) this.#seenIn[column] = this.#row;
    super.fault(column, fault, bytes, start, end);
  }

  override endRow(): void {
    for (let column = 0; column < this.#columns; column += 1) {
      if (this.#seenIn[column] !== this.#row) super.cell(column, NULL, noBytes, 0, 0);
    }
    super.endRow();
  }
}
