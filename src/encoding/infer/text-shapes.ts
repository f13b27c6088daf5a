/**
 * Recognizes texts that people read as numbers, times or booleans, and that no parameter of an upload reads: amounts with a currency
 * sign (`€ 1.234,50`, `1,200.00 USD`), negative numbers in parentheses or with the minus sign behind (`(12.00)`, `120-`), percentages
 * (`12 %`), numbers with an exponent (`1.5E+10`), times of day (`14:30`, `2:30 PM`), durations (`26:15`), and words for true and false
 * (`TRUE`, `yes`). Their types would not return the same text, so such columns stay text, and a warning says how to get another type.
 */

import {
  APOSTROPHE,
  COLON,
  COMMA,
  isDigit,
  LOWER_E,
  MINUS,
  PLUS,
  POINT,
  SPACE,
  ZERO,
} from '../../core/bytes/ascii.ts';
import { NUMBER } from '../../core/cells/cell-kind.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import { type NumberSigns, readNumber } from '../text-reading/number-form.ts';
import { BOOLEAN, EXACT, INTERVAL_CELL, TIME_CELL, WHOLE } from '../text-reading/seen.ts';
import * as bits from './form-bits.ts';

/** Returns the shapes that are still possible after a number in another notation, such as `1.234,50`. */
export function shapesOfGrouped(forms: number): number {
  return (forms & (bits.AMOUNT | bits.PERCENT)) | bits.HAS_BARE_NUMBER;
}

/** Returns the shapes that are still possible after a value of the class `found` (seen.ts), which is not `OTHER`. */
export function shapesWithClass(forms: number, found: number): number {
  switch (found) {
    case WHOLE:
    case EXACT:
      return (forms & (bits.NUMBER_SHAPES | bits.SHAPE_FACTS)) | bits.HAS_BARE_NUMBER;
    case BOOLEAN:
      return forms & (bits.TRUE_FALSE | bits.SHAPE_FACTS);
    case TIME_CELL:
      return forms & (bits.TIME | bits.DURATION | bits.SHAPE_FACTS);
    case INTERVAL_CELL:
      return forms & (bits.DURATION | bits.SHAPE_FACTS);
    default:
      return 0;
  }
}

/** What the texts of a column look like, and what the caller can do. */
export interface ShapeHint {
  looksLike: string;
  /** The type that reads the texts in the column of a definition; undefined: none does. */
  type: string | undefined;
}

const signsOfNumbers = [
  { shape: bits.AMOUNT, fact: bits.HAS_CURRENCY, name: 'a currency sign' },
  { shape: bits.AMOUNT, fact: bits.HAS_PARENTHESES, name: 'parentheses' },
  { shape: bits.AMOUNT, fact: bits.HAS_MINUS_BEHIND, name: 'a minus sign at the end' },
  { shape: bits.PERCENT, fact: bits.HAS_PERCENT_SIGN, name: 'a percent sign' },
  { shape: bits.EXPONENT, fact: bits.HAS_EXPONENT, name: 'an exponent' },
  { shape: bits.EXPONENT, fact: bits.HAS_POINT_FIRST, name: 'no digit before the point' },
];

/** Returns what the values with these shapes look like; undefined: they show no shape. */
export function shapeHint(forms: number): ShapeHint | undefined {
  const signs = signsOfNumbers.filter(({ shape, fact }) => (forms & shape) !== 0 && (forms & fact) !== 0);
  if (signs.length > 0) {
    const isSome = (forms & bits.HAS_BARE_NUMBER) !== 0 || signs.length > 1;
    const names = signs.map(({ name }) => name).join(' or ');
    const type = (forms & bits.EXPONENT) !== 0 ? 'numeric' : undefined;
    return { looksLike: `numbers${isSome ? ', some of them' : ''} with ${names}`, type };
  }
  if ((forms & bits.TIME) !== 0) return { looksLike: 'times of day', type: 'time' };
  if ((forms & bits.DURATION) !== 0) return { looksLike: 'durations', type: 'interval' };
  const isTrueFalse = (forms & bits.TRUE_FALSE) !== 0 && (forms & bits.HAS_WHOLE_WORD) !== 0;
  const hasBoth = (forms & bits.HAS_TRUE) !== 0 && (forms & bits.HAS_FALSE) !== 0;
  if (isTrueFalse || ((forms & (bits.TRUE_FALSE | bits.YES_NO)) !== 0 && hasBoth))
    return { looksLike: 'words for true and false', type: 'boolean' };
  return undefined;
}

/**
 * Returns the shapes that the text has, together with what it shows; 0: none.
 *
 * @param start the text has no white space around it
 */
export function shapesOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length > maxShapeBytes) return 0;
  if (bytes[start]! >= 0x41 && length <= maxWordBytes) {
    const word = wordShape(bytes, start, end);
    if (word !== 0) return word;
  }
  return timeShape(bytes, start, end) || numberShape(bytes, start, end);
}

/** A longer text is not an amount that people write. */
const maxShapeBytes = 64;

/** The words that PostgreSQL reads as a boolean, except for `on` and `off`, which often mean more than that. */
const words = new Map<string, number>([
  ['true', bits.TRUE_FALSE | bits.HAS_TRUE | bits.HAS_WHOLE_WORD],
  ['false', bits.TRUE_FALSE | bits.HAS_FALSE | bits.HAS_WHOLE_WORD],
  ['t', bits.TRUE_FALSE | bits.HAS_TRUE],
  ['f', bits.TRUE_FALSE | bits.HAS_FALSE],
  ['yes', bits.YES_NO | bits.HAS_TRUE],
  ['no', bits.YES_NO | bits.HAS_FALSE],
  ['y', bits.YES_NO | bits.HAS_TRUE],
  ['n', bits.YES_NO | bits.HAS_FALSE],
]);
/** The words in small letters, as bytes, with their shapes. */
const wordBytes = [...words].map(([word, shape]) => ({ bytes: Buffer.from(word), shape }));
const maxWordBytes = 5;

/** The bit that makes a small letter of a capital. */
const LOWER = 0x20;

function wordShape(bytes: Buffer, start: number, end: number): number {
  for (const word of wordBytes) if (isWord(bytes, start, end, word.bytes)) return word.shape;
  return 0;
}

function isWord(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at++) if ((bytes[start + at]! | LOWER) !== word[at]) return false;
  return true;
}

/** Returns the shape of `14:30`, `14:30:05.5`, `2:30 PM` and `26:15`. */
function timeShape(bytes: Buffer, start: number, end: number): number {
  let at = start;
  let hours = 0;
  while (at < end && isDigit(bytes[at]!)) hours = hours * 10 + bytes[at++]! - ZERO;
  const hourDigits = at - start;
  if (hourDigits === 0 || hourDigits > 4 || !isSixtieth(bytes, at, end)) return 0;
  at += 3;
  if (isSixtieth(bytes, at, end)) {
    at += 3;
    if (at + 1 < end && bytes[at] === POINT && isDigit(bytes[at + 1]!)) {
      at++;
      while (at < end && isDigit(bytes[at]!)) at++;
    }
  }
  if (at === end) return hourDigits <= 2 && hours < 24 ? bits.TIME | bits.DURATION : bits.DURATION;
  if (bytes[at] === SPACE) at++;
  const half = at + 2 === end ? bytes[at]! | LOWER : 0;
  const isHalf = (half === 0x61 || half === 0x70) && (bytes[at + 1]! | LOWER) === 0x6d;
  return isHalf && hours >= 1 && hours <= 12 ? bits.TIME : 0;
}

/** Returns whether a colon and a number below 60 are at `at`. */
function isSixtieth(bytes: Buffer, at: number, end: number): boolean {
  if (at + 3 > end || bytes[at] !== COLON) return false;
  return bytes[at + 1]! >= ZERO && bytes[at + 1]! < ZERO + 6 && isDigit(bytes[at + 2]!);
}

const OPENING = 0x28;
const CLOSING = 0x29;
const PERCENT_SIGN = 0x25;

/** The signs around a number. `signAt` and `signBefore` return one of these bits together with the length of the sign. */
const PLUS_SIGN = 1 << 3;
const MINUS_SIGN = 1 << 4;
const OPENED = 1 << 5;
const CLOSED = 1 << 6;
const CURRENCY = 1 << 7;
const PER_CENT = 1 << 8;
const SIGNS = PLUS_SIGN | MINUS_SIGN | OPENED | CLOSED | CURRENCY | PER_CENT;
const LENGTH = 7;

/** Returns the shapes of a number with or without signs around it, such as `(5.00)`, `5 %` or `€ 5`; 0: the text is not such a number. */
function numberShape(bytes: Buffer, start: number, end: number): number {
  let from = start;
  let signs = 0;
  while (from < end && !isDigit(bytes[from]!)) {
    const sign = signAt(bytes, from, end);
    if (sign === 0) break;
    if ((signs & sign & SIGNS) !== 0) return 0;
    signs |= sign & SIGNS;
    from += sign & LENGTH;
  }
  let to = end;
  let signsBehind = 0;
  while (from < to && !isDigit(bytes[to - 1]!)) {
    const sign = signBefore(bytes, from, to);
    if (sign === 0) break;
    if (((signs | signsBehind) & sign & SIGNS) !== 0) return 0;
    signsBehind |= sign & SIGNS;
    to -= sign & LENGTH;
  }
  const all = signs | signsBehind;
  if (all === 0) return from === to ? 0 : bareShape(bytes, start, end);
  if (!areTogether(all)) return 0;
  // Accounting formats show zero as a minus sign: `€ -`.
  if (from === to)
    return (all & CURRENCY) !== 0 && (all & MINUS_SIGN) !== 0 ? bits.AMOUNT | bits.HAS_CURRENCY : 0;
  let facts = (signsBehind & MINUS_SIGN) !== 0 ? bits.HAS_MINUS_BEHIND : 0;
  if ((all & OPENED) !== 0) facts |= bits.HAS_PARENTHESES;
  if ((all & CURRENCY) !== 0) facts |= bits.HAS_CURRENCY;
  if ((all & PER_CENT) !== 0) facts |= bits.HAS_PERCENT_SIGN;
  if (facts === 0) return bareShape(bytes, start, end);
  if (!isNumber(bytes, from, to)) return 0;
  return facts | ((all & PER_CENT) !== 0 ? bits.PERCENT : bits.AMOUNT);
}

/** Returns whether a number can have these signs: parentheses in pairs, one sign of its own, and one unit. */
function areTogether(signs: number): boolean {
  const own = signs & (PLUS_SIGN | MINUS_SIGN | OPENED);
  const unit = signs & (CURRENCY | PER_CENT);
  return (
    ((signs & OPENED) !== 0) === ((signs & CLOSED) !== 0) &&
    (own & (own - 1)) === 0 &&
    (unit & (unit - 1)) === 0
  );
}

/** Returns the sign at `at` with its length. A space has only a length. 0: there is neither. */
function signAt(bytes: Buffer, at: number, end: number): number {
  if (bytes[at] === PLUS) return PLUS_SIGN | 1;
  if (bytes[at] === OPENING) return OPENED | 1;
  const space = spaceAt(bytes, at, end);
  if (space > 0) return space;
  const minus = minusAt(bytes, at, end);
  if (minus > 0) return MINUS_SIGN | minus;
  const currency = currencyAt(bytes, at, end);
  return currency > 0 ? CURRENCY | currency : 0;
}

/** Does what `signAt` does for the sign before `end`. */
function signBefore(bytes: Buffer, start: number, end: number): number {
  if (bytes[end - 1] === PERCENT_SIGN) return PER_CENT | 1;
  if (bytes[end - 1] === CLOSING) return CLOSED | 1;
  const space = spaceBefore(bytes, start, end);
  if (space > 0) return space;
  const minus = minusBefore(bytes, start, end);
  if (minus > 0) return MINUS_SIGN | minus;
  const currency = currencyBefore(bytes, start, end);
  return currency > 0 ? CURRENCY | currency : 0;
}

/** Returns the shape of a number without a sign of an amount. Numbers with leading zeros or a plus sign are often no amounts. */
function bareShape(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] === PLUS) return 0;
  if (textKind(bytes, start, end) === NUMBER) return bits.NUMBER_SHAPES | bits.HAS_BARE_NUMBER;
  if (readNumber(bytes, start, end, plainSigns, scratch) > 0) {
    if (hasExponent(bytes, start, end)) return bits.EXPONENT | bits.HAS_EXPONENT;
    const first = bytes[start] === MINUS ? start + 1 : start;
    return bytes[first] === POINT ? bits.EXPONENT | bits.HAS_POINT_FIRST : 0;
  }
  for (const signs of groupedSigns) {
    const read = readNumber(bytes, start, end, signs, scratch);
    if (read > 0 && textKind(scratch, 0, read) === NUMBER)
      return bits.AMOUNT | bits.PERCENT | bits.HAS_BARE_NUMBER;
  }
  return 0;
}

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at]! | LOWER) === LOWER_E) return true;
  return false;
}

const scratch = Buffer.alloc(maxShapeBytes + 1);
const plainSigns: NumberSigns = { decimal: POINT, thousands: 0 };
const groupedSigns: NumberSigns[] = [
  { decimal: POINT, thousands: COMMA },
  { decimal: COMMA, thousands: POINT },
  { decimal: POINT, thousands: SPACE },
  { decimal: COMMA, thousands: SPACE },
  { decimal: POINT, thousands: APOSTROPHE },
  { decimal: COMMA, thousands: APOSTROPHE },
];

/** Returns whether the text between the signs is a number without an exponent, in any notation. */
function isNumber(bytes: Buffer, start: number, end: number): boolean {
  if (!isDigit(bytes[start]!) && bytes[start] !== POINT && bytes[start] !== COMMA) return false;
  if (hasExponent(bytes, start, end)) return false;
  let at = start;
  while (at < end && isDigit(bytes[at]!)) at++;
  if (at < end && at > start && (bytes[at] === POINT || bytes[at] === COMMA)) {
    at++;
    while (at < end && isDigit(bytes[at]!)) at++;
  }
  // Most numbers have digits with one sign between them at most.
  if (at === end && isDigit(bytes[end - 1]!)) return true;
  for (const signs of groupedSigns) if (readNumber(bytes, start, end, signs, scratch) > 0) return true;
  return false;
}

/** Returns the length of the space at `at`: a space, or U+00A0 or U+202F; 0: there is none. */
function spaceAt(bytes: Buffer, at: number, end: number): number {
  if (bytes[at] === SPACE) return 1;
  if (at + 1 < end && bytes[at] === 0xc2 && bytes[at + 1] === 0xa0) return 2;
  return at + 2 < end && bytes[at] === 0xe2 && bytes[at + 1] === 0x80 && bytes[at + 2] === 0xaf ? 3 : 0;
}

function spaceBefore(bytes: Buffer, start: number, end: number): number {
  if (bytes[end - 1] === SPACE) return 1;
  if (end - 2 >= start && spaceAt(bytes, end - 2, end) === 2) return 2;
  return end - 3 >= start && spaceAt(bytes, end - 3, end) === 3 ? 3 : 0;
}

/** Returns the length of the minus sign at `at`: `-` or U+2212; 0: there is none. */
function minusAt(bytes: Buffer, at: number, end: number): number {
  if (bytes[at] === MINUS) return 1;
  return at + 2 < end && bytes[at] === 0xe2 && bytes[at + 1] === 0x88 && bytes[at + 2] === 0x92 ? 3 : 0;
}

function minusBefore(bytes: Buffer, start: number, end: number): number {
  if (bytes[end - 1] === MINUS) return 1;
  return end - 3 >= start && minusAt(bytes, end - 3, end) === 3 ? 3 : 0;
}

const DOLLAR = 0x24;
/** Words for currencies that are not codes. Those with a point are not among them, because a point may separate decimals. */
const currencyWords = ['kr', 'Kr', 'Kč', 'zł', 'Ft', 'лв', 'Rs'].map((word) => Buffer.from(word));
/** The codes of ISO 4217, each as a number of three bytes. */
const currencyCodes = new Set(
  Intl.supportedValuesOf('currency').map((code) => Buffer.from(code).readUIntBE(0, 3)),
);
const currencyCodeBytes = 3;

/** Returns the length of the currency at `at`: a sign, a code such as `EUR`, or `US$`; 0: there is none. */
function currencyAt(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]!;
  if (isDigit(first)) return 0;
  if (first === DOLLAR) return 1;
  // The cent, pound, currency and yen signs are U+00A2 to U+00A5.
  if (first === 0xc2 && at + 1 < end && bytes[at + 1]! >= 0xa2 && bytes[at + 1]! <= 0xa5) return 2;
  // The block of currency symbols is U+20A0 to U+20CF.
  if (first === 0xe2 && at + 2 < end) {
    const last = bytes[at + 2]!;
    const isInBlock = (bytes[at + 1] === 0x82 && last >= 0xa0) || (bytes[at + 1] === 0x83 && last < 0x90);
    return isInBlock ? 3 : 0;
  }
  if (isCapital(first)) {
    let dollar = at + 1;
    while (dollar < end && dollar < at + 3 && isCapital(bytes[dollar]!)) dollar++;
    if (dollar < end && bytes[dollar] === DOLLAR) return dollar + 1 - at;
    if (at + currencyCodeBytes <= end && currencyCodes.has(bytes.readUIntBE(at, currencyCodeBytes))) return 3;
  }
  for (const word of currencyWords) {
    if (isAt(word, bytes, at, end)) return word.length;
  }
  return 0;
}

/** The longest currencies are `US$` with three capitals, and `лв`. */
const maxCurrencyBytes = 4;

function currencyBefore(bytes: Buffer, start: number, end: number): number {
  if (isDigit(bytes[end - 1]!)) return 0;
  for (let length = Math.min(maxCurrencyBytes, end - start); length > 0; length--) {
    if (currencyAt(bytes, end - length, end) === length) return length;
  }
  return 0;
}

/** A loop is faster than `Buffer.compare` for short words. */
function isAt(word: Buffer, bytes: Buffer, at: number, end: number): boolean {
  if (end - at < word.length) return false;
  for (let place = 0; place < word.length; place++) {
    if (bytes[at + place] !== word[place]) return false;
  }
  return true;
}

function isCapital(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a;
}
