/** Collects bytes from several chunks, up to a limit. It grows by doubling, so that the time of all appends is linear. */

import { writeCodePoint } from './utf8.ts';

export interface ByteLimit {
  maxBytes: number;
  /** Returns the error for too many bytes. */
  exceeded(): Error;
}

/** A buffer that becomes larger gets all the memory that it may have. If it grew step by step, the old ones would take memory until they are collected. */
const LARGE_BYTES = 1024 * 1024;

/** The number of bytes below which a loop is faster than a call of `Buffer.copy`. */
const SHORT = 24;

export class GrowableBytes {
  /** Holds the content from 0 to `length`. An append may replace this buffer. */
  bytes: Buffer = Buffer.allocUnsafeSlow(256);
  length = 0;
  #limit: ByteLimit;

  constructor(limit: ByteLimit) {
    this.#limit = limit;
  }

  /** Removes all bytes. @param limit the new limit; default: unchanged */
  clear(limit: ByteLimit = this.#limit): void {
    this.length = 0;
    this.#limit = limit;
  }

  /** Removes all bytes, and gives the memory of a large buffer back at once. Nothing else may use the buffer. */
  release(): void {
    this.length = 0;
    if (this.bytes.length <= LARGE_BYTES) return;
    const { buffer } = this.bytes;
    this.bytes = Buffer.allocUnsafeSlow(256);
    (buffer as ArrayBuffer).transfer(0);
  }

  /**
   * Appends bytes.
   *
   * @throws the error that `exceeded` of the limit returns
   */
  append(source: Buffer, start: number, end: number): void {
    let at = this.length;
    const needed = at + end - start;
    if (needed > this.bytes.length || needed > this.#limit.maxBytes) this.#reserve(needed);
    const bytes = this.bytes;
    if (end - start > SHORT) source.copy(bytes, at, start, end);
    else for (let i = start; i < end; i++) bytes[at++] = source[i]!;
    this.length = needed;
  }

  /** Appends the byte `count` times. */
  appendRepeated(byte: number, count: number): void {
    const at = this.length;
    const needed = at + count;
    if (needed > this.bytes.length || needed > this.#limit.maxBytes) this.#reserve(needed);
    if (count === 1) this.bytes[at] = byte;
    else this.bytes.fill(byte, at, needed);
    this.length = needed;
  }

  /** Appends a code point, which must not be a surrogate, as UTF-8. */
  appendCodePoint(code: number): void {
    const at = this.length;
    if (at + 4 > this.bytes.length || at + 4 > this.#limit.maxBytes) this.#reserve(at + utf8Length(code));
    this.length = writeCodePoint(this.bytes, at, code);
  }

  #reserve(needed: number): void {
    if (needed > this.#limit.maxBytes) throw this.#limit.exceeded();
    if (needed <= this.bytes.length) return;
    // The system provides a page of a large buffer only when the page is written to.
    const { maxBytes } = this.#limit;
    const isLarge = needed > LARGE_BYTES && Number.isFinite(maxBytes);
    const grown = Buffer.allocUnsafeSlow(isLarge ? maxBytes : Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}

function utf8Length(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
