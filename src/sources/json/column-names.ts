/** The keys of the rows as dense column numbers, found by their raw bytes: no string and no allocation per cell. */

import { randomBytes } from 'node:crypto';
import { QUOTE } from '../bytes/ascii.ts';

/** The length of a key that cannot stand in a document as it is: longer than any chunk. */
const NEVER = 0x3fffffff;

/** Keys made to collide need this number, which differs from process to process. */
const hashSeed = randomBytes(4).readInt32LE();

export class ColumnNames {
  /** How many columns there are. */
  count = 0;
  /** By column: the row that had it last. */
  lastRow = new Float64Array(0);
  /** The names one after another, each with the closing quote it has in the document. */
  #names = Buffer.allocUnsafeSlow(1024);
  #namesEnd = 0;
  #starts = new Int32Array(0);
  #lengths = new Int32Array(0);
  /** By column: the length for `match`. */
  #matchLengths = new Int32Array(0);
  /** By column + 1 (0: the row's begin): the column that came next when last seen; -1: none yet. */
  #followers = new Int32Array(0);
  /** By hash, open addressing: the column + 1; 0: free. At most half full. */
  #slots = new Int32Array(0);

  constructor() {
    this.#grow(64);
  }

  /** The column that came after `column` (-1: the row's begin) the last time; -1 where none has yet. */
  followerOf(column: number): number {
    return this.#followers[column + 1]!;
  }

  setFollower(column: number, follower: number): void {
    this.#followers[column + 1] = follower;
  }

  /** Does the key of `column` stand at `start`, with its closing quote? @returns the position after it, else -1 */
  match(column: number, bytes: Buffer, start: number, end: number): number {
    if (column < 0) return -1;
    const after = start + this.#matchLengths[column]!;
    if (after > end) return -1;
    const names = this.#names;
    let at = this.#starts[column]!;
    for (let i = start; i < after; i++) if (bytes[i] !== names[at++]) return -1;
    return after;
  }

  /** The column of the name, unescaped, at `start` to `end`; -1: not seen yet. */
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
    this.#matchLengths[column] = standsAsItIs(bytes, start, end) ? length + 1 : NEVER;
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

/** FNV-1a, seeded, with the finish of MurmurHash3: the low bits depend on all. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = hashSeed;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Else the raw bytes of the name would match where the document breaks the grammar: `a"b` in `"a"b"`. */
function standsAsItIs(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE || byte === 0x5c || byte < 0x20) return false;
  }
  return true;
}
