/** Writes moments as ISO 8601 text: 2024-02-29, 2024-02-29T03:04:05.25, 03:04:05, P1DT2H3M4S. Years before 1 have BC, as in PostgreSQL. */
import { DATE, INTERVAL, TIME, UTC_TIMESTAMP } from './cell-kind.ts';

/** Holds the text that `formatMoment` wrote last. */
export const momentText: Buffer = Buffer.alloc(64);

let position = 0;

/** Writes the moment into `momentText` and returns its length. The arguments are those of `CellSink.moment`. */
export function formatMoment(kind: number, days: number, microseconds: number): number {
  position = 0;
  if (kind === INTERVAL) return formatInterval(days, microseconds);
  const isBeforeChrist = kind !== TIME && days < firstDayOfChrist;
  if (kind !== TIME) appendDate(days);
  if (kind !== DATE) appendTime(kind, microseconds);
  if (isBeforeChrist) for (const letter of beforeChrist) append(letter);
  return position;
}

/** The days since 2000-01-01 of 0001-01-01. */
const firstDayOfChrist = -730_119;
const beforeChrist = Buffer.from(' BC');

function appendTime(kind: number, microseconds: number): void {
  if (kind !== TIME) append(0x54);
  const seconds = Math.floor(microseconds / 1_000_000);
  appendPadded(Math.floor(seconds / 3600), 2);
  append(0x3a);
  appendPadded(Math.floor(seconds / 60) % 60, 2);
  append(0x3a);
  appendPadded(seconds % 60, 2);
  appendFraction(microseconds % 1_000_000);
  if (kind === UTC_TIMESTAMP) append(0x5a);
}

/** Writes a duration. Each field of a negative duration has a minus, as PostgreSQL writes and reads it: P-1DT-2H. */
function formatInterval(days: number, microseconds: number): number {
  const sign = microseconds < 0 ? -1 : 1;
  const time = Math.abs(microseconds);
  const seconds = Math.floor(time / 1_000_000);
  const hasTime = time !== 0;
  append(0x50);
  if (days !== 0 || !hasTime) appendField(days, 0x44);
  if (!hasTime) return position;
  append(0x54);
  if (seconds >= 3600) appendField(sign * Math.floor(seconds / 3600), 0x48);
  const minutes = Math.floor(seconds / 60) % 60;
  if (minutes > 0) appendField(sign * minutes, 0x4d);
  if (time % 60_000_000 !== 0) {
    if (sign < 0) append(0x2d);
    appendPadded(seconds % 60, 1);
    appendFraction(time % 1_000_000);
    append(0x53);
  }
  return position;
}

function append(byte: number): void {
  momentText[position++] = byte;
}

function appendField(value: number, designator: number): void {
  if (value < 0) append(0x2d);
  appendPadded(Math.abs(value), 1);
  append(designator);
}

/** Appends the number in decimal with leading zeros, so that it has at least `width` digits. */
function appendPadded(value: number, width: number): void {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  let rest = value;
  const count = Math.max(width, digits);
  for (let at = position + count - 1; at >= position; at--) {
    momentText[at] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  position += count;
}

/** Appends a point and the microseconds without trailing zeros; nothing for 0. */
function appendFraction(microseconds: number): void {
  if (microseconds === 0) return;
  append(0x2e);
  appendPadded(microseconds, 6);
  while (momentText[position - 1] === 0x30) position--;
}

/** Appends a date. This is the inverse of `daysFromCivil`, with years that begin in March, in eras of 400 years. */
function appendDate(days: number): void {
  const shifted = days + 730_425;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  appendPadded(year > 0 ? year : 1 - year, 4);
  append(0x2d);
  appendPadded(month, 2);
  append(0x2d);
  appendPadded(dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1, 2);
}
