import type { CellSink } from '../cell-sink.ts';

/** A sink that only finds out whether a sheet has a row below its header. */
export class RowProbe implements CellSink {
  hasRow = false;

  beginRow(): void {
    this.hasRow = true;
  }

  column(): void {}
  cell(): void {}
  moment(): void {}
  fault(): void {}
  endRow(): void {}

  drain(): undefined {
    return undefined;
  }
}
