/**
 * Maps loaded rows to the data rows that they came from.
 *
 * PostgreSQL identifies a row only by its place in the COPY stream. This ordinal differs from the number of the data row if rows with
 * problems are left out, if a sheet has empty rows, or if rows are sent in another order. Only the breaks are kept: the pair (ordinal,
 * row) of each row that does not directly follow the row before it.
 */

/** The maximum number of breaks, of 8 bytes each, to bound the memory. The data rows of later rows are not known. */
const maxBreaks = 1_000_000;

export class RowNumbers {
  count = 0;
  #ordinals: Int32Array<ArrayBuffer> = new Int32Array(16);
  #rows: Int32Array<ArrayBuffer> = new Int32Array(16);
  #breaks = 0;
  #lastRow = 0;

  /** Notes that the next loaded row is the data row `row`. */
  add(row: number): void {
    if (row !== this.#lastRow + 1 && this.#breaks < maxBreaks) this.#addBreak(row);
    this.#lastRow = row;
    this.count += 1;
  }

  /** Appends all rows of `other` and empties it. */
  take(other: RowNumbers): void {
    for (let index = -1; index < other.#breaks; index += 1) {
      const start = index < 0 ? 0 : other.#ordinals[index]!;
      const end = index + 1 < other.#breaks ? other.#ordinals[index + 1]! : other.count;
      if (end === start) continue;
      const first = index < 0 ? 1 : other.#rows[index]!;
      this.add(first);
      this.count += end - start - 1;
      this.#lastRow += end - start - 1;
    }
    other.count = 0;
    other.#breaks = 0;
    other.#lastRow = 0;
  }

  /** Returns the data row (1-based) of the loaded row `ordinal` (0-based); undefined: it is no longer known. */
  rowOf(ordinal: number): number | undefined {
    if (this.#breaks === maxBreaks && ordinal >= this.#ordinals[maxBreaks - 1]!) return undefined;
    let low = 0;
    let high = this.#breaks;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ordinals[middle]! <= ordinal) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return ordinal + 1;
    return this.#rows[low - 1]! + (ordinal - this.#ordinals[low - 1]!);
  }

  /**
   * Returns the breaks: the row of an ordinal is the row of the last break at or before it, plus the distance. Before the first break, it is
   * the ordinal plus 1. undefined: some rows have no number.
   */
  get breaks(): { ordinals: number[]; rows: number[] } | undefined {
    if (this.#breaks === maxBreaks) return undefined;
    const listed = (numbers: Int32Array) => Array.from(numbers.subarray(0, this.#breaks));
    return { ordinals: listed(this.#ordinals), rows: listed(this.#rows) };
  }

  #addBreak(row: number): void {
    if (this.#breaks === this.#ordinals.length) {
      this.#ordinals = doubled(this.#ordinals);
      this.#rows = doubled(this.#rows);
    }
    this.#ordinals[this.#breaks] = this.count;
    this.#rows[this.#breaks] = row;
    this.#breaks += 1;
  }
}

function doubled(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
