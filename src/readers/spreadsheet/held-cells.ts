/** Keeps the first cells of a row until it is known what the row is. Millions of rows may have such cells, so no objects are made for a cell. */

/** The maximum number of bytes that are kept. */
const maxBytes = 1024 * 1024;
const initialBytes = 256;

export class HeldCells {
  count = 0;
  /** For each cell: its column of the range, from 0. */
  readonly places: number[] = [];
  readonly kinds: number[] = [];
  /** For each cell: where its bytes end. They begin where those of the cell before it end. */
  readonly ends: number[] = [];
  bytes = Buffer.allocUnsafeSlow(initialBytes);
  #length = 0;

  get areTooMany(): boolean {
    return this.#length > maxBytes;
  }

  add(place: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length > this.bytes.length) this.#grow(length);
    for (let from = start, to = this.#length; from < end; from++, to++) this.bytes[to] = bytes[from]!;
    this.#length = length;
    this.places[this.count] = place;
    this.kinds[this.count] = kind;
    this.ends[this.count++] = length;
  }

  clear(): void {
    this.count = 0;
    this.#length = 0;
    if (this.bytes.length > maxBytes) this.bytes = Buffer.allocUnsafeSlow(initialBytes);
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.#length);
    this.bytes = grown;
  }
}
