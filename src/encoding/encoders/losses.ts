/**
 * Records what is lost if a column's type cannot store all of a value, although PostgreSQL accepts the value. The encoders set a
 * bit of `losses.ofCell`, and the encoding sink reads and clears it after each cell. So nothing is allocated, and a cell without a
 * loss costs one comparison.
 */

/** The time of day is lost, because the column is a `date`. */
export const TIME_LEFT_OUT = 1;
/** The offset from UTC is lost, because the column's type has no time zone. */
export const OFFSET_LEFT_OUT = 2;
/** The date is lost, because the column is a `time` or `timetz`. */
export const DATE_LEFT_OUT = 4;
/** Digits of a second beyond microseconds are lost, because no type stores them. */
export const FRACTION_ROUNDED = 8;
/** Values of a repeated key are lost, because `jsonb` stores only the last one. */
export const KEYS_REPEATED = 16;

/** Digits of a workbook's number after the 15th are lost, because only a double has them. */
export const DIGITS_ROUNDED = 32;

/** The sign of `-0` is lost, because only a double has it. */
export const SIGN_LEFT_OUT = 64;

/** Zeros before the digits of a text, as in `007`, are lost, because the column is a number. */
export const ZEROS_LEFT_OUT = 128;

/** The number of bits in use. */
export const lossKinds = 8;

/** The bits of the cell that is being encoded. */
export const losses = { ofCell: 0 };
