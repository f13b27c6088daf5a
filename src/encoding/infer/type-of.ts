/** Finds the type that can store all values that inference has seen in a column. */
import * as seen from '../text-reading/seen.ts';

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
  { covers: seen.BOOLEAN, type: 'boolean' },
  { covers: seen.WHOLE, type: 'bigint' },
  { covers: seen.WHOLE | seen.EXACT, type: 'numeric' },
  { covers: seen.DOUBLE_ONLY, type: 'double precision' },
  { covers: seen.DATE_STRING | seen.DATE_CELL, type: 'date' },
  // Date strings are not covered, because they would get a time that was never sent. A date cell of a sheet is covered, because it has the time 00:00.
  {
    covers: seen.TIMESTAMP_STRING | seen.TIMESTAMP_CELL | seen.DATE_CELL,
    type: 'timestamp without time zone',
  },
  { covers: seen.TIMESTAMPTZ_STRING, type: 'timestamp with time zone' },
  { covers: seen.TIME_CELL, type: 'time without time zone' },
  { covers: seen.INTERVAL_CELL, type: 'interval' },
  { covers: seen.UUID_STRING, type: 'uuid' },
  { covers: seen.NESTED, type: 'jsonb' },
  { covers: seen.NESTED | seen.NESTED_AS_SENT, type: 'json' },
];

/**
 * Returns the type of a column.
 *
 * @param all the union of classes of seen.ts
 */
export function typeOf(all: number): InferredType {
  if (all === seen.NOTHING) return 'text';
  for (const { covers, type } of lattice) {
    if ((all & ~covers) === 0) return type;
  }
  return 'text';
}

export function isNumberType(type: string): boolean {
  return type === 'bigint' || type === 'numeric' || type === 'double precision';
}
