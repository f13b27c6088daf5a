/**
 * Writes arrays of types without an encoder. A JSON array becomes PostgreSQL's text form of an array (PostgreSQL 8.15.2, 8.15.6), which PostgreSQL
 * reads. `["a\"b", null, 1]` becomes `{"a\"b",NULL,1}`. The delimiter of the element type replaces the comma.
 */
import {
  BACKSLASH,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COMMA,
  isWhiteSpace,
  LOWER_N,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
} from '../../core/bytes/ascii.ts';
import { ARRAY, STRING } from '../../core/cells/cell-kind.ts';
import {
  NESTED_VALUE,
  NOT_AN_ARRAY,
  NUL_CHARACTER,
  NULL_ELEMENT,
  RAGGED_ARRAY,
  TOO_MANY_DIMENSIONS,
  TOO_MANY_ELEMENTS,
} from '../problems/cell-problems.ts';
import {
  beginShape,
  closeDimension,
  countElement,
  faultyElement,
  isEmptyShape,
  noteFaultyElement,
  openDimension,
  shape,
} from './array-shape.ts';
import { countDimensions, elementEnd, hasEscape } from './arrays.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import { CopyBuffer } from './copy-buffer.ts';
import { appendUnescaped } from './json-text.ts';
import { encodeText } from './text.ts';
import * as codes from './type-codes.ts';

const NULL_TEXT = Buffer.from('NULL');

/** Holds the unescaped string that is being written. */
const unescaped = new CopyBuffer(4096);

/** Writes the text of an array. @returns the same numbers as `encodeCell` */
export function encodeStagedArray(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  faultyElement.depth = 0;
  if (kind === STRING) return encodeText(out, -1, kind, bytes, start, end);
  if (kind !== ARRAY) return NOT_AN_ARRAY;
  const fieldStart = out.position;
  out.ensure(4);
  out.position += 4;
  const dimensions = countDimensions(bytes, start, end);
  const problem = writeElements(out, encoder.element!, bytes, start, end, dimensions);
  if (problem !== 0) return problem;
  if (isEmptyShape(dimensions)) {
    // An array without elements is written as `{}`: it has no dimensions, and PostgreSQL before version 17 refuses `{{}}`.
    out.position = fieldStart + 4;
    out.ensure(2);
    out.int8(OPENING_BRACE);
    out.int8(CLOSING_BRACE);
  }
  const fieldEnd = out.position;
  out.position = fieldStart;
  out.int32(fieldEnd - fieldStart - 4);
  out.position = fieldEnd;
  return 0;
}

function writeElements(
  out: CopyBuffer,
  element: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
  dimensions: number,
): number {
  if (dimensions > shape.mostDimensions) return TOO_MANY_DIMENSIONS;
  beginShape();
  let depth = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at]!;
    out.ensure(1);
    if (isWhiteSpace(byte)) {
      at++;
    } else if (byte === COMMA) {
      out.int8(element.delimiter);
      at++;
    } else if (byte === OPENING_BRACKET && depth < dimensions) {
      openDimension(depth++);
      out.int8(OPENING_BRACE);
      at++;
    } else if (byte === CLOSING_BRACKET) {
      if (!closeDimension(--depth)) return RAGGED_ARRAY;
      out.int8(CLOSING_BRACE);
      at++;
    } else {
      if (depth !== dimensions || byte === OPENING_BRACKET) return RAGGED_ARRAY;
      if (!countElement(depth - 1, 1)) return TOO_MANY_ELEMENTS;
      const next = elementEnd(bytes, at, end);
      const problem = writeElement(out, element, bytes, at, next);
      if (problem !== 0) {
        noteFaultyElement(depth - 1, at, next);
        return problem;
      }
      at = next;
    }
  }
  return 0;
}

function writeElement(
  out: CopyBuffer,
  element: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  switch (bytes[start]) {
    case LOWER_N:
      if (element.notNull) return NULL_ELEMENT;
      out.ensure(NULL_TEXT.length);
      out.appendRange(NULL_TEXT, 0, NULL_TEXT.length);
      return 0;
    case OPENING_BRACE:
      return element.code === codes.STAGED ? NESTED_VALUE : writeQuoted(out, bytes, start, end);
    case QUOTE:
      if (!hasEscape(bytes, start, end)) return writeQuoted(out, bytes, start + 1, end - 1);
      return writeUnescaped(out, bytes, start + 1, end - 1);
    default:
      // A number, true or false.
      out.ensure(end - start);
      out.appendRange(bytes, start, end);
      return 0;
  }
}

function writeQuoted(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  out.ensure(2 * (end - start) + 2);
  const target = out.bytes;
  let position = out.position;
  target[position++] = QUOTE;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === 0) return NUL_CHARACTER;
    if (byte === QUOTE || byte === BACKSLASH) target[position++] = BACKSLASH;
    target[position++] = byte;
  }
  target[position++] = QUOTE;
  out.position = position;
  return 0;
}

function writeUnescaped(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  appendUnescaped(unescaped, bytes, start, end);
  const problem = writeQuoted(out, unescaped.bytes, 0, unescaped.position);
  unescaped.clear();
  return problem;
}
