/**
 * Reads decimal numbers as the nearest double, as `strtod` does. Up to 15 digits and their power of ten are exact doubles, so their
 * quotient is the nearest double. Longer numbers go through a string, which takes several times as long.
 */
import { POINT, ZERO } from '../../core/bytes/ascii.ts';

const EXACT_DIGITS = 15;
const powersOfTen = Array.from({ length: EXACT_DIGITS + 1 }, (_, exponent) => 10 ** exponent);

/** Reads the number between `start` and `end`: digits, a point at `pointAt`, digits. No digits stand for 0. */
export function readDecimal(bytes: Buffer, start: number, pointAt: number, end: number): number {
  if (end - start - 1 > EXACT_DIGITS) return Number(`0${bytes.toString('latin1', start, end)}`);
  let digits = 0;
  for (let at = start; at < end; at++) if (bytes[at] !== POINT) digits = digits * 10 + bytes[at]! - ZERO;
  return digits / powersOfTen[end - pointAt - 1]!;
}
