/** Takes cells as a source pushes them, in the kinds in which rows are kept (sent-rows.ts). */
import { ERROR_CELL, endOfExactNumber, REPEATED_KEY, ROUNDED_NUMBER } from '../../../core/cells/cell-kind.ts';
import type { CellSink } from '../../../core/cells/cell-sink.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import type { CsvFit } from './csv-fit.ts';
import { CELL_ERROR, REPEATED, UNREAD } from './sent-rows.ts';

export abstract class SentCellSink implements CellSink {
  readonly names: string[] = [];
  /** The place of each column in the file, from 0. */
  readonly places: number[] = [];
  /** Looks at the values of the rows that are taken; undefined: no CSV is written. */
  protected readonly fit: CsvFit | undefined;
  /** false: the cells of the current row are not needed. */
  protected isTaken = false;

  constructor(fit: CsvFit | undefined) {
    this.fit = fit;
  }

  /** Returns the error of the first value that CSV cannot give back. */
  get csvFault(): string | undefined {
    return this.fit?.detail(this.names);
  }

  protected abstract add(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
  abstract beginRow(row: number): void;
  abstract endRow(): void;
  abstract drain(): Promise<void> | undefined;

  column(column: number, name: string, place = column): void {
    this.names[column] = name;
    this.places[column] = place;
  }

  /** Returns the columns in the order of the file. */
  columnsInOrder(): number[] {
    return [...this.names.keys()].sort((a, b) => this.places[a]! - this.places[b]!);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (!this.isTaken) return;
    this.fit?.cell(column, kind, bytes, start, end);
    // The shown and the exact number are both kept, with the byte 0 between.
    if (kind === ROUNDED_NUMBER) {
      const exact = bytes.subarray(start, endOfExactNumber(bytes, end));
      const both = Buffer.concat([exact.subarray(0, end - start), Buffer.of(0), exact.subarray(end - start)]);
      this.add(column, kind, both, 0, both.length);
    } else this.add(column, kind, bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    if (!this.isTaken) return;
    const length = formatMoment(kind, days, microseconds);
    this.fit?.cell(column, kind, momentText, 0, length);
    this.add(column, kind, momentText, 0, length);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (!this.isTaken || column < 0) return;
    const kind = fault === ERROR_CELL ? CELL_ERROR : fault === REPEATED_KEY ? REPEATED : UNREAD;
    this.add(column, kind, bytes, start, end);
  }
}
