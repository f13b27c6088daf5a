/**
 * Converts Excel's date serials (ECMA-376 part 1, 18.17.4) to days and microseconds, without any time zone.
 *
 * A serial is a count of days. Its fraction is the time of day. In the 1900 system the serial 60 is 1900-02-29, a day that did
 * not exist. Excel has it for compatibility with Lotus 1-2-3. Therefore serials before it are one day off.
 */

import { isDigit, POINT } from '../../../core/bytes/ascii.ts';
import { dayMicroseconds } from '../../../core/cells/calendar.ts';

/** The serial of 2000-01-01 in the 1900 system and in the 1904 system. */
const epoch1900 = 36_526;
const epoch1904 = 35_064;

/** The serial of 9999-12-31 in the 1900 system, the last day that Excel supports. */
export const lastSerial = 2_958_465;
const lastDay = lastSerial - epoch1900;

const phantomDay = 60;

/** Every program writes at least this many significant digits if a number has them. */
const writtenDigits = 15;
const maxFractionDigits = 15;

const powers = Array.from({ length: maxFractionDigits + 1 }, (_, n) => 10 ** n);

/** The parts of a serial. */
export interface Serial {
  /** The whole days of the serial. */
  days: number;
  /** The time of day, from 0 to 86,399,999,999. */
  microseconds: number;
}

/**
 * Reads a number in JSON's grammar as whole days and microseconds of a day.
 *
 * The time is rounded to the millisecond, which is Excel's own resolution, if the difference may be an error of the text. A
 * double of a current date has an error of up to 0.6 µs, a sum of such doubles a multiple of that, and a text of 15 digits 4.3
 * µs. A larger difference is intended, so such a time is rounded to the microsecond. The digits are read as whole numbers,
 * because converting them to a double would add an error.
 *
 * @param result takes the answer, so that no object is allocated for a cell
 * @returns false if the number is negative or too large to be a date
 */
export function parseSerial(bytes: Buffer, start: number, end: number, result: Serial): boolean {
  let at = start;
  let days = 0;
  while (at < end && isDigit(bytes[at]!)) days = days * 10 + bytes[at++]! - 0x30;
  const wholeDigits = at - start;
  if (wholeDigits === 0 || wholeDigits > 9) return false;
  result.days = days;
  result.microseconds = 0;
  if (at === end) return true;
  if (bytes[at] !== POINT) return parseExponentSerial(bytes, start, end, result);
  at++;
  const fractionStart = at;
  let fraction = 0;
  for (; at < end && isDigit(bytes[at]!); at++) {
    if (at - fractionStart < maxFractionDigits) fraction = fraction * 10 + bytes[at]! - 0x30;
  }
  if (at < end) return parseExponentSerial(bytes, start, end, result);
  const fractionDigits = at - fractionStart;
  const dayFraction = fraction / powers[Math.min(fractionDigits, maxFractionDigits)]!;
  const significant = (days === 0 ? 0 : wholeDigits) + fractionDigits;
  setMicroseconds(result, dayFraction, noiseOf(days, days === 0 ? 0 : wholeDigits, significant));
  return true;
}

/** Reads a serial with an exponent, such as `4.4197E4`. These are rare, so converting them to a double is fast enough. */
function parseExponentSerial(bytes: Buffer, start: number, end: number, result: Serial): boolean {
  const value = Number(bytes.toString('latin1', start, end));
  if (!(value >= 0 && value < 1e9)) return false;
  result.days = Math.floor(value);
  setMicroseconds(result, value - result.days, noiseOf(result.days, 0, writtenDigits + 1));
  return true;
}

/** Returns by how many microseconds the text of a serial may differ from the time that was meant. */
function noiseOf(days: number, wholeDigits: number, significantDigits: number): number {
  const ofDouble = 4 * days * Number.EPSILON * dayMicroseconds;
  if (significantDigits > writtenDigits) return ofDouble;
  return ofDouble + (0.5 / powers[writtenDigits - wholeDigits]!) * dayMicroseconds;
}

function setMicroseconds(result: Serial, dayFraction: number, noiseMicroseconds: number): void {
  const exact = dayFraction * dayMicroseconds;
  const milliseconds = Math.round(exact / 1000);
  const isMillisecond = Math.abs(exact - milliseconds * 1000) <= noiseMicroseconds + 0.5;
  result.microseconds = isMillisecond ? milliseconds * 1000 : Math.round(exact);
  if (result.microseconds >= dayMicroseconds) {
    result.microseconds -= dayMicroseconds;
    result.days++;
  }
}

/** Returns the days of a serial since 2000-01-01, PostgreSQL's epoch, or NaN if Excel has no such day. */
export function serialToDays(serialDays: number, is1904: boolean): number {
  if (is1904) {
    const days = serialDays - epoch1904;
    return days <= lastDay ? days : Number.NaN;
  }
  if (serialDays < 1 || serialDays === phantomDay) return Number.NaN;
  const days = serialDays - epoch1900 + (serialDays < phantomDay ? 1 : 0);
  return days <= lastDay ? days : Number.NaN;
}
