/** Maps the keys of rows to column numbers by their raw bytes, so that a cell needs no string and no allocation. */

import { randomBytes } from 'node:crypto';
import { BACKSLASH, QUOTE } from '../../core/bytes/ascii.ts';

/** Stands for the length of a key that must be escaped in a document. It is longer than any chunk, so that `match` never finds such a key. */
const NEVER = 0x3fffffff;

/** The random seed of the hash. Without it, a caller could make keys that collide. */
const hashSeed = randomBytes(4).readInt32LE();

export class ColumnNames {
  /** The number of columns. */
  count = 0;
  /** For each column: the last row that had it. */
  lastRow = new Float64Array(0);
  /** The names one after another, each with its closing quote as in the document. */
  #names = Buffer.allocUnsafeSlow(1024);
  #namesEnd = 0;
  #starts = new Int32Array(0);
  #lengths = new Int32Array(0);
  /** For each column: the length of the bytes that `match` compares, or `NEVER`. */
  #matchLengths = new Int32Array(0);
  /** For each column (index column + 1; 0: the beginning of a row): the column that followed it the last time; -1: none yet. */
  #followers = new Int32Array(0);
  /** The hash table, with open addressing: the column + 1; 0: a free slot. It is at most half full. */
  #slots = new Int32Array(0);

  constructor() {
    this.#grow(64);
  }

  /** Returns the column that followed `column` (-1: the beginning of the row) the last time; -1: none yet. */
  followerOf(column: number): number {
    return this.#followers[column + 1]!;
  }

  setFollower(column: number, follower: number): void {
    this.#followers[column + 1] = follower;
  }

  /** Compares the bytes at `start` with the key of `column` and its closing quote. @returns the position after it; -1: they differ */
  match(column: number, bytes: Buffer, start: number, end: number): number {
    if (column < 0) return -1;
    const after = start + this.#matchLengths[column]!;
    if (after > end) return -1;
    const names = this.#names;
    let at = this.#starts[column]!;
    for (let i = start; i < after; i++) if (bytes[i] !== names[at++]) return -1;
    return after;
  }

  /** Returns the column of the unescaped name from `start` to `end`; -1: the name is new. */
  find(bytes: Buffer, start: number, end: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hashOf(bytes, start, end) & mask; ; slot = (slot + 1) & mask) {
      const column = slots[slot]! - 1;
      if (column < 0 || this.#isNamed(column, bytes, start, end)) return column;
    }
  }

  /** Adds a name that `find` does not find. @returns its column */
  add(bytes: Buffer, start: number, end: number): number {
    const column = this.count;
    if (column === this.#starts.length) this.#grow(column * 2);
    const length = end - start;
    this.#reserve(length + 1);
    this.#starts[column] = this.#namesEnd;
    this.#lengths[column] = length;
    this.#matchLengths[column] = needsNoEscapes(bytes, start, end) ? length + 1 : NEVER;
    this.#namesEnd += bytes.copy(this.#names, this.#namesEnd, start, end);
    this.#names[this.#namesEnd++] = QUOTE;
    this.count = column + 1;
    this.#fill(column);
    return column;
  }

  #isNamed(column: number, bytes: Buffer, start: number, end: number): boolean {
    if (this.#lengths[column] !== end - start) return false;
    const names = this.#names;
    let at = this.#starts[column]!;
    for (let i = start; i < end; i++) if (bytes[i] !== names[at++]) return false;
    return true;
  }

  #fill(column: number): void {
    const start = this.#starts[column]!;
    const mask = this.#slots.length - 1;
    let slot = hashOf(this.#names, start, start + this.#lengths[column]!) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = column + 1;
  }

  #grow(capacity: number): void {
    const followers = new Int32Array(capacity + 1).fill(-1);
    followers.set(this.#followers);
    this.#followers = followers;
    this.#starts = grown(this.#starts, new Int32Array(capacity));
    this.#lengths = grown(this.#lengths, new Int32Array(capacity));
    this.#matchLengths = grown(this.#matchLengths, new Int32Array(capacity));
    this.lastRow = grown(this.lastRow, new Float64Array(capacity));
    this.#slots = new Int32Array(capacity * 2);
    for (let column = 0; column < this.count; column++) this.#fill(column);
  }

  #reserve(length: number): void {
    const needed = this.#namesEnd + length;
    if (needed <= this.#names.length) return;
    const names = Buffer.allocUnsafeSlow(Math.max(needed, this.#names.length * 2));
    this.#names.copy(names, 0, 0, this.#namesEnd);
    this.#names = names;
  }
}

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Hashes with seeded FNV-1a and the final step of MurmurHash3, so that the low bits depend on all bits. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = hashSeed;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Returns whether the name is written without escapes in a document. A name such as `a"b` is not: its raw bytes would match the invalid JSON `"a"b"`. */
function needsNoEscapes(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return false;
  }
  return true;
}
