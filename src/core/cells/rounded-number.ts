/**
 * Decides whether the rounding of a workbook's number to 15 significant digits removes digits that its author may want to keep.
 *
 * A computed number such as 0.1 + 0.2 is 0.30000000000000004. Rounded it has few digits (0.3), and the removed ones are an artefact of
 * binary arithmetic. A number such as 0.2379646270918914 of a sensor or a program has all its digits, and rounding changes it. See
 * docs/decisions/0048-rounded-digits.md.
 */

import { isDigit, POINT, ZERO } from '../bytes/ascii.ts';
import { endOfExactNumber } from './cell-kind.ts';

/** A rounded number with fewer significant digits is what its author means. A random double is that short in one of a thousand cases. */
const fewestDigits = 13;

/** Returns whether digits other than artefacts are removed from a `ROUNDED_NUMBER`. */
export function losesDigits(bytes: Buffer, start: number, end: number): boolean {
  let digits = 0;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (isDigit(byte)) {
      if (digits > 0 || byte !== ZERO) digits++;
    } else if (byte !== POINT && at > start) {
      break;
    }
  }
  return digits >= fewestDigits && !hasSameDigits(bytes, start, at, end);
}

/**
 * Returns whether the exact number, which follows the rounded one, has the same digits and then only zeros.
 *
 * @param digitsEnd the end of the digits of the rounded number
 */
function hasSameDigits(bytes: Buffer, start: number, digitsEnd: number, end: number): boolean {
  const exactEnd = endOfExactNumber(bytes, end);
  let exact = end;
  for (let at = start; at < digitsEnd; at++) if (bytes[at] !== bytes[exact++]) return false;
  while (exact < exactEnd && (bytes[exact] === ZERO || bytes[exact] === POINT)) exact++;
  return exact === exactEnd || !isDigit(bytes[exact]!);
}
