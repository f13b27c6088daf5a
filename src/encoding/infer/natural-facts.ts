/**
 * Collects what `values=natural` must know of the values of columns besides their forms (form-bits.ts): whether two forms read a
 * value differently, which types the values need, and what would be lost. Every fact is a union over all values, so the order of
 * the rows does not matter.
 */

import { POINT } from '../../core/bytes/ascii.ts';
import { ENGLISH_PAIRS, IS_TRUE } from '../text-reading/natural/language-words.ts';
import * as seen from '../text-reading/seen.ts';

/** A date without a time, with a time, and with a time and an offset. */
export const DATE_ONLY = 1 << 0;
export const WITH_TIME = 1 << 1;
export const WITH_OFFSET = 1 << 2;
/** A value is a different date in the two orders. */
export const DMY_IS_NOT_MDY = 1 << 3;
export const DMY_IS_NOT_YMD = 1 << 4;
export const MDY_IS_NOT_YMD = 1 << 5;
/** A number that does not fit `bigint`: if its decimal sign is a point, and if it is a comma. */
export const FRACTION_BY_POINT = 1 << 6;
export const FRACTION_BY_COMMA = 1 << 7;
/** A number has a point or a comma, so the decimal sign changes its value. */
export const HAS_SIGN = 1 << 8;
/** A time or duration of two numbers, `14:30`; one of two numbers and a fraction, `02:30.5`; one that PostgreSQL would round. */
export const TWO_NUMBERS = 1 << 9;
export const MINUTES_AND_FRACTION = 1 << 10;
export const IS_INEXACT = 1 << 11;
/** Two amounts have different currencies. As numbers they would not show this. */
export const CURRENCIES_DIFFER = 1 << 12;
/** A word for true or false that PostgreSQL itself does not read. */
export const HAS_FOREIGN_WORD = 1 << 13;
/** A time has AM or PM, and one has neither. Both together may be a mistake. */
export const HAS_HALF = 1 << 14;
export const HAS_NO_HALF = 1 << 15;

/** The first date of a column with a year of two digits. */
export interface ShortYearSighting {
  row: number;
  text: string;
}

/** What is known of one column. */
export interface ColumnFacts {
  facts: number;
  /** The pairs of words (language-words.ts) to which all words of the column belong. */
  pairs: number;
  /** The sign of the first amount. */
  currency: Buffer | undefined;
  shortYear: ShortYearSighting | undefined;
}

/** The maximum length of a number that certainly fits `bigint` if its points are removed. */
const maxWholeBytes = 23;

export class NaturalFacts {
  /** A fact has changed since this was last set to false. */
  hasChanged = false;
  readonly #columns: ColumnFacts[] = [];

  of(column: number): ColumnFacts {
    this.#columns[column] ??= { facts: 0, pairs: -1, currency: undefined, shortYear: undefined };
    return this.#columns[column];
  }

  add(column: number, facts: number): void {
    const found = this.of(column);
    if ((found.facts & facts) === facts) return;
    found.facts |= facts;
    this.hasChanged = true;
  }

  /** Notes a date of the class `found` (seen.ts). */
  addDate(column: number, found: number): void {
    this.add(column, factOfDate(found));
  }

  /** Notes a number that has a fraction or is too large for `bigint`. @param isText it comes from a text, not from a number of JSON or a workbook */
  addExact(column: number, isText: boolean, bytes: Buffer, start: number, end: number): void {
    let hasPoint = false;
    for (let at = start; isText && at < end && !hasPoint; at++) hasPoint = bytes[at] === POINT;
    const mayBeWhole = hasPoint && end - start <= maxWholeBytes;
    this.add(column, FRACTION_BY_POINT | (mayBeWhole ? 0 : FRACTION_BY_COMMA) | (hasPoint ? HAS_SIGN : 0));
  }

  /** @param word a value of `LanguageWords.trueFalse` */
  addWord(column: number, word: number): void {
    const found = this.of(column);
    const pairs = found.pairs & word & ~IS_TRUE;
    if (pairs === found.pairs) return;
    found.pairs = pairs;
    this.hasChanged = true;
  }

  /** Notes `true` or `false`, in small letters. */
  addBoolean(column: number): void {
    this.addWord(column, ENGLISH_PAIRS & -ENGLISH_PAIRS);
  }

  addCurrency(column: number, bytes: Buffer, start: number, end: number): void {
    const found = this.of(column);
    found.currency ??= Buffer.from(bytes.subarray(start, end));
    const { currency } = found;
    let isSame = currency.length === end - start;
    for (let at = 0; isSame && at < currency.length; at++) isSame = currency[at] === bytes[start + at];
    if (!isSame) this.add(column, CURRENCIES_DIFFER);
  }

  addShortYear(column: number, row: number, bytes: Buffer, start: number, end: number): void {
    const found = this.of(column);
    found.shortYear ??= { row, text: bytes.toString('utf8', start, end) };
  }
}

function factOfDate(found: number): number {
  switch (found) {
    case seen.DATE_STRING:
    case seen.DATE_CELL:
      return DATE_ONLY;
    case seen.TIMESTAMP_STRING:
    case seen.TIMESTAMP_CELL:
      return WITH_TIME;
    case seen.TIMESTAMPTZ_STRING:
      return WITH_OFFSET;
    default:
      return 0;
  }
}
