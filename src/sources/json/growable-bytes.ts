/** Bytes gathered from several chunks: grows by doubling, so that any number of appends is linear, up to a limit. */

import { type Limit, LimitFault } from './json-fault.ts';

/** Below this many bytes a loop is faster than the call of `Buffer.copy`. */
const SHORT = 24;

export class GrowableBytes {
  /** Holds the content at 0 to `length`. Another buffer after an append. */
  bytes = Buffer.allocUnsafeSlow(256);
  length = 0;
  #subject = '';
  #limit: Limit = { value: 0, unit: '' };

  /** Empties it. `subject` is what the limit is over: "The value". */
  reset(subject: string, limit: Limit): void {
    this.length = 0;
    this.#subject = subject;
    this.#limit = limit;
  }

  /** @throws LimitFault over the limit given at the reset */
  append(source: Buffer, start: number, end: number): void {
    let at = this.length;
    const needed = at + end - start;
    if (needed > this.bytes.length || needed > this.#limit.value) this.#reserve(needed);
    const bytes = this.bytes;
    if (end - start > SHORT) source.copy(bytes, at, start, end);
    else for (let i = start; i < end; i++) bytes[at++] = source[i];
    this.length = needed;
  }

  /** Appends a code point, no surrogate, as UTF-8. */
  appendCodePoint(code: number): void {
    const at = this.length;
    if (at + 4 > this.bytes.length || at + 4 > this.#limit.value) this.#reserve(at + utf8Length(code));
    const bytes = this.bytes;
    if (code < 0x80) {
      bytes[at] = code;
      this.length = at + 1;
    } else if (code < 0x800) {
      bytes[at] = 0xc0 | (code >> 6);
      bytes[at + 1] = 0x80 | (code & 0x3f);
      this.length = at + 2;
    } else if (code < 0x10000) {
      bytes[at] = 0xe0 | (code >> 12);
      bytes[at + 1] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at + 2] = 0x80 | (code & 0x3f);
      this.length = at + 3;
    } else {
      bytes[at] = 0xf0 | (code >> 18);
      bytes[at + 1] = 0x80 | ((code >> 12) & 0x3f);
      bytes[at + 2] = 0x80 | ((code >> 6) & 0x3f);
      bytes[at + 3] = 0x80 | (code & 0x3f);
      this.length = at + 4;
    }
  }

  #reserve(needed: number): void {
    if (needed > this.#limit.value) throw new LimitFault(this.#subject, this.#limit);
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}

function utf8Length(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
