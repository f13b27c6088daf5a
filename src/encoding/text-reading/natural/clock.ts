/** Reads times of day and durations: `14:30`, `2:30 PM`, `14:30:05.5`, `26:15:00`, `02:30.5`. */

import { COLON, isDigit, POINT, SPACE, ZERO } from '../../../core/bytes/ascii.ts';
import { afterHalfOfDay } from '../date-form.ts';

/** The parts of the text that `readClock` read last. */
export const clock = {
  /** The numbers between the colons. The third is 0 if there are only two. */
  first: 0,
  second: 0,
  third: 0,
  hasThird: false,
  hasFraction: false,
  /** The fraction of a second. */
  microseconds: 0,
  /** The fraction has more digits than PostgreSQL can store. */
  isInexact: false,
  /** The text has AM or PM. `first` is then the hour of the day. */
  hasHalf: false,
  /** The numbers are in the range of a time of day. */
  isTime: false,
};

const microsecondDigits = 6;
const maxFirstDigits = 4;

/** Reads the text into `clock`. Returns whether it is a time or a duration. */
export function readClock(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  let first = 0;
  while (at < end && isDigit(bytes[at]!) && at - start <= maxFirstDigits)
    first = first * 10 + bytes[at++]! - ZERO;
  const digits = at - start;
  if (digits === 0 || digits > maxFirstDigits || !isSixtieth(bytes, at, end)) return false;
  clock.second = numberOf(bytes, at + 1);
  at += 3;
  clock.hasThird = isSixtieth(bytes, at, end);
  clock.third = clock.hasThird ? numberOf(bytes, at + 1) : 0;
  if (clock.hasThird) at += 3;
  at = readFraction(bytes, at, end);
  clock.hasHalf = at !== end;
  clock.first = first;
  clock.isTime = digits <= 2 && first < 24 && (clock.hasThird || !clock.hasFraction);
  if (at === end) return true;
  const letter = bytes[at] === SPACE ? at + 1 : at;
  if (!clock.isTime || first === 0 || first > 12 || afterHalfOfDay(bytes, letter, end) !== end) return false;
  clock.first = (first % 12) + ((bytes[letter]! & 0x5f) === 0x50 ? 12 : 0);
  return true;
}

/** Reads the fraction of a second into `clock`. Returns the position after it. */
function readFraction(bytes: Buffer, from: number, end: number): number {
  clock.hasFraction = from + 1 < end && bytes[from] === POINT && isDigit(bytes[from + 1]!);
  clock.isInexact = false;
  clock.microseconds = 0;
  if (!clock.hasFraction) return from;
  let at = from + 1;
  let weight = 100_000;
  for (; at < end && isDigit(bytes[at]!); at++) {
    const digit = bytes[at]! - ZERO;
    if (at - from > microsecondDigits) clock.isInexact ||= digit !== 0;
    else clock.microseconds += digit * weight;
    weight /= 10;
  }
  return at;
}

/** Returns whether a colon and a number below 60 are at `at`. */
function isSixtieth(bytes: Buffer, at: number, end: number): boolean {
  if (at + 3 > end || bytes[at] !== COLON) return false;
  return bytes[at + 1]! >= ZERO && bytes[at + 1]! < ZERO + 6 && isDigit(bytes[at + 2]!);
}

function numberOf(bytes: Buffer, at: number): number {
  return (bytes[at]! - ZERO) * 10 + bytes[at + 1]! - ZERO;
}
