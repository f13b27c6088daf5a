/** Takes cells as a source pushes them, in the kinds in which rows are kept (sent-rows.ts). */
import { isUtf8 } from 'node:buffer';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { type CellSink, TEXT_VALUE } from '../../../core/cells/cell-sink.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import type { FormatFit, Misfits } from './format-fit.ts';
import type { SentColumn } from './sent-column.ts';
import { CELL_ERROR, REPEATED, UNREAD } from './sent-rows.ts';

export abstract class SentCellSink implements CellSink {
  readonly names: string[] = [];
  /** The place of each column in the file, from 0. */
  readonly places: number[] = [];
  /** The columns of the table; undefined: the table is not known. */
  readonly ofTable: (SentColumn | undefined)[] = [];
  /** Looks at the values of the rows that are taken; undefined: the values are not wanted. */
  protected readonly fit: FormatFit | undefined;
  /** false: the cells of the current row are not needed. */
  isTaken = false;
  readonly #columnOf: (name: string) => SentColumn | undefined;

  /** @param columnOf returns the column of the table for a sent column; undefined: the table is not known */
  constructor(fit: FormatFit | undefined, columnOf: (name: string) => SentColumn | undefined) {
    this.fit = fit;
    this.#columnOf = columnOf;
  }

  /** Returns the errors of the first values that a format cannot give back. */
  get misfits(): Misfits {
    return this.fit?.misfits(this.names) ?? {};
  }

  protected abstract add(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
  abstract beginRow(row: number): void;
  abstract endRow(): void;
  abstract drain(): Promise<void> | undefined;

  column(column: number, name: string, place = column): void {
    this.names[column] = name;
    this.places[column] = place;
    this.ofTable[column] = this.#columnOf(name);
  }

  wants(column: number): number {
    return this.ofTable[column]?.wanted ?? TEXT_VALUE;
  }

  /** Returns the columns in the order of the file. */
  columnsInOrder(): number[] {
    return [...this.names.keys()].sort((a, b) => this.places[a]! - this.places[b]!);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (!this.isTaken) return;
    const at = this.ofTable[column];
    if (kind === kinds.BYTES) {
      this.rewritten(column, kinds.STRING, textOfBytes(bytes.subarray(start, end), at));
      return;
    }
    this.fit?.cell(column, at, kind, bytes.subarray(start, end));
    // The shown and the exact number are both kept, with the byte 0 between.
    if (kind === kinds.ROUNDED_NUMBER) {
      const exact = bytes.subarray(start, kinds.endOfExactNumber(bytes, end));
      const both = Buffer.concat([exact.subarray(0, end - start), Buffer.of(0), exact.subarray(end - start)]);
      this.add(column, kind, both, 0, both.length);
    } else this.add(column, kind, bytes, start, end);
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    if (!this.isTaken) return;
    const length = formatMoment(kind, days, microseconds);
    this.fit?.cell(column, this.ofTable[column], kind, momentText.subarray(0, length));
    this.add(column, kind, momentText, 0, length);
  }

  /** Takes the text of a cell that is not the one that was sent. */
  rewritten(column: number, kind: number, text: Buffer): void {
    if (!this.isTaken) return;
    this.fit?.rewritten(column, text.toString());
    this.cell(column, kind, text, 0, text.length);
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (!this.isTaken || column < 0) return;
    const kind = fault === kinds.ERROR_CELL ? CELL_ERROR : fault === kinds.REPEATED_KEY ? REPEATED : UNREAD;
    this.add(column, kind, bytes, start, end);
  }
}

/** Returns the text with the meaning of the bytes. A column of another type than `bytea` reads bytes as UTF-8. */
function textOfBytes(bytes: Buffer, column: SentColumn | undefined): Buffer {
  if (column?.type !== 'bytes' && isUtf8(bytes) && !bytes.includes(0)) return bytes;
  return Buffer.from(`\\x${bytes.toString('hex')}`);
}
