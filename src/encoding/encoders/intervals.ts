/**
 * Encodes interval from PostgreSQL's own form (`1 year 2 mons -3 days 04:05:06.7`, `@ 1 day ago`, `1 2:03:04`, `1-2`) and from ISO 8601
 * with designators (`P1Y2M3DT4H5M6.7S`). Fractions of a unit become smaller units as in `DecodeInterval` (PostgreSQL 8.5.4). `infinity` is read if
 * the server supports it (PostgreSQL 17 and newer). ISO 8601's form without designators is not read.
 */

import * as ascii from '../../core/bytes/ascii.ts';
import { dayMicroseconds } from '../../core/cells/calendar.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import { NOT_AN_INTERVAL, OUT_OF_RANGE } from '../problems/cell-problems.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { readDecimal } from './read-decimal.ts';

const MICROSECONDS_PER_MINUTE = 60_000_000;

/** The maximum number of digits that a field of a valid interval has. Longer numbers are refused without being read. */
const MOST_DIGITS = 15;
const LONGEST_TEXT = 200;

/**
 * The sum so far. Time has two parts, because a double could not store their sum exactly. The fields start as fractions so that the engine
 * stores them as doubles.
 */
const sum = { months: 0.5, days: 0.5, minutes: 0.5, microseconds: 0.5 };
/** The units seen so far. Each unit may occur once. */
let seen = 0;

/**
 * The number that was read last. The whole part `value` and the fraction both have its sign. Both start as fractions so that the engine
 * stores the fields as doubles.
 */
const number = {
  value: 0.5,
  fraction: 0.5,
  isNegative: false,
  isWhole: false,
  digits: 0,
  decimals: 0,
  length: 0,
};
let at = 0;
let stop = 0;

const MICROSECOND = 1;
const MILLISECOND = 2;
const SECOND = 4;
const MINUTE = 8;
const HOUR = 16;
const DAY = 32;
const WEEK = 64;
const MONTH = 128;
const YEAR = 256;
const DECADE = 512;
const CENTURY = 1024;
const MILLENNIUM = 2048;
const TIME = HOUR | MINUTE | SECOND | MILLISECOND | MICROSECOND;

/** The words for units (`deltatktbl` of datetime.c), by their hashes, which all differ. A string for each word would take most of the time. */
const unitWords = new Map<number, { word: string; unit: number }>(
  (
    [
      [MICROSECOND, 'us usec usecs usecond useconds microsecond microseconds microsecon'],
      [MILLISECOND, 'ms msec msecs msecond mseconds millisecond milliseconds millisecon'],
      [SECOND, 's sec secs second seconds'],
      [MINUTE, 'm min mins minute minutes'],
      [HOUR, 'h hr hrs hour hours'],
      [DAY, 'd day days'],
      [WEEK, 'w week weeks'],
      [MONTH, 'mon mons month months'],
      [YEAR, 'y yr yrs year years'],
      [DECADE, 'dec decs decade decades'],
      [CENTURY, 'c cent century centuries'],
      [MILLENNIUM, 'mil mils millennia millennium'],
    ] as const
  ).flatMap(([unit, words]) => words.split(' ').map((word) => [hashOf(word), { word, unit }] as const)),
);

function hashOf(word: string): number {
  return Buffer.from(word).reduce(hashWith, 0);
}

function hashWith(hash: number, letter: number): number {
  return (hash * 31 + letter) & 0x3fffffff;
}

/** Writes an interval. @param encoder its precision is the number of digits that the server rounds seconds to; -1: six */
export function encodeInterval(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== STRING || end - start > LONGEST_TEXT) return NOT_AN_INTERVAL;
  at = start;
  stop = end;
  while (at < stop && ascii.isSpace(bytes[at]!)) at++;
  while (stop > at && ascii.isSpace(bytes[stop - 1]!)) stop--;
  sum.months = 0;
  sum.days = 0;
  sum.minutes = 0;
  sum.microseconds = 0;
  seen = 0;
  if (at === stop) return NOT_AN_INTERVAL;
  if (encoder.takesInfinity) {
    const sign = bytes[at] === ascii.PLUS || bytes[at] === ascii.MINUS ? bytes[at] : 0;
    const isInfinity = ascii.isWord('infinity', bytes, sign === 0 ? at : at + 1, stop);
    if (isInfinity) return writeInfinity(out, sign === ascii.MINUS);
  }
  const isIso = bytes[at] === ascii.UPPER_P;
  // PostgreSQL does not allow spaces around this form.
  if (isIso && (at !== start || stop !== end)) return NOT_AN_INTERVAL;
  const isRead = isIso ? readIso(bytes) : readVerbose(bytes);
  if (!isRead) return NOT_AN_INTERVAL;
  return writeInterval(out, encoder, sum.months, sum.days, sum.minutes, sum.microseconds);
}

/** Writes an infinite interval: every field has its largest or smallest value (`INTERVAL_NOEND` of timestamp.h). */
function writeInfinity(out: CopyBuffer, isNegative: boolean): number {
  out.ensure(20);
  out.int32(16);
  out.int64(isNegative ? -0x80000000 : 0x7fffffff, isNegative ? 0 : -1);
  out.int64(isNegative ? -0x80000000 : 0x7fffffff, isNegative ? -0x80000000 : 0x7fffffff);
  return 0;
}

/** Writes an interval as `interval_send` does; time is minutes · 60 s + microseconds. */
export function writeInterval(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  months: number,
  days: number,
  minutes: number,
  microseconds: number,
): number {
  if (!isInt32(months) || !isInt32(days)) return OUT_OF_RANGE;
  const { precision, takesInfinity } = encoder;
  out.ensure(20);
  out.int32(16);
  const total = minutes * MICROSECONDS_PER_MINUTE + microseconds;
  if (Number.isSafeInteger(total)) {
    const high = Math.floor(total / 4_294_967_296);
    out.int64(high, total - high * 4_294_967_296);
  } else {
    const exact = BigInt(minutes) * BigInt(MICROSECONDS_PER_MINUTE) + BigInt(microseconds);
    // The server adds half a unit to round. The sum must also be in the range.
    const half = precision < 0 || precision > 5 ? 0n : 5n * 10n ** BigInt(5 - precision);
    const rounded = exact < 0n ? exact - half : exact + half;
    if (BigInt.asIntN(64, rounded) !== rounded) return OUT_OF_RANGE;
    if (takesInfinity && isInfinity(months, days, exact)) return OUT_OF_RANGE;
    out.int64(Number(exact >> 32n), Number(exact & 0xffffffffn));
  }
  out.int32(days);
  out.int32(months);
  return 0;
}

/** Returns whether the fields mean infinity. Servers with infinite intervals refuse a finite text with these fields. */
function isInfinity(months: number, days: number, microseconds: bigint): boolean {
  if (months === 0x7fffffff && days === 0x7fffffff) return microseconds === 0x7fffffffffffffffn;
  if (months === -0x80000000 && days === -0x80000000) return microseconds === -0x8000000000000000n;
  return false;
}

function isInt32(value: number): boolean {
  return value >= -0x80000000 && value <= 0x7fffffff;
}

/** Reads P [n unit]… [T [n unit]…]. Every number may have a minus and a fraction. */
function readIso(bytes: Buffer): boolean {
  at++;
  let inTime = false;
  let fields = 0;
  while (at < stop) {
    if (bytes[at] === ascii.UPPER_T) {
      if (inTime) return false;
      inTime = true;
      at++;
      continue;
    }
    if (bytes[at] === ascii.PLUS || !readIsoNumber(bytes) || at >= stop) return false;
    const unit = inTime ? isoTimeUnit(bytes[at]!) : isoDateUnit(bytes[at]!);
    if (unit === 0) return false;
    at++;
    add(unit);
    fields++;
  }
  return fields > 0 || inTime;
}

/** Reads a number of ISO 8601. PostgreSQL calculates its fraction as a difference of doubles (`ParseISO8601Number`), which changes the last digits. */
function readIsoNumber(bytes: Buffer): boolean {
  if (!readNumber(bytes, true)) return false;
  if (number.fraction !== 0) {
    const magnitude = readDecimal(bytes, at - number.length, at - number.decimals - 1, at);
    number.fraction = (number.isNegative ? -magnitude : magnitude) - number.value;
  }
  return true;
}

function isoDateUnit(letter: number): number {
  return letter === 0x59
    ? YEAR
    : letter === 0x4d
      ? MONTH
      : letter === 0x57
        ? WEEK
        : letter === 0x44
          ? DAY
          : 0;
}

function isoTimeUnit(letter: number): number {
  return letter === 0x48 ? HOUR : letter === 0x4d ? MINUTE : letter === 0x53 ? SECOND : 0;
}

/** Reads [@] {number unit | days time | time | years-months}… [seconds] [ago]. */
function readVerbose(bytes: Buffer): boolean {
  if (bytes[at] === ascii.AT_SIGN) at++;
  let fields = 0;
  for (;;) {
    while (at < stop && ascii.isSpace(bytes[at]!)) at++;
    if (at === stop) return fields > 0;
    if (fields > 0 && ascii.isWord('ago', bytes, at, stop)) {
      negate();
      return true;
    }
    if (!readNumber(bytes)) return false;
    if (!readFieldRest(bytes)) return false;
    fields++;
  }
}

function negate(): void {
  sum.months = -sum.months;
  sum.days = -sum.days;
  sum.minutes = -sum.minutes;
  sum.microseconds = -sum.microseconds;
}

/** Reads the rest of a field after its number. The rest decides if it is a time, years and months, or a number of units. */
function readFieldRest(bytes: Buffer): boolean {
  if (at < stop && number.isWhole && bytes[at] === ascii.COLON) return readTime(bytes);
  if (at < stop && number.isWhole && bytes[at] === ascii.MINUS) return readMonths(bytes);
  let letter = at;
  while (letter < stop && ascii.isSpace(bytes[letter]!)) letter++;
  if (letter === stop) return addOnce(SECOND);
  if (ascii.isLetter(bytes[letter]!)) {
    at = letter;
    while (letter < stop && ascii.isLetter(bytes[letter]!)) letter++;
    const unit = unitOf(bytes, at, letter);
    at = letter;
    const isApart = at === stop || ascii.isSpace(bytes[at]!);
    return isApart && unit !== undefined && addOnce(unit);
  }
  // A number without a unit means days if a time of day follows it.
  return letter > at && isTimeAhead(bytes, letter) && addOnce(DAY);
}

/** Returns the unit of a word; undefined: the word is none. */
function unitOf(bytes: Buffer, start: number, end: number): number | undefined {
  let hash = 0;
  for (let letter = start; letter < end; letter++) hash = hashWith(hash, bytes[letter]! | 0x20);
  const found = unitWords.get(hash);
  return found !== undefined && ascii.isWord(found.word, bytes, start, end) ? found.unit : undefined;
}

function isTimeAhead(bytes: Buffer, from: number): boolean {
  let ahead = from;
  if (bytes[ahead] === ascii.PLUS || bytes[ahead] === ascii.MINUS) ahead++;
  const firstDigit = ahead;
  while (ahead < stop && ascii.isDigit(bytes[ahead]!)) ahead++;
  return ahead > firstDigit && ahead < stop && bytes[ahead] === ascii.COLON;
}

/** Reads the rest of H…:MM[:SS[.fraction]] after the hours. The sign applies to the whole time. */
function readTime(bytes: Buffer): boolean {
  if ((seen & TIME) !== 0) return false;
  seen |= TIME;
  const sign = number.isNegative ? -1 : 1;
  const hours = number.value;
  at++;
  if (!readUnsigned(bytes) || !number.isWhole || number.digits > 2 || number.value > 59) return false;
  sum.minutes += hours * 60 + sign * number.value;
  if (at < stop && bytes[at] === ascii.COLON) {
    at++;
    if (!readUnsigned(bytes) || number.value > 60) return false;
    sum.microseconds += sign * (number.value * 1_000_000 + roundHalfEven(number.fraction * 1_000_000));
  }
  return true;
}

/** Reads the rest of years-months after the years. */
function readMonths(bytes: Buffer): boolean {
  const sign = number.isNegative ? -1 : 1;
  const years = number.value;
  at++;
  if ((seen & (YEAR | MONTH)) !== 0 || !readUnsigned(bytes) || !number.isWhole || number.value > 11)
    return false;
  seen |= YEAR | MONTH;
  sum.months += years * 12 + sign * number.value;
  return at === stop || ascii.isSpace(bytes[at]!);
}

/** Reads [sign] digits [. digits]. In ISO 8601's form the digits before the point may be absent. */
function readNumber(bytes: Buffer, isIso = false): boolean {
  const isNegative = at < stop && bytes[at] === ascii.MINUS;
  if (isNegative || (at < stop && bytes[at] === ascii.PLUS)) at++;
  if (!readUnsigned(bytes, isIso)) return false;
  number.isNegative = isNegative;
  if (isNegative) {
    number.value = -number.value;
    number.fraction = -number.fraction;
  }
  return true;
}

function readUnsigned(bytes: Buffer, isIso = false): boolean {
  const firstDigit = at;
  number.isNegative = false;
  number.value = 0;
  number.fraction = 0;
  while (at < stop && ascii.isDigit(bytes[at]!)) number.value = number.value * 10 + bytes[at++]! - ascii.ZERO;
  number.digits = at - firstDigit;
  number.isWhole = at >= stop || bytes[at] !== ascii.POINT;
  const lacksDigits = number.digits === 0 && (number.isWhole || !isIso);
  if (lacksDigits || number.digits > MOST_DIGITS) return false;
  if (number.isWhole) return true;
  const pointAt = at++;
  while (at < stop && ascii.isDigit(bytes[at]!)) at++;
  number.fraction = readDecimal(bytes, pointAt, pointAt, at);
  number.decimals = at - pointAt - 1;
  number.length = at - firstDigit;
  return number.decimals > 0;
}

/** Adds the number just read; false: its unit has already occurred. */
function addOnce(unit: number): boolean {
  const mask = unit === SECOND && number.fraction !== 0 ? SECOND | MILLISECOND | MICROSECOND : unit;
  if ((seen & mask) !== 0) return false;
  seen |= mask;
  add(unit);
  return true;
}

function add(unit: number): void {
  const { value, fraction } = number;
  switch (unit) {
    case MICROSECOND:
      addMicroseconds(value, fraction, 1);
      break;
    case MILLISECOND:
      addMicroseconds(value, fraction, 1_000);
      break;
    case SECOND:
      addMicroseconds(value, fraction, 1_000_000);
      break;
    case MINUTE:
      addMinutes(value, fraction, 1);
      break;
    case HOUR:
      addMinutes(value, fraction, 60);
      break;
    case DAY:
      addDays(value, fraction, 1);
      break;
    case WEEK:
      addDays(value * 7, fraction, 7);
      break;
    case MONTH:
      sum.months += value;
      addDays(0, fraction, 30);
      break;
    case YEAR:
      addYears(value, fraction, 1);
      break;
    case DECADE:
      addYears(value, fraction, 10);
      break;
    case CENTURY:
      addYears(value, fraction, 100);
      break;
    default:
      addYears(value, fraction, 1000);
      break;
  }
}

function addYears(value: number, fraction: number, years: number): void {
  sum.months += value * years * 12 + roundHalfEven(fraction * years * 12);
}

/** Adds a fraction as `AdjustFractDays` does: first whole days, then the rest as time. */
function addDays(value: number, fraction: number, days: number): void {
  const spilled = fraction * days;
  const whole = Math.trunc(spilled);
  sum.days += value + whole;
  sum.microseconds += roundFraction((spilled - whole) * dayMicroseconds);
}

function addMinutes(value: number, fraction: number, minutes: number): void {
  sum.minutes += value * minutes;
  sum.microseconds += roundFraction(fraction * minutes * MICROSECONDS_PER_MINUTE);
}

function addMicroseconds(value: number, fraction: number, microseconds: number): void {
  const minutes = Math.trunc(value / (MICROSECONDS_PER_MINUTE / microseconds));
  sum.minutes += minutes;
  sum.microseconds += (value - minutes * (MICROSECONDS_PER_MINUTE / microseconds)) * microseconds;
  sum.microseconds += roundFraction(fraction * microseconds);
}

/** Rounds as `AdjustFractMicroseconds` does: to the nearest number, and a half towards zero. */
function roundFraction(microseconds: number): number {
  const whole = Math.trunc(microseconds);
  const rest = microseconds - whole;
  return whole + (rest > 0.5 ? 1 : rest < -0.5 ? -1 : 0);
}

/** Rounds as C's `rint` does. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
