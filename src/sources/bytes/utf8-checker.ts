/** Is a stream of chunks valid UTF-8 (RFC 3629)? At the speed of the runtime's own check, sequences cut anywhere. */

import { isUtf8 } from 'node:buffer';
import { endOfWholeCharacters } from './utf8.ts';

/** As in the UTF-8 decoder of the WHATWG Encoding Standard: how many bytes are missing, and what the next may be. */
export class Utf8Checker {
  #needed = 0;
  #lower = 0x80;
  #upper = 0xbf;

  /** Goes on at the begin of a sequence. */
  restart(): void {
    this.#needed = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
  }

  /** Takes chunk[start, end). @returns the position of the first byte at fault; -1: none */
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
