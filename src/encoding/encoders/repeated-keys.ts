/**
 * Finds a key that an object within a JSON value names twice: `{"a": [{"k": 1, "k": 2}]}`. `json` keeps such a value as it was sent.
 * `jsonb` keeps only the last value of the key (PostgreSQL 8.14).
 *
 * It makes one pass over the bytes. The keys of an object are removed when it ends, so those of the innermost one are the last. The keys of small
 * objects are compared one after the other, and those of others are found in one hash table, each under the number of its object. Nothing is
 * allocated for a cell unless it has more keys at once than any cell before.
 */

import { randomInt } from 'node:crypto';
import * as ascii from '../../core/bytes/ascii.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { appendUnescaped } from './json-text.ts';

/** The key found last, between its quotes. */
export const repeatedKey = { start: 0, end: 0 };

/** The random seed of the hash, so that a caller cannot choose keys that all go into one slot. */
const seed = randomInt(2 ** 32) | 0;

/** The number of fields of each key: the number of its object, its hash, the start and end of its text, and whether the text has escapes. */
const FIELDS = 5;
/** An object with fewer keys does not need the hash table. */
const FEW_KEYS = 16;
let keys = new Int32Array(FIELDS * 64);
let keyCount = 0;
/** The hash table, with open addressing. `slots[i]` is the number of a key, from 1. The slot is in use only if `stamps[i]` equals `round`, the number of the current value. */
let slots = new Int32Array(128);
let stamps = new Int32Array(128);
let round = 0;
/** The number of slots that are in use. The keys of some may have been removed, and other objects may have their places. */
let filled = 0;
/** The objects that contain the current position, the innermost one last: their numbers, and the places of their first keys. */
let open: Int32Array<ArrayBuffer> = new Int32Array(64);
let firsts: Int32Array<ArrayBuffer> = new Int32Array(64);

/** Searches the valid JSON text of a value. @returns true and sets `repeatedKey`, or false */
export function findRepeatedKey(bytes: Buffer, start: number, end: number): boolean {
  round = (round + 1) | 0;
  keyCount = filled = 0;
  let objectCount = 0;
  let depth = 0;
  for (let at = start; at < end; at++) {
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
      pushKey(open[depth - 1]!, hash, first, at, hasEscape);
      if (isRepeated(bytes, firsts[depth - 1]!)) {
        repeatedKey.start = first;
        repeatedKey.end = at;
        return true;
      }
    } else if (byte === ascii.OPENING_BRACE) {
      if (depth === open.length) {
        open = grown(open, depth * 2);
        firsts = grown(firsts, depth * 2);
      }
      firsts[depth] = keyCount;
      open[depth++] = ++objectCount;
    } else if (byte === ascii.CLOSING_BRACE) {
      keyCount = firsts[--depth]!;
    }
  }
  return false;
}

/** Returns whether the string is a key: a colon follows it. */
function isKey(bytes: Buffer, afterString: number, end: number): boolean {
  let at = afterString;
  while (at < end && ascii.isWhiteSpace(bytes[at]!)) at++;
  return at < end && bytes[at] === ascii.COLON;
}

function pushKey(object: number, hash: number, start: number, end: number, hasEscape: boolean): void {
  const at = FIELDS * keyCount++;
  if (at === keys.length) keys = grown(keys, keys.length * 2);
  keys[at] = object;
  keys[at + 1] = hash;
  keys[at + 2] = start;
  keys[at + 3] = end;
  keys[at + 4] = hasEscape ? 1 : 0;
}

/** Returns whether the last key has the text of another one of its object. @param first the place of the first key of the object */
function isRepeated(bytes: Buffer, first: number): boolean {
  const last = keyCount - 1;
  if (last - first < FEW_KEYS) {
    for (let other = first; other < last; other++) if (isSameKey(bytes, other, last)) return true;
    if (last - first === FEW_KEYS - 1) for (let key = first; key <= last; key++) fillSlot(key);
    return false;
  }
  const mask = slots.length - 1;
  let slot = slotOf(keys[FIELDS * last]!, keys[FIELDS * last + 1]!) & mask;
  while (stamps[slot] === round) {
    const other = slots[slot]! - 1;
    if (other < last && isSameKey(bytes, other, last)) return true;
    slot = (slot + 1) & mask;
  }
  fillSlot(last);
  return false;
}

/** Returns the slot for a key. It uses the final step of MurmurHash3, so that the low bits depend on all bits. */
function slotOf(object: number, hash: number): number {
  let mixed = hash ^ Math.imul(object, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** Puts a key into the hash table. */
function fillSlot(key: number): void {
  if (2 * (filled + 1) > slots.length) growTable();
  const mask = slots.length - 1;
  let slot = slotOf(keys[FIELDS * key]!, keys[FIELDS * key + 1]!) & mask;
  while (stamps[slot] === round) slot = (slot + 1) & mask;
  slots[slot] = key + 1;
  stamps[slot] = round;
  filled++;
}

/** Makes a table with more slots, and puts the keys of all open objects into it. */
function growTable(): void {
  let length = slots.length * 2;
  while (length < 4 * keyCount) length *= 2;
  slots = new Int32Array(length);
  stamps = new Int32Array(length).fill(round - 1);
  filled = 0;
  for (let key = 0; key < keyCount; key++) fillSlot(key);
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

/** Returns whether two keys belong to the same object and have the same text. */
function isSameKey(bytes: Buffer, one: number, other: number): boolean {
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
  const isSame = unescaped.bytes.compare(otherUnescaped.bytes, 0, otherUnescaped.position, 0, position) === 0;
  unescaped.clear();
  otherUnescaped.clear();
  return isSame;
}
