/**
 * Parses cells of type `d`, which have ISO 8601 text instead of a serial (ECMA-376 part 1, 18.18.11). Strict workbooks have
 * them.
 *
 * Examples: `2021-01-01`, `2021-01-01T10:10:10.250`, `10:10:10`. A final `Z` is allowed and has no meaning, because a cell has
 * no time zone. A text with an offset is not accepted, because the offset would change the time.
 */

import { daysFromCivil, daysOfMonth } from '../../../core/cells/calendar.ts';
import { DATE, TIME, TIMESTAMP } from '../../../core/cells/cell-kind.ts';

export interface IsoMoment {
  /** `DATE`, `TIMESTAMP` or `TIME`. */
  kind: number;
  /** The days since 2000-01-01; 0 for a `TIME`. */
  days: number;
  microseconds: number;
}

const date = String.raw`(\d{4})-(\d\d)-(\d\d)`;
const time = String.raw`(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?`;
const pattern = new RegExp(`^(?:${date})?(?:(?:^T?|T| )${time})?Z?$`);

/** The length from which on a text is not a moment. Even a moment with nanoseconds is shorter. */
const maxLength = 40;

/**
 * Parses the text of a cell.
 *
 * @returns undefined if the text is not a moment that exists
 */
export function parseIsoMoment(text: string): IsoMoment | undefined {
  const found = text.length > maxLength ? null : pattern.exec(text);
  if (found === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction] = found;
  const microseconds = hour === undefined ? 0 : timeOfDay(hour, minute!, second, fraction);
  if (microseconds === undefined) return undefined;
  if (year === undefined) {
    return hour === undefined ? undefined : { kind: TIME, days: 0, microseconds };
  }
  const days = dayNumber(Number(year), Number(month), Number(day));
  if (days === undefined) return undefined;
  return { kind: hour === undefined ? DATE : TIMESTAMP, days, microseconds };
}

function timeOfDay(hour: string, minute: string, second = '0', fraction = ''): number | undefined {
  const seconds = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const microseconds = Math.round(Number(fraction.padEnd(9, '0')) / 1000);
  // A time of day that would round up to 24:00 becomes the last microsecond of the day, because it has no next day.
  return Math.min(seconds * 1_000_000 + microseconds, 86_399_999_999);
}

function dayNumber(year: number, month: number, day: number): number | undefined {
  const exists = year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month);
  return exists ? daysFromCivil(year, month, day) : undefined;
}
