/** How dates and times become values of another type of dates and times. No value may depend on the time zone of a session. */
import type { ColumnType } from '../../../encoding/columns/load-column.ts';
import { type NoConversion, nameInSql, outputOf, type Path } from './conversion.ts';

const DATE = 1082;
const TIME = 1083;
const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;
const INTERVAL = 1186;
const TIMETZ = 1266;

const moments = [DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ];
const withZone = [TIMESTAMPTZ, TIMETZ];

/** The digits of a second that PostgreSQL stores. */
const mostDigits = 6;

export function isMoment({ oid }: ColumnType): boolean {
  return moments.includes(oid);
}

export function momentPath(from: ColumnType, to: ColumnType): Path | NoConversion | undefined {
  const steps = [nameInSql(to)];
  if (from.oid === to.oid) return toPrecision(from, to, steps);
  if (from.oid === DATE && to.oid === TIMESTAMP) {
    // A date may be later than the last timestamp.
    return { steps, isPossible: ({ value }) => `(${value} < '294277-01-01' OR NOT isfinite(${value}))` };
  }
  if (from.oid === TIMESTAMP && to.oid === DATE) {
    return {
      steps,
      isExact: ({ value, converted }) => `${converted}::timestamp = ${value}`,
      loss: 'time of day',
    };
  }
  if (withZone.includes(from.oid) === withZone.includes(to.oid)) return undefined;
  return {
    refused: `the time zone of a session decides how ${from.name} becomes ${to.name}: add a column, fill it in PostgreSQL with AT TIME ZONE, and drop the old one`,
  };
}

/** Returns the path to the same type with other modifiers. */
function toPrecision(from: ColumnType, to: ColumnType, steps: string[]): Path {
  const isKept = to.typmod < 0 || to.typmod === from.typmod;
  if (from.oid === INTERVAL) {
    // Intervals are compared as texts, because 1 month equals 30 days.
    if (isKept) return { steps, isUnchanged: true };
    return {
      steps,
      isExact: ({ value, converted }) => `${outputOf(converted)} = ${outputOf(value)}`,
      loss: 'precision',
    };
  }
  if (isKept || to.typmod >= (from.typmod < 0 ? mostDigits : from.typmod))
    return { steps, isUnchanged: true };
  return { steps, isExact: ({ value, converted }) => `${converted} = ${value}`, loss: 'precision' };
}
