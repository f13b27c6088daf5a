/**
 * Recognizes texts that people read as numbers, times or booleans, and that no parameter of an upload reads: amounts with a currency
 * sign (`€ 1.234,50`, `1,200.00 USD`), negative numbers in parentheses or with the minus sign behind (`(12.00)`, `120-`), percentages
 * (`12 %`), numbers with an exponent (`1.5E+10`), times of day (`14:30`, `2:30 PM`), durations (`26:15`), and words for true and false
 * (`TRUE`, `yes`). Their types would not return the same text, so such columns stay text, and a warning says how to get another type.
 */

import { APOSTROPHE, COMMA, isDigit, LOWER_E, MINUS, PLUS, POINT, SPACE } from '../../core/bytes/ascii.ts';
import { NUMBER } from '../../core/cells/cell-kind.ts';
import { textKind } from '../../core/cells/text-kind.ts';
import {
  amount,
  CURRENCY,
  findAmount,
  MINUS_SIGN,
  OPENED,
  PER_CENT,
} from '../text-reading/natural/amount-signs.ts';
import { clock, readClock } from '../text-reading/natural/clock.ts';
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

/**
 * Returns what the values with these shapes look like; undefined: they show no shape.
 *
 * @param hasForeignWord PostgreSQL does not read one of the words for true and false
 */
export function shapeHint(forms: number, hasForeignWord: boolean): ShapeHint | undefined {
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
    return { looksLike: 'words for true and false', type: hasForeignWord ? undefined : 'boolean' };
  return undefined;
}

/** Returns the shapes that the text has, together with the facts that it shows; 0: none. The text must have no white space around it. */
export function shapesOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length > maxShapeBytes) return 0;
  if (bytes[start]! >= 0x41 && length <= maxWordBytes) {
    const word = wordShape(bytes, start, end);
    if (word !== 0) return word;
  }
  return timeShape(bytes, start, end) || numberShape(bytes, start, end);
}

/** The maximum length of an amount. Longer texts are not checked. */
const maxShapeBytes = 64;

/** The words that PostgreSQL reads as a boolean, whole or as their first letter. `on` and `off` often mean other things, so they are left out. */
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

/** Returns the shape of `14:30`, `14:30:05.5`, `2:30 PM`, `26:15` and `02:30.5`. */
function timeShape(bytes: Buffer, start: number, end: number): number {
  if (!readClock(bytes, start, end)) return 0;
  if (clock.hasHalf) return bits.TIME;
  return clock.isTime ? bits.TIME | bits.DURATION : bits.DURATION;
}

/** Returns the shapes of a number with or without signs around it, such as `(5.00)`, `5 %` or `€ 5`; 0: the text is not such a number. */
function numberShape(bytes: Buffer, start: number, end: number): number {
  const all = findAmount(bytes, start, end);
  if (all < 0) return 0;
  const { start: from, end: to } = amount;
  if (all === 0) return from === to ? 0 : bareShape(bytes, start, end);
  // Accounting formats write zero as a minus sign: `€ -`.
  if (from === to)
    return (all & CURRENCY) !== 0 && (all & MINUS_SIGN) !== 0 ? bits.AMOUNT | bits.HAS_CURRENCY : 0;
  let facts = amount.hasMinusBehind ? bits.HAS_MINUS_BEHIND : 0;
  if ((all & OPENED) !== 0) facts |= bits.HAS_PARENTHESES;
  if ((all & CURRENCY) !== 0) facts |= bits.HAS_CURRENCY;
  if ((all & PER_CENT) !== 0) facts |= bits.HAS_PERCENT_SIGN;
  if (facts === 0) return bareShape(bytes, start, end);
  if (!isNumber(bytes, from, to)) return 0;
  return facts | ((all & PER_CENT) !== 0 ? bits.PERCENT : bits.AMOUNT);
}

/** Returns the shape of a number without any sign of an amount. A number with leading zeros or a plus sign is often not an amount, so it has none. */
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
  // Most numbers are digits with at most one sign between them, so this test is made first.
  if (at === end && isDigit(bytes[end - 1]!)) return true;
  for (const signs of groupedSigns) if (readNumber(bytes, start, end, signs, scratch) > 0) return true;
  return false;
}
