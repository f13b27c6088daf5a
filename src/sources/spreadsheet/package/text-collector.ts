import { limitExceeded } from '../spreadsheet-limits.ts';
import { decodeEscapes } from './xml-text.ts';

/** Joins the pieces of one text: runs, and what comments or CDATA sections have torn apart. */
export class TextCollector {
  bytes: Buffer = Buffer.alloc(1024);
  length = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  clear(): void {
    this.length = 0;
  }

  append(bytes: Buffer, start: number, end: number): void {
    const length = this.length + end - start;
    if (length > this.#maxBytes)
      throw limitExceeded('The text of a cell is too long', this.#maxBytes, 'bytes (MAX_CELL_BYTES)');
    if (length > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(length, 2 * this.bytes.length));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    bytes.copy(this.bytes, this.length, start, end);
    this.length = length;
  }

  /**
   * Ends a `t` that began at `mark`. Excel drops white space around a text that does not say
   * `xml:space="preserve"`, so programs that mean it say so.
   */
  endRun(mark: number, isPreserving: boolean): void {
    if (!isPreserving) this.#trim(mark);
    this.length = decodeEscapes(this.bytes, mark, this.length);
  }

  #trim(mark: number): void {
    let end = this.length;
    while (end > mark && isSpace(this.bytes[end - 1]!)) end--;
    let start = mark;
    while (start < end && isSpace(this.bytes[start]!)) start++;
    this.bytes.copyWithin(mark, start, end);
    this.length = mark + end - start;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
