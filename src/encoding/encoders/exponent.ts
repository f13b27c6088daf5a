import { MINUS, PLUS, ZERO } from '../../core/bytes/ascii.ts';

/**
 * Reads the digits of an exponent, with an optional sign; 0 if there are none. An exponent above a billion is not exact. That is
 * enough, because no cell has so many digits that such an exponent could be valid.
 */
export function readExponent(bytes: Buffer, start: number, end: number): number {
  if (start >= end) return 0;
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  for (let at = isNegative || bytes[start] === PLUS ? start + 1 : start; at < end; at++) {
    if (value < 1e9) value = value * 10 + bytes[at]! - ZERO;
  }
  return isNegative ? -value : value;
}
