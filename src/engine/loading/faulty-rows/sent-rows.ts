/**
 * The compact form in which faulty rows are stored. A row is: its length, its number, the length and the text of its problems, its cells,
 * a mark, and the numbers of the columns with problems. A cell is the number of its column, its kind, its length and its bytes.
 */
import { GrowableBytes } from '../../../core/bytes/growable-bytes.ts';
import type { Misfits, SentNotation } from './format-fit.ts';
import type { SentColumn } from './sent-column.ts';

/** Kinds of cells besides those of core/cells/cell-kind.ts: what the source could not read, the error of a spreadsheet, and the value of a repeated key. */
export const UNREAD = 100;
export const CELL_ERROR = 101;
export const REPEATED = 102;

/** Comes after the last cell. */
const noColumn = 0xffff_ffff;
const wordBytes = 4;

/** The size at which rows become a piece. */
export const pieceBytes = 256 * 1024;

/** What the writers of files know of the rows. */
export interface WrittenTable {
  /** For text files: the sign between the fields, and the parameter `quoted`. */
  delimiter?: string | undefined;
  quoted?: 'text' | 'exact' | undefined;
  /** How the request reads texts. Rows that an earlier version has kept do not have it. */
  notation?: SentNotation | undefined;
  /** The columns in their order: their names, and their numbers in the rows. */
  names: string[];
  columns: number[];
  /** For each column that of the table; undefined: the table is not known. */
  ofTable?: readonly (SentColumn | undefined)[] | undefined;
  /** Whether the file gets the column with the reasons. */
  hasReasons: boolean;
}

/** What is stored of the rows. */
export interface SentTable extends WrittenTable {
  /** The format in which the rows were sent. */
  format: string;
  /** The errors of the first values that a format cannot give back. Rows that an earlier version has kept do not have them. */
  misfits?: Misfits | undefined;
  /** The number of rows, and of the pieces that they are stored in. */
  rows: number;
  pieces: number;
  /** false: more rows have problems. */
  isComplete: boolean;
  /** The largest number of UTF-16 code units of a value. It is only exact if it is large. */
  longestValue: number;
}

/** Rows of this length are not copied. */
const longBytes = 1024 * 1024;

const noLimit = {
  maxBytes: Number.POSITIVE_INFINITY,
  exceeded: () => new RangeError('the rows have no limit'),
};

export class SentRowWriter {
  #bytes = new GrowableBytes(noLimit);
  readonly #word = Buffer.alloc(wordBytes);
  /** The length of the complete rows. */
  complete = 0;

  /** The length of the current row so far. */
  get rowBytes(): number {
    return this.#bytes.length - this.complete;
  }

  beginRow(row: number, reason: Buffer): void {
    this.#number(0);
    this.#number(row);
    this.#number(reason.length);
    this.#bytes.append(reason, 0, reason.length);
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#number(column);
    this.#bytes.appendRepeated(kind, 1);
    this.#number(end - start);
    this.#bytes.append(bytes, start, end);
  }

  endRow(marked: Iterable<number>): void {
    this.#number(noColumn);
    for (const column of marked) this.#number(column);
    this.#bytes.bytes.writeUInt32LE(this.rowBytes, this.complete);
    this.complete = this.#bytes.length;
  }

  dropRow(): void {
    this.#bytes.length = this.complete;
  }

  /** Removes the complete rows and returns them. */
  take(): Buffer {
    const { bytes, length } = this.#bytes;
    if (length > longBytes && length === this.complete) {
      this.#bytes = new GrowableBytes(noLimit);
      this.complete = 0;
      return bytes.subarray(0, length);
    }
    const taken = Buffer.from(bytes.subarray(0, this.complete));
    bytes.copyWithin(0, this.complete, length);
    this.#bytes.length = this.rowBytes;
    this.complete = 0;
    return taken;
  }

  #number(value: number): void {
    this.#word.writeUInt32LE(value);
    this.#bytes.append(this.#word, 0, wordBytes);
  }
}

/** Reads rows one after the other. The members describe the current row: its cells in the order in which they were sent. */
export class SentRowReader {
  readonly bytes: Buffer;
  reason = '';
  count = 0;
  readonly columns: number[] = [];
  readonly kinds: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly marked = new Set<number>();
  /** For each column: the place of its cell in the lists. */
  readonly cellOf = new Map<number, number>();
  #at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Goes to the next row. Returns false if there is none. */
  next(): boolean {
    const { bytes } = this;
    if (this.#at >= bytes.length) return false;
    const end = this.#at + bytes.readUInt32LE(this.#at);
    let at = this.#at + 3 * wordBytes;
    const reasonEnd = at + bytes.readUInt32LE(at - wordBytes);
    this.reason = bytes.toString('utf8', at, reasonEnd);
    this.count = 0;
    this.cellOf.clear();
    for (at = reasonEnd; bytes.readUInt32LE(at) !== noColumn; at = this.ends[this.count++]!) {
      const column = bytes.readUInt32LE(at);
      const start = at + 2 * wordBytes + 1;
      this.columns[this.count] = column;
      this.kinds[this.count] = bytes[at + wordBytes]!;
      this.starts[this.count] = start;
      this.ends[this.count] = start + bytes.readUInt32LE(start - wordBytes);
      this.cellOf.set(column, this.count);
    }
    this.marked.clear();
    for (at += wordBytes; at < end; at += wordBytes) this.marked.add(bytes.readUInt32LE(at));
    this.#at = end;
    return true;
  }
}
