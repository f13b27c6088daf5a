/**
 * Reads dates whose day, month and year are in a given order: `21/11/2026`, `11-21-2026`, `21.11.26 2:30 PM`.
 *
 * Both separators must be the same: `/`, `.` or `-`. A space may follow a `.`. A year of two digits is read as PostgreSQL reads it
 * (section B.1 of its documentation): 70 to 99 mean 1970 to 1999, 00 to 69 mean 2000 to 2069. A time may follow after a space, a comma
 * and a space, or a `T`.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { WordList } from './natural/word-list.ts';

export const DAY_MONTH_YEAR = 1;
export const MONTH_DAY_YEAR = 2;
export const YEAR_MONTH_DAY = 3;

/** Describes the date that `readDate` read last. */
export const lastDate = { hasShortYear: false };

/** The maximum number of bytes that `readDate` writes. */
export const maxDateBytes = 64;

/** The bit that turns a capital letter into a small one. */
const LOWER = 0x20;
const SMALL_A = 0x61;
const SMALL_M = 0x6d;
const SMALL_P = 0x70;

const FIRST_YEAR_OF_1900 = 70;
const FRACTION_DIGITS = 9;

/** The position of the scan. */
let at = 0;

/**
 * Writes the date as `2026-11-21`, or with a time as `2026-11-21T14:30:00`, to the beginning of `out`. Whether the day exists is
 * checked by the code that reads `out`.
 *
 * @param order `DAY_MONTH_YEAR`, `MONTH_DAY_YEAR` or `YEAR_MONTH_DAY`
 * @returns the length written; -1: the text is not a date in this order
 */
export function readDate(bytes: Buffer, start: number, end: number, order: number, out: Buffer): number {
  if (end - start === 10 && order !== YEAR_MONTH_DAY && copyPaddedDate(bytes, start, order, out)) return 10;
  at = start;
  const first = readDigits(bytes, end);
  const firstDigits = at - start;
  const separator = at < end ? bytes[at]! : 0;
  if (separator !== ascii.SLASH && separator !== ascii.POINT && separator !== ascii.MINUS) return -1;
  skipSeparator(bytes, end, separator);
  const secondStart = at;
  const second = readDigits(bytes, end);
  const secondDigits = at - secondStart;
  if (at >= end || bytes[at] !== separator) return -1;
  skipSeparator(bytes, end, separator);
  const thirdStart = at;
  const third = readDigits(bytes, end);
  const thirdDigits = at - thirdStart;

  const isYearFirst = order === YEAR_MONTH_DAY;
  const yearDigits = isYearFirst ? firstDigits : thirdDigits;
  const otherDigits = isYearFirst ? thirdDigits : firstDigits;
  if (yearDigits !== 4 && yearDigits !== 2) return -1;
  if (otherDigits === 0 || otherDigits > 2 || secondDigits === 0 || secondDigits > 2) return -1;
  const month = order === MONTH_DAY_YEAR ? first : second;
  const day = order === MONTH_DAY_YEAR ? second : isYearFirst ? third : first;
  writeDate(out, isYearFirst ? first : third, yearDigits === 2, month, day);
  return at === end ? 10 : readTimeAfter(bytes, end, out);
}

/** Writes a date to the beginning of `out`, and notes in `lastDate` whether its year had two digits. */
export function writeDate(
  out: Buffer,
  writtenYear: number,
  isShort: boolean,
  month: number,
  day: number,
): void {
  lastDate.hasShortYear = isShort;
  const year = isShort ? writtenYear + (writtenYear < FIRST_YEAR_OF_1900 ? 2000 : 1900) : writtenYear;
  writeTwoDigits(out, 0, Math.trunc(year / 100));
  writeTwoDigits(out, 2, year % 100);
  out[4] = ascii.MINUS;
  writeTwoDigits(out, 5, month);
  out[7] = ascii.MINUS;
  writeTwoDigits(out, 8, day);
}

/** Reads the time after a date, which begins at `from`, into `out`, from its 11th byte on. Returns the length written, or -1. */
export function readTimeAt(bytes: Buffer, from: number, end: number, out: Buffer): number {
  at = from;
  return readTimeAfter(bytes, end, out);
}

/**
 * Writes a date of ten bytes, `21.11.2026`, in the usual form: two digits, two digits and four. It takes a third of the time that
 * reading each number takes.
 *
 * @returns false if the text is not such a date
 */
function copyPaddedDate(bytes: Buffer, start: number, order: number, out: Buffer): boolean {
  const separator = bytes[start + 2]!;
  if (separator !== ascii.POINT && separator !== ascii.SLASH && separator !== ascii.MINUS) return false;
  if (bytes[start + 5] !== separator) return false;
  for (let place = start; place < start + 10; place += 1) {
    if (!ascii.isDigit(bytes[place]!) && place !== start + 2 && place !== start + 5) return false;
  }
  const month = order === MONTH_DAY_YEAR ? start : start + 3;
  const day = order === MONTH_DAY_YEAR ? start + 3 : start;
  for (let digit = 0; digit < 4; digit += 1) out[digit] = bytes[start + 6 + digit]!;
  out[4] = ascii.MINUS;
  out[5] = bytes[month]!;
  out[6] = bytes[month + 1]!;
  out[7] = ascii.MINUS;
  out[8] = bytes[day]!;
  out[9] = bytes[day + 1]!;
  lastDate.hasShortYear = false;
  return true;
}

/** Reads the time after a date into `out`, from its 11th byte on. Returns the length written, or -1. */
function readTimeAfter(bytes: Buffer, end: number, out: Buffer): number {
  if (bytes[at] === ascii.UPPER_T) {
    at += 1;
  } else {
    if (bytes[at] === ascii.COMMA) at += 1;
    const space = at;
    while (at < end && bytes[at] === ascii.SPACE) at += 1;
    if (at === space || at === end) return -1;
  }
  let hours = readTwoDigits(bytes, end, false);
  if (hours < 0 || at >= end || bytes[at] !== ascii.COLON) return -1;
  at += 1;
  const minutes = readTwoDigits(bytes, end, true);
  if (minutes < 0) return -1;
  let seconds = 0;
  let length = 19;
  if (at < end && bytes[at] === ascii.COLON) {
    at += 1;
    seconds = readTwoDigits(bytes, end, true);
    if (seconds < 0) return -1;
    if (at < end && bytes[at] === ascii.POINT) {
      const point = at;
      out[length++] = bytes[at++]!;
      while (at < end && ascii.isDigit(bytes[at]!) && at - point <= FRACTION_DIGITS)
        out[length++] = bytes[at++]!;
      if (at === point + 1) return -1;
    }
  }
  const half = readHalfOfDay(bytes, end);
  if (half !== 0) {
    if (hours === 0 || hours > 12) return -1;
    hours = (hours % 12) + (half === SMALL_P ? 12 : 0);
  }
  out[10] = ascii.UPPER_T;
  writeTwoDigits(out, 11, hours);
  out[13] = ascii.COLON;
  writeTwoDigits(out, 14, minutes);
  out[16] = ascii.COLON;
  writeTwoDigits(out, 17, seconds);
  return at === end ? length : readOffset(bytes, end, out, length);
}

/**
 * Reads AM or PM, or `a.m.` or `p.m.`, ignoring case, with an optional space before it. Returns `SMALL_A` or `SMALL_P`; 0: there is
 * neither.
 */
function readHalfOfDay(bytes: Buffer, end: number): number {
  let letter = at;
  while (letter < end && bytes[letter] === ascii.SPACE) letter += 1;
  const after = afterHalfOfDay(bytes, letter, end);
  if (after < 0 || (after < end && bytes[after] !== ascii.SPACE)) return 0;
  at = after;
  return bytes[letter]! | LOWER;
}

/** Returns the position after the AM or PM at `letter`; -1: there is neither. */
export function afterHalfOfDay(bytes: Buffer, letter: number, end: number): number {
  const half = letter < end ? bytes[letter]! | LOWER : 0;
  if (half !== SMALL_A && half !== SMALL_P) return -1;
  const points = letter + 1 < end && bytes[letter + 1] === ascii.POINT ? 1 : 0;
  const after = letter + 2 + 2 * points;
  if (after > end || (bytes[letter + 1 + points]! | LOWER) !== SMALL_M) return -1;
  return points === 0 || bytes[after - 1] === ascii.POINT ? after : -1;
}

/**
 * Copies `Z`, `+HH:MM` or `-HH:MM` at the end of the text, with an optional space before it. `GMT` and `UTC` become `Z`, `+HH` becomes
 * `+HH:00`, and `+HHMM` becomes `+HH:MM`.
 */
function readOffset(bytes: Buffer, end: number, out: Buffer, written: number): number {
  let length = written;
  if (bytes[at] === ascii.SPACE && at + 1 < end) at += 1;
  if (end - at === 3 && zoneNames.find(bytes, at, end) !== 0) {
    out[length] = ascii.UPPER_Z;
    return length + 1;
  }
  const sign = bytes[at]!;
  out[length++] = sign;
  at += 1;
  if (sign === ascii.UPPER_Z) return at === end ? length : -1;
  if (sign !== ascii.PLUS && sign !== ascii.MINUS) return -1;
  const hours = readTwoDigits(bytes, end, true);
  if (hours < 0) return -1;
  let minutes = 0;
  if (at < end) {
    if (bytes[at] === ascii.COLON) at += 1;
    minutes = readTwoDigits(bytes, end, true);
  }
  if (minutes < 0 || at !== end) return -1;
  writeTwoDigits(out, length, hours);
  out[length + 2] = ascii.COLON;
  writeTwoDigits(out, length + 3, minutes);
  return length + 5;
}

const zoneNames = new WordList([
  ['gmt', 1],
  ['utc', 1],
]);

function skipSeparator(bytes: Buffer, end: number, separator: number): void {
  at += 1;
  if (separator === ascii.POINT && at < end && bytes[at] === ascii.SPACE) at += 1;
}

/** Reads a number of at most four digits at `at`. The caller checks how many digits there were. */
function readDigits(bytes: Buffer, end: number): number {
  const stop = Math.min(end, at + 4);
  let value = 0;
  while (at < stop && ascii.isDigit(bytes[at]!)) value = value * 10 + (bytes[at++]! - ascii.ZERO);
  return value;
}

/** Reads a number of two digits or, unless `mustBeTwo`, of one digit; -1: there is no such number. */
function readTwoDigits(bytes: Buffer, end: number, mustBeTwo: boolean): number {
  if (at >= end || !ascii.isDigit(bytes[at]!)) return -1;
  const tens = bytes[at++]! - ascii.ZERO;
  if (at < end && ascii.isDigit(bytes[at]!)) return tens * 10 + (bytes[at++]! - ascii.ZERO);
  return mustBeTwo ? -1 : tens;
}

function writeTwoDigits(out: Buffer, position: number, value: number): void {
  out[position] = ascii.ZERO + Math.trunc(value / 10);
  out[position + 1] = ascii.ZERO + (value % 10);
}
