/**
 * Finds text columns in which every value would be a date or a number if the request named the notation (`date_order`,
 * `decimal_sign`, `thousands_sign`), the words for no value (`null_values`), or that white space is removed (`trim`). The
 * service does not guess: a warning names the parameters. Values that no parameter reads are found in text-shapes.ts.
 *
 * A column has one bit for each form that all of its values so far may have. Most columns of text lose all bits with their
 * first value.
 */

import { COMMA, isDigit, PLUS, POINT } from '../../core/bytes/ascii.ts';
import { trimmedEnd, trimmedStart, trimText } from '../../core/bytes/white-space.ts';
import { daysFromCivil } from '../../core/cells/calendar.ts';
import { NUMBER, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import { lastDate, maxDateBytes } from '../text-reading/date-form.ts';
import { readAnyDate } from '../text-reading/named-date.ts';
import { amount } from '../text-reading/natural/amount-signs.ts';
import { clock } from '../text-reading/natural/clock.ts';
import { englishWords, IS_TRUE, type LanguageWords } from '../text-reading/natural/language-words.ts';
import { readNaturalNumber } from '../text-reading/natural/natural-number.ts';
import type { Notation } from '../text-reading/natural/notation.ts';
import { type NumberSigns, readNumber } from '../text-reading/number-form.ts';
import * as seen from '../text-reading/seen.ts';
import { classifyString } from '../text-reading/string-class.ts';
import * as bits from './form-bits.ts';
import * as of from './natural-facts.ts';
import { type NaturalReading, naturalReading, type PreferredForms } from './natural-type.ts';
import { dateForms, type NumberForm, numberForms } from './notation-forms.ts';
import { classifyNumber } from './number-class.ts';
import type { Sighting } from './odd-values.ts';
import { queryText } from './query-text.ts';
import { type ShapeHint, shapeHint, shapesOf, shapesOfGrouped, shapesWithClass } from './text-shapes.ts';

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
  '..',
  ':',
  '?',
  '\\n',
  'k.a.',
  'unknown',
]);
const maxNullWordBytes = 7;
/** Some programs write `####` or `****` if a value is wider than its column. */
const manySigns = /^(?:#{3,}|\*{3,})$/;
const NUMBER_SIGN = 0x23;
const ASTERISK = 0x2a;
const maxNullWords = 20;

/** Returns whether the text is a word that people and programs write if there is no value: `n/a`. */
export function isNullWord(text: string): boolean {
  const word = trimText(text);
  return nullWords.has(word.toLowerCase()) || manySigns.test(word);
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
  /** What the values are, if `values=natural` reads them and no other parameter does. */
  natural?: string;
  /** The first value that PostgreSQL itself cannot read; undefined: only the words for no value need a parameter. */
  first: Sighting | undefined;
  /** The words for no value that occur in the column. */
  nullWords: string[];
}

/** Returns the parameters with which the text of one cell would be a date or a number, as a query string; undefined: there are none. */
export function parameterReading(
  isDate: boolean,
  bytes: Buffer,
  start: number,
  end: number,
): string | undefined {
  const asked = isDate ? bits.DATE_FORMS : bits.NUMBER_FORMS;
  const forms = new TextForms().withText(asked, STRING, 0, 0, bytes, start, end);
  if ((forms & bits.IS_NEEDED) === 0) return undefined;
  if ((forms & bits.DECORATIONS) !== 0) return 'values=natural';
  return formsOf(forms)
    .map(({ parameters }) => queryText(parameters))
    .join(' or ');
}

const commaAndPoints: NumberSigns = { decimal: COMMA, thousands: POINT };
/** The output of `readNumber`, which `isGroupedByPoint` ignores. Digits beyond its end are not written. */
const unused = Buffer.alloc(64);

/** Returns whether the points of a number with a point may separate its thousands: true for `1.234`, but not for `0.234` and `1.5`. */
export function isGroupedByPoint(bytes: Buffer, start: number, end: number): boolean {
  return readNumber(bytes, start, end, commaAndPoints, unused) > 0;
}

/** Keeps, for the columns of one source, the forms that their values may have. */
export class TextForms {
  /** Other facts about the values of the columns. */
  readonly facts = new of.NaturalFacts();
  readonly #words: LanguageWords;
  readonly #first: (Sighting | undefined)[] = [];
  readonly #nullWords: (string[] | undefined)[] = [];
  readonly #scratch = Buffer.alloc(256);
  /** The data row of the current text. */
  row = 0;

  constructor(words = englishWords) {
    this.#words = words;
  }

  /** Returns the forms that are still possible after a value of the class `found` (seen.ts), which is not `OTHER`. */
  withClass(forms: number, found: number, column: number): number {
    this.facts.addDate(column, found);
    if (found === seen.BOOLEAN) this.facts.addBoolean(column);
    const left = (forms & bits.FACTS) | (forms & notationsWithClass(found)) | shapesWithClass(forms, found);
    return (left & ~bits.FACTS) === 0 ? 0 : left;
  }

  /** Returns the forms that are still possible after a number with a point, `1.5`, in a file whose cells have no types. */
  withPoint(forms: number, column: number, bytes: Buffer, start: number, end: number): number {
    if ((forms & bits.COMMA_FORMS) === 0 || !bytes.subarray(start, end).includes(POINT)) return forms;
    if (!isGroupedByPoint(bytes, start, end)) return forms & ~bits.COMMA_FORMS;
    this.#first[column] ??= { row: this.row, value: bytes.toString('latin1', start, end) };
    return forms & ~(bits.COMMA_FORMS & ~bits.GROUPED_BY_POINT);
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
    this.row = row;
    // If a column can only have shapes (text-shapes.ts), most values need no other check. This shortcut saves time.
    if ((forms & bits.NOTATIONS) === 0 && (forms & bits.IS_NEEDED) !== 0) {
      const shape = this.#shapesAmong(forms, column, bytes, start, end);
      if ((shape & bits.SHAPES) !== 0) return (forms & bits.FACTS) | shape;
    }
    const from = trimmedStart(bytes, start, end);
    const to = trimmedEnd(bytes, from, end);
    const mayBeNullWord =
      end - start <= maxNullWordBytes || bytes[from] === NUMBER_SIGN || bytes[from] === ASTERISK;
    if (mayBeNullWord && from < to && !isDigit(bytes[from]!)) {
      const word = bytes.toString('utf8', start, end);
      if (isNullWord(word)) {
        return this.#noteNullWord(column, word) ? forms : 0;
      }
    }
    const hasSpace = from !== start || to !== end;
    const plain = hasSpace ? plainForm(kind, bytes, from, to) : 0;
    let left = (forms & bits.FACTS) | (hasSpace ? bits.HAS_SPACE : 0);
    // In a text file, a text of white space means "no value" if white space is removed.
    if (from === to && kind === TEXT) left |= forms;
    else if (plain === bits.PLAIN_NUMBER) {
      left |=
        this.withPoint(forms & (bits.NUMBER_FORMS | bits.PLAIN_NUMBER), column, bytes, from, to) |
        shapesWithClass(forms, seen.WHOLE);
      if (classifyNumber(bytes, from, to) !== seen.WHOLE) this.facts.addExact(column, true, bytes, from, to);
    } else if (plain === bits.PLAIN_DATE) {
      left |= forms & (bits.DATE_FORMS | bits.PLAIN_DATE);
      this.facts.addDate(column, seen.DATE_STRING);
    } else {
      const notations = this.#notationsOf(forms, column, bytes, from, to);
      if ((notations & bits.NUMBER_FORMS) !== 0) left |= notations | shapesOfGrouped(forms);
      else left |= notations !== 0 ? notations : this.#shapesAmong(forms, column, bytes, from, to);
    }
    if ((left & ~bits.FACTS) === 0) return 0;
    if ((left & bits.IS_NEEDED) !== 0) return left;
    // A text that PostgreSQL itself can read as a number does not show which signs are used.
    const isTyped = (kind === TEXT ? textKind(bytes, start, end) : textKind(bytes, from, to)) !== STRING;
    if (!isTyped) left |= bits.IS_NEEDED;
    else if (this.#first[column] !== undefined || !this.isGroupedByPoint(left)) return left;
    this.#first[column] = { row, value: bytes.toString('utf8', start, end) };
    return left;
  }

  /** Returns the first date with a year of two digits, and how it is read. */
  shortYear(column: number, notation: Notation): (of.ShortYearSighting & { readAs: string }) | undefined {
    const { shortYear } = this.facts.of(column);
    if (notation.kind !== 'date' || shortYear === undefined) return undefined;
    const text = Buffer.from(shortYear.text);
    const { order } = notation;
    readAnyDate(text, 0, text.length, { order, words: this.#words }, this.#scratch);
    return { ...shortYear, readAs: this.#scratch.toString('latin1', 0, 10) };
  }

  /** Returns the first value that needs a notation, or whose point may separate thousands. */
  firstNeeding(column: number): Sighting | undefined {
    return this.#first[column];
  }

  /** Returns how `values=natural` reads the column; undefined: as text. */
  naturalReading(column: number, forms: number, preferred: PreferredForms): NaturalReading | undefined {
    // A word for no value makes the column text, because it becomes NULL only if the caller says so.
    if (this.#nullWords[column] !== undefined) return undefined;
    return naturalReading(forms, this.facts.of(column), preferred);
  }

  /** Returns the parameters with which the text column would have another type; undefined: none. */
  hint(column: number, forms: number, preferred: PreferredForms): FormHint | undefined {
    const first = this.#first[column];
    if ((forms & bits.IS_NEEDED) === 0 || first === undefined) return undefined;
    // If all values are white space or words for no value, the column shows no type.
    if ((forms & bits.PLAIN_FORMS) === bits.PLAIN_FORMS) return undefined;
    const words = this.#nullWords[column] ?? [];
    const hasSpace = (forms & bits.HAS_SPACE) !== 0;
    const nullWords = hasSpace ? [...new Set(words.map(trimText))] : words;
    const isDecorated = (forms & bits.DECORATIONS) !== 0;
    const isNotation = (forms & (bits.DATE_FORMS | bits.NUMBER_FORMS)) !== 0;
    if (!isDecorated && (isNotation || (hasSpace && (forms & bits.PLAIN_FORMS) !== 0)))
      return { forms: formsOf(forms), first, nullWords };
    const natural = naturalReading(forms, this.facts.of(column), preferred)?.looksLike;
    const open = isDecorated && natural === undefined ? this.#openForms(column, forms) : [];
    if (open.length > 0) return { forms: open, first, nullWords };
    const shape = shapeHint(forms, (this.facts.of(column).facts & of.HAS_FOREIGN_WORD) !== 0);
    if (shape !== undefined)
      return {
        forms: [],
        shape: { ...shape, hasSpace },
        ...(natural !== undefined && { natural }),
        first,
        nullWords,
      };
    return natural === undefined ? undefined : { forms: [], natural, first, nullWords };
  }

  /** Returns a form with a decimal point and one with a comma, if `values=natural` can read the column only when the caller names one of them. */
  #openForms(column: number, forms: number): FormHint['forms'] {
    const reads = ({ bit }: NumberForm) => naturalReading(forms, this.facts.of(column), bit) !== undefined;
    const fitting = numberForms.filter(reads);
    return [COMMA, POINT].flatMap((decimal) => {
      const form = fitting.find(({ signs }) => signs.decimal === decimal);
      if (form === undefined) return [];
      return [{ looksLike: form.looksLike, parameters: { values: 'natural', ...form.parameters } }];
    });
  }

  /** Returns the words for no value, if every other value of the text column is a number or every other value is a date. */
  nullWordsHint(column: number, forms: number): FormHint | undefined {
    const nullWords = this.#nullWords[column];
    const plain = forms & bits.PLAIN_FORMS;
    if (nullWords === undefined || (forms & bits.DECORATIONS) !== 0) return undefined;
    if (plain !== bits.PLAIN_NUMBER && plain !== bits.PLAIN_DATE) return undefined;
    return { forms: [], plain: plain === bits.PLAIN_DATE ? 'date' : 'number', first: undefined, nullWords };
  }

  /** Returns whether the points of all numbers with a point in the column may separate thousands. */
  isGroupedByPoint(forms: number): boolean {
    return (forms & bits.COMMA_FORMS) === bits.GROUPED_BY_POINT;
  }

  /** Returns the forms among `forms` that the text has. */
  #notationsOf(forms: number, column: number, bytes: Buffer, start: number, end: number): number {
    if (end - start > maxDateBytes) return 0;
    let found = this.#datesOf(forms, column, bytes, start, end);
    if (found !== 0) return found;
    for (const { bit, signs } of numberForms) {
      if ((forms & bit) !== 0 && this.#readsNumber(signs, column, bytes, start, end)) found |= bit;
    }
    if (found !== 0 && hasPointOrComma(bytes, start, end)) this.facts.add(column, of.HAS_SIGN);
    return found;
  }

  /** Returns the orders among `forms` in which the text is a date, and notes whether they read it differently. */
  #datesOf(forms: number, column: number, bytes: Buffer, start: number, end: number): number {
    let found = 0;
    let hasShortYear = false;
    for (const { bit, order } of dateForms) {
      if ((forms & bit) === 0) continue;
      form.order = order;
      form.words = this.#words;
      const length = readAnyDate(bytes, start, end, form, this.#scratch);
      const kind = length < 0 ? seen.OTHER : classifyString(this.#scratch, 0, length);
      if (kind === seen.OTHER) continue;
      found |= bit;
      hasShortYear ||= lastDate.hasShortYear;
      daysRead[order] = daysOf(this.#scratch);
      this.facts.addDate(column, kind);
    }
    if (found === 0) return 0;
    const [, dmy, mdy, ymd] = daysRead;
    let differences = 0;
    if ((found & bits.DMY) !== 0 && (found & bits.MDY) !== 0 && dmy !== mdy) differences |= of.DMY_IS_NOT_MDY;
    if ((found & bits.DMY) !== 0 && (found & bits.YMD) !== 0 && dmy !== ymd) differences |= of.DMY_IS_NOT_YMD;
    if ((found & bits.MDY) !== 0 && (found & bits.YMD) !== 0 && mdy !== ymd) differences |= of.MDY_IS_NOT_YMD;
    if (differences !== 0) this.facts.add(column, differences);
    if (hasShortYear) this.facts.addShortYear(column, this.row, bytes, start, end);
    return found;
  }

  /** Returns the shapes among `forms` that the text has, and the facts that it shows. Numbers with signs around them also have number forms. */
  #shapesAmong(forms: number, column: number, bytes: Buffer, start: number, end: number): number {
    if ((forms & (bits.SHAPES | bits.NUMBER_FORMS | bits.PLAIN_NUMBER)) === 0) return 0;
    let found = shapesOf(bytes, start, end);
    if ((forms & bits.WORD_SHAPES) !== 0 && end - start <= maxWordBytes) {
      const word = this.#words.trueFalse.find(bytes, start, end);
      if (word !== 0) {
        if (found === 0) this.facts.add(column, of.HAS_FOREIGN_WORD);
        found |= bits.YES_NO | ((word & IS_TRUE) !== 0 ? bits.HAS_TRUE : bits.HAS_FALSE);
        this.facts.addWord(column, word);
      }
    }
    if ((found & (bits.TIME | bits.DURATION)) !== 0) this.#noteClock(column);
    let left = forms & found & bits.SHAPES;
    if ((found & bits.NUMBER_SHAPES) !== 0) left |= this.#amountForms(forms, column, bytes, start, end);
    return left === 0 ? 0 : left | (found & bits.SHAPE_FACTS);
  }

  #noteClock(column: number): void {
    let facts = clock.hasHalf ? of.HAS_HALF : of.HAS_NO_HALF;
    if (!clock.hasThird && !clock.hasHalf)
      facts |= clock.hasFraction ? of.MINUTES_AND_FRACTION : of.TWO_NUMBERS;
    if (clock.isInexact) facts |= of.IS_INEXACT;
    this.facts.add(column, facts);
  }

  /** Returns the number forms among `forms` of an amount, a percentage or a number with an exponent. */
  #amountForms(forms: number, column: number, bytes: Buffer, start: number, end: number): number {
    let found = 0;
    if ((forms & bits.PLAIN_NUMBER) !== 0 && this.#readsAmount(plainSigns, column, bytes, start, end))
      found |= bits.PLAIN_NUMBER;
    for (const { bit, signs } of numberForms) {
      if ((forms & bit) !== 0 && this.#readsAmount(signs, column, bytes, start, end)) found |= bit;
    }
    if (found === 0) return 0;
    if (hasPointOrComma(bytes, start, end)) this.facts.add(column, of.HAS_SIGN);
    // `amount` has the signs around the number, which `readNaturalNumber` has found.
    const { currencyStart, currencyEnd } = amount;
    if (currencyStart < currencyEnd) this.facts.addCurrency(column, bytes, currencyStart, currencyEnd);
    return found;
  }

  #readsAmount(signs: NumberSigns, column: number, bytes: Buffer, start: number, end: number): boolean {
    const length = readNaturalNumber(bytes, start, end, signs, this.#scratch);
    return length > 0 && this.#noteNumber(signs, length, column);
  }

  /** Records what the number in `#scratch` shows about its column. Returns whether a number type can store it. */
  #noteNumber({ decimal }: NumberSigns, length: number, column: number): boolean {
    const found = classifyNumber(this.#scratch, 0, length);
    if (found !== seen.WHOLE && found !== seen.EXACT) return false;
    if (found === seen.EXACT)
      this.facts.add(column, decimal === COMMA ? of.FRACTION_BY_COMMA : of.FRACTION_BY_POINT);
    return true;
  }

  /** Notes a word for no value. Returns false if the column has more such words than a request could name. */
  #noteNullWord(column: number, word: string): boolean {
    this.#nullWords[column] ??= [];
    const words = this.#nullWords[column];
    if (words.includes(word)) return true;
    if (words.length === maxNullWords) return false;
    words.push(word);
    this.facts.hasChanged = true;
    return true;
  }

  #readsNumber(signs: NumberSigns, column: number, bytes: Buffer, start: number, end: number): boolean {
    const length = readNumber(bytes, start, end, signs, this.#scratch);
    if (length <= 0 || bytes[start] === PLUS || textKind(this.#scratch, 0, length) !== NUMBER) return false;
    return this.#noteNumber(signs, length, column);
  }
}

/** The words for true and false are not longer. */
const maxWordBytes = 16;
const plainSigns: NumberSigns = { decimal: POINT, thousands: 0 };
/** The notation of the date that is tried. */
const form = { order: 0, words: englishWords };
/** For each order, the days since 2000-01-01 of the date that was read last. */
const daysRead = [0, 0, 0, 0];

function daysOf(iso: Buffer): number {
  return daysFromCivil(numberOf(iso, 0, 4), numberOf(iso, 5, 7), numberOf(iso, 8, 10));
}

function numberOf(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) value = value * 10 + bytes[at]! - 0x30;
  return value;
}

function hasPointOrComma(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === POINT || bytes[at] === COMMA) return true;
  return false;
}

/** Returns the notations that a column may have after a value of the class `found` (seen.ts). */
function notationsWithClass(found: number): number {
  switch (found) {
    case seen.WHOLE:
    case seen.EXACT:
      return bits.NUMBER_FORMS | bits.PLAIN_NUMBER;
    case seen.DATE_STRING:
    case seen.DATE_CELL:
      return bits.DATE_FORMS | bits.PLAIN_DATE;
    case seen.TIMESTAMP_STRING:
    case seen.TIMESTAMPTZ_STRING:
    case seen.TIMESTAMP_CELL:
      return bits.DATE_FORMS;
    default:
      return 0;
  }
}

/** Returns the form of `bits.PLAIN_FORMS` that the text has; 0: none. */
function plainForm(kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind === TEXT && textKind(bytes, start, end) === NUMBER) return bits.PLAIN_NUMBER;
  return classifyString(bytes, start, end) === seen.DATE_STRING ? bits.PLAIN_DATE : 0;
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

/** Returns the forms that a hint names. If forms without a thousands sign are possible, the only other form that is named is `1,234.5`. */
function fewest(forms: NumberForm[]): NumberForm[] {
  const alone = forms.filter(({ signs }) => signs.thousands === 0);
  const withComma = forms.filter(({ signs }) => signs.decimal === POINT && signs.thousands === COMMA);
  if (alone.length > 0) return [...alone, ...withComma];
  return forms.slice(0, 1);
}
