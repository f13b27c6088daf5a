/**
 * Reads arrays in PostgreSQL's own text form (PostgreSQL 8.15.6): `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, `{}`, and with other lower bounds than 1
 * `[0:1]={1,2}`.
 */
import * as ascii from '../../core/bytes/ascii.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import * as problems from '../problems/cell-problems.ts';
import * as arrays from './array-shape.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import * as codes from './type-codes.ts';

/** The element being read, without quotes and backslashes. */
const element = new CopyBuffer(4096);
let at = 0;
let stop = 0;

export function encodeArrayLiteral(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
  encode: arrays.EncodeElement,
): number {
  const problem = readLiteral(out, encoder, bytes, start, end, encode);
  // The buffer is cleared once after each array, which releases a large one. Between elements it is only rewound, because the next element may be as long.
  element.clear();
  return problem;
}

function readLiteral(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
  encode: arrays.EncodeElement,
): number {
  at = start;
  stop = end;
  skipSpaces(bytes);
  const bounds = readBounds(bytes);
  if (bounds < 0 || at === stop || bytes[at] !== ascii.OPENING_BRACE) return problems.NOT_AN_ARRAY;
  const elementEncoder = encoder.element!;
  // Arrays of a JSON type are refused in this form. An element would be JSON text here, while in a cell a string is a JSON string.
  // The two could be confused.
  if (elementEncoder.code === codes.PLAIN_JSON || elementEncoder.code === codes.JSONB)
    return problems.JSON_ARRAY_LITERAL;
  const dimensions = countDimensions(bytes);
  if (dimensions > arrays.shape.mostDimensions) return problems.TOO_MANY_DIMENSIONS;
  const fieldStart = arrays.openArray(out, dimensions);
  const weight = arrays.elementWeight(elementEncoder);
  let depth = 0;
  let mayEnd = false; // a closing brace may follow: after an element, or as `{}`
  for (;;) {
    skipSpaces(bytes);
    if (at === stop) return problems.NOT_AN_ARRAY;
    if (bytes[at] === ascii.CLOSING_BRACE && mayEnd) {
      at++;
      if (!arrays.closeDimension(--depth)) return problems.RAGGED_ARRAY;
    } else if (bytes[at] === ascii.OPENING_BRACE) {
      if (depth === dimensions) return problems.RAGGED_ARRAY;
      at++;
      arrays.openDimension(depth++);
      mayEnd = true;
      skipSpaces(bytes);
      if (at < stop && bytes[at] === ascii.CLOSING_BRACE) continue;
      mayEnd = false;
      continue;
    } else {
      if (depth !== dimensions) return problems.RAGGED_ARRAY;
      if (!arrays.countElement(depth - 1, weight)) return problems.TOO_MANY_ELEMENTS;
      const problem = encodeElement(out, elementEncoder, bytes, encode);
      if (problem !== 0) return problem;
    }
    // An element or a dimension has ended. If it was the outermost dimension, the array has ended. Otherwise a closing brace must follow, or a comma and
    // another element.
    if (depth === 0) break;
    skipSpaces(bytes);
    mayEnd = at < stop && bytes[at] === ascii.CLOSING_BRACE;
    if (mayEnd) continue;
    if (at === stop || bytes[at] !== ascii.COMMA) return problems.NOT_AN_ARRAY;
    at++;
  }
  skipSpaces(bytes);
  if (at !== stop) return problems.NOT_AN_ARRAY;
  if (bounds > 0 && (bounds !== dimensions || !arrays.fitsBounds(dimensions))) return problems.RAGGED_ARRAY;
  arrays.finishArray(out, fieldStart, dimensions, elementEncoder.oid);
  return 0;
}

function skipSpaces(bytes: Buffer): void {
  while (at < stop && ascii.isSpace(bytes[at]!)) at++;
}

/** Reads `[2:3][-1:0]=` into the shape; `[3]` is `[1:3]`. @returns the number of dimensions; -1: malformed */
function readBounds(bytes: Buffer): number {
  let dimensions = 0;
  while (at < stop && bytes[at] === ascii.OPENING_BRACKET) {
    if (dimensions === arrays.shape.mostDimensions) return -1;
    at++;
    let lower = 1;
    let upper = readBound(bytes);
    if (at < stop && bytes[at] === ascii.COLON) {
      at++;
      lower = upper;
      upper = readBound(bytes);
    }
    if (at === stop || bytes[at++] !== ascii.CLOSING_BRACKET) return -1;
    if (!(lower >= LEAST_BOUND && upper >= lower && upper < MOST_BOUND)) return -1;
    arrays.lowerBounds[dimensions] = lower;
    arrays.upperBounds[dimensions++] = upper;
    skipSpaces(bytes);
  }
  if (dimensions === 0) {
    arrays.lowerBounds.fill(1);
    return 0;
  }
  if (at === stop || bytes[at++] !== ascii.EQUALS) return -1;
  skipSpaces(bytes);
  return dimensions;
}

const LEAST_BOUND = -0x80000000;
const MOST_BOUND = 0x7fffffff;

/** Reads digits with an optional sign; NaN: there is no number. */
function readBound(bytes: Buffer): number {
  const start = at;
  if (at < stop && (bytes[at] === ascii.PLUS || bytes[at] === ascii.MINUS)) at++;
  const firstDigit = at;
  while (at < stop && ascii.isDigit(bytes[at]!)) at++;
  return at === firstDigit || at - start > LONGEST_BOUND
    ? Number.NaN
    : Number(bytes.toString('latin1', start, at));
}

const LONGEST_BOUND = 11;

/** Counts the braces before the first element. */
function countDimensions(bytes: Buffer): number {
  let dimensions = 0;
  for (let ahead = at; ahead < stop; ahead++) {
    if (bytes[ahead] === ascii.OPENING_BRACE) dimensions++;
    else if (!ascii.isSpace(bytes[ahead]!)) break;
  }
  return dimensions;
}

function encodeElement(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  encode: arrays.EncodeElement,
): number {
  element.rewind();
  element.ensure(stop - at);
  const isQuoted = bytes[at] === ascii.QUOTE;
  const elementStart = at;
  if (!(isQuoted ? readQuoted(bytes) : readBare(bytes))) return problems.NOT_AN_ARRAY;
  if (!isQuoted && ascii.isWord('null', bytes, elementStart, elementStart + element.position)) {
    if (encoder.notNull) return problems.NULL_ELEMENT;
    arrays.shape.hasNull = true;
    out.ensure(4);
    out.int32(-1);
    return 0;
  }
  return encode(out, encoder, STRING, element.bytes, 0, element.position);
}

function readQuoted(bytes: Buffer): boolean {
  for (at++; at < stop; at++) {
    let byte = bytes[at]!;
    if (byte === ascii.QUOTE) {
      at++;
      return true;
    }
    if (byte === ascii.BACKSLASH) {
      if (++at === stop) return false;
      byte = bytes[at]!;
    }
    element.int8(byte);
  }
  return false;
}

/** Reads an element without quotes, up to a comma or a brace and without the spaces at its end. An empty one is malformed. */
function readBare(bytes: Buffer): boolean {
  let length = 0;
  for (; at < stop; at++) {
    let byte = bytes[at]!;
    if (byte === ascii.COMMA || byte === ascii.CLOSING_BRACE) break;
    if (byte === ascii.QUOTE || byte === ascii.OPENING_BRACE) return false;
    const isEscaped = byte === ascii.BACKSLASH;
    if (isEscaped) {
      if (++at === stop) return false;
      byte = bytes[at]!;
    }
    element.int8(byte);
    if (isEscaped || !ascii.isSpace(byte)) length = element.position;
  }
  element.position = length;
  return length > 0;
}
