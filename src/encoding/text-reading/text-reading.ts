/**
 * Reads the text of cells in the notation of the request: which words mean NULL, the order of day, month and year, and the
 * signs of a number.
 *
 * This is a sink in front of another sink, so it is the same for every source, for inference and for loading. Cells that are
 * not text (numbers and dates of a workbook, numbers of JSON) are passed on unchanged. A text is read as a date or a number
 * only if the column has such a type or, while types are inferred, if the text looks like one. A text column keeps the text.
 */

import { APOSTROPHE, COMMA, isDigit, MINUS, PLUS, POINT, SPACE, ZERO } from '../../core/bytes/ascii.ts';
import { trimmedEnd, trimmedStart } from '../../core/bytes/white-space.ts';
import { daysFromCivil } from '../../core/cells/calendar.ts';
import * as kinds from '../../core/cells/cell-kind.ts';
import {
  ANY_VALUE,
  type CellSink,
  DATE_VALUE,
  NUMBER_VALUE,
  READ_AS_MOMENT,
} from '../../core/cells/cell-sink.ts';
import { ForwardingSink } from '../../core/cells/forwarding-sink.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import { lastDate, maxDateBytes } from './date-form.ts';
import { type DateForm, readAnyDate } from './named-date.ts';
import type { LanguageWords } from './natural/language-words.ts';
import { type NumberSigns, readNumber } from './number-form.ts';
import { DATE_STRING, OTHER } from './seen.ts';
import { classifyString } from './string-class.ts';
import { hasDigit, isIsoDate } from './text-facts.ts';

export type DateOrder = 'iso' | 'dmy' | 'mdy' | 'ymd';
export type DecimalSign = '.' | ',';
export type ThousandsSign = 'none' | '.' | ',' | 'space' | "'";

/** How the text of cells is read. */
export interface TextReading {
  /** The texts that mean NULL. With `trim` they are compared after trimming. */
  nullValues: readonly string[];
  dateOrder: DateOrder;
  decimalSign: DecimalSign;
  thousandsSign: ThousandsSign;
  /** Removes white space around a text. */
  trim: boolean;
  /** The names of months. */
  words: LanguageWords;
}

/** Reads text as `reading` says and passes the cells on to `inner`. */
export class TextReadingSink extends ForwardingSink {
  /** The texts that mean NULL, indexed by their length in bytes. */
  readonly #nullValues: readonly (readonly Buffer[] | undefined)[];
  readonly #dateForm: DateForm;
  readonly #signs: NumberSigns | undefined;
  readonly #trim: boolean;
  readonly #names: string[] = [];
  /** For each column, a constant of cell-sink.ts from `ANY_VALUE` on. */
  readonly #wanted: number[] = [];
  /** For each column, the first date with a year of two digits. */
  readonly #shortYears: (ShortYear | undefined)[] = [];
  #row = 0;
  #scratch = Buffer.alloc(256);

  constructor(inner: CellSink, reading: TextReading) {
    super(inner);
    this.#nullValues = byLength(reading.nullValues);
    this.#dateForm = { order: orders.indexOf(reading.dateOrder), words: reading.words };
    this.#signs = signsOf(reading);
    this.#trim = reading.trim;
  }

  /** Returns the first date with a year of two digits of each column that has one. */
  shortYears(): ShortYear[] {
    return this.#shortYears.filter((found) => found !== undefined);
  }

  override column(column: number, name: string, place?: number, type?: string): void {
    this.inner.column(column, name, place, type);
    this.#names[column] = name;
    this.#wanted[column] = this.inner.wants?.(column) ?? ANY_VALUE;
  }

  override beginRow(row: number): void {
    this.#row = row;
    this.inner.beginRow(row);
  }

  override cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (kind === kinds.STRING || kind === kinds.TEXT) this.#text(column, kind, bytes, start, end);
    else this.inner.cell(column, kind, bytes, start, end);
  }

  longCell(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void> {
    return this.passLong(column, kind, bytes, start, end);
  }

  #text(column: number, kind: number, bytes: Buffer, from: number, to: number): void {
    let start = from;
    let end = to;
    if (this.#trim && from < to) {
      // White space begins and ends with one of these bytes. Most texts have none there, so this test avoids most searches.
      if (bytes[from]! <= SPACE || bytes[from]! > LAST_ASCII) start = trimmedStart(bytes, from, to);
      if (bytes[to - 1]! <= SPACE || bytes[to - 1]! > LAST_ASCII) end = trimmedEnd(bytes, start, to);
    }
    // In a text file, a text that is blank without its spaces is no value. An empty text comes only from `quoted=exact`, and is one.
    if ((kind === kinds.TEXT && start === end && from < to) || this.#isNull(bytes, start, end)) {
      this.inner.cell(column, kinds.NULL, bytes, start, start);
      return;
    }
    if (start === end) {
      this.inner.cell(column, kind, bytes, start, end);
      return;
    }
    switch (this.#wanted[column]) {
      case ANY_VALUE:
        this.#value(column, kind, bytes, start, end);
        return;
      case NUMBER_VALUE:
        this.#number(column, kind, bytes, start, end);
        return;
      case DATE_VALUE:
        this.#date(column, kind, bytes, start, end);
        return;
      default:
        this.inner.cell(column, kind, bytes, start, end);
    }
  }

  /** Reads a text of a column whose type is not known yet. */
  #value(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const dateLength = this.#readDate(bytes, start, end);
    if (dateLength > 0 && this.#takesDate(column, bytes, start, end, dateLength)) return;
    if (this.#dateForm.order > 0 && classifyString(bytes, start, end) === DATE_STRING) {
      this.#putDate(column, bytes, start, bytes, start, end);
      return;
    }
    if (this.#signs === undefined) {
      this.inner.cell(column, kind, bytes, start, end);
      return;
    }
    const length = this.#readNumber(this.#signs, bytes, start, end);
    // A plus sign must not be lost, as in `+49 30`, so such a text stays text.
    if (length > 0 && bytes[start] !== PLUS && textKind(this.#scratch, 0, length) === kinds.NUMBER) {
      this.inner.original?.(this.#scratch, bytes, start, end);
      this.inner.cell(column, kinds.NUMBER, this.#scratch, 0, length);
      return;
    }
    // A number that is not written with the signs of the request is text: for example `1.5`, if the decimal sign is a comma.
    const isOther = kind === kinds.TEXT && textKind(bytes, start, end) === kinds.NUMBER;
    this.inner.cell(column, isOther ? kinds.STRING : kind, bytes, start, end);
  }

  /**
   * Passes on the date in `#scratch`.
   *
   * @returns false if the day or the time does not exist, so that the text is not a date
   */
  #takesDate(column: number, bytes: Buffer, start: number, end: number, length: number): boolean {
    const found = classifyString(this.#scratch, 0, length);
    if (found === OTHER) return false;
    if (lastDate.hasShortYear) this.#noteShortYear(column, bytes, start, end);
    if (found === DATE_STRING) {
      this.#putDate(column, this.#scratch, 0, bytes, start, end);
    } else {
      this.inner.original?.(this.#scratch, bytes, start, end);
      this.inner.cell(column, kinds.STRING, this.#scratch, 0, length);
    }
    return true;
  }

  /** Passes on a date as a date cell. In a column of dates with times, a date cell means midnight of its day. */
  #putDate(column: number, iso: Buffer, at: number, bytes: Buffer, start: number, end: number): void {
    const year = numberAt(iso, at, 4);
    const days = daysFromCivil(year, numberAt(iso, at + 5, 2), numberAt(iso, at + 8, 2));
    this.inner.original?.(READ_AS_MOMENT, bytes, start, end);
    this.inner.moment(column, kinds.DATE, days, 0);
  }

  #number(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#signs === undefined) {
      this.inner.cell(column, kind, bytes, start, end);
      return;
    }
    let at = start < end && bytes[start] === MINUS ? start + 1 : start;
    const firstDigit = at;
    while (at < end && isDigit(bytes[at]!)) at += 1;
    if (at === end && at > firstDigit) {
      // A number without decimal and thousands signs is the same in all notations.
      this.inner.cell(column, kinds.TEXT, bytes, start, end);
      return;
    }
    // A text without digits is `NaN`, `Infinity`, or not a number.
    if (at === firstDigit && !hasDigit(bytes, at, end)) {
      this.inner.cell(column, kind, bytes, start, end);
      return;
    }
    const length = this.#readNumber(this.#signs, bytes, start, end);
    if (length < 0) {
      this.inner.fault(column, kinds.NOT_IN_NUMBER_FORM, bytes, start, end);
      return;
    }
    this.inner.original?.(this.#scratch, bytes, start, end);
    this.inner.cell(column, kinds.TEXT, this.#scratch, 0, length);
  }

  #date(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const length = this.#readDate(bytes, start, end);
    if (length > 0) {
      if (lastDate.hasShortYear) this.#noteShortYear(column, bytes, start, end);
      this.inner.original?.(this.#scratch, bytes, start, end);
      this.inner.cell(column, kind, this.#scratch, 0, length);
      return;
    }
    if (this.#dateForm.order > 0 && start < end && isDigit(bytes[start]!) && !isIsoDate(bytes, start, end)) {
      this.inner.fault(column, kinds.NOT_IN_DATE_ORDER, bytes, start, end);
      return;
    }
    this.inner.cell(column, kind, bytes, start, end);
  }

  /** Reads the text into `#scratch`. Returns the length, or -1. */
  #readDate(bytes: Buffer, start: number, end: number): number {
    if (this.#dateForm.order <= 0 || end - start > maxDateBytes) return -1;
    return readAnyDate(bytes, start, end, this.#dateForm, this.#scratch);
  }

  /** Reads the number into `#scratch` in PostgreSQL's form. Returns its length, or -1 if the text is not a number. */
  #readNumber(signs: NumberSigns, bytes: Buffer, start: number, end: number): number {
    if (end - start > this.#scratch.length) this.#scratch = Buffer.alloc(2 * (end - start));
    return readNumber(bytes, start, end, signs, this.#scratch);
  }

  #isNull(bytes: Buffer, start: number, end: number): boolean {
    const candidates = this.#nullValues[end - start];
    if (candidates === undefined) return false;
    for (const candidate of candidates) {
      if (areEqual(candidate, bytes, start)) return true;
    }
    return false;
  }

  #noteShortYear(column: number, bytes: Buffer, start: number, end: number): void {
    if (this.#shortYears[column] !== undefined) return;
    this.#shortYears[column] = {
      column,
      name: this.#names[column]!,
      row: this.#row,
      text: bytes.toString('utf8', start, end),
      readAs: this.#scratch.toString('latin1', 0, 10),
    };
  }
}

/** A date with a year of two digits, and the date that was read from it. */
export interface ShortYear {
  column: number;
  name: string;
  row: number;
  text: string;
  readAs: string;
}

const LAST_ASCII = 0x7f;

/** The orders of dates. The index of each is its number in date-form.ts. */
const orders: readonly DateOrder[] = ['iso', 'dmy', 'mdy', 'ymd'];

function byLength(texts: readonly string[]): (Buffer[] | undefined)[] {
  const found: (Buffer[] | undefined)[] = [];
  for (const text of texts) {
    const bytes = Buffer.from(text);
    found[bytes.length] = [...(found[bytes.length] ?? []), bytes];
  }
  return found;
}

const thousandsSigns: Record<ThousandsSign, number> = {
  none: 0,
  '.': POINT,
  ',': COMMA,
  space: SPACE,
  "'": APOSTROPHE,
};

/** Returns the signs of numbers; undefined: numbers have the signs of PostgreSQL. */
function signsOf({ decimalSign, thousandsSign }: TextReading): NumberSigns | undefined {
  if (decimalSign === '.' && thousandsSign === 'none') return undefined;
  return { decimal: decimalSign === ',' ? COMMA : POINT, thousands: thousandsSigns[thousandsSign] };
}

function numberAt(bytes: Buffer, at: number, digits: number): number {
  let value = 0;
  for (let place = at; place < at + digits; place += 1) value = value * 10 + (bytes[place]! - ZERO);
  return value;
}

/** Returns whether `text` is at `start`. A loop is faster than `Buffer.compare` for short texts. */
function areEqual(text: Buffer, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < text.length; at += 1) if (bytes[start + at] !== text[at]) return false;
  return true;
}
