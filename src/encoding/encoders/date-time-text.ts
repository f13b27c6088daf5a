/**
 * Reads a date, a time of day or both from text, as PostgreSQL's `ParseDateTime` and `DecodeDateTime` do (PostgreSQL 8.5.1), for the forms that
 * mean the same under every setting:
 *
 *   date  YYYY-MM-DD (years of 3 to 7 digits, months and days of one or two), YYYYMMDD; BC or AD at the end of the text
 *   time  HH:MM, HH:MM:SS, HH:MM:SS.fraction (rounded to the microsecond), HHMMSS, then optionally AM or PM; 24:00:00 and
 *         a second 60 count on into the next day or minute
 *   zone  Z, UTC, GMT, ±HH, ±HH:MM, ±HHMM, ±HH:MM:SS
 *
 * Date and time are separated by T or spaces. It also reads `epoch`, `infinity` and `-infinity`. It does not read names of months and
 * zones, dates whose order of day and month depends on a setting, and words that mean the present (`now`, `today` and others).
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { dayMicroseconds, daysFromCivil, daysOfMonth } from '../../core/cells/calendar.ts';
import { readDecimal } from './read-decimal.ts';

/** The result of `readDateTime`. It is one object for all calls, so that none is allocated. */
export const found = {
  hasDate: false,
  hasTime: false,
  /** A T separates date and time. */
  hasT: false,
  /** -1: -infinity, 1: infinity. */
  infinity: 0,
  /** Days since 2000-01-01 (PostgreSQL's epoch) in the proleptic Gregorian calendar. */
  days: 0,
  /** Microseconds of the day, at most 86,400,000,000. It starts as a fraction so that the engine stores the field as a double. */
  microseconds: 0.5,
  /** The offset in seconds east of Greenwich. */
  zoneSeconds: 0,
  hasZone: false,
  /** The fraction of the second has digits beyond microseconds that are not 0. */
  isRounded: false,
};

/** The results of `readUsual`. */
export const NOT_USUAL = 0;
export const USUAL_DATE = 1;
const USUAL_TIMESTAMP = 2;
export const USUAL_TIMESTAMP_IN_UTC = 3;

const READ = 0;
/** The text has none of the forms above. */
const UNREADABLE = 1;
/** The text has one of the forms, but there is no such day, time or offset. */
export const NO_SUCH_VALUE = 2;

const LOWER = 0x20;
const UTC = 0x5a;

const NOT_PLAIN = -1;

/** The maximum number of hours of an offset (MAX_TZDISP_HOUR of datetime.h). */
const MOST_ZONE_HOURS = 15;

/** The position of the scan, and the end of the text. Every read compares the two first. */
let at = 0;
let stop = 0;

/** Reads bytes[start, end) into `found`. Returns `READ`, `UNREADABLE` or `NO_SUCH_VALUE`. */
export function readDateTime(bytes: Buffer, start: number, end: number): number {
  const plainEnd = readPlain(bytes, start, end);
  if (plainEnd === end) return READ;
  if (plainEnd === end - 1 && bytes[plainEnd] === UTC) {
    found.hasZone = true;
    return READ;
  }
  if (plainEnd !== NOT_PLAIN) {
    // The text begins with the common form. A fraction or a zone may follow. If anything else follows, the text has another form.
    at = plainEnd;
    stop = end;
    if (bytes[at] === ascii.POINT) found.microseconds += readFraction(bytes);
    if (at === stop) return READ;
    const zone = readZone(bytes);
    if (zone === READ && at === stop) return READ;
  }
  return readAnyForm(bytes, start, end);
}

/**
 * Reads YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS into `found`. At most six digits of a fraction and Z may follow the seconds. No part of such
 * a text is lost.
 *
 * @returns `NOT_USUAL` for every other text
 */
export function readUsual(bytes: Buffer, start: number, end: number): number {
  const plainEnd = readPlain(bytes, start, end);
  if (plainEnd === NOT_PLAIN) return NOT_USUAL;
  if (!found.hasTime) return plainEnd === end ? USUAL_DATE : NOT_USUAL;
  if (!found.hasT) return NOT_USUAL;
  at = plainEnd;
  stop = end;
  if (at < stop && bytes[at] === ascii.POINT) {
    found.microseconds += readFraction(bytes);
    const digits = at - plainEnd - 1;
    if (digits < 1 || digits > 6) return NOT_USUAL;
  }
  if (at === stop) return USUAL_TIMESTAMP;
  return at + 1 === stop && bytes[at] === UTC ? USUAL_TIMESTAMP_IN_UTC : NOT_USUAL;
}

/**
 * Reads YYYY-MM-DD, or YYYY-MM-DD with T or a space and HH:MM:SS, at the beginning of the text. Most cells have this form, so this has
 * no loop and one check for all digits.
 *
 * @returns where it ended; `NOT_PLAIN` if the text has another form, or the date does not exist
 */
function readPlain(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length < 10 || bytes[start + 4] !== ascii.MINUS || bytes[start + 7] !== ascii.MINUS) return NOT_PLAIN;
  const y1 = bytes[start]! - ascii.ZERO;
  const y2 = bytes[start + 1]! - ascii.ZERO;
  const y3 = bytes[start + 2]! - ascii.ZERO;
  const y4 = bytes[start + 3]! - ascii.ZERO;
  const m1 = bytes[start + 5]! - ascii.ZERO;
  const m2 = bytes[start + 6]! - ascii.ZERO;
  const d1 = bytes[start + 8]! - ascii.ZERO;
  const d2 = bytes[start + 9]! - ascii.ZERO;
  // The result is negative if one of them is not 0 to 9.
  const dateDigits =
    y1 |
    (9 - y1) |
    y2 |
    (9 - y2) |
    y3 |
    (9 - y3) |
    y4 |
    (9 - y4) |
    m1 |
    (9 - m1) |
    m2 |
    (9 - m2) |
    d1 |
    (9 - d1) |
    d2 |
    (9 - d2);
  if (dateDigits < 0) return NOT_PLAIN;
  const year = y1 * 1000 + y2 * 100 + y3 * 10 + y4;
  const month = m1 * 10 + m2;
  const day = d1 * 10 + d2;
  if (year === 0 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return NOT_PLAIN;
  let microseconds = 0;
  let plainEnd = start + 10;
  found.hasT = false;
  if (length > 10) {
    const separator = bytes[plainEnd]!;
    if (length < 19 || (separator !== ascii.UPPER_T && separator !== ascii.SPACE)) return NOT_PLAIN;
    if (bytes[start + 13] !== ascii.COLON || bytes[start + 16] !== ascii.COLON) return NOT_PLAIN;
    const h1 = bytes[start + 11]! - ascii.ZERO;
    const h2 = bytes[start + 12]! - ascii.ZERO;
    const n1 = bytes[start + 14]! - ascii.ZERO;
    const n2 = bytes[start + 15]! - ascii.ZERO;
    const s1 = bytes[start + 17]! - ascii.ZERO;
    const s2 = bytes[start + 18]! - ascii.ZERO;
    if ((h1 | (9 - h1) | h2 | (9 - h2) | n1 | (5 - n1) | n2 | (9 - n2) | s1 | (5 - s1) | s2 | (9 - s2)) < 0)
      return NOT_PLAIN;
    const hour = h1 * 10 + h2;
    if (hour > 23) return NOT_PLAIN;
    microseconds = (hour * 3600 + (n1 * 10 + n2) * 60 + s1 * 10 + s2) * 1_000_000;
    plainEnd = start + 19;
    found.hasT = separator === ascii.UPPER_T;
  }
  found.hasDate = true;
  found.hasTime = length > 10;
  found.infinity = 0;
  found.days = daysFromCivil(year, month, day);
  found.microseconds = microseconds;
  found.zoneSeconds = 0;
  found.hasZone = false;
  found.isRounded = false;
  return plainEnd;
}

function readAnyForm(bytes: Buffer, start: number, end: number): number {
  at = start;
  stop = end;
  while (at < stop && ascii.isSpace(bytes[at]!)) at++;
  while (stop > at && ascii.isSpace(bytes[stop - 1]!)) stop--;
  found.hasDate = false;
  found.hasTime = false;
  found.hasT = false;
  found.infinity = 0;
  found.days = 0;
  found.microseconds = 0;
  found.zoneSeconds = 0;
  found.hasZone = false;
  found.isRounded = false;

  const digits = countDigits(bytes);
  if (digits === 0) return readWord(bytes);
  let year = 0;
  let month = 0;
  let day = 0;
  const next = at + digits < stop ? bytes[at + digits]! : 0;
  if (digits >= 3 && digits <= 7 && next === ascii.MINUS) {
    year = readNumber(bytes, digits);
    at++;
    month = readShortNumber(bytes);
    if (month < 0 || at >= stop || bytes[at++] !== ascii.MINUS) return UNREADABLE;
    day = readShortNumber(bytes);
    if (day < 0) return UNREADABLE;
    found.hasDate = true;
  } else if (digits === 8) {
    year = readNumber(bytes, 4);
    month = readNumber(bytes, 2);
    day = readNumber(bytes, 2);
    found.hasDate = true;
  }

  let isBeforeChrist = false;
  if (at < stop && found.hasDate) {
    const separator = bytes[at]!;
    if ((separator | LOWER) === 0x74 && at + 1 < stop && ascii.isDigit(bytes[at + 1]!)) {
      found.hasT = true;
      at++;
    } else if (!ascii.isSpace(separator)) return UNREADABLE;
    skipSpaces(bytes);
  }
  if (at < stop && ascii.isDigit(bytes[at]!)) {
    const outcome = readTime(bytes);
    if (outcome !== READ) return outcome;
    if (at < stop) {
      const zone = readZone(bytes);
      if (zone !== READ) return zone;
    }
  }
  if (at < stop) {
    if (!found.hasDate) return UNREADABLE;
    skipSpaces(bytes);
    isBeforeChrist = ascii.isWord('bc', bytes, at, stop);
    if (!isBeforeChrist && !ascii.isWord('ad', bytes, at, stop)) return UNREADABLE;
  }
  if (!found.hasDate) return found.hasTime ? READ : UNREADABLE;
  return setDays(isBeforeChrist ? 1 - year : year, month, day, year);
}

function setDays(year: number, month: number, day: number, writtenYear: number): number {
  if (writtenYear === 0 || month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month))
    return NO_SUCH_VALUE;
  found.days = daysFromCivil(year, month, day);
  return READ;
}

function countDigits(bytes: Buffer): number {
  let digit = at;
  while (digit < stop && ascii.isDigit(bytes[digit]!)) digit++;
  return digit - at;
}

function readNumber(bytes: Buffer, digits: number): number {
  let value = 0;
  for (const last = at + digits; at < last; at++) value = value * 10 + bytes[at]! - ascii.ZERO;
  return value;
}

/** Reads one or two digits; -1: anything else. */
function readShortNumber(bytes: Buffer): number {
  if (at >= stop) return -1;
  let value = bytes[at]! - ascii.ZERO;
  if (value < 0 || value > 9) return -1;
  at++;
  if (at >= stop) return value;
  const digit = bytes[at]! - ascii.ZERO;
  if (digit < 0 || digit > 9) return value;
  at++;
  value = value * 10 + digit;
  return at < stop && ascii.isDigit(bytes[at]!) ? -1 : value;
}

function skipSpaces(bytes: Buffer): void {
  while (at < stop && ascii.isSpace(bytes[at]!)) at++;
}

function readTime(bytes: Buffer): number {
  const digits = countDigits(bytes);
  let hour = 0;
  let minute = 0;
  let second = 0;
  let fraction = 0;
  let hasSecond = true;
  if (digits === 6 || (digits === 4 && found.hasDate)) {
    hour = readNumber(bytes, 2);
    minute = readNumber(bytes, 2);
    hasSecond = digits === 6;
    if (hasSecond) second = readNumber(bytes, 2);
  } else {
    hour = readShortNumber(bytes);
    if (hour < 0 || at >= stop || bytes[at++] !== ascii.COLON) return UNREADABLE;
    minute = readShortNumber(bytes);
    if (minute < 0) return UNREADABLE;
    hasSecond = at < stop && bytes[at] === ascii.COLON;
    if (hasSecond) {
      at++;
      second = readShortNumber(bytes);
      if (second < 0) return UNREADABLE;
    }
  }
  if (hasSecond && at < stop && bytes[at] === ascii.POINT) fraction = readFraction(bytes);
  const half = readHalfOfDay(bytes);
  if (half !== 0) {
    if (hour > 12) return NO_SUCH_VALUE;
    hour = (hour % 12) + (half === 2 ? 12 : 0);
  }
  if (minute > 59 || second > 60) return NO_SUCH_VALUE;
  found.microseconds = (hour * 3600 + minute * 60 + second) * 1_000_000 + fraction;
  if (found.microseconds > dayMicroseconds) return NO_SUCH_VALUE;
  found.hasTime = true;
  return READ;
}

/** Reads a point and digits, and returns rounded microseconds. The result may be 1,000,000. */
function readFraction(bytes: Buffer): number {
  const pointAt = at++;
  let value = 0;
  let digits = 0;
  for (; at < stop && ascii.isDigit(bytes[at]!); at++)
    if (digits++ < 6) value = value * 10 + bytes[at]! - ascii.ZERO;
  for (let missing = digits; missing < 6; missing++) value *= 10;
  return digits <= 6 ? value : roundFraction(bytes, pointAt);
}

/** Calculates as `ParseFraction` does: the fraction as a double, times a million, with ties to even. */
function roundFraction(bytes: Buffer, pointAt: number): number {
  for (let digit = pointAt + 7; digit < at; digit++) if (bytes[digit] !== ascii.ZERO) found.isRounded = true;
  const exact = readDecimal(bytes, pointAt, pointAt, at) * 1_000_000;
  const floor = Math.floor(exact);
  if (exact - floor !== 0.5) return Math.round(exact);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Reads AM or PM. Returns 1 for AM, 2 for PM, 0 for neither. */
function readHalfOfDay(bytes: Buffer): number {
  let letter = at;
  while (letter < stop && ascii.isSpace(bytes[letter]!)) letter++;
  if (letter + 1 >= stop || (bytes[letter + 1]! | LOWER) !== 0x6d) return 0;
  if (letter + 2 < stop && ascii.isLetter(bytes[letter + 2]!)) return 0;
  const first = bytes[letter]! | LOWER;
  if (first !== 0x61 && first !== 0x70) return 0;
  at = letter + 2;
  return first === 0x61 ? 1 : 2;
}

/** Reads a zone, with optional spaces before it. Leaves `at` unchanged if there is none. */
function readZone(bytes: Buffer): number {
  const before = at;
  skipSpaces(bytes);
  const sign = bytes[at]!;
  if (sign !== ascii.PLUS && sign !== ascii.MINUS) {
    const length = lettersOfUtc(bytes);
    if (length === 0) at = before;
    else found.hasZone = true;
    at += length;
    return READ;
  }
  at++;
  const digits = countDigits(bytes);
  let hours = 0;
  let minutes = 0;
  let seconds = 0;
  if (digits === 3 || digits === 4) {
    hours = readNumber(bytes, digits - 2);
    minutes = readNumber(bytes, 2);
  } else {
    hours = readShortNumber(bytes);
    if (at < stop && bytes[at] === ascii.COLON) {
      at++;
      minutes = readShortNumber(bytes);
      if (at < stop && bytes[at] === ascii.COLON) {
        at++;
        seconds = readShortNumber(bytes);
      }
    }
  }
  if (hours < 0 || minutes < 0 || seconds < 0) return UNREADABLE;
  if (hours > MOST_ZONE_HOURS || minutes > 59 || seconds > 59) return NO_SUCH_VALUE;
  found.zoneSeconds = (hours * 3600 + minutes * 60 + seconds) * (sign === ascii.MINUS ? -1 : 1);
  found.hasZone = true;
  return READ;
}

/** Returns the length of Z, UTC or GMT at `at` if no letter follows; otherwise 0. */
function lettersOfUtc(bytes: Buffer): number {
  let letter = at;
  while (letter < stop && ascii.isLetter(bytes[letter]!)) letter++;
  if (
    ascii.isWord('z', bytes, at, letter) ||
    ascii.isWord('utc', bytes, at, letter) ||
    ascii.isWord('gmt', bytes, at, letter)
  ) {
    return letter - at;
  }
  return 0;
}

function readWord(bytes: Buffer): number {
  if (ascii.isWord('epoch', bytes, at, stop)) {
    found.hasDate = true;
    found.days = UNIX_EPOCH_DAYS;
    return READ;
  }
  const sign = at < stop ? bytes[at]! : 0;
  if (!ascii.isWord('infinity', bytes, sign === ascii.PLUS || sign === ascii.MINUS ? at + 1 : at, stop))
    return UNREADABLE;
  found.infinity = sign === ascii.MINUS ? -1 : 1;
  return READ;
}

const UNIX_EPOCH_DAYS = -10_957;
