/**
 * The classes of values that inference distinguishes, one bit for each class. For each column it keeps the union of the bits of all
 * values. Only `type-of.ts` decides which type such a union becomes.
 */

/** The column has no value yet. */
export const NOTHING = 0;
export const BOOLEAN = 1;
/** A number without point and exponent that `bigint` can store. */
export const WHOLE = 1 << 1;
/** Any other number that `numeric` can store with every digit. */
export const EXACT = 1 << 2;
/** A number that `double precision` can store without loss and `numeric` cannot store. */
export const DOUBLE_ONLY = 1 << 3;
export const DATE_STRING = 1 << 4;
export const TIMESTAMP_STRING = 1 << 5;
/** A date-time with an offset. */
export const TIMESTAMPTZ_STRING = 1 << 6;
export const UUID_STRING = 1 << 7;
/** An object or array that `jsonb` can store. */
export const NESTED = 1 << 8;
/** An object or array that names a key twice: `json` keeps it as it was sent, `jsonb` does not. */
export const NESTED_AS_SENT = 1 << 14;
export const DATE_CELL = 1 << 9;
export const TIMESTAMP_CELL = 1 << 10;
export const TIME_CELL = 1 << 11;
export const INTERVAL_CELL = 1 << 12;
/** A value that only `text` can store: any other string, or a number or nested value that no other type can store. */
export const OTHER = 1 << 13;
/** Used alone, in a union of classes whose values change nothing: no further value changes anything. */
export const ANY_CLASS = 0xffff;
/** Used alone: the column is text, and its values are counted to find out whether it is text only because of a few odd values. */
export const MIXED = 1 << 15;

/** Returns the classes of columns, with room for more columns. */
export function withCapacity(classes: Uint16Array, columns: number): Uint16Array<ArrayBuffer> {
  const larger = new Uint16Array(columns);
  larger.set(classes);
  return larger;
}
