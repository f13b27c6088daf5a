/** Parses the times of OpenDocument: durations of XML Schema part 2 (3.2.6), such as `PT36H15M00.5S`. */

import { dayMicroseconds } from '../../../core/cells/calendar.ts';

const pattern =
  /^(-)?P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,](\d{1,12}))?S)?)?$/;
/** A duration. Both numbers of a negative duration are negative or 0. */
export interface Duration {
  days: number;
  /** Less than a day: -86,399,999,999 to 86,399,999,999. */
  microseconds: number;
}

/**
 * Parses a duration.
 *
 * @returns undefined if the text is not a duration or counts months, whose length is not known
 */
export function parseDuration(text: string): Duration | undefined {
  const found = text.length > 64 ? null : pattern.exec(text);
  if (found === null || text.endsWith('P') || text.endsWith('T')) return undefined;
  const [, minus, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = found;
  const wholeSeconds = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  const microseconds = wholeSeconds * 1_000_000 + Math.round(Number(`0.${fraction || '0'}`) * 1_000_000);
  const moreDays = Math.floor(microseconds / dayMicroseconds);
  const allDays = Number(days) + moreDays;
  const rest = microseconds - moreDays * dayMicroseconds;
  // Without a minus sign the numbers are returned as they are. With one, `0 - x` avoids negative zero, which differs from 0 in some comparisons.
  return minus === undefined
    ? { days: allDays, microseconds: rest }
    : { days: 0 - allDays, microseconds: 0 - rest };
}
