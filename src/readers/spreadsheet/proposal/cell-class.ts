/**
 * Divides the cells of a sheet into a few classes, which show where a table begins: a header consists of texts, and the rows below it often have
 * other values. A text of digits and signs (`1.234,50`, `21/11/2026`) counts as a number, because people often write numbers and dates as text.
 */

import { COMMA, LOWER_E, MINUS, PLUS, POINT, ZERO } from '../../../core/bytes/ascii.ts';
import { isBlank } from '../../../core/bytes/white-space.ts';
import { FALSE, NULL, STRING, TEXT, TRUE } from '../../../core/cells/cell-kind.ts';
import { textKind } from '../../../core/cells/text-kind.ts';

export const BLANK = 0;
export const WORDS = 1;
export const NUMBER_LIKE = 2;
export const MOMENT_LIKE = 3;
export const TRUTH = 4;
/** A text of digits and signs that is not one plain number: `21/11/2026`, `10-14`, `5 %`. It may be a header above numbers. */
export const NUMBER_TEXT = 5;
/** Signs and letters for a missing value (`-`, `?`, `(NA)`), and errors. They show nothing about the type of their column, and a header may contain them (`#`, `%`). */
export const SIGNS = 6;

/** @param kind one of cell-kind.ts */
export function cellClass(kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind === STRING || kind === TEXT) return textClass(kind, bytes, start, end);
  if (kind === NULL) return BLANK;
  return kind === TRUE || kind === FALSE ? TRUTH : NUMBER_LIKE;
}

/** A longer text is neither a number nor a date. */
const maxNumberBytes = 1024;

function textClass(kind: number, bytes: Buffer, start: number, end: number): number {
  if (isBlank(bytes, start, end)) return BLANK;
  if (end - start > maxNumberBytes) return WORDS;
  let digits = 0;
  let isPlain = true;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (isDigit(byte)) digits++;
    else if (digits > 0 && isExponent(bytes, at, end)) at++;
    else if (isLetter(byte)) return lettersClass(kind, bytes, start, end);
    else if (byte >= 0x80) {
      const length = signLength(bytes, at, end);
      if (length === 0) return WORDS;
      if (isDash(bytes, at)) isPlain = false;
      at += length - 1;
    } else if (byte > 0x20 && byte !== POINT && byte !== COMMA && at > start) isPlain = false;
  }
  if (digits === 0) return SIGNS;
  return isPlain ? NUMBER_LIKE : NUMBER_TEXT;
}

/** Returns whether an exponent such as `e5` or `E+05` begins here. */
function isExponent(bytes: Buffer, at: number, end: number): boolean {
  if ((bytes[at]! | 0x20) !== LOWER_E || at + 1 >= end) return false;
  const next = bytes[at + 1]!;
  const isSigned = (next === PLUS || next === MINUS) && at + 2 < end;
  return isDigit(next) || (isSigned && isDigit(bytes[at + 2]!));
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Returns the class of a text that has letters. */
function lettersClass(kind: number, bytes: Buffer, start: number, end: number): number {
  if (isMissingMark(bytes, start, end)) return SIGNS;
  if (kind !== TEXT) return WORDS;
  const found = textKind(bytes, start, end);
  return found === TRUE || found === FALSE ? TRUTH : WORDS;
}

/** Statistical tables have one to three letters in brackets where a value is missing: `(X)`, `(D)`. Programs write `NA` and `NaN`. */
const missingMark = /^(?:\([a-z]{1,3}\)|n\/?a|nan)$/i;
const longestMark = 5;

function isMissingMark(bytes: Buffer, start: number, end: number): boolean {
  return end - start <= longestMark && missingMark.test(bytes.toString('latin1', start, end));
}

/** Returns the length in UTF-8 of a currency sign, dash or space that is not ASCII; 0: it is another character. */
function signLength(bytes: Buffer, at: number, end: number): number {
  const second = at + 1 < end ? bytes[at + 1]! : 0;
  const first = bytes[at]!;
  // No-break space, cent, pound, yen, degree.
  if (first === 0xc2) return second === 0xa0 || (second >= 0xa2 && second <= 0xa5) || second === 0xb0 ? 2 : 0;
  const third = at + 2 < end ? bytes[at + 2]! : 0;
  if (first === 0xe3) return second === 0x80 && third === 0x80 ? 3 : 0;
  if (first !== 0xe2) return 0;
  // Dashes and thin spaces (U+2000 to U+203F), currency signs (U+20A0 to U+20BF), the minus sign (U+2212).
  const isSign = second === 0x80 || (second === 0x82 && third >= 0xa0) || (second === 0x88 && third === 0x92);
  return isSign ? 3 : 0;
}

/** Returns whether the character is one of U+2010 to U+2015, as in `5–9`. */
function isDash(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0xe2 && bytes[at + 1] === 0x80 && bytes[at + 2]! >= 0x90 && bytes[at + 2]! <= 0x95;
}

/** The value of a number that is not a whole number of up to 5 digits. */
export const NO_VALUE = -0x8000_0000;

/**
 * Returns a number by which the cells of a row are compared: a whole number of up to 5 digits as its value, a text as its hash.
 *
 * @param found the class of the cell
 */
export function cellValue(found: number, bytes: Buffer, start: number, end: number): number {
  if (found === NUMBER_LIKE) return smallNumber(bytes, start, end);
  let hash = 0x811c9dc5;
  const last = Math.min(end, start + maxHashedBytes);
  for (let at = start; at < last; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash;
}

const maxHashedBytes = 128;

function smallNumber(bytes: Buffer, start: number, end: number): number {
  if (end - start > 5) return NO_VALUE;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit < 0 || digit > 9) return NO_VALUE;
    value = 10 * value + digit;
  }
  return value;
}
