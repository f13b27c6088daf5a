/**
 * Reads numbers as people write them: amounts with a currency sign, negative numbers in parentheses or with the minus sign behind,
 * percentages, and numbers with an exponent. `12 %` is the number 0.12.
 */

import { isDigit, LOWER_E, MINUS, NINE, PLUS, POINT, ZERO } from '../../../core/bytes/ascii.ts';
import { type NumberSigns, readNumber } from '../number-form.ts';
import { amount, CURRENCY, findAmount, MINUS_SIGN, PER_CENT } from './amount-signs.ts';

/** How many bytes more than the text `readNaturalNumber` needs in `out`. */
export const naturalNumberBytes = 4;

/**
 * Writes the number in PostgreSQL's form to the beginning of `out`.
 *
 * These are not numbers: a number with a plus sign or leading zeros alone, such as `+49 30` and `007`, and `12E5`, which is more often
 * the number of an article. An exponent needs a sign or a number with decimals: `9.54E-05`.
 *
 * @param isPercent only numbers with a percent sign are read
 * @returns the length written; -1: the text is not a number with these signs
 */
export function readNaturalNumber(
  bytes: Buffer,
  start: number,
  end: number,
  signs: NumberSigns,
  out: Buffer,
  isPercent = false,
): number {
  const around = findAmount(bytes, start, end);
  if (around < 0 || (isPercent && (around & PER_CENT) === 0)) return -1;
  const isBare = around === 0 || (around === MINUS_SIGN && !amount.hasMinusBehind);
  if (isBare) {
    if (bytes[start] === PLUS) return -1;
    const length = readNumber(bytes, start, end, signs, out);
    return length > 0 && isUsual(out, length) ? length : -1;
  }
  const { start: from, end: to, isNegative } = amount;
  if (from === to) {
    if ((around & CURRENCY) === 0 || (around & MINUS_SIGN) === 0) return -1;
    out[0] = ZERO;
    return 1;
  }
  if (bytes[from] === MINUS || bytes[from] === PLUS) return -1;
  let length = readNumber(bytes, from, to, signs, out);
  if (length <= 0 || exponentAt(out, length) >= 0 || !isUsual(out, length)) return -1;
  if (isNegative) {
    out.copyWithin(1, 0, length);
    out[0] = MINUS;
    length += 1;
  }
  if ((around & PER_CENT) !== 0) {
    // A percentage gets an exponent, because PostgreSQL and the encoders read an exponent without rounding.
    out[length++] = LOWER_E;
    out[length++] = MINUS;
    out[length++] = ZERO + 2;
  }
  return length;
}

/** Returns whether the number is usual: it has no leading zero and no exponent that may mean something else. */
function isUsual(out: Buffer, length: number): boolean {
  const first = out[0] === MINUS ? 1 : 0;
  if (out[first] === ZERO && first + 1 < length && isDigit(out[first + 1]!)) return false;
  const exponent = exponentAt(out, length);
  if (exponent < 0) return true;
  const sign = out[exponent + 1];
  if (sign === PLUS || sign === MINUS) return true;
  for (let at = first; at < exponent; at++) if (out[at] === POINT) return true;
  return false;
}

/** Returns the position of the exponent; -1: there is none. */
function exponentAt(out: Buffer, length: number): number {
  for (let at = 0; at < length; at++) if (out[at]! > NINE) return at;
  return -1;
}
