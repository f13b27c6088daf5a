/** Counts the bytes of the values in the rows of a sheet. */

import type { ExpandedBytes } from '../../core/cells/expanded-bytes.ts';

/** After rows with this many bytes the source pauses, because the sink keeps them in memory until then. */
export const pauseBytes = 256 * 1024;

/** The bytes of an empty field in the sink. A row with one value has such a field for every other column. */
const emptyFieldBytes = 4;

export class CountedValues {
  readonly #expanded: ExpandedBytes;
  /** Of the rows that were not counted yet: the bytes of their values, and the bytes that they take in the sink. */
  #bytes = 0;
  #heldBytes = 0;

  constructor(expanded: ExpandedBytes) {
    this.#expanded = expanded;
  }

  /** Adds a row. @returns whether the source must pause */
  addRow(bytes: number, columns: number): boolean {
    this.#bytes += bytes;
    this.#heldBytes += bytes + emptyFieldBytes * columns;
    return this.#heldBytes > pauseBytes;
  }

  /**
   * Counts the rows that were added since the last call.
   *
   * @param row the current row
   * @throws AppError `limit-exceeded` if the values have too many bytes for a file of this size
   */
  count(row: number): void {
    const bytes = this.#bytes;
    this.#bytes = 0;
    this.#heldBytes = 0;
    if (bytes > 0) this.#expanded.add(bytes, `${tooManyValues}, up to row ${row}`, remedy);
  }
}

const tooManyValues = 'The cells have too many bytes for a file of this size';
const remedy =
  'A value counts in each cell that repeats it. The limit is higher for a larger file, by MAX_UNPACK_RATIO.';
