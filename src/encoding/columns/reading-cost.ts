/**
 * Estimates what PostgreSQL needs to read a text as a value of a type, for types that need much more memory or time than the length
 * of the text suggests. It counts the memory while PostgreSQL reads the text, the time for types whose time grows with the square
 * of the length, and the digits of numbers with exponents. The cost of a type includes that of its fields, elements and base type
 * (type-width.ts). The units were measured on PostgreSQL 18 with values of 14 MB; docs/limits.md has the limits.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { noBytes, type Scan, scanInTurns } from '../../core/bytes/scan-in-turns.ts';
import { mostFractionDigits, mostWholeDigits } from '../../core/cells/number-lengths.ts';
import { isCostlyPattern } from './pattern-cost.ts';
import { countPairs, JsonParts, MOST_PAIRS, type SortCost } from './sort-cost.ts';
import { isCostlyXml } from './xml-cost.ts';

export interface ReadingCost extends SortCost {
  /** How many units of memory PostgreSQL needs for each comma. A unit is 100 bytes (`BYTES_OF_UNIT`). */
  partUnits: number;
  /** The units for each opening brace. */
  objectUnits: number;
  /** The units for each opening bracket. */
  bracketUnits: number;
  /** The units for each element of an array besides those of its parts. Commas in quotes do not separate elements. */
  elementUnits: number;
  /** The units for each byte of the text, besides those of its parts. */
  unitsPerByte: number;
  /** The maximum number of bytes of the text. */
  mostBytes: number;
  /** A value may contain numbers of the type `numeric`, which can have many more digits than their text: `1e131071`. */
  hasNumbers: boolean;
  /** The digits that PostgreSQL writes for each part because of the scale of its type: `numeric(1000,1000)` writes `0` with 1,000 digits. */
  partDigits: number;
  /** A value may contain XML (xml-cost.ts). */
  hasXml: boolean;
  /** A value may contain regular expressions (pattern-cost.ts). */
  hasPatterns: boolean;
  /** A value may contain names of time zones, which PostgreSQL keeps in memory until the connection ends (zone-names.ts). */
  hasZones: boolean;
  /** The text is JSON. Strings within it are not counted. */
  isJson: boolean;
}

export const BYTES_OF_UNIT = 100;
/** The maximum number of units that the values of a row may cost: 450 MB. PostgreSQL frees the memory after each row. */
export const MOST_UNITS = 4_500_000;
/** PostgreSQL needs up to seven bytes for a byte of most types: the text, the value, and the row with copies of them. */
export const UNITS_PER_BYTE = 0.067;
/** A range takes 2,200 bytes and has a comma, and so do the others of its array or multirange. An element `tsvector` takes 2,300 bytes. */
export const UNITS_OF_PART = 23;

/**
 * PostgreSQL writes values of many types into a buffer of 1 KiB, which it keeps until all elements of the array are written. It writes a row not only when
 * the row is exported, but also when it violates a constraint, whatever the constraint says.
 */
export const UNITS_OF_WRITTEN = 13;

/** How long PostgreSQL compares two ranges of a multirange, for two commas each (`SortCost`). */
export const RANGE_TIME = 3;

const free: ReadingCost = {
  partUnits: 0,
  objectUnits: 0,
  bracketUnits: 0,
  elementUnits: 0,
  unitsPerByte: UNITS_PER_BYTE,
  mostBytes: Number.POSITIVE_INFINITY,
  hasNumbers: false,
  partDigits: 0,
  hasXml: false,
  hasPatterns: false,
  hasZones: false,
  isJson: false,
  keyTime: 0,
  partTime: 0,
  wordTime: 0,
  textTime: 0,
};
const numbers = { ...free, hasNumbers: true };
/** JSON: an object takes 620 bytes, an array 280, and every other value 90. */
const json = { ...numbers, partUnits: 1, objectUnits: 7, bracketUnits: 3, isJson: true, keyTime: 1 };
const parts = { ...free, partUnits: UNITS_OF_PART };
/** The text of a multirange has two commas for each range: one between its bounds, and one after it. `RANGE_TIME` allows for that. */
const ranges = { ...parts, partTime: RANGE_TIME };
const tsvector = { ...free, wordTime: 1 };
/** 200 KB take 14 seconds, and PostgreSQL cannot be interrupted meanwhile. It stores at most 8 KB. */
const tsquery = { ...free, mostBytes: 16_384 };
/** 266 bytes for each character. The numbers in a jsonpath are of the type `numeric`. */
const jsonpath = { ...numbers, mostBytes: 1024 * 1024, unitsPerByte: 2.7, hasPatterns: true };
/** Up to 60 bytes for each character if the elements are small. */
const xml = { ...free, mostBytes: 7 * 1024 * 1024, unitsPerByte: 0.6, hasXml: true };
/** The name of an object. PostgreSQL parses the name of a type like a statement: up to 200 bytes for each character, and 1,800 for each name. */
const objectName = { ...free, mostBytes: 65_536 };
const moments = { ...free, hasZones: true };
/** Ranges of dates and of times. */
const momentRanges = { ...parts, hasZones: true };

/** The costs of PostgreSQL's own types and of their arrays, by object identifier (pg_type.dat). */
const costs = new Map<number, ReadingCost>([
  ...pairs([1700, 1231], numbers),
  [3802, json],
  // In the text of an array, the JSON is in quotes.
  [3807, { ...json, isJson: false }],
  ...pairs([3615, 3645], tsquery),
  ...pairs([4072, 4073], jsonpath),
  ...pairs([142, 143], xml),
  [3614, tsvector],
  [3643, { ...parts, wordTime: 1 }],
  // The arrays of ranges. A single range has few parts.
  ...pairs([3905, 3927], parts),
  ...pairs([3909, 3911, 3913], momentRanges),
  // Multiranges and their arrays.
  ...pairs([4451, 4536, 6150, 6157], ranges),
  ...pairs([4533, 4534, 4535, 6152, 6153, 6155], { ...ranges, hasZones: true }),
  // date, time, timestamp, timestamptz, timetz, and the single ranges of such types.
  ...pairs([1082, 1083, 1114, 1184, 1266, 3908, 3910, 3912], moments),
  // regproc to regtype with their arrays, and those of PostgreSQL's later types of names.
  ...pairs([24, 1008, 2202, 2203, 2204, 2205, 2206, 2207, 2208, 2209, 2210, 2211], objectName),
  ...pairs([3734, 3735, 3769, 3770, 4089, 4090, 4096, 4097, 4191, 4192], objectName),
  [3906, numbers],
  [3907, { ...parts, hasNumbers: true }],
  ...pairs([4532, 6151], { ...ranges, hasNumbers: true }),
  // An element `name` takes 200 bytes, also if its text has one byte.
  [1003, { ...free, partUnits: 2 }],
]);

/** Types of extensions of PostgreSQL, by name. */
const extensions: Record<string, ReadingCost> = {
  // PostgreSQL takes memory for each combination of a label and a variant: 24 KB take 830 MB.
  lquery: { ...free, mostBytes: 8192 },
  // The time grows with the square of the numbers: 2 MB take more than a minute. PostgreSQL stores at most 100 numbers.
  cube: { ...free, mostBytes: 16_384 },
  hstore: { ...free, partTime: 1 },
};

function pairs(oids: number[], cost: ReadingCost): [number, ReadingCost][] {
  return oids.map((oid) => [oid, cost]);
}

/** Returns the cost of a type without that of its parts. */
export function ownCost(oid: number): ReadingCost {
  return costs.get(oid) ?? free;
}

/** Returns the cost of a type of an extension without that of its parts. @param name the name of the type */
export function costOfExtension(name: string): ReadingCost {
  return Object.hasOwn(extensions, name) ? extensions[name]! : free;
}

/** PostgreSQL's own types whose values it writes into such a buffer: geometric types, xml, aclitem, names of objects and snapshots (pg_type.dat). */
const writtenTypes = new Set([
  ...[600, 601, 602, 603, 604, 718, 142, 1033, 2970, 5038],
  ...[24, 2202, 2203, 2204, 2205, 2206, 3734, 3769, 4089, 4096, 4191],
]);
/** The units of other elements: for `jsonb` and `jsonpath` also what PostgreSQL needs to read them, and 150 bytes for `money`. */
const unitsOfElements = new Map([
  [3802, 23 + UNITS_OF_WRITTEN],
  [4072, UNITS_OF_WRITTEN + UNITS_OF_WRITTEN],
  [790, 2],
]);
/** Types of extensions that are written like texts. Others may need as much as `cube`. */
const plainExtensions = new Set(['citext', 'ltree', 'lquery', 'ltxtquery']);

/** Returns the units of a value as an element of an array. @param extension the name of the type of an extension; null: another type */
export function unitsOfElement(oid: number, extension: string | null): number {
  if (extension !== null) return plainExtensions.has(extension) ? 0 : UNITS_OF_WRITTEN;
  return unitsOfElements.get(oid) ?? (writtenTypes.has(oid) ? UNITS_OF_WRITTEN : 0);
}

/** Adds the cost of a part of a type: the highest cost applies to the whole text. */
export function addCost(cost: ReadingCost, part: ReadingCost): void {
  cost.partUnits = Math.max(cost.partUnits, part.partUnits);
  cost.objectUnits = Math.max(cost.objectUnits, part.objectUnits);
  cost.bracketUnits = Math.max(cost.bracketUnits, part.bracketUnits);
  cost.elementUnits = Math.max(cost.elementUnits, part.elementUnits);
  cost.unitsPerByte = Math.max(cost.unitsPerByte, part.unitsPerByte);
  cost.mostBytes = Math.min(cost.mostBytes, part.mostBytes);
  cost.hasNumbers ||= part.hasNumbers;
  cost.partDigits = Math.max(cost.partDigits, part.partDigits);
  cost.hasXml ||= part.hasXml;
  cost.hasPatterns ||= part.hasPatterns;
  cost.hasZones ||= part.hasZones;
  cost.keyTime = Math.max(cost.keyTime, part.keyTime);
  cost.partTime = Math.max(cost.partTime, part.partTime);
  cost.wordTime = Math.max(cost.wordTime, part.wordTime);
  cost.textTime = Math.max(cost.textTime, part.textTime);
}

/** The result of `countCost`: the units of all parts of the text, those of the elements besides, those for the time to sort the parts, and its digits. */
export interface CountedCost {
  units: number;
  elements: number;
  sorting: number;
  digits: number;
}

const UNITS_OF_PAIR = MOST_UNITS / MOST_PAIRS;
/** A JSON value with at most this many keys counts as one object with unsorted keys. Even 1,600 such values in a row are far below the limit. */
const FEW_KEYS = 500;

/** 1 for the bytes that a scan counts. */
const counts = new Uint8Array(256);
for (const byte of Buffer.from('",:E[\\e{')) counts[byte] = 1;
/** 1 for the bytes that a scan counts if elements cost something. The elements of an array of `box` are separated by semicolons. */
const countsOfElements = counts.slice();
for (const byte of Buffer.from(';]}')) countsOfElements[byte] = 1;

/** Counts the parts of a text, as a whole or part by part. */
class CostScan implements Scan {
  readonly counted: CountedCost = { units: 0, elements: 0, sorting: 0, digits: 0 };
  #cost: ReadingCost = free;
  #bytes: Buffer = noBytes;
  #start = 0;
  #at = 0;
  #end = 0;
  #keys = 0;
  /** How many brackets and braces of JSON are open. */
  #depth = 0;
  #inString = false;

  begin(cost: ReadingCost, bytes: Buffer, start: number, end: number): this {
    this.#cost = cost;
    this.#bytes = bytes;
    this.#start = this.#at = start;
    this.#end = end;
    this.#keys = 0;
    this.#depth = 0;
    this.#inString = false;
    this.counted.units = 0;
    this.counted.elements = 0;
    this.counted.digits = cost.partDigits;
    return this;
  }

  /** @returns false: all bytes count */
  scanTo(until: number): false {
    const { partUnits, objectUnits, bracketUnits, elementUnits, isJson, hasNumbers, partDigits } = this.#cost;
    const bytes = this.#bytes;
    const end = this.#end;
    const hasElements = elementUnits > 0;
    const table = hasElements ? countsOfElements : counts;
    let { units, elements, digits } = this.counted;
    let keys = this.#keys;
    let depth = this.#depth;
    let inString = this.#inString;
    let at = this.#at;
    for (; at < until; at++) {
      const byte = bytes[at]!;
      if (table[byte] === 0) continue;
      if (byte === ascii.QUOTE) {
        if (isJson || (hasElements && !isEscaped(bytes, this.#start, at))) inString = !inString;
      } else if (inString && isJson) {
        if (byte === ascii.BACKSLASH) at++;
      } else if (byte === ascii.COMMA) {
        units += partUnits;
        if (!inString && (!isJson || depth <= 1)) elements += elementUnits;
        digits += partDigits;
      } else if (byte === ascii.OPENING_BRACE) {
        units += objectUnits;
        depth++;
      } else if (byte === ascii.COLON) keys++;
      else if (byte === ascii.OPENING_BRACKET) {
        units += bracketUnits;
        depth++;
      } else if (byte === ascii.CLOSING_BRACE || byte === ascii.CLOSING_BRACKET) depth--;
      else if (byte === ascii.SEMICOLON) elements += inString ? 0 : elementUnits;
      else if (byte === ascii.BACKSLASH && bytes[at + 1] === ascii.LOWER_U) {
        // The escape may be a comma or a character of a number.
        units += partUnits;
        elements += inString ? 0 : elementUnits;
        if (hasNumbers) digits += digitsOfEscape(bytes, at, end);
      } else if (hasNumbers && (byte | 32) === ascii.LOWER_E)
        digits += digitsOfExponent(bytes, this.#start, at, end);
    }
    this.counted.units = units;
    this.counted.elements = elements;
    this.counted.digits = digits;
    this.#keys = keys;
    this.#depth = depth;
    this.#inString = inString;
    this.#at = at;
    return false;
  }

  /** Call this after all bytes were scanned. Returns the pairs of parts; undefined: the exact number takes a second scan, which most values do not need. */
  get pairs(): number | undefined {
    const { isJson, partTime, textTime, keyTime } = this.#cost;
    const isExact = !isJson || partTime > 0 || textTime > 0 || this.#keys > FEW_KEYS;
    return isExact ? undefined : keyTime * this.#keys ** 2;
  }

  /** Completes the result. @param pairs the pairs of parts */
  result(pairs: number): CountedCost {
    const { counted } = this;
    if (isCostlySyntax(this.#cost, this.#bytes, this.#start, this.#end))
      counted.units = Number.POSITIVE_INFINITY;
    counted.sorting = pairs * UNITS_OF_PAIR;
    return counted;
  }
}

const ofOneValue = new CostScan();

/**
 * Counts the parts of a text, and the digits that PostgreSQL adds when it writes its numbers without exponents.
 *
 * @returns the result, which the next call changes
 */
export function countCost(cost: ReadingCost, bytes: Buffer, start: number, end: number): CountedCost {
  const scan = ofOneValue.begin(cost, bytes, start, end);
  scan.scanTo(end);
  return scan.result(scan.pairs ?? countPairs(cost, cost.isJson, bytes, start, end));
}

/** Counts like `countCost`, in turns. @param bytes contains valid JSON */
export async function countCostInTurns(
  cost: ReadingCost,
  bytes: Buffer,
  start: number,
  end: number,
): Promise<CountedCost> {
  const scan = new CostScan().begin(cost, bytes, start, end);
  await scanInTurns(scan, start, end);
  let { pairs } = scan;
  if (pairs === undefined && cost.isJson) {
    const parts = new JsonParts().begin(bytes, start, end);
    await scanInTurns(parts, start, end);
    pairs = parts.pairs(cost);
  }
  return scan.result(pairs ?? countPairs(cost, false, bytes, start, end));
}

/** The maximum number of digits in a row, each as often as the expressions of the table make a value with it. Each copy takes PostgreSQL up to two bytes. */
export const MOST_COPIED_DIGITS = 32 * 1024 * 1024;
/** The maximum number of digits that expressions may make of a row if they read long numbers from texts, or compute them: about 1,820 values. */
export const MOST_MADE_DIGITS = 256 * 1024 * 1024;

function isCostlySyntax(cost: ReadingCost, bytes: Buffer, start: number, end: number): boolean {
  return (
    (cost.hasXml && isCostlyXml(bytes, start, end)) ||
    (cost.hasPatterns && isCostlyPattern(bytes, start, end))
  );
}

/**
 * Returns the digits that the exponent after `e` adds to a number; 0: it is not an exponent. PostgreSQL reads numbers with `_` between
 * their digits, and removes `\` and `"` from the texts of elements, bounds and fields.
 */
function digitsOfExponent(bytes: Buffer, start: number, e: number, end: number): number {
  let at = e - 1;
  while (at >= start && isSkipped(bytes[at]!)) at--;
  if (at < start || !isDigitOrPoint(bytes[at]!)) return 0;
  while (at >= start && (isDigitOrPoint(bytes[at]!) || isSkipped(bytes[at]!))) at--;
  // Letters before the number make it a part of a UUID or a word, which is not a number.
  if (at >= start && ascii.isLetter(bytes[at]!)) return 0;
  const before = bytes[at - 1]!;
  if (at > start && bytes[at] === ascii.MINUS && (ascii.isLetter(before) || ascii.isDigit(before))) return 0;
  at = e + 1;
  while (at < end && isSkipped(bytes[at]!)) at++;
  const isNegative = bytes[at] === ascii.MINUS;
  if (at < end && (isNegative || bytes[at] === ascii.PLUS)) at++;
  let exponent = 0;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (ascii.isDigit(byte)) exponent = Math.min(exponent * 10 + byte - ascii.ZERO, mostWholeDigits);
    else if (!isSkipped(byte)) break;
  }
  if (at < end && bytes[at - 1] === ascii.BACKSLASH && bytes[at] === ascii.LOWER_U) return mostWholeDigits;
  if (at < end && (ascii.isLetter(bytes[at]!) || bytes[at] === ascii.MINUS)) return 0;
  return isNegative ? Math.min(exponent, mostFractionDigits) : exponent;
}

/** Returns the digits of a number with an escape such as `\u0065`, whose number is not read. The result is the maximum, because nobody needs to escape a character of a number. */
function digitsOfEscape(bytes: Buffer, at: number, end: number): number {
  if (at + 6 > end || bytes[at + 2] !== ascii.ZERO || bytes[at + 3] !== ascii.ZERO) return 0;
  const code = Number.parseInt(bytes.toString('latin1', at + 4, at + 6), 16);
  const isOfNumber = isDigitOrPoint(code) || code === ascii.UNDERSCORE || (code | 32) === ascii.LOWER_E;
  const isBeforeExponent = at + 6 < end && (bytes[at + 6]! | 32) === ascii.LOWER_E;
  return isOfNumber || isBeforeExponent ? mostWholeDigits : 0;
}

/** Returns whether the byte follows an odd number of backslashes. */
function isEscaped(bytes: Buffer, start: number, at: number): boolean {
  let before = at - 1;
  while (before >= start && bytes[before] === ascii.BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

function isSkipped(byte: number): boolean {
  return byte === ascii.BACKSLASH || byte === ascii.QUOTE || byte === ascii.UNDERSCORE;
}

function isDigitOrPoint(byte: number): boolean {
  return ascii.isDigit(byte) || byte === ascii.POINT;
}
