/**
 * The kinds of cells as small integers, so that sinks can `switch` on them.
 *
 * They are single constants and not an object, because the engine compiles constants into the machine code of the per-cell paths.
 */

export const NULL = 0;
export const FALSE = 1;
export const TRUE = 2;
/** The bytes are a number in JSON's grammar (RFC 8259 section 6), every digit as it was sent. */
export const NUMBER = 3;
/** The bytes are valid UTF-8, already unescaped. */
export const STRING = 4;
/** The bytes are the JSON text of an object (valid, complete, as it was sent). */
export const OBJECT = 5;
/** The bytes are the JSON text of an array (valid, complete, as it was sent). */
export const ARRAY = 6;

/** Dates, times and durations. A source passes them to `CellSink.moment` as days and microseconds, never as text. */
export const DATE = 7;
export const TIMESTAMP = 8;
export const TIME = 9;
export const INTERVAL = 10;

/**
 * The bytes are text of a file whose cells have no types (CSV), in valid UTF-8. The type of the column decides how it is read.
 * While types are inferred, text-kind.ts decides it.
 */
export const TEXT = 11;

/**
 * The bytes are a number of a workbook, rounded to the 15 significant digits that Excel shows. The exact text of the stored
 * double and a byte 0 follow directly after the bytes. `endOfExactNumber` finds the end of the exact text.
 */
export const ROUNDED_NUMBER = 12;

/** Like `TIMESTAMP`, but an instant: days and microseconds are those in UTC. */
export const UTC_TIMESTAMP = 13;

/** The bytes are a byte string. A column of another type than `bytea` reads them as a text in UTF-8. */
export const BYTES = 14;

/** Returns the end of the exact text that begins at the end of a `ROUNDED_NUMBER`. */
export function endOfExactNumber(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] !== 0) at++;
  return at;
}

/** The problems that only a source can find. A source passes them to `CellSink.fault`. */
export const REPEATED_KEY = 1;
export const ROW_NOT_AN_OBJECT = 2;
/** A spreadsheet error value; the bytes are its text, `#N/A`. */
export const ERROR_CELL = 3;
/** A formula whose result is not in the workbook. */
export const FORMULA_WITHOUT_VALUE = 4;
/** A date-formatted number that is not a date in Excel (negative, or after 9999-12-31); the bytes are the number. */
export const SERIAL_OUT_OF_RANGE = 5;
/** A cell that the source cannot read as the type that the file states, or a number whose style is missing; the bytes are its text. */
export const UNREADABLE_CELL = 6;
/** A field of a text file that has text after its closing quote; the bytes are its text. */
export const TEXT_AFTER_QUOTE = 7;
/** A text of a number column that is not written with the signs that the request names; the bytes are the text. */
export const NOT_IN_NUMBER_FORM = 8;
/** A text of a date column that is not written in the order that the request names; the bytes are the text. */
export const NOT_IN_DATE_ORDER = 9;
/** Like `TEXT_AFTER_QUOTE`, but a backslash comes before the closing quote. The numbers 10 to 37 and 39 are in `encoding/problems/cell-problems.ts`. */
export const TEXT_AFTER_ESCAPED_QUOTE = 38;
/** Another key of the rows gives the same column name (`flatten`); the bytes show the value. */
export const SAME_COLUMN_NAME = 40;
/** A time with nanoseconds that are no whole microseconds; the bytes are the number of the file. */
export const NANOSECONDS = 41;
/** A value that is not of the type that the file states for its column; the bytes show it. */
export const UNREADABLE_VALUE = 42;

/** Returns whether `cell_errors=null` reads the cell as NULL. */
export function isCellError(problem: number): boolean {
  return problem === ERROR_CELL || problem === FORMULA_WITHOUT_VALUE || problem === SERIAL_OUT_OF_RANGE;
}
