/** Encodes one cell: calls the encoder of the column's type. */
import { isUtf8 } from 'node:buffer';
import * as ascii from '../../core/bytes/ascii.ts';
import * as cell from '../../core/cells/cell-kind.ts';
import { formatMoment, momentText } from '../../core/cells/moment-text.ts';
import { losesDigits } from '../../core/cells/rounded-number.ts';
import { isNumberWithExponent, textKind } from '../../core/cells/text-kind.ts';
import * as problems from '../problems/cell-problems.ts';
import { encodeArray } from './arrays.ts';
import { encodeBool } from './booleans.ts';
import { encodeBytea, writeBytea } from './bytea.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { encodeDate, encodeTime, encodeTimestamp, writeDate, writeTime, writeTimestamp } from './dates.ts';
import { encodeEnum } from './enum-labels.ts';
import { encodeFloat4, encodeFloat8 } from './floats.ts';
import { encodeInt2, encodeInt4, encodeInt8, encodeOid } from './integers.ts';
import { encodeInterval, writeInterval } from './intervals.ts';
import { encodeJson } from './json.ts';
import {
  DATE_LEFT_OUT,
  DIGITS_ROUNDED,
  losses,
  OFFSET_LEFT_OUT,
  SIGN_LEFT_OUT,
  TIME_LEFT_OUT,
  ZEROS_LEFT_OUT,
} from './losses.ts';
import { encodeAddress, encodeMacAddress } from './network.ts';
import { encodeNumeric } from './numeric.ts';
import { encodeStagedArray } from './staged-arrays.ts';
import { encodeByteCharacter, encodeName, encodeText } from './text.ts';
import * as codes from './type-codes.ts';
import { encodeUuid } from './uuid.ts';

/**
 * Writes one field of a binary COPY row: its length and its value, -1 for NULL (COPY, "Binary Format").
 *
 * @param kind one of cell-kind.ts from `NULL` to `ARRAY`, `TEXT` or `ROUNDED_NUMBER`, as `CellSink.cell` gets it, with its bytes
 * @returns 0, or a number of cell-problems.ts; then the caller must rewind, because some bytes may have been written
 */
export function encodeCell(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind === cell.NULL) {
    out.ensure(4);
    out.int32(-1);
    return 0;
  }
  if (kind === cell.TEXT) {
    return encodeCell(out, encoder, kindOfText(encoder.code, bytes, start, end), bytes, start, end);
  }
  if (kind === cell.ROUNDED_NUMBER) {
    const isExact = encoder.code === codes.FLOAT8 || encoder.code === codes.FLOAT4;
    const from = isExact ? end : start;
    const to = isExact ? cell.endOfExactNumber(bytes, end) : end;
    if (keepsDigits(encoder) && losesDigits(bytes, start, end)) losses.ofCell |= DIGITS_ROUNDED;
    return encodeCell(out, encoder, cell.NUMBER, bytes, from, to);
  }
  if (kind === cell.BYTES) {
    if (encoder.code === codes.BYTEA) return writeBytea(out, bytes, start, end);
    if (!isUtf8(bytes.subarray(start, end))) return problems.BYTES_NOT_TEXT;
    return encodeCell(out, encoder, cell.STRING, bytes, start, end);
  }
  if (kind >= cell.OBJECT && !takesNested(encoder.code)) return problems.NESTED_VALUE;
  switch (encoder.code) {
    // The codes are compared one after the other, so common types come first.
    case codes.TEXT:
      return encodeText(out, encoder.maxLength, kind, bytes, start, end);
    case codes.INT4:
      if (bytes[start]! <= ascii.ZERO) noteLostSigns(bytes, start, end);
      return encodeInt4(out, kind, bytes, start, end);
    case codes.INT8:
      if (bytes[start]! <= ascii.ZERO) noteLostSigns(bytes, start, end);
      return encodeInt8(out, kind, bytes, start, end);
    case codes.NUMERIC:
      if (bytes[start]! <= ascii.ZERO) noteLostSigns(bytes, start, end);
      return encodeNumeric(out, encoder, kind, bytes, start, end);
    case codes.TIMESTAMPTZ:
      return encodeTimestamp(out, true, kind, bytes, start, end);
    case codes.TIMESTAMP:
      return encodeTimestamp(out, false, kind, bytes, start, end);
    case codes.DATE:
      return encodeDate(out, kind, bytes, start, end);
    case codes.BOOL:
      return encodeBool(out, kind, bytes, start, end);
    case codes.UUID:
      return encodeUuid(out, kind, bytes, start, end);
    case codes.FLOAT8:
      if (bytes[start]! <= ascii.ZERO) noteLeadingZero(bytes, start, end);
      return encodeFloat8(out, kind, bytes, start, end);
    case codes.ENUM:
      if (kind !== cell.STRING && kind !== cell.NUMBER) return problems.NOT_A_LABEL;
      return encodeEnum(out, encoder.labels!, bytes, start, end);
    case codes.PLAIN_JSON:
    case codes.JSONB:
      return encodeJson(out, encoder, kindOfJson(encoder, kind, bytes, start, end), bytes, start, end);
    case codes.INT2:
      if (bytes[start]! <= ascii.ZERO) noteLostSigns(bytes, start, end);
      return encodeInt2(out, kind, bytes, start, end);
    case codes.FLOAT4:
      if (bytes[start]! <= ascii.ZERO) noteLeadingZero(bytes, start, end);
      return encodeFloat4(out, kind, bytes, start, end);
    case codes.TIME:
      return encodeTime(out, false, kind, bytes, start, end);
    case codes.TIMETZ:
      return encodeTime(out, true, kind, bytes, start, end);
    case codes.INTERVAL:
      return encodeInterval(out, encoder, kind, bytes, start, end);
    case codes.ARRAY:
      return encodeArray(out, encoder, kind, bytes, start, end, encodeCell);
    case codes.BYTE_CHARACTER:
      return encodeByteCharacter(out, kind, bytes, start, end);
    case codes.STAGED:
      return encodeText(out, -1, kind, bytes, start, end);
    case codes.STAGED_ARRAY:
      return encodeStagedArray(out, encoder, kind, bytes, start, end);
    case codes.BYTEA:
      return encodeBytea(out, kind, bytes, start, end);
    case codes.INET:
      return encodeAddress(out, false, kind, bytes, start, end);
    case codes.CIDR:
      return encodeAddress(out, true, kind, bytes, start, end);
    case codes.MACADDR:
      return encodeMacAddress(out, kind, bytes, start, end);
    case codes.NAME:
      return encodeName(out, kind, bytes, start, end);
    case codes.OID:
      return encodeOid(out, kind, bytes, start, end);
    default:
      throw new Error(`no type has the code ${encoder.code}`);
  }
}

/** Returns whether a column stores as many digits of a number as it gets, so that only the rounding of the source removes some. */
function keepsDigits({ code, precision }: ColumnEncoder): boolean {
  if (code === codes.NUMERIC) return precision < 0;
  // A fraction of a large number is rounded to a whole number.
  return code === codes.TEXT || code === codes.INT8 || code === codes.JSONB || code === codes.PLAIN_JSON;
}

/** Returns the kind of a text without a type: a number or JSON if the column's type stores that, otherwise a string. */
function kindOfText(code: number, bytes: Buffer, start: number, end: number): number {
  switch (code) {
    case codes.INT2:
    case codes.INT4:
    case codes.INT8:
    case codes.FLOAT4:
    case codes.FLOAT8:
    case codes.NUMERIC:
      return textKind(bytes, start, end);
    case codes.PLAIN_JSON:
      // jsonb would store other digits.
      if (isNumberWithExponent(bytes, start, end)) return cell.NUMBER;
      return kindOfJsonText(bytes, start, end);
    case codes.JSONB:
      return kindOfJsonText(bytes, start, end);
    default:
      return cell.STRING;
  }
}

function kindOfJson(encoder: ColumnEncoder, kind: number, bytes: Buffer, start: number, end: number): number {
  if (!encoder.readsText || kind !== cell.STRING) return kind;
  let first = start;
  while (first < end && ascii.isWhiteSpace(bytes[first]!)) first++;
  return first < end && isBracket(bytes[first]!) ? kindOfJsonText(bytes, first, end) : kind;
}

function isBracket(byte: number): boolean {
  return byte === ascii.OPENING_BRACE || byte === ascii.OPENING_BRACKET;
}

/** Returns the kind of a text for a JSON column. A text that is not valid JSON is a JSON string. */
function kindOfJsonText(bytes: Buffer, start: number, end: number): number {
  if (!isBracket(bytes[start]!)) return textKind(bytes, start, end);
  const isObject = bytes[start] === ascii.OPENING_BRACE;
  try {
    JSON.parse(bytes.toString('utf8', start, end));
    return isObject ? cell.OBJECT : cell.ARRAY;
  } catch {
    return cell.STRING;
  }
}

/**
 * Writes a moment. timestamptz and timetz read one without a time zone as UTC, text and json get ISO 8601. Of a date
 * with a time, a date keeps the day and a time keeps the time of day, as PostgreSQL's casts do.
 *
 * @param kind `DATE`, `TIMESTAMP`, `UTC_TIMESTAMP`, `TIME` or `INTERVAL`; with days and microseconds as `CellSink.moment` gets them
 * @returns the same numbers as `encodeCell`
 */
export function encodeMoment(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  days: number,
  microseconds: number,
): number {
  const isUtc = kind === cell.UTC_TIMESTAMP;
  const hasDate = kind === cell.DATE || kind === cell.TIMESTAMP || isUtc;
  switch (encoder.code) {
    case codes.DATE:
      if (!hasDate) return problems.NOT_A_DATE;
      if (microseconds !== 0) losses.ofCell |= TIME_LEFT_OUT;
      return writeDate(out, days);
    case codes.TIMESTAMP:
    case codes.TIMESTAMPTZ:
      if (isUtc && encoder.code === codes.TIMESTAMP) losses.ofCell |= OFFSET_LEFT_OUT;
      return hasDate ? writeTimestamp(out, days, microseconds) : problems.NOT_A_TIMESTAMP;
    case codes.TIME:
    case codes.TIMETZ:
      if (kind === cell.DATE) return problems.NOT_A_TIME;
      if (kind === cell.INTERVAL && (days !== 0 || microseconds < 0)) return problems.OUT_OF_RANGE;
      if (hasDate) losses.ofCell |= DATE_LEFT_OUT;
      return writeTime(out, encoder.code === codes.TIMETZ, microseconds, 0);
    case codes.INTERVAL:
      return hasDate ? problems.NOT_AN_INTERVAL : writeInterval(out, encoder, 0, days, 0, microseconds);
    case codes.TEXT:
    case codes.STAGED:
    case codes.STAGED_ARRAY:
      return encodeText(
        out,
        encoder.maxLength,
        cell.STRING,
        momentText,
        0,
        formatMoment(kind, days, microseconds),
      );
    case codes.NAME:
      return encodeName(out, cell.STRING, momentText, 0, formatMoment(kind, days, microseconds));
    case codes.PLAIN_JSON:
    case codes.JSONB:
      return encodeJson(out, encoder, cell.STRING, momentText, 0, formatMoment(kind, days, microseconds));
    default:
      return problems.MOMENT_NOT_ALLOWED;
  }
}

function takesNested(code: number): boolean {
  return (
    code === codes.PLAIN_JSON ||
    code === codes.JSONB ||
    code === codes.TEXT ||
    code === codes.NAME ||
    code === codes.ARRAY ||
    code === codes.STAGED_ARRAY
  );
}

/** Notes what a whole or decimal number loses of a text that begins with white space, a sign or a zero. */
function noteLostSigns(bytes: Buffer, start: number, end: number): void {
  if (bytes[start] === ascii.MINUS) noteMinusZero(bytes, start, end);
  noteLeadingZero(bytes, start, end);
}

/** Notes that the zeros of a code such as `007` are lost. A JSON number never begins so. */
function noteLeadingZero(bytes: Buffer, start: number, end: number): void {
  let at = start;
  while (at < end && ascii.isSpace(bytes[at]!)) at++;
  if (bytes[at] === ascii.MINUS || bytes[at] === ascii.PLUS) at++;
  if (at + 1 < end && bytes[at] === ascii.ZERO && ascii.isDigit(bytes[at + 1]!))
    losses.ofCell |= ZEROS_LEFT_OUT;
}

/** Notes that the sign of `-0`, `-0.00` or `-0e5` is lost. bytes[start] is the sign. */
function noteMinusZero(bytes: Buffer, start: number, end: number): void {
  let at = start + 1;
  while (at < end && (bytes[at] === ascii.ZERO || bytes[at] === ascii.POINT)) at++;
  const isZero = at > start + 1 && (at === end || (bytes[at]! | 0x20) === ascii.LOWER_E);
  if (isZero) losses.ofCell |= SIGN_LEFT_OUT;
}
