/**
 * Estimates how long PostgreSQL sorts the parts of a value while it reads the value: the keys of each object of `jsonb`, the pairs of `hstore`, the
 * ranges of a multirange, and the words and positions of `tsvector`.
 *
 * PostgreSQL cannot be interrupted while it does so. For `n` parts in the worst order its sort makes 0.08 n² comparisons, and such an order is easy to
 * compute (McIlroy, A Killer Adversary for Quicksort, 1999). So the squares of the numbers of parts are limited. Keys of JSON in PostgreSQL's
 * own order are free: its sort compares each of them once, and ends.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { noBytes, type Scan, SHORT_SCAN_BYTES } from '../../core/bytes/scan-in-turns.ts';

/** How long PostgreSQL compares two parts, in multiples of the time for two keys of `jsonb`; 0: it does not sort them. */
export interface SortCost {
  /** The keys of JSON objects. */
  keyTime: number;
  /** Parts that are separated by commas; of JSON all keys and values together. */
  partTime: number;
  /** The words of `tsvector`. */
  wordTime: number;
  /** The words of any text, of which an expression makes `tsvector`. */
  textTime: number;
}

/** The maximum number of pairs of parts in the values of a row. They take PostgreSQL about a second. */
export const MOST_PAIRS = 2_000_000_000;

/** So many equal bytes at the beginning of two keys take as long to compare as two short keys. */
const BYTES_OF_PART = 32;
/** A word of `tsvector` has at most this many different positions. Equal ones are compared only once in each step of the sort. */
const MOST_POSITIONS = 16_384;
/** Two positions are compared faster than two words. */
const POSITION_TIME = 0.5;

/** Returns the pairs of parts of a value, where long parts count several times. @param isJson the text is valid JSON, otherwise JSON may be in quotes within it */
export function countPairs(
  cost: SortCost,
  isJson: boolean,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const length = end - start;
  if (isJson) {
    const json = length > SHORT_SCAN_BYTES ? new JsonParts() : ofShortValues;
    json.begin(bytes, start, end).scanTo(end);
    return json.pairs(cost);
  }
  const { keyTime, partTime, wordTime } = cost;
  let pairs = pairsOfText(cost, bytes, start, end);
  if (keyTime > 0) pairs += keyTime * pairsOf(countOf(ascii.COLON, bytes, start, end), length);
  if (partTime > 0) pairs += partTime * pairsOf(countOf(ascii.COMMA, bytes, start, end), length);
  if (wordTime > 0) pairs += wordTime * pairsOfWords(bytes, start, end);
  return pairs;
}

/** @param length the bytes of all parts */
function pairsOf(count: number, length: number): number {
  return count * (count + length / BYTES_OF_PART);
}

/** Counts a separator. An escape `\u002c` of a JSON string may be one. */
function countOf(separator: number, bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === separator || (byte === ascii.BACKSLASH && bytes[at + 1] === ascii.LOWER_U)) count++;
  }
  return count;
}

/** The start of the last key if the keys are not in PostgreSQL's order. */
const UNSORTED = -1;

/** Counts the keys and values of valid JSON, as a whole or part by part. */
export class JsonParts implements Scan {
  /** For each object that contains the current position, the innermost one last: the number and the bytes of its keys, and where the last one is. */
  #counts = new Int32Array(64);
  #lengths = new Int32Array(64);
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #depth = 0;
  /** The pairs of keys of the objects whose keys are not sorted. */
  #pairsOfKeys = 0;
  /** The number of all keys and values. */
  #parts = 0;
  /** The first byte of the last string, and the quotation mark after it. */
  #first = 0;
  #last = 0;
  #bytes: Buffer = noBytes;
  #start = 0;
  #at = 0;
  #end = 0;

  begin(bytes: Buffer, start: number, end: number): this {
    this.#depth = this.#pairsOfKeys = this.#parts = 0;
    this.#first = this.#last = this.#start = this.#at = start;
    this.#bytes = bytes;
    this.#end = end;
    return this;
  }

  /** @returns false: all bytes count */
  scanTo(until: number): false {
    const bytes = this.#bytes;
    let at = this.#at;
    for (; at < until; at++) {
      const byte = bytes[at]!;
      if (byte === ascii.QUOTE) {
        this.#first = at + 1;
        at = endOfString(bytes, at + 1, this.#end);
        this.#last = at;
      } else if (byte === ascii.OPENING_BRACE) this.#open(at);
      else if (byte === ascii.COMMA) this.#parts++;
      else if (byte === ascii.COLON && this.#depth > 0) this.#addKey();
      else if (byte === ascii.CLOSING_BRACE && this.#depth > 0) {
        const own = --this.#depth;
        if (this.#starts[own] === UNSORTED)
          this.#pairsOfKeys += pairsOf(this.#counts[own]!, this.#lengths[own]!);
      }
    }
    this.#at = at;
    return false;
  }

  /** Returns the pairs of parts, after all bytes were scanned. */
  pairs(cost: SortCost): number {
    const ofText = pairsOfText(cost, this.#bytes, this.#start, this.#end);
    const ofParts = cost.partTime * pairsOf(this.#parts, this.#end - this.#start);
    return ofText + cost.keyTime * this.#pairsOfKeys + ofParts;
  }

  #open(at: number): void {
    const own = this.#depth++;
    if (own === this.#counts.length) this.#growStacks();
    this.#counts[own] = this.#lengths[own] = 0;
    this.#starts[own] = this.#ends[own] = at;
  }

  #addKey(): void {
    const own = this.#depth - 1;
    const first = this.#first;
    const last = this.#last;
    this.#parts++;
    this.#counts[own]!++;
    this.#lengths[own]! += last - first;
    if (this.#starts[own] === UNSORTED) return;
    if (this.#isNext(own, first, last)) {
      this.#starts[own] = first;
      this.#ends[own] = last;
    } else this.#starts[own] = UNSORTED;
  }

  /** Returns whether the key comes after the last one of its object: it is longer, or greater byte by byte (`lengthCompareJsonbStringValue`). */
  #isNext(object: number, first: number, last: number): boolean {
    const bytes = this.#bytes;
    const start = this.#starts[object]!;
    const end = this.#ends[object]!;
    const length = last - first;
    // The length of other characters depends on the encoding of the database.
    for (let at = first; at < last; at++)
      if (bytes[at] === ascii.BACKSLASH || bytes[at]! > 0x7f) return false;
    if (this.#counts[object] === 1 || length > end - start) return true;
    return length === end - start && bytes.compare(bytes, start, end, first, last) > 0;
  }

  #growStacks(): void {
    this.#counts = grown(this.#counts);
    this.#lengths = grown(this.#lengths);
    this.#starts = grown(this.#starts);
    this.#ends = grown(this.#ends);
  }
}

const ofShortValues = new JsonParts();

function endOfString(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== ascii.QUOTE) at += bytes[at] === ascii.BACKSLASH ? 2 : 1;
  return Math.min(at, end);
}

function grown(from: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const to = new Int32Array(from.length * 2);
  to.set(from);
  return to;
}

/** Returns the pairs of the words of `tsvector`, and of their positions: `'fat':2,4A cat:3`. */
function pairsOfWords(bytes: Buffer, start: number, end: number): number {
  let words = 1;
  let positions = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === ascii.COMMA || byte === ascii.COLON) positions++;
    else if (byte > ascii.APOSTROPHE && byte < 0x80 && byte !== ascii.BACKSLASH) continue;
    else if (mayEndWord(bytes, at, start)) words++;
  }
  return pairsOf(words, end - start) + POSITION_TIME * positions * Math.min(positions, MOST_POSITIONS);
}

/** Returns whether a word may end here: at white space, also of Unicode, at a quote after which the next word follows, or at a JSON escape. */
function mayEndWord(bytes: Buffer, at: number, start: number): boolean {
  const byte = bytes[at]!;
  const next = bytes[at + 1]!;
  if (byte < 0x80) {
    if (byte === ascii.BACKSLASH) return next === ascii.LOWER_U;
    if (byte === ascii.APOSTROPHE)
      return at > start && !ascii.isSpace(bytes[at - 1]!) && !ascii.isSpace(next) && next !== ascii.COLON;
    return ascii.isSpace(byte);
  }
  // U+0085 and U+00A0, U+1680 and U+180E, U+2000 to U+205F, U+3000
  if (byte === 0xc2) return next === 0x85 || next === 0xa0;
  if (byte === 0xe1) return next === 0x9a || next === 0xa0;
  return (byte === 0xe2 && next <= 0x81) || (byte === 0xe3 && next === 0x80);
}

/** The classes of bytes in a text. Continuation bytes of UTF-8 and most letters that are not ASCII are like letters. */
const LETTER = 0;
const SEPARATOR = 1;
/** The first byte of a character that may be a separator, such as U+2190 or U+3000. */
const MAY_SEPARATE = 2;
const classes = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte++)
  if (!/[0-9a-z]/i.test(String.fromCharCode(byte))) classes[byte] = SEPARATOR;
for (const byte of [
  0xc2, 0xc3, 0xcb, 0xcc, 0xcd, 0xd5, 0xd6, 0xd8, 0xdb, 0xdc, 0xdd, 0xdf, 0xe0, 0xe1, 0xe2, 0xe3, 0xef, 0xf0,
])
  classes[byte] = MAY_SEPARATE;

function pairsOfText({ textTime }: SortCost, bytes: Buffer, start: number, end: number): number {
  return textTime === 0 ? 0 : textTime * pairsOf(wordsOfText(bytes, start, end), end - start);
}

/** Returns about how many words the text has at most. */
function wordsOfText(bytes: Buffer, start: number, end: number): number {
  let words = 0;
  let before = SEPARATOR;
  for (let at = start; at < end; at++) {
    const now = classes[bytes[at]!]!;
    if (now === MAY_SEPARATE || (now === LETTER && before === SEPARATOR)) words++;
    before = now;
  }
  return words;
}
