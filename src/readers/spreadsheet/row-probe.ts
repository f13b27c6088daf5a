import type { CellSink } from '../../core/cells/cell-sink.ts';

/** A sink that only counts the rows below a header, and the columns. */
export class RowProbe implements CellSink {
  rows = 0;
  columns = 0;

  beginRow(): void {
    this.rows++;
  }

  column(): void {
    this.columns++;
  }

  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}

  drain(): undefined {
    return undefined;
  }
}
