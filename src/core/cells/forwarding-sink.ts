/** A sink that passes everything on to another sink. A subclass overrides the methods whose calls it changes. */
import type { CellSink } from './cell-sink.ts';

export class ForwardingSink implements CellSink {
  protected readonly inner: CellSink;

  constructor(inner: CellSink) {
    this.inner = inner;
  }

  column(column: number, name: string, place?: number, type?: string): void {
    this.inner.column(column, name, place, type);
  }

  beginRow(row: number): void {
    this.inner.beginRow(row);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.inner.cell(column, kind, bytes, start, end);
  }

  /** A subclass whose `cell` does not change objects and arrays calls this in its method `longCell`. */
  protected async passLong(
    column: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): Promise<void> {
    if (this.inner.longCell === undefined) this.inner.cell(column, kind, bytes, start, end);
    else await this.inner.longCell(column, kind, bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.inner.moment(column, kind, days, microseconds);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.inner.fault(column, fault, bytes, start, end);
  }

  endRow(): void {
    this.inner.endRow();
  }

  drain(rowBytes?: number): Promise<void> | undefined {
    return this.inner.drain(rowBytes);
  }

  stop(): void {
    this.inner.stop?.();
  }
}
