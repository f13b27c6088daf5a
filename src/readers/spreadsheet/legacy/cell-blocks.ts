/**
 * Defines the frames (reader-process/frames.ts) that the reader process writes to its output, and blocks of cells inside frames.
 *
 * A block is a list of
 * records: a record for the row, then one for each of its cells. Numbers are written as the shortest text of the stored double,
 * as the code for cells expects.
 */

import type { NumberFormat } from '../values/number-formats.ts';
import type { ColumnRange } from './stored-sheets.ts';

/**
 * The kinds of frames. They arrive in this order: `STARTED`, `SHEETS`, and for each sheet that is asked for `FORMATS`, any number of
 * `CELLS`, `END`. If the names are asked for, `NAMES` arrives.
 */
export const SHEETS = 2;
export const FORMATS = 3;
export const CELLS = 4;
export const END = 5;
export const NAMES = 6;

/** Is sent in place of the index of a sheet, to ask for the names. */
export const namesRequest = 0xffff_ffff;

/** The kinds of records in a block. */
const ROW = 0;
const NUMBER_CELL = 1;
export const STRING_CELL = 2;
export const ERROR_TEXT_CELL = 3;
export const TRUE_CELL = 4;
export const FALSE_CELL = 5;
export const NO_RESULT_CELL = 6;
/** A value that merged cells cover. It is counted but not loaded. */
export const COVERED_CELL = 7;
/** The beginning of a hidden row. */
const HIDDEN_ROW = 8;
/** A merged area. All areas come before the first row. */
const MERGED_AREA = 9;

/** The index of a missing format, which may have been one of dates. No list of formats is long enough to have this index. */
export const NO_FORMAT = 0xffff;

/** The content of `SHEETS`. */
export interface ReportedSheet {
  name: string;
  /** 0 is visible, 1 is hidden and 2 is very hidden (MS-XLS 2.4.28 `hsState`). */
  hidden: number;
  hasCells: boolean;
  /** The number of rows with values after the first, and of columns with values. */
  size: { rows: number; columns: number };
}

/** The content of `FORMATS`: the number formats by the index that cells have. */
export interface ReportedFormats {
  is1904: boolean;
  formats: NumberFormat[];
  hiddenColumns: ColumnRange[];
}

/** The content of `NAMES`: the defined names, and what they refer to, in the notation of Excel. */
export interface ReportedNames {
  names: { name: string; localTo?: string; refersTo: string }[];
  /** false: the workbook has more names than the service reads. */
  isComplete: boolean;
}

/**
 * The reasons why a file cannot be read. `unknown-method`: the method of its encryption is not supported. `wrong-password`: none of
 * the passwords opens it. `code-page …`: the texts have a code page that is not supported. `broken`: any error of the library.
 */
export type ReaderFault =
  | 'unknown-method'
  | 'wrong-password'
  | 'word-document'
  | 'presentation'
  | 'no-workbook'
  | 'too-many-cells'
  | 'too-many-sheets'
  | 'too-many-merged-areas'
  | `${typeof codePageFault}${number}`
  | 'broken';

/** The beginning of a fault. The number of the code page follows. */
export const codePageFault = 'code-page ';

/** The maximum number of cells. If all of them are whole numbers, they just fit into the memory of the process. */
export const maxCells = 1_750_000;

/** A block is sent when it has this many bytes. */
const blockBytes = 64 * 1024;

/** The longest text of a double, `-2.2250738585072014e-308`. */
const maxNumberBytes = 24;

/** The length of the record of a merged area after its first column: its first row, last row and last column. */
const mergedAreaBytes = 12;

export class BlockWriter {
  #bytes: Buffer = Buffer.allocUnsafe(2 * blockBytes);
  #length = 0;

  get isFull(): boolean {
    return this.#length >= blockBytes;
  }

  /**
   * Begins a row.
   *
   * @param row 1-based
   */
  row(row: number, isHidden: boolean): void {
    this.#reserve(5);
    this.#byte(isHidden ? HIDDEN_ROW : ROW);
    this.#length = this.#bytes.writeUInt32LE(row, this.#length);
  }

  /** Writes a merged area. Rows and columns count from 1. */
  mergedArea(firstRow: number, firstColumn: number, lastRow: number, lastColumn: number): void {
    this.flag(firstColumn, MERGED_AREA);
    this.#reserve(mergedAreaBytes);
    for (const place of [firstRow, lastRow, lastColumn])
      this.#length = this.#bytes.writeUInt32LE(place, this.#length);
  }

  /**
   * Writes a record without content.
   *
   * @param column from 0
   */
  flag(column: number, kind: number): void {
    this.#reserve(5);
    this.#byte(kind);
    this.#length = this.#bytes.writeUInt32LE(column, this.#length);
  }

  number(column: number, format: number, value: number): void {
    this.flag(column, NUMBER_CELL);
    this.#reserve(3 + maxNumberBytes);
    this.#length = this.#bytes.writeUInt16LE(format, this.#length);
    const text = String(value);
    this.#byte(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  /**
   * Writes a record with a text.
   *
   * @param kind `STRING_CELL` or `ERROR_TEXT_CELL`
   */
  text(column: number, kind: number, text: string): void {
    this.flag(column, kind);
    const length = Buffer.byteLength(text);
    this.#reserve(4 + length);
    this.#length = this.#bytes.writeUInt32LE(length, this.#length);
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Returns the records since the last call, and begins a new block. */
  take(): Buffer {
    const block = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.allocUnsafe(2 * blockBytes);
    this.#length = 0;
    return block;
  }

  #byte(value: number): void {
    this.#bytes[this.#length++] = value;
  }

  #reserve(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + length));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Receives the records of a block. The bytes are valid only during the call. */
export interface BlockTarget {
  mergeCells(firstRow: number, firstColumn: number, lastRow: number, lastColumn: number): void;
  row(row: number, isHidden: boolean): void;
  number(column: number, format: number, bytes: Buffer, start: number, end: number): void;
  /** Receives a `STRING_CELL` or `ERROR_TEXT_CELL` with its bytes, or a kind that has no bytes. */
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;
}

/**
 * Passes the records of a block to `target`.
 *
 * @returns false if the bytes are not a valid block, because the output of the reader process is not trusted
 */
export function readBlock(block: Buffer, target: BlockTarget): boolean {
  const { length } = block;
  let at = 0;
  while (at < length) {
    if (at + 5 > length) return false;
    const kind = block[at]!;
    const index = block.readUInt32LE(at + 1);
    at += 5;
    if (kind === ROW || kind === HIDDEN_ROW) {
      target.row(index, kind === HIDDEN_ROW);
    } else if (kind === NUMBER_CELL) {
      if (at + 3 > length) return false;
      const start = at + 3;
      const end = start + block[at + 2]!;
      if (end > length) return false;
      target.number(index, block.readUInt16LE(at), block, start, end);
      at = end;
    } else if (kind === STRING_CELL || kind === ERROR_TEXT_CELL) {
      if (at + 4 > length) return false;
      const start = at + 4;
      const end = start + block.readUInt32LE(at);
      if (end > length) return false;
      target.cell(index, kind, block, start, end);
      at = end;
    } else if (kind === MERGED_AREA) {
      if (at + mergedAreaBytes > length) return false;
      target.mergeCells(
        block.readUInt32LE(at),
        index,
        block.readUInt32LE(at + 4),
        block.readUInt32LE(at + 8),
      );
      at += mergedAreaBytes;
    } else if (kind <= COVERED_CELL) {
      target.cell(index, kind, block, at, at);
    } else {
      return false;
    }
  }
  return true;
}
