import type { CellSink } from '../../core/cells/cell-sink.ts';

/** Receives the cells of a sheet only to count its columns and the rows below its header. */
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
