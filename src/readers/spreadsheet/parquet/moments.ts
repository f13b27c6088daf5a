/** Reads times and timestamps. `found` has the moment that was read last. */

import { NANOSECONDS, UNREADABLE_VALUE } from '../../../core/cells/cell-kind.ts';

/** The result: days since 2000-01-01, and microseconds of the day. Both start as fractions so that the engine stores them as doubles. */
export const found = { days: 0.5, microseconds: 0.5 };

/** 2000-01-01 as days since 1970-01-01, and as a Julian day. */
export const epochDays = 10_957;
const epochJulianDay = 2_451_545;

const daySeconds = 86_400;
const dayNanoseconds = 86_400_000_000_000;
const dayMicroseconds = 86_400_000_000;
const maxDays = 0x7fffffff;

const UPPER = 4_294_967_296;
const dayUpper = Math.floor(dayNanoseconds / UPPER);
const dayLower = dayNanoseconds - dayUpper * UPPER;

/**
 * Reads a timestamp: a 64-bit number of milliseconds, microseconds or nanoseconds since 1970.
 *
 * @param perSecond how many of them a second has
 * @returns 0, or a fault of cell-kind.ts
 */
export function readTimestamp(low: number, high: number, perSecond: number): number {
  const lower = low >>> 0;
  const value = high * UPPER + lower;
  const ofDay = daySeconds * perSecond;
  let days = Math.floor(value / ofDay);
  let rest: number;
  if (Number.isSafeInteger(value)) {
    rest = value - days * ofDay;
  } else if (perSecond === 1_000_000_000) {
    // `days` may be wrong by one, but the rest is exact: all products are below 2⁵³.
    rest = (high - days * dayUpper) * UPPER + (lower - days * dayLower);
    if (rest < 0) {
      days--;
      rest += dayNanoseconds;
    } else if (rest >= dayNanoseconds) {
      days++;
      rest -= dayNanoseconds;
    }
  } else {
    // This is after the year 280,000, or as long ago.
    const exact = BigInt(high) * BigInt(UPPER) + BigInt(lower);
    rest = Number(((exact % BigInt(ofDay)) + BigInt(ofDay)) % BigInt(ofDay));
    days = Number((exact - BigInt(rest)) / BigInt(ofDay));
  }
  if (Math.abs(days) > maxDays) return UNREADABLE_VALUE;
  found.days = days - epochDays;
  return take(rest, perSecond);
}

/** Reads a time of day. @returns 0, or a fault of cell-kind.ts */
export function readTime(value: number, perSecond: number): number {
  if (!(value >= 0 && value <= daySeconds * perSecond)) return UNREADABLE_VALUE;
  found.days = 0;
  return take(value, perSecond);
}

/**
 * Reads an INT96: nanoseconds (64 bits) and the Julian day from which they count. Some programs write nanoseconds of other days.
 *
 * @returns 0, or a fault of cell-kind.ts
 */
export function readInt96(low: number, high: number, julianDay: number): number {
  const fault = readTimestamp(low, high, 1_000_000_000);
  found.days += epochDays + julianDay - epochJulianDay;
  return fault !== 0 || Math.abs(found.days) <= maxDays ? fault : UNREADABLE_VALUE;
}

function take(value: number, perSecond: number): number {
  if (perSecond === 1_000_000_000) {
    if (value % 1000 !== 0) return NANOSECONDS;
    found.microseconds = value / 1000;
  } else {
    found.microseconds = perSecond === 1000 ? value * 1000 : value;
  }
  return found.microseconds > dayMicroseconds ? UNREADABLE_VALUE : 0;
}
