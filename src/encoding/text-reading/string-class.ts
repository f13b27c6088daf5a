/**
 * Recognizes strings that are exactly dates, date-times or UUIDs.
 *
 * The rules are strict on purpose: a string is more than text only if its type returns the same value. So these strings remain text:
 * dates and times that do not exist; the second 60 and the hour 24, which PostgreSQL changes; more digits of a second than
 * PostgreSQL keeps; offsets that it refuses (16 hours and more); the offset `-00:00`, which means that the place is unknown (RFC 3339
 * section 4.3); a space instead of the `T`, which ISO 8601 does not allow; UUIDs in capitals, which PostgreSQL returns in small letters.
 */

import { COLON, MINUS, NINE, PLUS, POINT, UPPER_T, UPPER_Z, ZERO } from '../../core/bytes/ascii.ts';
import { daysOfMonth } from '../../core/cells/calendar.ts';
import { DATE_STRING, OTHER, TIMESTAMP_STRING, TIMESTAMPTZ_STRING, UUID_STRING } from './seen.ts';

const DATE_BYTES = 10; // 2024-02-29
const TIMESTAMP_BYTES = 19; // 2024-02-29T23:59:59
const OFFSET_BYTES = 6; // +01:00
const UUID_BYTES = 36;

const MICROSECOND_DIGITS = 6;
/**
 * The maximum number of digits after the point of a second. Many programs write nine, for nanoseconds. The digits after the microseconds
 * must be zeros.
 */
const FRACTION_DIGITS = 9;
const MAX_OFFSET_HOURS = 15;

/**
 * 1 for each byte that is a hexadecimal digit. A branch for each digit takes three times as long, because processors cannot
 * predict random digits.
 */
const IS_HEX_DIGIT = new Uint8Array(256);
for (const digit of Buffer.from('0123456789abcdef', 'latin1')) IS_HEX_DIGIT[digit] = 1;

/** Returns the class of a string: one of the `…_STRING` classes of seen.ts, or `OTHER`. */
export function classifyString(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === DATE_BYTES) return isDate(bytes, start) ? DATE_STRING : OTHER;
  if (length === UUID_BYTES) return isUuid(bytes, start) ? UUID_STRING : OTHER;
  if (length < TIMESTAMP_BYTES || length > UUID_BYTES) return OTHER;
  return classifyTimestamp(bytes, start, end);
}

function isDate(bytes: Buffer, at: number): boolean {
  if (bytes[at + 4] !== MINUS || bytes[at + 7] !== MINUS) return false;
  const century = twoDigits(bytes, at);
  const yearOfCentury = twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return false;
  const year = century * 100 + yearOfCentury;
  return year > 0 && (day <= 28 || day <= daysOfMonth(year, month));
}

function classifyTimestamp(bytes: Buffer, start: number, end: number): number {
  if (bytes[start + 10] !== UPPER_T || !isDate(bytes, start) || !isTime(bytes, start + 11)) return OTHER;
  const at = afterFraction(bytes, start + TIMESTAMP_BYTES, end);
  if (at < 0) return OTHER;
  if (at === end) return TIMESTAMP_STRING;
  const hasOffset = at + 1 === end ? bytes[at] === UPPER_Z : at + OFFSET_BYTES === end && isOffset(bytes, at);
  return hasOffset ? TIMESTAMPTZ_STRING : OTHER;
}

function isTime(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 2] === COLON &&
    bytes[at + 5] === COLON &&
    isUpTo(23, twoDigits(bytes, at)) &&
    isUpTo(59, twoDigits(bytes, at + 3)) &&
    isUpTo(59, twoDigits(bytes, at + 6))
  );
}

/** Returns the end of the fraction of a second, if one begins at `at`; -1: PostgreSQL cannot keep all of its digits. */
function afterFraction(bytes: Buffer, at: number, end: number): number {
  if (at === end || bytes[at] !== POINT) return at;
  const first = at + 1;
  let next = first;
  while (next < end && bytes[next]! >= ZERO && bytes[next]! <= NINE) {
    if (next - first >= MICROSECOND_DIGITS && bytes[next] !== ZERO) return -1;
    next++;
  }
  return next === first || next - first > FRACTION_DIGITS ? -1 : next;
}

function isOffset(bytes: Buffer, at: number): boolean {
  const sign = bytes[at];
  if ((sign !== PLUS && sign !== MINUS) || bytes[at + 3] !== COLON) return false;
  const hours = twoDigits(bytes, at + 1);
  const minutes = twoDigits(bytes, at + 4);
  if (!isUpTo(MAX_OFFSET_HOURS, hours) || !isUpTo(59, minutes)) return false;
  return sign === PLUS || hours + minutes > 0;
}

function isUuid(bytes: Buffer, at: number): boolean {
  return (
    bytes[at + 8] === MINUS &&
    bytes[at + 13] === MINUS &&
    bytes[at + 18] === MINUS &&
    bytes[at + 23] === MINUS &&
    areHexDigits(bytes, at, at + 8) &&
    areHexDigits(bytes, at + 9, at + 13) &&
    areHexDigits(bytes, at + 14, at + 18) &&
    areHexDigits(bytes, at + 19, at + 23) &&
    areHexDigits(bytes, at + 24, at + UUID_BYTES)
  );
}

function areHexDigits(bytes: Buffer, start: number, end: number): boolean {
  let all = 1;
  for (let at = start; at < end; at++) all &= IS_HEX_DIGIT[bytes[at]!]!;
  return all === 1;
}

/** Returns the number of two digits; -1: the bytes are not two digits. */
function twoDigits(bytes: Buffer, at: number): number {
  const tens = bytes[at]! - ZERO;
  const ones = bytes[at + 1]! - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

function isUpTo(maximum: number, value: number): boolean {
  return value >= 0 && value <= maximum;
}
