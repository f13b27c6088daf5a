/**
 * Finds a key that an object within a JSON value names twice: `{"a": [{"k": 1, "k": 2}]}`. `json` keeps such a value as it was sent.
 * `jsonb` keeps only the last value of the key (PostgreSQL 8.14).
 *
 * It makes one pass over the bytes. The keys of all objects go into one hash table, each under the number of its object, so that
 * nothing is allocated for a cell unless it has more keys than any cell before.
 */

import { randomInt } from 'node:crypto';
import {
  BACKSLASH,
  CLOSING_BRACE,
  COLON,
  isWhiteSpace,
  OPENING_BRACE,
  QUOTE,
} from '../../core/bytes/ascii.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { appendUnescaped } from './json-text.ts';

/** The key found last, between its quotes. */
export const repeatedKey = { start: 0, end: 0 };

/** The random seed of the hash, so that a caller cannot choose keys that all go into one slot. */
const seed = randomInt(2 ** 32) | 0;

/** The number of fields of each key: the number of its object, its hash, the start and end of its text, and whether the text has escapes. */
const FIELDS = 5;
let keys = new Int32Array(FIELDS * 64);
/** The hash table, with open addressing. `slots[i]` is the number of a key, from 1. The slot is in use only if `stamps[i]` equals `round`, the number of the current value. */
let slots = new Int32Array(128);
let stamps = new Int32Array(128);
let round = 0;
/** The numbers of the objects that contain the current position, the innermost one last. */
let open: Int32Array<ArrayBuffer> = new Int32Array(64);

/** Searches the valid JSON text of a value. @returns true and sets `repeatedKey`, or false */
export function findRepeatedKey(bytes: Buffer, start: number, end: number): boolean {
  round = (round + 1) | 0;
  let keyCount = 0;
  let objectCount = 0;
  let depth = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const first = at + 1;
      let hash = seed;
      let hasEscape = false;
      for (at = first; at < end; at++) {
        const letter = bytes[at]!;
        if (letter === QUOTE) break;
        if (letter === BACKSLASH) {
          hasEscape = true;
          at++;
        }
        hash = Math.imul(hash ^ letter, 0x01000193);
      }
      if (depth === 0 || !isKey(bytes, at + 1, end)) continue;
      if (
        addKey(
          bytes,
          keyCount++,
          open[depth - 1]!,
          hasEscape ? hashOfEscaped(bytes, first, at) : hash,
          first,
          at,
          hasEscape,
        )
      ) {
        repeatedKey.start = first;
        repeatedKey.end = at;
        return true;
      }
    } else if (byte === OPENING_BRACE) {
      if (depth === open.length) open = grown(open, depth * 2);
      open[depth++] = ++objectCount;
    } else if (byte === CLOSING_BRACE) {
      depth--;
    }
  }
  return false;
}

/** Returns whether the string is a key: a colon follows it. */
function isKey(bytes: Buffer, afterString: number, end: number): boolean {
  let at = afterString;
  while (at < end && isWhiteSpace(bytes[at]!)) at++;
  return at < end && bytes[at] === COLON;
}

function addKey(
  bytes: Buffer,
  key: number,
  object: number,
  hash: number,
  start: number,
  end: number,
  hasEscape: boolean,
): boolean {
  if (2 * (key + 1) > slots.length) growTable(key);
  const mask = slots.length - 1;
  let slot = slotOf(object, hash) & mask;
  while (stamps[slot] === round && slots[slot] !== 0) {
    const other = FIELDS * (slots[slot]! - 1);
    const mayBeEqual = keys[other] === object && keys[other + 1] === hash;
    if (mayBeEqual && isSameKey(bytes, other, start, end, hasEscape)) return true;
    slot = (slot + 1) & mask;
  }
  const at = FIELDS * key;
  keys[at] = object;
  keys[at + 1] = hash;
  keys[at + 2] = start;
  keys[at + 3] = end;
  keys[at + 4] = hasEscape ? 1 : 0;
  slots[slot] = key + 1;
  stamps[slot] = round;
  return false;
}

/** Returns the slot for a key. It uses the final step of MurmurHash3, so that the low bits depend on all bits. */
function slotOf(object: number, hash: number): number {
  let mixed = hash ^ Math.imul(object, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** Makes room for twice as many keys as this value has, which is `count`. */
function growTable(count: number): void {
  keys = grown(keys, keys.length * 2);
  slots = new Int32Array(slots.length * 2);
  stamps = new Int32Array(slots.length).fill(round - 1);
  const mask = slots.length - 1;
  for (let key = 0; key < count; key++) {
    let slot = slotOf(keys[FIELDS * key]!, keys[FIELDS * key + 1]!) & mask;
    while (stamps[slot] === round) slot = (slot + 1) & mask;
    slots[slot] = key + 1;
    stamps[slot] = round;
  }
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

function isSameKey(bytes: Buffer, other: number, start: number, end: number, hasEscape: boolean): boolean {
  const otherStart = keys[other + 2]!;
  const otherEnd = keys[other + 3]!;
  if (!hasEscape && keys[other + 4] === 0)
    return bytes.compare(bytes, start, end, otherStart, otherEnd) === 0;
  unescaped.rewind();
  otherUnescaped.rewind();
  appendUnescaped(unescaped, bytes, start, end);
  appendUnescaped(otherUnescaped, bytes, otherStart, otherEnd);
  const { position } = unescaped;
  const isSame = unescaped.bytes.compare(otherUnescaped.bytes, 0, otherUnescaped.position, 0, position) === 0;
  unescaped.clear();
  otherUnescaped.clear();
  return isSame;
}
