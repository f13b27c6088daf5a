/**
 * Encodes date, time, timetz, timestamp and timestamptz from text. date-time-text.ts says which texts are read.
 *
 * As in PostgreSQL, a type keeps the parts of the text that it can store: a date drops the time, a time drops the date, and a timestamp
 * drops the offset. But a time is not read from a date and a time with T between them. `losses` notes the dropped parts. Without an
 * offset, timestamptz and timetz mean UTC, the time zone of the service's own sessions.
 */
import { dayMicroseconds } from '../../core/cells/calendar.ts';
import { STRING } from '../../core/cells/cell-kind.ts';
import * as problems from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { found, NO_SUCH_VALUE, readDateTime } from './date-time-text.ts';
import { DATE_LEFT_OUT, FRACTION_ROUNDED, losses, OFFSET_LEFT_OUT, TIME_LEFT_OUT } from './losses.ts';

/** 4714-11-24 BC and the day after 5874897-12-31: the limits of date (datatype/timestamp.h). */
const FIRST_DAY = -2_451_545;
const DAY_AFTER_LAST_DATE = 2_145_031_949;
/** The day after 294276-12-31, which is the limit of timestamp. */
const DAY_AFTER_LAST_TIMESTAMP = 106_751_983;

const MOST_INT32 = 0x7fffffff;
const LEAST_INT32 = -0x80000000;

export function encodeDate(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind !== STRING) return problems.NOT_A_DATE;
  const outcome = readDateTime(bytes, start, end);
  if (outcome !== 0) return outcome === NO_SUCH_VALUE ? problems.NO_SUCH_DATE : problems.NOT_A_DATE;
  if (found.infinity !== 0) return writeDate(out, found.infinity > 0 ? MOST_INT32 : LEAST_INT32);
  if (!found.hasDate) return problems.NOT_A_DATE;
  if (found.days < FIRST_DAY || found.days >= DAY_AFTER_LAST_DATE) return problems.OUT_OF_RANGE;
  if (found.microseconds !== 0) losses.ofCell |= TIME_LEFT_OUT;
  else if (found.zoneSeconds !== 0) losses.ofCell |= OFFSET_LEFT_OUT;
  return writeDate(out, found.days);
}

export function encodeTimestamp(
  out: CopyBuffer,
  withZone: boolean,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== STRING) return problems.NOT_A_TIMESTAMP;
  const outcome = readDateTime(bytes, start, end);
  if (outcome !== 0) return outcome === NO_SUCH_VALUE ? problems.NO_SUCH_DATE : problems.NOT_A_TIMESTAMP;
  if (found.infinity !== 0) {
    out.ensure(12);
    out.int32(8);
    if (found.infinity > 0) out.int64(MOST_INT32, -1);
    else out.int64(LEAST_INT32, 0);
    return 0;
  }
  if (!found.hasDate) return problems.NOT_A_TIMESTAMP;
  if (!withZone && found.hasZone) losses.ofCell |= OFFSET_LEFT_OUT;
  if (found.isRounded) losses.ofCell |= FRACTION_ROUNDED;
  const microseconds = withZone ? found.microseconds - found.zoneSeconds * 1_000_000 : found.microseconds;
  return writeTimestamp(out, found.days, microseconds);
}

export function encodeTime(
  out: CopyBuffer,
  withZone: boolean,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== STRING) return problems.NOT_A_TIME;
  const outcome = readDateTime(bytes, start, end);
  if (outcome !== 0) return outcome === NO_SUCH_VALUE ? problems.NO_SUCH_TIME : problems.NOT_A_TIME;
  if (!found.hasTime || found.hasT) return problems.NOT_A_TIME;
  if (found.hasDate) losses.ofCell |= DATE_LEFT_OUT;
  if (!withZone && found.hasZone) losses.ofCell |= OFFSET_LEFT_OUT;
  if (found.isRounded) losses.ofCell |= FRACTION_ROUNDED;
  return writeTime(out, withZone, found.microseconds, found.zoneSeconds);
}

/**
 * Writes a date.
 *
 * @param days the days since 2000-01-01, within date's limits
 */
export function writeDate(out: CopyBuffer, days: number): number {
  out.ensure(8);
  out.int32Field(days);
  return 0;
}

/**
 * Writes a time.
 *
 * @param zoneSeconds the seconds east of Greenwich; `timetz_send` counts west
 */
export function writeTime(
  out: CopyBuffer,
  withZone: boolean,
  microseconds: number,
  zoneSeconds: number,
): number {
  out.ensure(16);
  out.int32(withZone ? 12 : 8);
  const high = Math.floor(microseconds / 4_294_967_296);
  out.int64(high, microseconds - high * 4_294_967_296);
  if (withZone) out.int32(-zoneSeconds);
  return 0;
}

/**
 * Writes a timestamp.
 *
 * @param microseconds the microseconds of the day; they may be in the day before or after, because of a time 24:00 or an offset
 */
export function writeTimestamp(out: CopyBuffer, days: number, microseconds: number): number {
  if (microseconds < 0) {
    days--;
    microseconds += dayMicroseconds;
  } else if (microseconds >= dayMicroseconds) {
    days++;
    microseconds -= dayMicroseconds;
  }
  if (days < FIRST_DAY || days >= DAY_AFTER_LAST_TIMESTAMP) return problems.OUT_OF_RANGE;
  // A day is 10,546,875 · 2¹³ µs. Counting in units of 2¹³ µs keeps every step below 2⁵³.
  const upper = days * 10_546_875 + Math.floor(microseconds / 8192);
  const high = Math.floor(upper / 524_288);
  const low = (upper - high * 524_288) * 8192 + (microseconds % 8192);
  out.ensure(12);
  out.int32(8);
  out.int64(high, low);
  return 0;
}
