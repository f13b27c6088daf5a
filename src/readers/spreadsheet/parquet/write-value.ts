/**
 * Writes one value: as the record of a cell, or as JSON within a list, a map or a struct. In JSON, values have the texts of PostgreSQL's
 * `to_jsonb`: `NaN` is a string, and bytes are `\x` and hexadecimal digits.
 */

import { isUtf8 } from 'node:buffer';
import { BACKSLASH, MINUS, QUOTE } from '../../../core/bytes/ascii.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { formatMoment, momentText } from '../../../core/cells/moment-text.ts';
import * as types from './column-types.ts';
import { epochDays, found, readInt96, readTime, readTimestamp } from './moments.ts';
import * as numbers from './number-texts.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { Values } from './values.ts';

type LeafType = types.LeafType;

/** PostgreSQL's limits of `date`: 4714-11-24 BC to 5874897-12-31, as days since 2000-01-01. */
const firstDate = -2_451_545;
const lastDate = 2_145_031_948;

/** The longest decimal. It has more digits than any precision. */
const maxDecimalBytes = 512;

const maxShownBytes = 200;

/** Writes the record of the value with this index. */
export function writeCell(out: RecordBuffer, type: LeafType, values: Values, index: number): void {
  const { code } = type;
  if (code === types.BOOLEAN) {
    out.flag(values.ints[index] === 0 ? kinds.FALSE : kinds.TRUE);
  } else if (code <= types.BYTES_DECIMAL) {
    writeNumberCell(out, type, values, index);
  } else if (code <= types.INT96) {
    const fault = readMoment(type, values, index);
    if (fault === 0) out.moment(momentKind(type), found.days, found.microseconds);
    else writeFault(out, type, fault, values, index);
  } else {
    writeBytesCell(out, type, values, index);
  }
}

/**
 * Writes the value with this index as JSON.
 *
 * @returns 0, or a fault of cell-kind.ts; then something may have been written
 */
export function writeJson(out: RecordBuffer, type: LeafType, values: Values, index: number): number {
  const { code } = type;
  if (code === types.BOOLEAN) {
    out.appendText(values.ints[index] === 0 ? 'false' : 'true');
    return 0;
  }
  if (code <= types.BYTES_DECIMAL) {
    const word = wordOf(type, values, index);
    if (word !== '') out.appendText(`"${word}"`);
    else if (!isDecimal(type, values, index)) return kinds.UNREADABLE_VALUE;
    else appendNumber(out, type, values, index);
    return 0;
  }
  if (code <= types.INT96) {
    const fault = readMoment(type, values, index);
    if (fault !== 0) return fault;
    const length = formatMoment(momentKind(type), found.days, found.microseconds);
    appendQuoted(out, momentText, 0, length);
    return 0;
  }
  return writeBytesJson(out, type, values, index);
}

function writeNumberCell(out: RecordBuffer, type: LeafType, values: Values, index: number): void {
  const word = wordOf(type, values, index);
  if (word === '' && !isDecimal(type, values, index)) {
    writeFault(out, type, kinds.UNREADABLE_VALUE, values, index);
    return;
  }
  out.begin(word === '' ? kinds.NUMBER : kinds.STRING);
  if (word === '') appendNumber(out, type, values, index);
  else out.appendText(word);
  out.end();
}

/** Returns `NaN` or an infinity; '': the value is another number. */
function wordOf({ code }: LeafType, values: Values, index: number): string {
  if (code !== types.FLOAT && code !== types.DOUBLE && code !== types.HALF) return '';
  const value = floatAt(code, values, index);
  return Number.isFinite(value) ? '' : String(value);
}

function floatAt(code: number, values: Values, index: number): number {
  if (code !== types.HALF) return values.floats[index]!;
  return numbers.halfOf(values.bytes.readUInt16LE(values.starts[index]));
}

function isDecimal({ code }: LeafType, { starts, ends }: Values, index: number): boolean {
  if (code !== types.BYTES_DECIMAL) return true;
  const length = ends[index]! - starts[index]!;
  return length > 0 && length <= maxDecimalBytes;
}

function appendNumber(out: RecordBuffer, { code, scale }: LeafType, values: Values, index: number): void {
  const { ints } = values;
  switch (code) {
    case types.INT:
      numbers.appendInteger(out, ints[index]!);
      break;
    case types.UNSIGNED_INT:
      numbers.appendInteger(out, ints[index]! >>> 0);
      break;
    case types.LONG:
    case types.UNSIGNED_LONG:
      numbers.appendLong(out, ints[2 * index]!, ints[2 * index + 1]!, code === types.LONG);
      break;
    case types.DOUBLE:
      numbers.appendDouble(out, values.floats[index]!);
      break;
    case types.INT_DECIMAL:
      numbers.appendScaled(out, ints[index]!, scale);
      break;
    case types.LONG_DECIMAL:
      numbers.appendScaledLong(out, ints[2 * index]!, ints[2 * index + 1]!, scale);
      break;
    case types.BYTES_DECIMAL:
      numbers.appendScaledBytes(out, values.bytes, values.starts[index]!, values.ends[index]!, scale);
      break;
    default:
      numbers.appendFloat(out, floatAt(code, values, index));
  }
}

function momentKind({ code, isUtc }: LeafType): number {
  if (code === types.DATE) return kinds.DATE;
  if (code === types.INT_TIME || code === types.LONG_TIME) return kinds.TIME;
  return isUtc ? kinds.UTC_TIMESTAMP : kinds.TIMESTAMP;
}

/** Reads a date, a time or a timestamp into `found`. @returns 0, or a fault */
function readMoment({ code, perSecond }: LeafType, { ints }: Values, index: number): number {
  switch (code) {
    case types.DATE: {
      const days = ints[index]! - epochDays;
      found.days = days;
      found.microseconds = 0;
      return days < firstDate || days > lastDate ? kinds.UNREADABLE_VALUE : 0;
    }
    case types.INT_TIME:
      return readTime(ints[index]!, perSecond);
    case types.LONG_TIME:
      return readTime(ints[2 * index + 1]! * 4_294_967_296 + (ints[2 * index]! >>> 0), perSecond);
    case types.INT96:
      return readInt96(ints[3 * index]!, ints[3 * index + 1]!, ints[3 * index + 2]!);
    default:
      return readTimestamp(ints[2 * index]!, ints[2 * index + 1]!, perSecond);
  }
}

function writeBytesCell(out: RecordBuffer, type: LeafType, values: Values, index: number): void {
  const { bytes } = values;
  const start = values.starts[index]!;
  const end = values.ends[index]!;
  switch (type.code) {
    case types.BYTES:
      out.value(kinds.BYTES, bytes, start, end);
      return;
    case types.UUID:
    case types.INTERVAL:
      out.begin(kinds.STRING);
      appendNamed(out, type, bytes, start);
      out.end();
      return;
    case types.JSON_TEXT:
      writeJsonCell(out, type, values, index);
      return;
    default:
      if (isText(bytes, start, end)) out.value(kinds.STRING, bytes, start, end);
      else writeFault(out, type, kinds.UNREADABLE_VALUE, values, index);
  }
}

/** Writes a JSON text as the value that it has. */
function writeJsonCell(out: RecordBuffer, type: LeafType, values: Values, index: number): void {
  const { bytes } = values;
  const start = values.starts[index]!;
  const end = values.ends[index]!;
  const parsed = parseJson(bytes, start, end);
  if (typeof parsed === 'string' && parsed.isWellFormed()) {
    const text = Buffer.from(parsed);
    out.value(kinds.STRING, text, 0, text.length);
  } else if (parsed === undefined || typeof parsed === 'string')
    writeFault(out, type, kinds.UNREADABLE_VALUE, values, index);
  else if (parsed === null) out.flag(kinds.NULL);
  else if (typeof parsed === 'boolean') out.flag(parsed ? kinds.TRUE : kinds.FALSE);
  else out.value(jsonKind(parsed), bytes, firstByte(bytes, start), endOfJson(bytes, end));
}

function jsonKind(parsed: object | number): number {
  if (typeof parsed === 'number') return kinds.NUMBER;
  return Array.isArray(parsed) ? kinds.ARRAY : kinds.OBJECT;
}

/** Returns the value of a JSON text; undefined: it is not valid. */
function parseJson(
  bytes: Buffer,
  start: number,
  end: number,
): string | number | boolean | object | null | undefined {
  if (!isText(bytes, start, end)) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    return undefined;
  }
}

const isJsonSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

function firstByte(bytes: Buffer, start: number): number {
  let at = start;
  while (isJsonSpace(bytes[at]!)) at++;
  return at;
}

function endOfJson(bytes: Buffer, end: number): number {
  let at = end;
  while (isJsonSpace(bytes[at - 1]!)) at--;
  return at;
}

function writeBytesJson(out: RecordBuffer, type: LeafType, values: Values, index: number): number {
  const { bytes } = values;
  const start = values.starts[index]!;
  const end = values.ends[index]!;
  switch (type.code) {
    case types.TEXT:
      if (!isText(bytes, start, end)) return kinds.UNREADABLE_VALUE;
      appendString(out, bytes, start, end);
      return 0;
    case types.JSON_TEXT:
      if (parseJson(bytes, start, end) === undefined) return kinds.UNREADABLE_VALUE;
      out.append(bytes, start, end);
      return 0;
    case types.BYTES:
      out.appendText('"\\\\x');
      out.appendHex(bytes, start, end);
      out.appendByte(QUOTE);
      return 0;
    default:
      out.appendByte(QUOTE);
      appendNamed(out, type, bytes, start);
      out.appendByte(QUOTE);
      return 0;
  }
}

function appendQuoted(out: RecordBuffer, bytes: Buffer, start: number, end: number): void {
  out.appendByte(QUOTE);
  out.append(bytes, start, end);
  out.appendByte(QUOTE);
}

/** Appends a UUID or an interval. */
function appendNamed(out: RecordBuffer, { code }: LeafType, bytes: Buffer, start: number): void {
  if (code === types.INTERVAL) {
    const milliseconds = bytes.readUInt32LE(start + 8);
    const seconds = `${Math.floor(milliseconds / 1000)}.${String(milliseconds % 1000).padStart(3, '0')}`;
    out.appendText(`P${bytes.readUInt32LE(start)}M${bytes.readUInt32LE(start + 4)}DT${seconds}S`);
    return;
  }
  for (const [from, to] of uuidParts) {
    if (from > 0) out.appendByte(MINUS);
    out.appendHex(bytes, start + from, start + to);
  }
}

const uuidParts: [number, number][] = [
  [0, 4],
  [4, 6],
  [6, 8],
  [8, 10],
  [10, 16],
];

function isText(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return isUtf8(bytes.subarray(start, end));
  return true;
}

/** Appends a text as a string of JSON. */
export function appendString(out: RecordBuffer, bytes: Buffer, start: number, end: number): void {
  out.appendByte(QUOTE);
  let from = start;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) continue;
    out.append(bytes, from, at);
    from = at + 1;
    if (byte < 0x20) out.appendText(`\\u${byte.toString(16).padStart(4, '0')}`);
    else out.appendText(byte === QUOTE ? '\\"' : '\\\\');
  }
  out.append(bytes, from, end);
  out.appendByte(QUOTE);
}

function writeFault(out: RecordBuffer, type: LeafType, fault: number, values: Values, index: number): void {
  out.fault(fault, shownValue(type, values, index));
}

/** Returns the value of a problem for people: the stored number, or the beginning of the text. */
export function shownValue({ code }: LeafType, { ints, bytes, starts, ends }: Values, index: number): string {
  if (code === types.DATE || code === types.INT_TIME) return String(ints[index]);
  if (code === types.INT96) return String(numbers.exactLong(ints[3 * index]!, ints[3 * index + 1]!, true));
  if (code === types.LONG_TIME || code === types.TIMESTAMP)
    return String(numbers.exactLong(ints[2 * index]!, ints[2 * index + 1]!, true));
  const start = starts[index]!;
  return bytes.toString('utf8', start, Math.min(ends[index]!, start + maxShownBytes));
}
