/** Remembers which rows of a sheet were read, to detect a row number that occurs twice. In a damaged file the rows may be in any order. */

import { maxSheetRow } from './cell-address.ts';

const initialBytes = 1024;

export class SeenRows {
  /** One bit for each row of the sheet, at most 128 KiB. */
  #bits = new Uint8Array(initialBytes);

  /**
   * Adds a row. Rows beyond the last row of a sheet, which only text files have, are not kept.
   *
   * @returns whether the row has been added before
   */
  add(row: number): boolean {
    if (row > maxSheetRow) return false;
    const at = row >> 3;
    if (at >= this.#bits.length) this.#grow(at + 1);
    const bit = 1 << (row & 7);
    if ((this.#bits[at]! & bit) !== 0) return true;
    this.#bits[at]! |= bit;
    return false;
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.max(length, 2 * this.#bits.length));
    larger.set(this.#bits);
    this.#bits = larger;
  }
}
