/**
 * Finds the number types of PostgreSQL that store a JSON number without loss. It only inspects the digits and never parses the
 * number.
 */
import { EIGHT, MINUS, NINE, POINT, ZERO } from '../../core/bytes/ascii.ts';
import { readExponent } from '../encoders/exponent.ts';
import { DOUBLE_ONLY, EXACT, OTHER, WHOLE } from '../text-reading/seen.ts';

/** The maximum number of digits that `numeric` stores before and after the decimal point (PostgreSQL 8.1.2). */
const NUMERIC_DIGITS_BEFORE_POINT = 131_072;
const NUMERIC_DIGITS_AFTER_POINT = 16_383;

/**
 * The length up to which `numeric` stores every number. The shortest numbers that it cannot store are `1e131072` and
 * `1e-16384`.
 */
export const ALWAYS_NUMERIC_BYTES = 7;

/** The maximum number of significant digits of a decimal that a double returns unchanged (IEEE 754; C's `DBL_DIG`). */
const DOUBLE_DIGITS = 15;
const DOUBLE_MIN_EXPONENT = -307;
const DOUBLE_MAX_EXPONENT = 307;

/** The largest `bigint`. 2^63 itself is in the range only as a negative number. */
const BIGINT_DIGITS = Buffer.from('9223372036854775807', 'latin1');
const BIGINT_DIGIT_COUNT = BIGINT_DIGITS.length;

/**
 * Returns the class of a number: `WHOLE`, `EXACT`, `DOUBLE_ONLY` or `OTHER` of seen.ts. The bytes are in JSON's grammar of a
 * number.
 */
export function classifyNumber(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === POINT || byte > NINE) {
      return end - start <= ALWAYS_NUMERIC_BYTES ? EXACT : classifyFraction(bytes, start, at, end);
    }
  }
  const firstDigit = bytes[start] === MINUS ? start + 1 : start;
  const digitCount = end - firstDigit;
  if (digitCount < BIGINT_DIGIT_COUNT) return WHOLE;
  if (digitCount === BIGINT_DIGIT_COUNT) {
    return fitsBigint(bytes, firstDigit, firstDigit !== start) ? WHOLE : EXACT;
  }
  return digitCount <= NUMERIC_DIGITS_BEFORE_POINT ? EXACT : classifyBeyondNumeric(bytes, start, end);
}

function fitsBigint(bytes: Buffer, firstDigit: number, negative: boolean): boolean {
  const last = BIGINT_DIGIT_COUNT - 1;
  for (let place = 0; place < last; place++) {
    const difference = bytes[firstDigit + place]! - BIGINT_DIGITS[place]!;
    if (difference !== 0) return difference < 0;
  }
  return bytes[firstDigit + last]! <= (negative ? EIGHT : BIGINT_DIGITS[last]!);
}

/**
 * Returns the class of a number with a point or an exponent.
 *
 * @param mark the position of the first point or exponent
 */
function classifyFraction(bytes: Buffer, start: number, mark: number, end: number): number {
  let mantissaEnd = mark;
  while (mantissaEnd < end && bytes[mantissaEnd]! <= NINE) mantissaEnd++;
  const wholeDigits = mark - start - (bytes[start] === MINUS ? 1 : 0);
  const fractionDigits = mantissaEnd === mark ? 0 : mantissaEnd - mark - 1;
  const exponent = readExponent(bytes, mantissaEnd + 1, end);
  const fits =
    wholeDigits + exponent <= NUMERIC_DIGITS_BEFORE_POINT &&
    fractionDigits - exponent <= NUMERIC_DIGITS_AFTER_POINT;
  return fits ? EXACT : classifyBeyondNumeric(bytes, start, end);
}

/** Classifies a number that `numeric` cannot store. It is a double only if a double loses nothing of it, as with the many zeros of `0e-20000`. */
function classifyBeyondNumeric(bytes: Buffer, start: number, end: number): number {
  let digits = 0;
  let firstSignificant = -1;
  let lastSignificant = -1;
  let digitsBeforePoint = -1;
  let at = start;
  for (; at < end && bytes[at]! <= NINE; at++) {
    const byte = bytes[at]!;
    if (byte === MINUS) continue;
    if (byte === POINT) {
      digitsBeforePoint = digits;
      continue;
    }
    if (byte !== ZERO) {
      if (firstSignificant < 0) firstSignificant = digits;
      lastSignificant = digits;
      if (digits - firstSignificant >= DOUBLE_DIGITS) return OTHER;
    }
    digits++;
  }
  if (firstSignificant < 0) return DOUBLE_ONLY;
  if (digitsBeforePoint < 0) digitsBeforePoint = digits;
  const leadingExponent = digitsBeforePoint - 1 - firstSignificant + readExponent(bytes, at + 1, end);
  const fits =
    lastSignificant - firstSignificant < DOUBLE_DIGITS &&
    leadingExponent >= DOUBLE_MIN_EXPONENT &&
    leadingExponent <= DOUBLE_MAX_EXPONENT;
  return fits ? DOUBLE_ONLY : OTHER;
}
