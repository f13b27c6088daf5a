/**
 * Finds a key that an object within a JSON value names twice: `{"a": [{"k": 1, "k": 2}]}`. `json` keeps such a value as it was sent.
 * `jsonb` keeps only the last value of the key (PostgreSQL 8.14).
 *
 * It makes one pass over the bytes. The keys of an object are removed when it ends, so those of the innermost one are the last. The keys of small
 * objects are compared one after the other, and those of others are found in one hash table, each under the number of its object. Nothing is
 * allocated for a cell unless it has more keys at once than any cell before, or is long.
 */

import { randomInt } from 'node:crypto';
import * as ascii from '../../core/bytes/ascii.ts';
import { noBytes, type Scan, SHORT_SCAN_BYTES, scanInTurns } from '../../core/bytes/scan-in-turns.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { appendUnescaped } from './json-text.ts';
import { knownFacts } from './long-json.ts';

/** The key found last, between its quotes. */
export const repeatedKey = { start: 0, end: 0 };

/** The random seed of the hash, so that a caller cannot choose keys that all go into one slot. */
const seed = randomInt(2 ** 32) | 0;

/** The number of fields of each key: the number of its object, its hash, the start and end of its text, whether the text has escapes, and its slot in the hash table (-1: none). */
const FIELDS = 6;
/** An object with fewer keys does not need the hash table. */
const FEW_KEYS = 16;
/** An object of many keys has at least about this many bytes for each of them, so a long value never needs a larger hash table than its first one. */
const BYTES_OF_KEY = 8;

/** Searches valid JSON text, as a whole or part by part (core/bytes/scan-in-turns.ts). */
export class KeySearch implements Scan {
  #keys = new Int32Array(FIELDS * 64);
  #keyCount = 0;
  /** The hash table, with open addressing: the number of a key, from 1; 0: a free slot. It is at most half full. The keys of an object are its last ones, so they can be removed when it ends. */
  #slots: Int32Array<ArrayBuffer>;
  /** The objects that contain the current position, the innermost one last: their numbers, and the places of their first keys. */
  #open: Int32Array<ArrayBuffer> = new Int32Array(64);
  #firsts: Int32Array<ArrayBuffer> = new Int32Array(64);
  #objectCount = 0;
  #depth = 0;
  #bytes: Buffer = noBytes;
  #at = 0;
  #end = 0;

  /** @param slots the initial size of the hash table, a power of 2 */
  constructor(slots: number) {
    this.#slots = new Int32Array(slots);
  }

  begin(bytes: Buffer, start: number, end: number): this {
    this.#removeKeys(0);
    this.#objectCount = this.#depth = 0;
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    return this;
  }

  /** @returns whether a key is repeated; then `repeatedKey` is set */
  scanTo(until: number): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let objectCount = this.#objectCount;
    let depth = this.#depth;
    let at = this.#at;
    for (; at < until; at++) {
      const byte = bytes[at]!;
      if (byte === ascii.QUOTE) {
        const first = at + 1;
        let hash = seed;
        let hasEscape = false;
        for (at = first; at < end; at++) {
          const letter = bytes[at]!;
          if (letter === ascii.QUOTE) break;
          if (letter === ascii.BACKSLASH) {
            hasEscape = true;
            at++;
          }
          hash = Math.imul(hash ^ letter, 0x01000193);
        }
        if (depth === 0 || !isKey(bytes, at + 1, end)) continue;
        if (hasEscape) hash = hashOfEscaped(bytes, first, at);
        this.#pushKey(this.#open[depth - 1]!, hash, first, at, hasEscape);
        if (this.#isRepeated(this.#firsts[depth - 1]!)) {
          repeatedKey.start = first;
          repeatedKey.end = at;
          return true;
        }
      } else if (byte === ascii.OPENING_BRACE) {
        if (depth === this.#open.length) {
          this.#open = grown(this.#open, depth * 2);
          this.#firsts = grown(this.#firsts, depth * 2);
        }
        this.#firsts[depth] = this.#keyCount;
        this.#open[depth++] = ++objectCount;
      } else if (byte === ascii.CLOSING_BRACE) {
        this.#removeKeys(this.#firsts[--depth]!);
      }
    }
    this.#objectCount = objectCount;
    this.#depth = depth;
    this.#at = at;
    return false;
  }

  #pushKey(object: number, hash: number, start: number, end: number, hasEscape: boolean): void {
    const at = FIELDS * this.#keyCount++;
    if (at === this.#keys.length) this.#keys = grown(this.#keys, at * 2);
    const keys = this.#keys;
    keys[at] = object;
    keys[at + 1] = hash;
    keys[at + 2] = start;
    keys[at + 3] = end;
    keys[at + 4] = hasEscape ? 1 : 0;
    keys[at + 5] = -1;
  }

  /** Removes the key with this number and all after it. */
  #removeKeys(first: number): void {
    // An object with few keys has none in the table.
    if (this.#keyCount - first >= FEW_KEYS)
      for (let key = first; key < this.#keyCount; key++) {
        const slot = this.#keys[FIELDS * key + 5]!;
        if (slot >= 0) this.#slots[slot] = 0;
      }
    this.#keyCount = first;
  }

  /** Returns whether the last key has the text of another one of its object. @param first the place of the first key of the object */
  #isRepeated(first: number): boolean {
    const last = this.#keyCount - 1;
    if (last - first < FEW_KEYS) {
      for (let other = first; other < last; other++) if (this.#isSameKey(other, last)) return true;
      if (last - first === FEW_KEYS - 1) for (let key = first; key <= last; key++) this.#fillSlot(key);
      return false;
    }
    const keys = this.#keys;
    const mask = this.#slots.length - 1;
    let slot = slotOf(keys[FIELDS * last]!, keys[FIELDS * last + 1]!) & mask;
    while (this.#slots[slot] !== 0) {
      if (this.#isSameKey(this.#slots[slot]! - 1, last)) return true;
      slot = (slot + 1) & mask;
    }
    this.#fillSlot(last);
    return false;
  }

  /** Puts a key into the hash table. */
  #fillSlot(key: number): void {
    if (2 * this.#keyCount > this.#slots.length) this.#enlargeTable();
    const mask = this.#slots.length - 1;
    let slot = slotOf(this.#keys[FIELDS * key]!, this.#keys[FIELDS * key + 1]!) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = key + 1;
    this.#keys[FIELDS * key + 5] = slot;
  }

  #enlargeTable(): void {
    let { length } = this.#slots;
    while (length < 4 * this.#keyCount) length *= 2;
    this.#slots = new Int32Array(length);
    for (let key = 0; key < this.#keyCount; key++)
      if (this.#keys[FIELDS * key + 5]! >= 0) this.#fillSlot(key);
  }

  /** Returns whether two keys belong to the same object and have the same text. */
  #isSameKey(one: number, other: number): boolean {
    const keys = this.#keys;
    const bytes = this.#bytes;
    const a = FIELDS * one;
    const b = FIELDS * other;
    if (keys[a + 1] !== keys[b + 1] || keys[a] !== keys[b]) return false;
    if (keys[a + 4] === 0 && keys[b + 4] === 0)
      return bytes.compare(bytes, keys[a + 2], keys[a + 3], keys[b + 2], keys[b + 3]) === 0;
    unescaped.rewind();
    otherUnescaped.rewind();
    appendUnescaped(unescaped, bytes, keys[a + 2]!, keys[a + 3]!);
    appendUnescaped(otherUnescaped, bytes, keys[b + 2]!, keys[b + 3]!);
    const { position } = unescaped;
    const isSame =
      unescaped.bytes.compare(otherUnescaped.bytes, 0, otherUnescaped.position, 0, position) === 0;
    unescaped.clear();
    otherUnescaped.clear();
    return isSame;
  }
}

const ofShortValues = new KeySearch(128);

/** Searches the valid JSON text of a value. @returns true and sets `repeatedKey`, or false */
export function findRepeatedKey(bytes: Buffer, start: number, end: number): boolean {
  if (end - start <= SHORT_SCAN_BYTES) return ofShortValues.begin(bytes, start, end).scanTo(end);
  return knownFacts(bytes, start, end)?.keysRepeat ?? searchLong(bytes, start, end).scanTo(end);
}

/** The end of the last search in turns. Only one search runs at a time, because it may take 70 MB. */
let lastSearch: Promise<unknown> = Promise.resolve();

/** Searches a long value in turns. @returns whether a key is repeated */
export function searchInTurns(bytes: Buffer, start: number, end: number): Promise<boolean> {
  const search = lastSearch.then(() => scanInTurns(searchLong(bytes, start, end), start, end));
  lastSearch = search.catch(() => {});
  return search;
}

/** Returns a search in a long value. */
function searchLong(bytes: Buffer, start: number, end: number): KeySearch {
  const mostKeys = (end - start) / BYTES_OF_KEY;
  // The system provides a page of a large array only when the page is written to.
  return new KeySearch(2 ** Math.ceil(Math.log2(2 * mostKeys))).begin(bytes, start, end);
}

/** Returns whether the string is a key: a colon follows it. */
function isKey(bytes: Buffer, afterString: number, end: number): boolean {
  let at = afterString;
  while (at < end && ascii.isWhiteSpace(bytes[at]!)) at++;
  return at < end && bytes[at] === ascii.COLON;
}

/** Returns the slot for a key. It uses the final step of MurmurHash3, so that the low bits depend on all bits. */
function slotOf(object: number, hash: number): number {
  let mixed = hash ^ Math.imul(object, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function grown(from: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const to = new Int32Array(length);
  to.set(from);
  return to;
}

const unescaped = new CopyBuffer(256);
const otherUnescaped = new CopyBuffer(256);

function hashOfEscaped(bytes: Buffer, start: number, end: number): number {
  unescaped.rewind();
  appendUnescaped(unescaped, bytes, start, end);
  let hash = seed;
  for (let at = 0; at < unescaped.position; at++) hash = Math.imul(hash ^ unescaped.bytes[at]!, 0x01000193);
  unescaped.clear();
  return hash;
}
