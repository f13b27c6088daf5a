/** The proleptic Gregorian calendar, and the length of a day. */

export const dayMicroseconds = 86_400_000_000;

export function daysOfMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Returns the days since 2000-01-01. The year 0 is 1 BC. The calculation lets the year begin in March, so that the leap day is its last
 * day, and counts from 4800 years earlier, so that no division has a negative number.
 */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = (month > 2 ? year : year - 1) + 4800;
  const dayOfYear = ((((month + 9) % 12) * 153 + 2) / 5) | 0;
  const leapDays = (shifted >> 2) - ((shifted / 100) | 0) + ((shifted / 400) | 0);
  return shifted * 365 + leapDays + dayOfYear + day - DAYS_TO_2000;
}

/** The days from -4800-02-29 to 2000-01-01. */
const DAYS_TO_2000 = 2_483_590;
