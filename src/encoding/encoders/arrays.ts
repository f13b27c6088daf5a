/**
 * Encodes arrays from a JSON array or from PostgreSQL's own text form.
 *
 * The format is that of `array_send`: int32 number of dimensions, int32 1 if any element is NULL, the oid of the element type, the size
 * and the lower bound of each dimension, and the elements as fields. Inner arrays are further dimensions, so they must all have the same
 * size. An element of json or jsonb may itself be any JSON value, also an array. An array without elements has no dimensions.
 */
import * as ascii from '../../core/bytes/ascii.ts';
import { ARRAY, FALSE, NUMBER, OBJECT, STRING, TRUE } from '../../core/cells/cell-kind.ts';
import * as problems from '../problems/cell-problems.ts';
import { encodeArrayLiteral } from './array-literal.ts';
import * as arrays from './array-shape.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { appendUnescaped, nestedEnd, scalarEnd, stringEnd } from './json-text.ts';
import * as codes from './type-codes.ts';

/** Holds the unescaped string of an element. */
const unescaped = new CopyBuffer(4096);

/** Writes an array. @param encode `encodeCell`, for the elements; importing it here would make a circular import */
export function encodeArray(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
  encode: arrays.EncodeElement,
): number {
  if (kind === STRING) return encodeArrayLiteral(out, encoder, bytes, start, end, encode);
  arrays.faultyElement.depth = 0;
  if (kind !== ARRAY) return problems.NOT_AN_ARRAY;
  const element = encoder.element!;
  const takesArrays = element.code === codes.PLAIN_JSON || element.code === codes.JSONB;
  const dimensions = takesArrays ? 1 : countDimensions(bytes, start, end);
  if (dimensions > arrays.shape.mostDimensions) return problems.TOO_MANY_DIMENSIONS;
  arrays.lowerBounds.fill(1);
  const fieldStart = arrays.openArray(out, dimensions);
  const weight = arrays.elementWeight(element);
  let depth = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at]!;
    if (byte === ascii.COMMA || ascii.isWhiteSpace(byte)) {
      at++;
    } else if (byte === ascii.OPENING_BRACKET && depth < dimensions) {
      arrays.openDimension(depth++);
      at++;
    } else if (byte === ascii.CLOSING_BRACKET) {
      if (!arrays.closeDimension(--depth)) return problems.RAGGED_ARRAY;
      at++;
    } else {
      if (depth !== dimensions || (byte === ascii.OPENING_BRACKET && !takesArrays))
        return problems.RAGGED_ARRAY;
      if (!arrays.countElement(depth - 1, weight)) return problems.TOO_MANY_ELEMENTS;
      const next = elementEnd(bytes, at, end);
      const problem = encodeElement(out, element, bytes, at, next, encode);
      if (problem !== 0) {
        arrays.noteFaultyElement(depth - 1, at, next);
        return problem;
      }
      at = next;
    }
  }
  arrays.finishArray(out, fieldStart, dimensions, element.oid);
  return 0;
}

/** Counts the brackets before the first element. */
export function countDimensions(bytes: Buffer, start: number, end: number): number {
  let dimensions = 0;
  for (let at = start; at < end; at++) {
    if (bytes[at] === ascii.OPENING_BRACKET) dimensions++;
    else if (!ascii.isWhiteSpace(bytes[at]!)) break;
  }
  return dimensions;
}

/** Returns the end of the element that begins at `start`. */
export function elementEnd(bytes: Buffer, start: number, end: number): number {
  const byte = bytes[start]!;
  if (byte === ascii.QUOTE) return stringEnd(bytes, start, end);
  return byte === ascii.OPENING_BRACE || byte === ascii.OPENING_BRACKET
    ? nestedEnd(bytes, start, end)
    : scalarEnd(bytes, start, end);
}

function encodeElement(
  out: CopyBuffer,
  element: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
  encode: arrays.EncodeElement,
): number {
  switch (bytes[start]) {
    case 0x6e: // null
      if (element.notNull) return problems.NULL_ELEMENT;
      arrays.shape.hasNull = true;
      out.ensure(4);
      out.int32(-1);
      return 0;
    case 0x74:
      return encode(out, element, TRUE, bytes, start, end);
    case 0x66:
      return encode(out, element, FALSE, bytes, start, end);
    case ascii.OPENING_BRACE:
      return encode(out, element, OBJECT, bytes, start, end);
    case ascii.OPENING_BRACKET:
      return encode(out, element, ARRAY, bytes, start, end);
    case ascii.QUOTE:
      if (!hasEscape(bytes, start, end)) return encode(out, element, STRING, bytes, start + 1, end - 1);
      appendUnescaped(unescaped, bytes, start + 1, end - 1);
      return endOfUnescaped(encode(out, element, STRING, unescaped.bytes, 0, unescaped.position));
    default:
      return encode(out, element, NUMBER, bytes, start, end);
  }
}

/**
 * Releases the memory of a long string.
 *
 * @returns `problem`
 */
function endOfUnescaped(problem: number): number {
  unescaped.clear();
  return problem;
}

/** Returns whether the JSON text of a string has an escape. */
export function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === ascii.BACKSLASH) return true;
  return false;
}
