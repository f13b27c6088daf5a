/** Counts lines that end with CR, LF or CRLF, also if a file mixes them. */

import { CR, LF } from '../../../../core/bytes/ascii.ts';

export class LineEnds {
  #count = 0;
  /** The last byte was a CR. An LF after it belongs to it. */
  #isAfterCr = false;

  /** Returns the number of the line after more bytes, which are not added. */
  after(bytes: Buffer, end: number): number {
    return this.#count + 1 + this.#endsIn(bytes, end);
  }

  add(bytes: Buffer, end: number): void {
    if (end === 0) return;
    this.#count += this.#endsIn(bytes, end);
    this.#isAfterCr = bytes[end - 1] === CR;
  }

  #endsIn(bytes: Buffer, end: number): number {
    let count = 0;
    let before = this.#isAfterCr ? CR : 0;
    for (let at = 0; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === CR || (byte === LF && before !== CR)) count++;
      before = byte;
    }
    return count;
  }
}
