/**
 * Records the parts of a value that its column's type does not hold, although PostgreSQL accepts the value. The encoders set a bit of
 * `losses.ofCell`. The encoding sink reads and clears it after the cell. So nothing is allocated, and a cell without a loss costs one
 * comparison.
 */

/** `date` does not hold a time of day other than 00:00. */
export const TIME_LEFT_OUT = 1;
/** A type without time zone does not hold an offset from UTC. */
export const OFFSET_LEFT_OUT = 2;
/** `time` and `timetz` do not hold a date. */
export const DATE_LEFT_OUT = 4;
/** No type holds digits of a second beyond microseconds. */
export const FRACTION_ROUNDED = 8;
/** `jsonb` holds only the last value of a key. */
export const KEYS_REPEATED = 16;

/** The number of bits in use. */
export const lossKinds = 5;

/** The bits of the cell that is being encoded. */
export const losses = { ofCell: 0 };
