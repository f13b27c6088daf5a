/**
 * Writes arrays of types without an encoder. A JSON array becomes PostgreSQL's text form of an array (PostgreSQL 8.15.2, 8.15.6), which PostgreSQL
 * reads. `["a\"b", null, 1]` becomes `{"a\"b",NULL,1}`. The delimiter of the element type replaces the comma.
 */
import * as ascii from '../../core/bytes/ascii.ts';
import { ARRAY, STRING } from '../../core/cells/cell-kind.ts';
import * as problems from '../problems/cell-problems.ts';
import * as arrays from './array-shape.ts';
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
  arrays.faultyElement.depth = 0;
  if (kind === STRING) return encodeText(out, -1, kind, bytes, start, end);
  if (kind !== ARRAY) return problems.NOT_AN_ARRAY;
  const fieldStart = out.position;
  out.ensure(4);
  out.position += 4;
  const dimensions = countDimensions(bytes, start, end);
  const problem = writeElements(out, encoder.element!, bytes, start, end, dimensions);
  if (problem !== 0) return problem;
  if (arrays.isEmptyShape(dimensions)) {
    // An array without elements is written as `{}`: it has no dimensions, and PostgreSQL before version 17 refuses `{{}}`.
    out.position = fieldStart + 4;
    out.ensure(2);
    out.int8(ascii.OPENING_BRACE);
    out.int8(ascii.CLOSING_BRACE);
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
  if (dimensions > arrays.shape.mostDimensions) return problems.TOO_MANY_DIMENSIONS;
  arrays.beginShape();
  let depth = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at]!;
    out.ensure(1);
    if (ascii.isWhiteSpace(byte)) {
      at++;
    } else if (byte === ascii.COMMA) {
      out.int8(element.delimiter);
      at++;
    } else if (byte === ascii.OPENING_BRACKET && depth < dimensions) {
      arrays.openDimension(depth++);
      out.int8(ascii.OPENING_BRACE);
      at++;
    } else if (byte === ascii.CLOSING_BRACKET) {
      if (!arrays.closeDimension(--depth)) return problems.RAGGED_ARRAY;
      out.int8(ascii.CLOSING_BRACE);
      at++;
    } else {
      if (depth !== dimensions || byte === ascii.OPENING_BRACKET) return problems.RAGGED_ARRAY;
      if (!arrays.countElement(depth - 1, 1)) return problems.TOO_MANY_ELEMENTS;
      const next = elementEnd(bytes, at, end);
      const problem = writeElement(out, element, bytes, at, next);
      if (problem !== 0) {
        arrays.noteFaultyElement(depth - 1, at, next);
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
    case ascii.LOWER_N:
      if (element.notNull) return problems.NULL_ELEMENT;
      out.ensure(NULL_TEXT.length);
      out.appendRange(NULL_TEXT, 0, NULL_TEXT.length);
      return 0;
    case ascii.OPENING_BRACE:
      return element.code === codes.STAGED ? problems.NESTED_VALUE : writeQuoted(out, bytes, start, end);
    case ascii.QUOTE:
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
  target[position++] = ascii.QUOTE;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === 0) return problems.NUL_CHARACTER;
    if (byte === ascii.QUOTE || byte === ascii.BACKSLASH) target[position++] = ascii.BACKSLASH;
    target[position++] = byte;
  }
  target[position++] = ascii.QUOTE;
  out.position = position;
  return 0;
}

function writeUnescaped(out: CopyBuffer, bytes: Buffer, start: number, end: number): number {
  appendUnescaped(unescaped, bytes, start, end);
  const problem = writeQuoted(out, unescaped.bytes, 0, unescaped.position);
  unescaped.clear();
  return problem;
}
