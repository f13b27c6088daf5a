/**
 * Decides from the text of a value how a cell holds it: as a number, a date or a text. A value is a text if a program that reads the cell as a number
 * with 15 digits, or as a date with milliseconds, would change it.
 */
import { COLON, isDigit, LOWER_E, MINUS, POINT, SPACE, ZERO } from '../../../../core/bytes/ascii.ts';
import { daysFromCivil, daysOfMonth } from '../../../../core/cells/calendar.ts';

/** How the values of a type are written. */
export type CellClass = 'boolean' | 'number' | 'double' | 'date' | 'timestamp' | 'time' | 'text';

/** By `pg_type.oid` of the base type (pg_type.dat). All other types are text. */
const classes: Record<number, CellClass> = {
  16: 'boolean',
  20: 'number',
  21: 'number',
  23: 'number',
  26: 'number',
  1700: 'number',
  700: 'double',
  701: 'double',
  1082: 'date',
  1114: 'timestamp',
  1184: 'timestamp',
  1083: 'time',
};

export function cellClassOf(base: number): CellClass {
  return classes[base] ?? 'text';
}

/** The digits that Excel keeps of a number. */
const maxDigits = 15;
/** The text of a longer number has zeros before or after its digits. */
const maxNumberBytes = 40;

/** Returns whether the bytes are a decimal number without an exponent that Excel keeps exactly. */
export function isExactNumber(bytes: Buffer, start: number, end: number): boolean {
  const from = bytes[start] === MINUS ? start + 1 : start;
  if (end - from > maxNumberBytes) return false;
  let digits = 0;
  let zeros = 0;
  let isNegativeZero = from > start;
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === POINT && at > from) continue;
    if (!isDigit(byte)) return false;
    if (byte === ZERO) {
      if (digits > 0) zeros++;
      continue;
    }
    isNegativeZero = false;
    digits += zeros + 1;
    zeros = 0;
  }
  return digits <= maxDigits && !isNegativeZero;
}

/** Returns whether a `double precision` can be a cell. A cell has the whole value, but neither NaN, infinite and very small values nor -0. */
export function isExactDouble(bytes: Buffer, start: number, end: number): boolean {
  if (isExactNumber(bytes, start, end)) return true;
  if (!isDigit(bytes[end - 1]!)) return false;
  let at = start;
  while (at < end && bytes[at] !== LOWER_E) at++;
  // PostgreSQL writes an exponent only for large and small values.
  if (at === end) return end - start > maxDigits;
  const size = Math.abs(Number(bytes.toString('latin1', start, end)));
  return size > 1e-300 && size < 1e300;
}

/** The parts of the serial that `readMoment` has found: whole days and milliseconds of the day. */
export const serial = { days: 0, milliseconds: 0 };

/** The serial of 2000-01-01. */
const epoch = 36_526;
/** The first day after the 29 February 1900, which exists only in Excel. Programs disagree about the days before. */
const firstSerial = 61;
const dateBytes = 10;
const timeBytes = 8;

/** Reads a value of `date`, `timestamp`, `timestamptz` (in UTC) or `time` into `serial`. Returns false if a cell cannot hold it exactly. */
export function readMoment(bytes: Buffer, start: number, end: number, kind: CellClass): boolean {
  serial.days = 0;
  serial.milliseconds = 0;
  if (kind === 'time') return readTime(bytes, start, end);
  if (end - start < dateBytes || !readDate(bytes, start)) return false;
  const at = start + dateBytes;
  if (kind === 'date') return at === end;
  return bytes[at] === SPACE && readTime(bytes, at + 1, withoutZone(bytes, end));
}

/** Returns the end without the offset of UTC, `+00`. */
function withoutZone(bytes: Buffer, end: number): number {
  return bytes[end - 3] === plus ? end - 3 : end;
}

const plus = 0x2b;

function readDate(bytes: Buffer, start: number): boolean {
  if (bytes[start + 4] !== MINUS || bytes[start + 7] !== MINUS) return false;
  const year = digits(bytes, start, 4);
  const month = digits(bytes, start + 5, 2);
  const day = digits(bytes, start + 8, 2);
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month))) return false;
  serial.days = daysFromCivil(year, month, day) + epoch;
  return serial.days >= firstSerial;
}

function readTime(bytes: Buffer, start: number, end: number): boolean {
  const at = start + timeBytes;
  if (at > end || bytes[start + 2] !== COLON || bytes[start + 5] !== COLON) return false;
  const hours = digits(bytes, start, 2);
  if (hours === 24) return false;
  const seconds = hours * 3600 + digits(bytes, start + 3, 2) * 60 + digits(bytes, start + 6, 2);
  let fraction = 0;
  if (at < end) {
    const places = end - at - 1;
    if (bytes[at] !== POINT || places > 3) return false;
    fraction = digits(bytes, at + 1, places) * 10 ** (3 - places);
  }
  serial.milliseconds = seconds * 1000 + fraction;
  return serial.milliseconds >= 0;
}

/** Returns the number that the digits are; NaN if one is not a digit. */
function digits(bytes: Buffer, start: number, count: number): number {
  let number = 0;
  for (let at = start; at < start + count; at++)
    number = isDigit(bytes[at]!) ? number * 10 + bytes[at]! - ZERO : Number.NaN;
  return number;
}
