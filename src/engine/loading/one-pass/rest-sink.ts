/** Passes on the rows from a given data row on, and leaves out the rows before it. Columns are always passed on. */
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../../core/cells/forwarding-sink.ts';

export class RestSink extends ForwardingSink {
  readonly #firstRow: number;
  #isInRest = false;

  constructor(inner: CellSink, firstRow: number) {
    super(inner);
    this.#firstRow = firstRow;
  }

  override beginRow(row: number): void {
    this.#isInRest = row >= this.#firstRow;
    if (this.#isInRest) this.inner.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isInRest) this.inner.cell(column, kind, bytes, start, end);
  }

  async longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    if (this.#isInRest) await this.passLong(column, kind, bytes, start, end);
  }

  override moment(column: number, kind: number, days: number, microseconds: number): void {
    if (this.#isInRest) this.inner.moment(column, kind, days, microseconds);
  }

  override fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isInRest) this.inner.fault(column, fault, bytes, start, end);
  }

  override endRow(): void {
    if (this.#isInRest) this.inner.endRow();
  }
}
