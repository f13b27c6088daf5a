/**
 * Finds the number within an amount or a percentage, and the signs around it: a currency sign (`€ 1.234,50`, `1,200.00 USD`), parentheses or
 * a minus sign behind for a negative number (`(12.00)`, `120-`), and a percent sign (`12 %`).
 */

import { isDigit, MINUS, PLUS, SPACE } from '../../../core/bytes/ascii.ts';

const OPENING = 0x28;
const CLOSING = 0x29;
const PERCENT_SIGN = 0x25;

/** The signs around a number. `signAt` and `signBefore` return one of these bits combined with the length of the sign. */
const PLUS_SIGN = 1 << 3;
export const MINUS_SIGN = 1 << 4;
export const OPENED = 1 << 5;
const CLOSED = 1 << 6;
export const CURRENCY = 1 << 7;
export const PER_CENT = 1 << 8;
const SIGNS = PLUS_SIGN | MINUS_SIGN | OPENED | CLOSED | CURRENCY | PER_CENT;
const LENGTH = 7;

/** What `findAmount` found last. */
export const amount = {
  /** The range of the number. It is empty for an amount of zero that is written as a minus sign: `€ -`. */
  start: 0,
  end: 0,
  /** The range of the currency sign. */
  currencyStart: 0,
  currencyEnd: 0,
  /** The number is negative: it has a minus sign or is in parentheses. */
  isNegative: false,
  hasMinusBehind: false,
};

/**
 * Finds the number and the signs around it. The caller checks that there is a number.
 *
 * @returns the union of the signs, 0 if there are none; -1: no number can have these signs together
 */
export function findAmount(bytes: Buffer, start: number, end: number): number {
  let from = start;
  let signs = 0;
  amount.currencyStart = amount.currencyEnd = start;
  while (from < end && !isDigit(bytes[from]!)) {
    const sign = signAt(bytes, from, end);
    if (sign === 0) break;
    if ((signs & sign & SIGNS) !== 0) return -1;
    signs |= sign & SIGNS;
    from += sign & LENGTH;
    if ((sign & CURRENCY) !== 0) noteCurrency(from - (sign & LENGTH), from);
  }
  let to = end;
  let signsBehind = 0;
  while (from < to && !isDigit(bytes[to - 1]!)) {
    const sign = signBefore(bytes, from, to);
    if (sign === 0) break;
    if (((signs | signsBehind) & sign & SIGNS) !== 0) return -1;
    signsBehind |= sign & SIGNS;
    to -= sign & LENGTH;
    if ((sign & CURRENCY) !== 0) noteCurrency(to, to + (sign & LENGTH));
  }
  const all = signs | signsBehind;
  if (!areTogether(all)) return -1;
  amount.start = from;
  amount.end = to;
  amount.isNegative = (all & (MINUS_SIGN | OPENED)) !== 0;
  amount.hasMinusBehind = (signsBehind & MINUS_SIGN) !== 0;
  return all;
}

function noteCurrency(start: number, end: number): void {
  amount.currencyStart = start;
  amount.currencyEnd = end;
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
/** Words for currencies that are not codes. Words with a point are left out, because a point may separate decimals. */
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

/** The length of the longest currencies: `US$` with three capitals, and `лв`. */
const maxCurrencyBytes = 4;

function currencyBefore(bytes: Buffer, start: number, end: number): number {
  if (isDigit(bytes[end - 1]!)) return 0;
  for (let length = Math.min(maxCurrencyBytes, end - start); length > 0; length--) {
    if (currencyAt(bytes, end - length, end) === length) return length;
  }
  return 0;
}

/** Compares with a loop, which is faster than `Buffer.compare` for short words. */
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
