/**
 * Reads dates with the name of a month: `17-Jan-94`, `1. März 2026`, `August 01,2017`, `Tuesday, 17 October 2017 14:30`, `1992-Nov-02`.
 *
 * The order of day, month and year is given, as for dates of numbers. Between the parts may be spaces, commas, points, hyphens, slashes
 * and the words `of` and `de`; an ending such as `th` may follow the day. A year of two digits must be the last part, because
 * `01-Feb-03` would otherwise have two meanings. A day of the week must be that of the date.
 */

import { COMMA, isDigit, MINUS, POINT, SLASH, SPACE, ZERO } from '../../core/bytes/ascii.ts';
import { daysFromCivil } from '../../core/cells/calendar.ts';
import {
  DAY_MONTH_YEAR,
  MONTH_DAY_YEAR,
  readDate,
  readTimeAt,
  writeDate,
  YEAR_MONTH_DAY,
} from './date-form.ts';
import type { LanguageWords } from './natural/language-words.ts';
import { afterWord, WordList } from './natural/word-list.ts';

/** The notation of dates. */
export interface DateForm {
  /** `DAY_MONTH_YEAR`, `MONTH_DAY_YEAR` or `YEAR_MONTH_DAY` */
  order: number;
  words: LanguageWords;
}

/** Reads a date like `readDate`, and also dates with the name of a month. */
export function readAnyDate(bytes: Buffer, start: number, end: number, form: DateForm, out: Buffer): number {
  const length = readDate(bytes, start, end, form.order, out);
  return length >= 0 || !hasLetter(bytes, start, end) ? length : readNamedDate(bytes, start, end, form, out);
}

/** The first word of a date must begin within this many bytes. */
const maxBytesBeforeWord = 8;

function hasLetter(bytes: Buffer, start: number, end: number): boolean {
  const stop = Math.min(end, start + maxBytesBeforeWord);
  for (let place = start; place < stop; place++) if (bytes[place]! >= 0x41) return true;
  return false;
}

function readNamedDate(bytes: Buffer, start: number, end: number, form: DateForm, out: Buffer): number {
  const length = readParts(bytes, start, end, form, out);
  if (length >= 0) return length;
  const wordEnd = afterWord(bytes, start, end);
  const weekday = wordEnd === start ? 0 : form.words.weekdays.find(bytes, start, wordEnd);
  if (weekday === 0) return -1;
  const rest = readParts(bytes, afterSeparators(bytes, wordEnd, end), end, form, out);
  return rest >= 0 && weekdayOf(out) === weekday ? rest : -1;
}

const DAY = 0;
const MONTH = 1;
const YEAR = 2;
const partsOf: Record<number, readonly number[]> = {
  [DAY_MONTH_YEAR]: [DAY, MONTH, YEAR],
  [MONTH_DAY_YEAR]: [MONTH, DAY, YEAR],
  [YEAR_MONTH_DAY]: [YEAR, MONTH, DAY],
};

function readParts(bytes: Buffer, start: number, end: number, form: DateForm, out: Buffer): number {
  const parts = partsOf[form.order]!;
  let at = start;
  let day = 0;
  let month = 0;
  let year = 0;
  let yearDigits = 0;
  for (let place = 0; place < parts.length; place++) {
    if (place > 0) at = afterSeparators(bytes, at, end);
    const part = parts[place];
    const partEnd = part === MONTH ? afterWord(bytes, at, end) : afterDigits(bytes, at, end);
    if (partEnd === at) return -1;
    if (part === MONTH) {
      month = form.words.months.find(bytes, at, partEnd);
      if (month === 0) return -1;
      at = partEnd;
    } else if (part === DAY) {
      if (partEnd - at > 2) return -1;
      day = numberAt(bytes, at, partEnd);
      at = afterOrdinal(bytes, partEnd, end);
    } else {
      yearDigits = partEnd - at;
      if (yearDigits !== 4 && (yearDigits !== 2 || place === 0)) return -1;
      year = numberAt(bytes, at, partEnd);
      at = partEnd;
    }
  }
  writeDate(out, year, yearDigits === 2, month, day);
  return at === end ? 10 : readTimeAt(bytes, at, end, out);
}

/** The maximum number of bytes of the separators between two parts. */
const maxSeparatorBytes = 4;
const fillers = new WordList([
  ['of', 1],
  ['de', 1],
]);

/** Returns the position after the separators at `from`, of which one may be a filler word before a space. */
function afterSeparators(bytes: Buffer, from: number, end: number): number {
  let at = afterSigns(bytes, from, end);
  if (at === from || at + 2 >= end || bytes[at + 2] !== SPACE) return at;
  if (fillers.find(bytes, at, at + 2) !== 0) at = afterSigns(bytes, at + 2, end);
  return at;
}

function afterSigns(bytes: Buffer, from: number, end: number): number {
  const stop = Math.min(end, from + maxSeparatorBytes);
  let at = from;
  while (at < stop && isSeparator(bytes[at]!)) at++;
  return at;
}

function isSeparator(byte: number): boolean {
  return byte === SPACE || byte === COMMA || byte === POINT || byte === MINUS || byte === SLASH;
}

const ordinals = new WordList(['st', 'nd', 'rd', 'th', 'er'].map((ending) => [ending, 1]));

function afterOrdinal(bytes: Buffer, at: number, end: number): number {
  const wordEnd = afterWord(bytes, at, end);
  return wordEnd - at === 2 && ordinals.find(bytes, at, wordEnd) !== 0 ? wordEnd : at;
}

function afterDigits(bytes: Buffer, at: number, end: number): number {
  let next = at;
  while (next < end && isDigit(bytes[next]!)) next++;
  return next;
}

function numberAt(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) value = value * 10 + (bytes[at]! - ZERO);
  return value;
}

/** Returns the day of the week of the written date, 1 (Monday) to 7. 2000-01-01 was a Saturday. */
function weekdayOf(out: Buffer): number {
  const days = daysFromCivil(numberAt(out, 0, 4), numberAt(out, 5, 7), numberAt(out, 8, 10));
  return ((((days + 5) % 7) + 7) % 7) + 1;
}
