/** Bytes gathered from several chunks: grows by doubling, so that any number of appends is linear, up to a limit. */

import { writeCodePoint } from './utf8.ts';

export interface ByteLimit {
  maxBytes: number;
  /** The error that says that there are more. */
  exceeded(): Error;
}

/** Below this many bytes a loop is faster than the call of `Buffer.copy`. */
const SHORT = 24;

export class GrowableBytes {
  /** Holds the content at 0 to `length`. Another buffer after an append. */
  bytes: Buffer = Buffer.allocUnsafeSlow(256);
  length = 0;
  #limit: ByteLimit;

  constructor(limit: ByteLimit) {
    this.#limit = limit;
  }

  /** Empties it. @param limit for what comes now; default: as before */
  clear(limit: ByteLimit = this.#limit): void {
    this.length = 0;
    this.#limit = limit;
  }

  /** @throws what `exceeded` of the limit answers */
  append(source: Buffer, start: number, end: number): void {
    let at = this.length;
    const needed = at + end - start;
    if (needed > this.bytes.length || needed > this.#limit.maxBytes) this.#reserve(needed);
    const bytes = this.bytes;
    if (end - start > SHORT) source.copy(bytes, at, start, end);
    else for (let i = start; i < end; i++) bytes[at++] = source[i]!;
    this.length = needed;
  }

  /** Appends a code point, no surrogate, as UTF-8. */
  appendCodePoint(code: number): void {
    const at = this.length;
    if (at + 4 > this.bytes.length || at + 4 > this.#limit.maxBytes) this.#reserve(at + utf8Length(code));
    this.length = writeCodePoint(this.bytes, at, code);
  }

  #reserve(needed: number): void {
    if (needed > this.#limit.maxBytes) throw this.#limit.exceeded();
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
