/**
 * What the rows of a sheet come to, with the shared strings that their cells name: a few bytes of a file can name large
 * strings any number of times.
 */

import { limitExceeded } from '../../../limit-exceeded.ts';
import { rowTooLong } from '../../row-limit.ts';
import type { CellValues } from '../values/cell-values.ts';

/** After so much text of shared strings the target may be waited for. */
const pauseBytes = 256 * 1024;

export class RowBounds {
  /** So much text of shared strings was pushed since the last pause that the target may be waited for. */
  isPauseDue = false;
  /** The bytes of the row at hand, as the part has them. */
  bytes = 0;
  readonly #values: CellValues;
  readonly #maxRowBytes: number;
  readonly #maxSharedBytes: number;
  /** The text of shared strings in the rows before. */
  #sharedBytes = 0;
  #pauseAtBytes = pauseBytes;

  /** @param maxSharedBytes of the text of shared strings in all, each time that a cell names one */
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
   * The target holds a row until it is whole.
   *
   * @throws AppError `limit-exceeded`
   */
  check(row: number): void {
    if (this.bytes + this.#values.sharedBytes <= this.#maxRowBytes) return;
    throw rowTooLong(`Row ${row}`, this.#maxRowBytes);
  }

  /** @throws AppError `limit-exceeded` */
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
