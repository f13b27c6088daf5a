/**
 * What a value loses because its column's type does not hold it, although PostgreSQL takes the value. The encoders set a bit of
 * `losses.ofCell`, and the encoding sink reads and clears it after the cell: nothing is allocated, and a cell that loses nothing costs one
 * comparison.
 */

/** A time of day other than 00:00, for `date`. */
export const TIME_LEFT_OUT = 1;
/** An offset from UTC, for a type without time zone. */
export const OFFSET_LEFT_OUT = 2;
/** A date, for `time` and `timetz`. */
export const DATE_LEFT_OUT = 4;
/** Digits of a second beyond microseconds that are not 0. */
export const FRACTION_ROUNDED = 8;
/** All but the last value of a key, for `jsonb`. */
export const KEYS_REPEATED = 16;

/** So many bits are in use. */
export const lossKinds = 5;

/** The bits of the cell that is being encoded. */
export const losses = { ofCell: 0 };
