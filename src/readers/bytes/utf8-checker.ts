/** Checks that a stream of chunks is valid UTF-8 (RFC 3629). It is as fast as the check of the runtime, which cannot continue a sequence that a chunk cuts. */

import { isUtf8 } from 'node:buffer';
import { endOfWholeCharacters } from '../../core/bytes/utf8.ts';

/** Keeps the number of missing bytes and the range of the next byte, as the UTF-8 decoder of the WHATWG Encoding Standard does. */
export class Utf8Checker {
  #needed = 0;
  #lower = 0x80;
  #upper = 0xbf;

  /** Forgets an incomplete sequence. The next byte must be the first one of a character. */
  restart(): void {
    this.#needed = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
  }

  /** Checks chunk[start, end). @returns the position of the first invalid byte; -1: there is none */
  check(chunk: Buffer, start: number, end = chunk.length): number {
    let i = start;
    while (i < end && this.#needed > 0) {
      if (!this.#step(chunk[i]!)) return i;
      i++;
    }
    const whole = endOfWholeCharacters(chunk, i, end);
    if (!isUtf8(chunk.subarray(i, whole))) {
      while (i < whole && this.#step(chunk[i]!)) i++;
      return i;
    }
    for (i = whole; i < end; i++) if (!this.#step(chunk[i]!)) return i;
    return -1;
  }

  #step(byte: number): boolean {
    if (this.#needed > 0) {
      const isValid = byte >= this.#lower && byte <= this.#upper;
      this.#needed--;
      this.#lower = 0x80;
      this.#upper = 0xbf;
      return isValid;
    }
    if (byte < 0x80) return true;
    if (byte < 0xc2 || byte > 0xf4) return false;
    if (byte < 0xe0) {
      this.#needed = 1;
    } else if (byte < 0xf0) {
      this.#needed = 2;
      if (byte === 0xe0) this.#lower = 0xa0;
      if (byte === 0xed) this.#upper = 0x9f;
    } else {
      this.#needed = 3;
      if (byte === 0xf0) this.#lower = 0x90;
      if (byte === 0xf4) this.#upper = 0x8f;
    }
    return true;
  }
}
