/**
 * Limits the bytes of a row and of a sheet, including the shared strings that cells name, because a few bytes of a file can
 * name large strings any number of times.
 */

import { limitExceeded } from '../../../limit-exceeded.ts';
import { rowTooLong } from '../../row-limit.ts';
import type { CellValues } from '../values/cell-values.ts';

/** After this many bytes of shared strings the scan pauses, so that the sink can write what it has received. */
const pauseBytes = 256 * 1024;

export class RowBounds {
  /** Whether the scan must pause at the end of the row. The scanner sets it to false after the pause. */
  isPauseDue = false;
  /** The bytes of the current row in the part. */
  bytes = 0;
  readonly #values: CellValues;
  readonly #maxRowBytes: number;
  readonly #maxSharedBytes: number;
  /** The bytes of shared strings in the rows before the current one. */
  #sharedBytes = 0;
  #pauseAtBytes = pauseBytes;

  /**
   * @param maxSharedBytes the limit for the text of shared strings in all rows; a string counts each time that a cell names it
   */
  constructor(values: CellValues, maxRowBytes: number, maxSharedBytes: number) {
    this.#values = values;
    this.#maxRowBytes = maxRowBytes;
    this.#maxSharedBytes = maxSharedBytes;
  }

  beginRow(): void {
    this.bytes = 0;
    this.#values.sharedBytes = 0;
  }

  /**
   * Checks the size of the current row, because the sink holds a row in memory until it is complete.
   *
   * @throws AppError `limit-exceeded`
   */
  check(row: number): void {
    if (this.bytes + this.#values.sharedBytes <= this.#maxRowBytes) return;
    throw rowTooLong(`Row ${row}`, this.#maxRowBytes);
  }

  /**
   * Ends the current row and checks its size.
   *
   * @throws AppError `limit-exceeded`
   */
  endRow(row: number): void {
    this.#sharedBytes += this.#values.sharedBytes;
    if (this.#sharedBytes <= this.#pauseAtBytes) return;
    this.#pauseAtBytes = this.#sharedBytes + pauseBytes;
    this.isPauseDue = true;
    if (this.#sharedBytes <= this.#maxSharedBytes) return;
    throw limitExceeded(
      `The cells name the same shared strings too many times, up to row ${row}`,
      this.#maxSharedBytes,
      'bytes of text for a file of this size',
    );
  }
}
