/** Writes the shortest decimal text of a double. An .xlsx file of the same workbook has the same text. */
import { MINUS, POINT, ZERO } from '../../../core/bytes/ascii.ts';

/** The length of the longest text, such as `-2.2250738585072014e-308`, with some reserve. */
export const maxDoubleBytes = 32;

const maxInteger = 2 ** 53;

/** A number that is larger than all decimals of at most 15 significant digits. */
const maxShort = 1e15;

/**
 * Writes the text of `String(value)`, without creating that string for whole numbers and short decimals.
 *
 * @param target must have room for `maxDoubleBytes`
 * @returns the number of bytes written
 */
export function writeDouble(value: number, target: Buffer): number {
  if (Number.isInteger(value) && value < maxInteger && value > -maxInteger) {
    return writeDecimal(value, 0, target);
  }
  // The quotient of two exact numbers is the double nearest to the decimal. No other decimal of up to 15 digits has the same double.
  const hundredths = Math.round(value * 100);
  if (hundredths / 100 === value && isShort(hundredths)) return writeDecimal(hundredths, 2, target);
  const millionths = Math.round(value * 1e6);
  if (millionths / 1e6 === value && isShort(millionths)) return writeDecimal(millionths, 6, target);
  return target.write(String(value), 0, 'latin1');
}

function isShort(whole: number): boolean {
  return whole < maxShort && whole > -maxShort;
}

/** Writes `whole` / 10^`decimals` without trailing zeros in the fraction. */
function writeDecimal(whole: number, decimals: number, target: Buffer): number {
  let rest = whole;
  let start = 0;
  if (rest < 0) {
    target[start++] = MINUS;
    rest = -rest;
  }
  let fraction = decimals;
  while (fraction > 0 && rest % 10 === 0) {
    rest /= 10;
    fraction--;
  }
  let digits = 1;
  for (let power = 10; power <= rest; power *= 10) digits++;
  if (digits <= fraction) digits = fraction + 1;
  const length = start + digits + (fraction > 0 ? 1 : 0);
  let at = length;
  for (let place = 0; place < digits; place++) {
    if (place === fraction && fraction > 0) target[--at] = POINT;
    const next = Math.floor(rest / 10);
    target[--at] = ZERO + (rest - 10 * next);
    rest = next;
  }
  return length;
}
