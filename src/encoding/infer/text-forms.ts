/**
 * Finds text columns in which every value would be a date or a number if the request named the notation (`date_order`,
 * `decimal_sign`, `thousands_sign`), the words for no value (`null_values`), or that white space is removed (`trim`). The
 * service does not guess: a warning names the parameters. Values that no parameter reads are found in text-shapes.ts.
 *
 * A column has one bit for each form that all of its values so far may have. Most columns of text lose all bits with their
 * first value.
 */

import { APOSTROPHE, COMMA, isDigit, PLUS, POINT, SPACE } from '../../core/bytes/ascii.ts';
import { trimmedEnd, trimmedStart, trimText } from '../../core/bytes/white-space.ts';
import { NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import {
  DAY_MONTH_YEAR,
  MONTH_DAY_YEAR,
  maxDateBytes,
  readDate,
  YEAR_MONTH_DAY,
} from '../text-reading/date-form.ts';
import { type NumberSigns, readNumber } from '../text-reading/number-form.ts';
import {
  DATE_CELL,
  DATE_STRING,
  EXACT,
  OTHER,
  TIMESTAMP_CELL,
  TIMESTAMP_STRING,
  TIMESTAMPTZ_STRING,
  WHOLE,
} from '../text-reading/seen.ts';
import { classifyString } from '../text-reading/string-class.ts';
import * as bits from './form-bits.ts';
import type { Sighting } from './odd-values.ts';
import { queryText } from './query-text.ts';
import { type ShapeHint, shapeHint, shapesOf, shapesOfGrouped, shapesWithClass } from './text-shapes.ts';

interface DateForm {
  bit: number;
  order: number;
  parameters: Record<string, string>;
  looksLike: string;
}

interface NumberForm {
  bit: number;
  signs: NumberSigns;
  parameters: Record<string, string>;
  looksLike: string;
}

const dateForms: readonly DateForm[] = [
  { bit: bits.DMY, order: DAY_MONTH_YEAR, parameters: { date_order: 'dmy' }, looksLike: 'day/month/year' },
  { bit: bits.MDY, order: MONTH_DAY_YEAR, parameters: { date_order: 'mdy' }, looksLike: 'month/day/year' },
  { bit: bits.YMD, order: YEAR_MONTH_DAY, parameters: { date_order: 'ymd' }, looksLike: 'year/month/day' },
];

/** Forms that need fewer parameters come first. */
const numberForms: readonly NumberForm[] = [
  numberForm(bits.COMMA_ALONE, COMMA, 0),
  numberForm(bits.GROUPED_BY_COMMA, POINT, COMMA),
  numberForm(bits.GROUPED_BY_SPACE, POINT, SPACE),
  numberForm(bits.GROUPED_BY_APOSTROPHE, POINT, APOSTROPHE),
  numberForm(bits.GROUPED_BY_POINT, COMMA, POINT),
  numberForm(bits.SPACE_AND_COMMA, COMMA, SPACE),
  numberForm(bits.APOSTROPHE_AND_COMMA, COMMA, APOSTROPHE),
];

/**
 * Texts, in lower case, that people and programs write for a missing value. They never become NULL by themselves: they only let a
 * warning suggest `null_values`.
 */
const nullWords = new Set([
  'n/a',
  'na',
  'n.a.',
  '#n/a',
  'nan',
  'null',
  '(null)',
  '<null>',
  'none',
  'nil',
  '-',
  '--',
  '---',
  '.',
  '?',
  '\\n',
  'k.a.',
  'unknown',
]);
const maxNullWordBytes = 7;
const maxNullWords = 20;

/** Returns whether the text is a word that people and programs write if there is no value: `n/a`. */
export function isNullWord(text: string): boolean {
  return nullWords.has(trimText(text).toLowerCase());
}

/** The parameters with which a text column would have another type. */
export interface FormHint {
  /**
   * The forms that the values may have, each with its parameters. There are several if the values do not show which number is
   * the day and which the month, or which sign separates decimals.
   */
  forms: { parameters: Record<string, string>; looksLike: string }[];
  /** The type of the values without the words for no value, if only these words need a parameter. */
  plain?: 'number' | 'date';
  /** What the values look like, if no parameter reads them. `hasSpace`: white space is around some of them. */
  shape?: ShapeHint & { hasSpace: boolean };
  /** The first value that PostgreSQL itself cannot read; undefined: only the words for no value need a parameter. */
  first: Sighting | undefined;
  /** The words for no value that occur in the column. */
  nullWords: string[];
}

/** Returns the parameters with which the text of one cell is a date or a number, as in a query string; undefined: there are none. */
export function parameterReading(
  isDate: boolean,
  bytes: Buffer,
  start: number,
  end: number,
): string | undefined {
  const asked = isDate ? bits.DATE_FORMS : bits.NUMBER_FORMS;
  const forms = new TextForms().withText(asked, STRING, 0, 0, bytes, start, end);
  if ((forms & bits.IS_NEEDED) === 0) return undefined;
  return formsOf(forms)
    .map(({ parameters }) => queryText(parameters))
    .join(' or ');
}

const commaAndPoints: NumberSigns = { decimal: COMMA, thousands: POINT };
/** The output of `readNumber` for `isGroupedByPoint`, which ignores it. Digits beyond the end are not written. */
const unused = Buffer.alloc(64);

/** Returns whether the points of a number with a point may separate its thousands: `1.234`, but neither `0.234` nor `1.5`. */
export function isGroupedByPoint(bytes: Buffer, start: number, end: number): boolean {
  return readNumber(bytes, start, end, commaAndPoints, unused) > 0;
}

/** Keeps, for the columns of one source, the forms that their values may have. */
export class TextForms {
  readonly #first: (Sighting | undefined)[] = [];
  readonly #nullWords: (string[] | undefined)[] = [];
  readonly #scratch = Buffer.alloc(256);

  /** Returns the forms that are still possible after a value of the class `found` (seen.ts), which is not `OTHER`. */
  withClass(forms: number, found: number): number {
    const left = (forms & bits.FACTS) | (forms & notationsWithClass(found)) | shapesWithClass(forms, found);
    return (left & ~bits.FACTS) === 0 ? 0 : left;
  }

  /** Returns the forms that are still possible after a number with a point, `1.5`, in a file whose cells have no types. */
  withPoint(forms: number, bytes: Buffer, start: number, end: number): number {
    if ((forms & bits.COMMA_FORMS) === 0 || !bytes.subarray(start, end).includes(POINT)) return forms;
    return (
      forms &
      ~(isGroupedByPoint(bytes, start, end) ? bits.COMMA_FORMS & ~bits.GROUPED_BY_POINT : bits.COMMA_FORMS)
    );
  }

  /**
   * Returns the forms that are still possible after a text that PostgreSQL itself reads only as text.
   *
   * @param kind `TEXT` for a text file, in which numbers are texts too, or `STRING`
   */
  withText(
    forms: number,
    kind: number,
    column: number,
    row: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): number {
    // If a column can only have shapes of text-shapes.ts, most values need no other check.
    if ((forms & bits.NOTATIONS) === 0 && (forms & bits.IS_NEEDED) !== 0) {
      const shape = shapesAmong(forms, bytes, start, end);
      if (shape !== 0) return (forms & bits.FACTS) | shape;
    }
    const from = trimmedStart(bytes, start, end);
    const to = trimmedEnd(bytes, from, end);
    if (end - start <= maxNullWordBytes && from < to && !isDigit(bytes[from]!)) {
      const word = bytes.toString('utf8', start, end);
      if (isNullWord(word)) {
        return this.#noteNullWord(column, word) ? forms : 0;
      }
    }
    const hasSpace = from !== start || to !== end;
    const plain = hasSpace ? plainForm(kind, bytes, from, to) : 0;
    let left = (forms & bits.FACTS) | (hasSpace ? bits.HAS_SPACE : 0);
    // In a text file a text of white space only means that there is no value, if white space is removed.
    if (from === to && kind === TEXT) left |= forms;
    else if (plain === bits.PLAIN_NUMBER)
      left |=
        this.withPoint(forms & (bits.NUMBER_FORMS | bits.PLAIN_NUMBER), bytes, from, to) |
        shapesWithClass(forms, WHOLE);
    else if (plain === bits.PLAIN_DATE) left |= forms & (bits.DATE_FORMS | bits.PLAIN_DATE);
    else {
      const notations = this.#notationsOf(forms, bytes, from, to);
      if ((notations & bits.NUMBER_FORMS) !== 0) left |= notations | shapesOfGrouped(forms);
      else left |= notations !== 0 ? notations : shapesAmong(forms, bytes, from, to);
    }
    if ((left & ~bits.FACTS) === 0) return 0;
    // A JSON string or a text cell of a workbook that PostgreSQL can read as a number does not show which signs are used.
    const isTyped = (kind === TEXT ? textKind(bytes, start, end) : textKind(bytes, from, to)) !== STRING;
    if ((left & bits.IS_NEEDED) === 0 && !isTyped) {
      this.#first[column] = { row, value: bytes.toString('utf8', start, end) };
      left |= bits.IS_NEEDED;
    }
    return left;
  }

  /** Returns the parameters with which the text column would have another type; undefined: none. */
  hint(column: number, forms: number): FormHint | undefined {
    const first = this.#first[column];
    if ((forms & bits.IS_NEEDED) === 0 || first === undefined) return undefined;
    // A column with only white space and words for no value shows no type.
    if ((forms & bits.PLAIN_FORMS) === bits.PLAIN_FORMS) return undefined;
    const words = this.#nullWords[column] ?? [];
    const hasSpace = (forms & bits.HAS_SPACE) !== 0;
    const nullWords = hasSpace ? [...new Set(words.map(trimText))] : words;
    const isNotation = (forms & (bits.DATE_FORMS | bits.NUMBER_FORMS)) !== 0;
    if (isNotation || (hasSpace && (forms & bits.PLAIN_FORMS) !== 0))
      return { forms: formsOf(forms), first, nullWords };
    const shape = shapeHint(forms);
    return shape && { forms: [], shape: { ...shape, hasSpace }, first, nullWords };
  }

  /** Returns the words for no value, if every other value of the text column is a number or every other value is a date. */
  nullWordsHint(column: number, forms: number): FormHint | undefined {
    const nullWords = this.#nullWords[column];
    const plain = forms & bits.PLAIN_FORMS;
    if (nullWords === undefined || (plain !== bits.PLAIN_NUMBER && plain !== bits.PLAIN_DATE))
      return undefined;
    return { forms: [], plain: plain === bits.PLAIN_DATE ? 'date' : 'number', first: undefined, nullWords };
  }

  /** Returns whether the points of all numbers with a point in the column may separate thousands. */
  isGroupedByPoint(forms: number): boolean {
    return (forms & bits.COMMA_FORMS) === bits.GROUPED_BY_POINT;
  }

  /** Returns the forms among `forms` that the text has. */
  #notationsOf(forms: number, bytes: Buffer, start: number, end: number): number {
    if (end - start > maxDateBytes) return 0;
    let found = 0;
    for (const { bit, order } of dateForms) {
      if ((forms & bit) !== 0 && this.#readsDate(order, bytes, start, end)) found |= bit;
    }
    for (const { bit, signs } of numberForms) {
      if ((forms & bit) !== 0 && this.#readsNumber(signs, bytes, start, end)) found |= bit;
    }
    return found;
  }

  /** Notes a word for no value. Returns false if the column has more such words than a request could name. */
  #noteNullWord(column: number, word: string): boolean {
    this.#nullWords[column] ??= [];
    const words = this.#nullWords[column];
    if (words.includes(word)) return true;
    if (words.length === maxNullWords) return false;
    words.push(word);
    return true;
  }

  #readsDate(order: number, bytes: Buffer, start: number, end: number): boolean {
    const length = readDate(bytes, start, end, order, this.#scratch);
    return length > 0 && classifyString(this.#scratch, 0, length) !== OTHER;
  }

  #readsNumber(signs: NumberSigns, bytes: Buffer, start: number, end: number): boolean {
    const length = readNumber(bytes, start, end, signs, this.#scratch);
    return length > 0 && bytes[start] !== PLUS && textKind(this.#scratch, 0, length) === NUMBER;
  }
}

/** Returns the notations that a column may have after a value of the class `found` (seen.ts). */
function notationsWithClass(found: number): number {
  switch (found) {
    case WHOLE:
    case EXACT:
      return bits.NUMBER_FORMS | bits.PLAIN_NUMBER;
    case DATE_STRING:
    case DATE_CELL:
      return bits.DATE_FORMS | bits.PLAIN_DATE;
    case TIMESTAMP_STRING:
    case TIMESTAMPTZ_STRING:
    case TIMESTAMP_CELL:
      return bits.DATE_FORMS;
    default:
      return 0;
  }
}

/** Returns the shapes among `forms` that the text has, and what it shows of them. */
function shapesAmong(forms: number, bytes: Buffer, start: number, end: number): number {
  if ((forms & bits.SHAPES) === 0) return 0;
  const found = shapesOf(bytes, start, end);
  const left = forms & found & bits.SHAPES;
  return left === 0 ? 0 : left | (found & bits.SHAPE_FACTS);
}

/** Returns the form of `bits.PLAIN_FORMS` that the text has; 0: none. */
function plainForm(kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind === TEXT && textKind(bytes, start, end) === NUMBER) return bits.PLAIN_NUMBER;
  return classifyString(bytes, start, end) === DATE_STRING ? bits.PLAIN_DATE : 0;
}

function formsOf(forms: number): FormHint['forms'] {
  if ((forms & bits.HAS_SPACE) === 0) return notationsOf(forms);
  if ((forms & bits.PLAIN_FORMS) === 0) {
    return notationsOf(forms).map((form) => ({ ...form, parameters: { ...form.parameters, trim: 'true' } }));
  }
  const values = (forms & bits.PLAIN_NUMBER) === 0 ? 'dates' : 'numbers';
  return [{ parameters: { trim: 'true' }, looksLike: `${values} with white space around them` }];
}

function notationsOf(forms: number): FormHint['forms'] {
  const dates = dateForms.filter(({ bit }) => (forms & bit) !== 0);
  return dates.length > 0 ? dates : fewest(numberForms.filter(({ bit }) => (forms & bit) !== 0));
}

/**
 * Returns the forms to name in a hint. If forms without a thousands sign are possible, `1,234.5` is the only other form that is
 * named.
 */
function fewest(forms: NumberForm[]): NumberForm[] {
  const alone = forms.filter(({ signs }) => signs.thousands === 0);
  const withComma = forms.filter(({ signs }) => signs.decimal === POINT && signs.thousands === COMMA);
  if (alone.length > 0) return [...alone, ...withComma];
  return forms.slice(0, 1);
}

function numberForm(bit: number, decimal: number, thousands: number): NumberForm {
  const decimals = decimal === COMMA ? 'a comma before the decimals' : '';
  const between = {
    0: '',
    [COMMA]: 'a comma',
    [POINT]: 'a point',
    [SPACE]: 'a space',
    [APOSTROPHE]: 'an apostrophe',
  }[thousands];
  const groups = between && `${between} between thousands`;
  const looksLike = `numbers with ${[groups, decimals].filter((part) => part).join(' and ')}`;
  const parameters = {
    ...(decimal === COMMA && { decimal_sign: ',' }),
    ...(thousands !== 0 && {
      thousands_sign: thousands === SPACE ? 'space' : String.fromCharCode(thousands),
    }),
  };
  return { bit, signs: { decimal, thousands }, parameters, looksLike };
}
