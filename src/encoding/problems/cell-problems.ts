import * as kinds from '../../core/cells/cell-kind.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import type { ColumnType } from '../columns/load-column.ts';

/**
 * The problems that one cell can have. Each is a number, because the functions that encode cells return numbers, and has a code and a sentence for the user.
 *
 * 1 to 9, 38 and 40 to 42 are the problems that only a source can find: their numbers are in core/cells/cell-kind.ts.
 */

export const NOT_NULL = 10;
export const NOT_A_BOOLEAN = 11;
export const NOT_A_WHOLE_NUMBER = 12;
export const NOT_A_NUMBER = 13;
export const OUT_OF_RANGE = 14;
export const TOO_LONG = 15;
export const NUL_CHARACTER = 16;
export const NOT_A_DATE = 17;
export const NOT_A_TIME = 18;
export const NOT_A_TIMESTAMP = 19;
export const NO_SUCH_DATE = 20;
export const NOT_AN_INTERVAL = 21;
export const NOT_A_UUID = 22;
export const NOT_BYTES = 23;
export const NOT_AN_ADDRESS = 24;
export const HOST_BITS_SET = 25;
export const NOT_A_MAC_ADDRESS = 26;
export const NOT_A_LABEL = 27;
export const NOT_AN_ARRAY = 28;
export const RAGGED_ARRAY = 29;
export const TOO_MANY_DIMENSIONS = 30;
export const NULL_ELEMENT = 31;
export const NESTED_VALUE = 32;
export const NOT_FOR_JSONB = 33;
export const JSON_ARRAY_LITERAL = 34;
export const MOMENT_NOT_ALLOWED = 35;
export const TOO_MANY_ELEMENTS = 36;
export const NO_SUCH_TIME = 37;
export const TOO_COSTLY = 39;
export const BYTES_NOT_TEXT = 43;

export interface CellProblem {
  /** Stable, kebab-case. */
  code: ProblemCode;
  detail: string;
}

/**
 * Describes a problem in words.
 *
 * @param problem one of the numbers of this module
 * @param type the column's type; absent if the problem concerns a whole row
 */
export function describeCellProblem(problem: number, type?: ColumnType): CellProblem {
  const words = problems.get(problem);
  if (words === undefined) throw new Error(`no cell problem has the number ${problem}`);
  const [code, detail] = words;
  return { code, detail: typeof detail === 'string' ? detail : detail(valueType(type), type ?? ANY_TYPE) };
}

/** Returns only the code of a problem. */
export function cellProblemCode(problem: number): ProblemCode {
  const words = problems.get(problem);
  if (words === undefined) throw new Error(`no cell problem has the number ${problem}`);
  return words[0];
}

const ANY_TYPE: ColumnType = { oid: 0, name: 'the type', typmod: -1, kind: 'other' };

/** Returns the type that refuses the value: the base type of a domain, the element type of an array. */
function valueType(type: ColumnType | undefined): ColumnType {
  if (type === undefined) return ANY_TYPE;
  if (type.kind === 'domain' && type.base !== undefined) return valueType(type.base);
  if (type.kind === 'array' && type.element !== undefined) {
    // The length is that of the array type: in `character varying(20)[]` the element type has none.
    const element = valueType(type.element);
    return type.typmod < 0 ? element : { ...element, name: type.name.replace(/(?:\[\d*\])+$/, '') };
  }
  return type;
}

const SHOWN_LABELS = 5;

function notALabel(type: ColumnType): string {
  const labels = type.labels ?? [];
  const shown = labels.slice(0, SHOWN_LABELS).map((label) => `'${label}'`);
  const more = labels.length - shown.length;
  return `not a value of ${type.name}: expected ${shown.join(', ')}${more > 0 ? ` or one of ${more} more` : ''}`;
}

/** The lengths of types whose names do not contain the length. */
/** Returns what of the table makes a value too costly that another table may take. */
function whyCostly({ base, category, digitCopies, keyCost }: ColumnType): string {
  if (digitCopies !== undefined && (base?.category ?? category) === 'N')
    return ', because expressions of the table compute with its digits: round the number, or use numeric(p,s)';
  return digitCopies === undefined && keyCost === undefined
    ? ''
    : ', because expressions or indexes of the table compute with it: shorten the value, or use fewer of them';
}

const lengthOf: Record<string, string> = { name: ' (63 bytes)', '"char"': ' (one byte)' };

const DATE_FORM = 'expected YYYY-MM-DD';
const TIME_FORM = 'expected HH:MM:SS';
const TIMESTAMP_FORM = 'expected YYYY-MM-DD HH:MM:SS, or with T between; an offset as Z or +HH:MM';

/** @param type the type that refuses the value @param ofColumn the type of its column */
type Detail = (type: ColumnType, ofColumn: ColumnType) => string;

const problems = new Map<number, [code: ProblemCode, detail: string | Detail]>([
  [kinds.REPEATED_KEY, ['repeated-key', 'this key occurs more than once in the row']],
  [
    kinds.SAME_COLUMN_NAME,
    [
      'repeated-column',
      'another key of the rows is flattened to the same column name: send another flatten_separator',
    ],
  ],
  [kinds.ROW_NOT_AN_OBJECT, ['row-not-an-object', 'a row must be an object: {"column": value, …}']],
  [
    kinds.ERROR_CELL,
    [
      'error-cell',
      'the cell holds an error: fix its formula, or load such cells as NULL with cell_errors=null',
    ],
  ],
  [
    kinds.FORMULA_WITHOUT_VALUE,
    [
      'formula-without-value',
      'the workbook holds no result of this formula: open, recalculate and save it, or load such cells as NULL with cell_errors=null',
    ],
  ],
  [
    kinds.SERIAL_OUT_OF_RANGE,
    [
      'date-out-of-range',
      'the cell has a date format, and its number is not a day in the calendar of the workbook (from 1900-01-01, or 1904-01-01, to 9999-12-31): correct the cell, load such cells as NULL with cell_errors=null, or load the column as text, which stores the number',
    ],
  ],
  [
    kinds.UNREADABLE_CELL,
    [
      'unreadable-cell',
      'the content of the cell is not of the type that the file gives it, or the number format of the cell is missing in the file: correct the cell in a spreadsheet program and save the file again',
    ],
  ],
  [
    kinds.NANOSECONDS,
    [
      'has-nanoseconds',
      'PostgreSQL stores microseconds, and the value has nanoseconds: round the column in the program that writes the file',
    ],
  ],
  [
    kinds.UNREADABLE_VALUE,
    [
      'unreadable-cell',
      'the value is not of the type that the file states for its column: correct it in the program that writes the file',
    ],
  ],
  [BYTES_NOT_TEXT, ['bytes-not-text', 'the bytes are not a text in UTF-8; a column of bytea stores them']],
  [
    kinds.TEXT_AFTER_QUOTE,
    [
      'text-behind-quote',
      'text follows the closing quote: write a quote within a quoted field twice, as in "say ""five""". If the quotes of this file are text, send quote=none',
    ],
  ],
  [
    kinds.TEXT_AFTER_ESCAPED_QUOTE,
    [
      'text-behind-quote',
      'text follows the closing quote, because the backslash before this quote does not escape it: send escape=\\ (in a URL escape=%5C)',
    ],
  ],
  [
    kinds.NOT_IN_NUMBER_FORM,
    [
      'not-in-number-form',
      'not a number in the notation of the request, or with values=natural of its column: decimal_sign comes before the decimals, and thousands_sign separates groups of three digits',
    ],
  ],
  [
    kinds.NOT_IN_DATE_ORDER,
    [
      'not-in-date-order',
      'not a date in the order that date_order says, or with values=natural the other values of its column: with date_order=dmy it is written as in 21/11/2026, with mdy as in 11/21/2026, with ymd as in 2026/11/21',
    ],
  ],
  [NOT_NULL, ['null-not-allowed', 'a value is needed here']],
  [
    NOT_A_BOOLEAN,
    ['not-a-boolean', 'not a boolean: expected true or false, or the text t, f, yes, no, on, off, 1 or 0'],
  ],
  [NOT_A_WHOLE_NUMBER, ['not-a-whole-number', (type) => `not a whole number, as ${type.name} needs it`]],
  [NOT_A_NUMBER, ['not-a-number', 'not a number: expected digits with a point, as in -1234.5 or 1e6']],
  [OUT_OF_RANGE, ['out-of-range', (type) => `out of range for ${type.name}`]],
  [TOO_LONG, ['too-long', (type) => `too long for ${type.name}${lengthOf[type.name] ?? ''}`]],
  [NUL_CHARACTER, ['nul-character', 'contains the character U+0000, which PostgreSQL cannot store']],
  [NOT_A_DATE, ['not-a-date', `not a date: ${DATE_FORM}`]],
  [NOT_A_TIME, ['not-a-time', `not a time of day: ${TIME_FORM}`]],
  [NOT_A_TIMESTAMP, ['not-a-timestamp', `not a date with a time: ${TIMESTAMP_FORM}`]],
  [NO_SUCH_DATE, ['no-such-date', 'there is no such day, time of day or offset']],
  [NO_SUCH_TIME, ['no-such-time', 'there is no such time of day or offset']],
  [
    NOT_AN_INTERVAL,
    ['not-an-interval', "not an interval: expected '1 day 02:03:04' or ISO 8601, P1DT2H3M4S"],
  ],
  [NOT_A_UUID, ['not-a-uuid', 'not a UUID: expected 32 hexadecimal digits, 8-4-4-4-12']],
  [NOT_BYTES, ['not-bytes', 'not a byte string: expected \\x and pairs of hexadecimal digits']],
  [
    NOT_AN_ADDRESS,
    [
      'not-an-address',
      'not a network address: expected 192.0.2.1, 192.0.2.0/24, 2001:db8::1 or 2001:db8::/32',
    ],
  ],
  [HOST_BITS_SET, ['host-bits-set', 'not a network: bits are set to the right of the mask']],
  [NOT_A_MAC_ADDRESS, ['not-a-mac-address', 'not a MAC address: expected 08:00:2b:01:02:03']],
  [NOT_A_LABEL, ['not-an-enum-value', notALabel]],
  [
    NOT_AN_ARRAY,
    ['not-an-array', "not an array: expected PostgreSQL's text form {1,2}, or, in JSON, [1, 2]"],
  ],
  [RAGGED_ARRAY, ['ragged-array', 'the inner arrays must all have the same length and depth']],
  [TOO_MANY_DIMENSIONS, ['too-many-dimensions', 'an array has at most 6 dimensions']],
  [
    TOO_MANY_ELEMENTS,
    [
      'too-many-elements',
      'an array has at most 1,000,000 elements here: of dates, times and network addresses 500,000, of intervals 200,000',
    ],
  ],
  [
    TOO_COSTLY,
    [
      'too-complex',
      (type, ofColumn) =>
        `PostgreSQL would need too much memory or time for a value of type ${type.name} with so many parts, digits or repetitions, alone or with the other long values of its row${whyCostly(ofColumn)}`,
    ],
  ],
  [NULL_ELEMENT, ['null-element', 'an element must not be null here']],
  [
    NESTED_VALUE,
    ['nested-value', (type) => `an object or an array cannot go into ${type.name}; json and jsonb take them`],
  ],
  [
    NOT_FOR_JSONB,
    [
      'not-for-jsonb',
      'jsonb cannot store the character U+0000, half a surrogate pair or a number beyond numeric',
    ],
  ],
  [MOMENT_NOT_ALLOWED, ['date-not-allowed', (type) => `a date or a time cannot go into ${type.name}`]],
  [
    JSON_ARRAY_LITERAL,
    ['json-array-as-text', 'an array of JSON values must be sent as an array, not as text in braces'],
  ],
]);
