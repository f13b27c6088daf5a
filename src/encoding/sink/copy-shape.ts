/** A shape is the list of columns that rows are sent with, in their order. It has the encoded rows that wait to be sent, and counts their bytes. */
import { CopyBuffer } from '../encoders/copy-buffer.ts';
import type { WrittenBytes } from '../encoders/written-bytes.ts';
import { RowNumbers } from './row-numbers.ts';

/** The initial size of a buffer. It is small because a thousand rows with different columns make a thousand shapes. */
const initialShapeBytes = 4096;

/** The number of a shape whose rows do not begin with row and shape numbers. */
export const unnumbered = -1;

const noFill = Buffer.alloc(0);

export class CopyShape {
  readonly columns: readonly number[];
  /** For each target: its position among the columns; -1: the shape does not have it. */
  readonly positionOf: Int32Array;
  /** The number of the shape, which `numberOfSet` returned; `unnumbered`: its rows do not begin with numbers. */
  readonly number: number;
  /** The fills of all columns one after another, so that a row with one value gets the fills of a thousand columns in one copy. */
  readonly fills: Buffer;
  /** For each position: where its fill begins in `fills`. At the end is their length. */
  readonly fillStarts: Int32Array;
  /** For each position: the first position, from it on, whose column has no fill. */
  readonly fillableUntil: Int32Array;
  /** The required columns that are not in the shape. Every row of the shape lacks them. */
  readonly unseenRequired: readonly number[];
  /** How many of the columns have no fill, so that a row without one of them has another shape. */
  leftOut = 0;
  out: CopyBuffer;
  rowNumbers = new RowNumbers();
  /** About how many bytes PostgreSQL adds to each row for the columns that are left out, and in indexes. */
  readonly leftOutBytes: number;
  /** For the waiting rows: the bytes of the filled fields, and how many of these fields are defaults and not NULL. */
  #filledBytes = 0;
  #filledDefaults = 0;
  /** How many bytes PostgreSQL adds to pad the values of the waiting rows. */
  #paddedBytes = 0;
  /** How many bytes the values of the waiting rows are longer in PostgreSQL than they are sent, without padding. */
  #storedBytes = 0;

  /**
   * @param fills the fill of each target; undefined: a row cannot be without the column
   * @param defaultBytes the bytes that PostgreSQL adds to a row without the target, and at the end those that it adds to each row
   */
  constructor(
    columns: readonly number[],
    fills: readonly (Buffer | undefined)[],
    defaultBytes: readonly number[],
    required: readonly number[],
    number: number,
    mostBytes: (needed: number) => number,
  ) {
    this.columns = columns;
    this.number = number;
    this.out = new CopyBuffer(initialShapeBytes, mostBytes);
    this.positionOf = new Int32Array(defaultBytes.length).fill(-1);
    columns.forEach((target, position) => {
      this.positionOf[target] = position;
    });
    const ofColumns = columns.map((target) => fills[target]);
    this.fills = Buffer.concat(ofColumns.map((fill) => fill ?? noFill));
    this.fillStarts = new Int32Array(columns.length + 1);
    this.fillableUntil = new Int32Array(columns.length + 1).fill(columns.length);
    for (const [position, fill] of ofColumns.entries()) {
      this.fillStarts[position + 1] = this.fillStarts[position]! + (fill?.length ?? 0);
    }
    for (let position = columns.length - 1; position >= 0; position--) {
      this.fillableUntil[position] = ofColumns[position] ? this.fillableUntil[position + 1]! : position;
    }
    this.unseenRequired = required.filter((target) => this.positionOf[target]! < 0);
    this.leftOutBytes = defaultBytes.reduce(
      (sum, bytes, target) => (this.positionOf[target]! < 0 ? sum + bytes : sum),
      0,
    );
  }

  /** Counts the bytes of a row that was added to `out`: those of its fills, and those that PostgreSQL adds to pad and store its values. */
  addRow(filledBytes: number, filledDefaults: number, paddedBytes: number, storedBytes: number): void {
    this.#filledBytes += filledBytes;
    this.#filledDefaults += filledDefaults;
    this.#paddedBytes += paddedBytes;
    this.#storedBytes += storedBytes;
  }

  /**
   * Counts the bytes that PostgreSQL will write for the waiting rows. Call it before the rows are sent.
   *
   * @param bytes the bytes of the rows in `out`
   * @param copies how often the values are stored again, as far as it counts
   * @returns the bytes of the rows as PostgreSQL stores them
   * @throws AppError `limit-exceeded` before PostgreSQL would write too many bytes
   */
  countWritten(written: WrittenBytes, bytes: number, rowCount: number, copies: number): number {
    const own = bytes - this.#filledBytes - rowCount * (this.number === unnumbered ? 2 : 18);
    const added = rowCount * this.leftOutBytes + this.#paddedBytes + own * copies;
    written.add(bytes + added, own, this.#filledDefaults + added);
    const held = bytes + added + this.#storedBytes;
    this.#filledBytes = 0;
    this.#filledDefaults = 0;
    this.#paddedBytes = 0;
    this.#storedBytes = 0;
    return held;
  }
}
