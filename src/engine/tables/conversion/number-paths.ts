/** How numbers become numbers of another type. They are compared as `numeric`, which never fails and never rounds. */
import type { ColumnType } from '../../../encoding/columns/load-column.ts';
import { columnEncoder } from '../../../encoding/encoders/column-encoder.ts';
import { nameInSql, type Path, type ValueSql } from './conversion.ts';

const NUMERIC = 1700;

/** The integer types by `pg_type.oid`: the maximum number of digits and the range. */
const integers: Record<number, { digits: number; range: string }> = {
  21: { digits: 5, range: '-32768 AND 32767' },
  23: { digits: 10, range: '-2147483648 AND 2147483647' },
  20: { digits: 19, range: '-9223372036854775808 AND 9223372036854775807' },
};

/** The floating-point types: the digits that each integer up to this length keeps, and the range of the absolute values that do not become 0 or infinite. */
const floats: Record<number, { digits: number; range: string }> = {
  700: { digits: 5, range: '1.41e-45 AND 3.4028235e38' },
  701: { digits: 10, range: '4.95e-324 AND 1.7976931348623157e308' },
};

const specials = `('NaN', 'Infinity', '-Infinity')`;

export function isNumber({ oid }: ColumnType): boolean {
  return oid === NUMERIC || oid in integers || oid in floats;
}

export function numberPath(from: ColumnType, to: ColumnType): Path {
  if (to.oid in integers) return toInteger(from, to);
  return to.oid in floats ? toFloat(from, to) : toNumeric(from, to);
}

function toInteger(from: ColumnType, to: ColumnType): Path {
  const { digits, range } = integers[to.oid]!;
  const known = integers[from.oid];
  if (known !== undefined && known.digits <= digits) return { steps: [nameInSql(to)] };
  const isPossible = ({ value }: ValueSql) => `round(${asNumeric(from, value)}) BETWEEN ${range}`;
  if (known !== undefined) return { steps: [nameInSql(to)], isPossible };
  return {
    steps: [...stepsToNumeric(from), nameInSql(to)],
    isPossible,
    isExact: ({ value }) => isEqual(from, value, `round(${asNumeric(from, value)})`),
    loss: 'fraction',
  };
}

function toNumeric(from: ColumnType, to: ColumnType): Path {
  const { whole, scale } = shapeOf(to);
  const steps = [...stepsToNumeric(from), nameInSql(to)];
  if (whole === undefined) {
    if (from.oid in floats) {
      return { steps, isExact: ({ value }) => isNotMinusZero(from, value), loss: 'precision' };
    }
    return { steps, isUnchanged: from.oid === NUMERIC };
  }
  const known = shapeOf(from);
  if (known.whole !== undefined && known.whole <= whole && known.scale <= scale)
    return { steps, isUnchanged: from.oid === NUMERIC && known.scale === scale };
  const rounded = (value: string) => `round(${asNumeric(from, value)}, ${scale})`;
  return {
    steps,
    isPossible: ({ value }) =>
      `(${asNumeric(from, value)} = 'NaN' OR abs(${rounded(value)}) < 1e${whole}::numeric)`,
    isExact: ({ value }) => isEqual(from, value, rounded(value)),
    loss: 'precision',
  };
}

function toFloat(from: ColumnType, to: ColumnType): Path {
  const { digits, range } = floats[to.oid]!;
  const steps = [nameInSql(to)];
  // A cast would make the `real` 0.1 to 0.10000000149011612. Its text has the digits that are needed to read it back.
  if (from.oid in floats && from.oid < to.oid) return { steps: ['pg_catalog.text', ...steps] };
  if (from.oid in floats) {
    return {
      steps,
      isPossible: ({ value }) => isInRange(value, range),
      isExact: ({ value, converted }) => `${converted}::pg_catalog.text::${nameInSql(from)} = ${value}`,
      loss: 'precision',
    };
  }
  const known = integers[from.oid];
  if (known !== undefined && known.digits <= digits) return { steps };
  return {
    steps,
    isPossible: known === undefined ? ({ value }) => isInRange(value, range) : undefined,
    isExact: ({ value, converted }) =>
      `${converted}::text::numeric = ${asNumeric(from, value)}${known === undefined ? '' : ` AND ${isInteger(value, converted)}`}`,
    loss: 'precision',
  };
}

/** A large integer may become another one whose text has the same digits, because the text has only as many as are needed to read it back. */
function isInteger(value: string, converted: string): string {
  return `CASE WHEN abs(${converted}) < 9223372036854775807 THEN ${converted}::bigint = ${value} ELSE false END`;
}

function isInRange(value: string, range: string): string {
  return `(${value} IN ${specials} OR ${value} = 0 OR abs(${value}) BETWEEN ${range})`;
}

/** Returns the number of digits before the point, and the scale. `whole` is undefined for a type without limits. */
function shapeOf(type: ColumnType): { whole: number | undefined; scale: number } {
  const digits = integers[type.oid]?.digits;
  if (digits !== undefined) return { whole: digits, scale: 0 };
  const { precision, scale } = type.oid === NUMERIC ? columnEncoder(type)! : { precision: -1, scale: 0 };
  return precision < 0 ? { whole: undefined, scale: 0 } : { whole: precision - scale, scale };
}

/** PostgreSQL's own cast of a floating-point number to `numeric` keeps only 15 digits, or 6 of `real`. Its text has all that are needed to read it back. */
function stepsToNumeric(from: ColumnType): string[] {
  return from.oid in floats ? ['pg_catalog.text', 'numeric'] : from.oid === NUMERIC ? [] : ['numeric'];
}

function asNumeric(from: ColumnType, value: string): string {
  return [value, ...stepsToNumeric(from)].join('::');
}

function isEqual(from: ColumnType, value: string, converted: string): string {
  const equals = `${asNumeric(from, value)} = ${converted}`;
  return from.oid in floats ? `(${equals} AND ${isNotMinusZero(from, value)})` : equals;
}

/** Only floating-point numbers have a zero with a sign. */
function isNotMinusZero(from: ColumnType, value: string): string {
  return from.oid in floats ? `${value}::text <> '-0'` : 'true';
}
