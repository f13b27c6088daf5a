/** Keeps the cells of white space of a row that has no value yet. */

/** The maximum number of bytes that are kept until the row has a value. */
const maxBytes = 1024 * 1024;

interface BlankCell {
  /** The column of the range, from 0. */
  place: number;
  kind: number;
  bytes: Buffer;
}

export class BlankCells {
  #cells: BlankCell[] = [];
  #bytes = 0;

  get count(): number {
    return this.#cells.length;
  }

  get areTooMany(): boolean {
    return this.#bytes > maxBytes;
  }

  add(place: number, kind: number, bytes: Buffer): void {
    this.#cells.push({ place, kind, bytes: Buffer.from(bytes) });
    this.#bytes += bytes.length;
  }

  /** Returns the cells, and forgets them. */
  take(): BlankCell[] {
    const cells = this.#cells;
    this.#cells = [];
    this.#bytes = 0;
    return cells;
  }
}
