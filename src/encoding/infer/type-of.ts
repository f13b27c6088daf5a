/** Finds the type that can store all values that inference has seen in a column. */
import {
  BOOLEAN,
  DATE_CELL,
  DATE_STRING,
  DOUBLE_ONLY,
  EXACT,
  INTERVAL_CELL,
  NESTED,
  NESTED_AS_SENT,
  NOTHING,
  TIME_CELL,
  TIMESTAMP_CELL,
  TIMESTAMP_STRING,
  TIMESTAMPTZ_STRING,
  UUID_STRING,
  WHOLE,
} from '../text-reading/seen.ts';

/** The types as PostgreSQL's `format_type` writes them. */
export type InferredType =
  | 'boolean'
  | 'bigint'
  | 'numeric'
  | 'double precision'
  | 'date'
  | 'timestamp without time zone'
  | 'timestamp with time zone'
  | 'time without time zone'
  | 'interval'
  | 'uuid'
  | 'jsonb'
  | 'json'
  | 'text';

/**
 * The types, each with the classes of values that it can store (covers). The column's type is the first one that covers all classes
 * seen. If none does, it is `text`. More values never turn a text column into another type.
 */
const lattice: readonly { covers: number; type: InferredType }[] = [
  { covers: BOOLEAN, type: 'boolean' },
  { covers: WHOLE, type: 'bigint' },
  { covers: WHOLE | EXACT, type: 'numeric' },
  { covers: DOUBLE_ONLY, type: 'double precision' },
  { covers: DATE_STRING | DATE_CELL, type: 'date' },
  // Date strings are not covered, because they would get a time that was never sent. A date cell of a sheet is covered, because it has the time 00:00.
  { covers: TIMESTAMP_STRING | TIMESTAMP_CELL | DATE_CELL, type: 'timestamp without time zone' },
  { covers: TIMESTAMPTZ_STRING, type: 'timestamp with time zone' },
  { covers: TIME_CELL, type: 'time without time zone' },
  { covers: INTERVAL_CELL, type: 'interval' },
  { covers: UUID_STRING, type: 'uuid' },
  { covers: NESTED, type: 'jsonb' },
  { covers: NESTED | NESTED_AS_SENT, type: 'json' },
];

/**
 * Returns the type of a column.
 *
 * @param seen the union of classes of seen.ts
 */
export function typeOf(seen: number): InferredType {
  if (seen === NOTHING) return 'text';
  for (const { covers, type } of lattice) {
    if ((seen & ~covers) === 0) return type;
  }
  return 'text';
}
