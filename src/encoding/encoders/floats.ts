/**
 * Encodes float4 and float8, correctly rounded. It reads the texts that `float8in` reads: with spaces around them, NaN, the infinities
 * and exponents. A number that rounding makes infinite or 0 is out of range (PostgreSQL 8.1.3). The C library's hexadecimal floats are refused.
 */
import { isDigit, isSpace, isWord, LOWER_E, MINUS, PLUS, POINT, ZERO } from '../../core/bytes/ascii.ts';
import { NUMBER, STRING } from '../../core/cells/cell-kind.ts';
import { NOT_A_NUMBER, OUT_OF_RANGE } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { readExponent } from './exponent.ts';

export function encodeFloat8(
  out: CopyBuffer,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== NUMBER && kind !== STRING) return NOT_A_NUMBER;
  const problem = readFloat(bytes, start, end);
  if (problem !== 0) return problem;
  if (read.isDecimal && (!Number.isFinite(read.value) || (read.value === 0 && read.hasDigit)))
    return OUT_OF_RANGE;
  out.ensure(12);
  out.int32(8);
  out.float64(read.value);
  return 0;
}

export function encodeFloat4(
  out: CopyBuffer,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== NUMBER && kind !== STRING) return NOT_A_NUMBER;
  const problem = readFloat(bytes, start, end);
  if (problem !== 0) return problem;
  let value = Math.fround(read.value);
  if (read.isDecimal) {
    if (value !== read.value) value = roundToFloat4(read.value, bytes, start, end);
    if (!Number.isFinite(value) || (value === 0 && read.hasDigit)) return OUT_OF_RANGE;
  }
  out.ensure(8);
  out.int32(4);
  out.float32(value);
  return 0;
}

/**
 * The result of `readFloat`. `value` starts as a fraction so that the engine stores the field as a double. `hasDigit`: a digit other than 0
 * was read. `isDecimal`: the text is a number and not a word such as NaN.
 */
const read = { value: 0.5, hasDigit: false, isDecimal: false };

/** The maximum number of digits with which a product or quotient of exact doubles is correctly rounded (Clinger's fast path). */
const EXACT_DIGITS = 15;
const exactPowers: Float64Array = Float64Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

function readFloat(bytes: Buffer, start: number, end: number): number {
  let at = start;
  let stop = end;
  while (at < stop && isSpace(bytes[at]!)) at++;
  while (stop > at && isSpace(bytes[stop - 1]!)) stop--;
  const textStart = at;
  const negative = bytes[at] === MINUS;
  if (at < stop && (negative || bytes[at] === PLUS)) at++;

  let mantissa = 0; // the first digits
  let rest = 0; // the digits after `mantissa`
  let digits = 0; // the number of digits from the first that is not 0
  let seen = 0;
  let pointAt = -1;
  for (; at < stop; at++) {
    const byte = bytes[at]!;
    const digit = byte - ZERO;
    if (digit >= 0 && digit <= 9) {
      seen++;
      if (digits > 0 || digit > 0) digits++;
      if (digits <= EXACT_DIGITS) mantissa = mantissa * 10 + digit;
      else rest = rest * 10 + digit;
    } else if (byte === POINT && pointAt < 0) {
      pointAt = at;
    } else {
      break;
    }
  }
  if (seen === 0) return readWord(bytes, textStart, stop);
  let exponent = pointAt < 0 ? 0 : pointAt + 1 - at;
  if (at < stop) {
    if ((bytes[at]! | 0x20) !== LOWER_E || !isExponent(bytes, at + 1, stop)) return NOT_A_NUMBER;
    exponent += readExponent(bytes, at + 1, stop);
  }
  read.isDecimal = true;
  read.hasDigit = digits > 0;
  if (digits <= EXACT_DIGITS && exponent >= -22 && exponent <= 22) {
    const value = exponent < 0 ? mantissa / exactPowers[-exponent]! : mantissa * exactPowers[exponent]!;
    read.value = negative ? -value : value;
    return 0;
  }
  if (digits > EXACT_DIGITS && digits <= 2 * EXACT_DIGITS && exponent >= -22 && exponent <= 0) {
    const value = divideLong(mantissa, exactPowers[digits - EXACT_DIGITS]!, rest, exactPowers[-exponent]!);
    if (value > 0) {
      read.value = negative ? -value : value;
      return 0;
    }
  }
  read.value = Number(bytes.toString('latin1', textStart, stop));
  return 0;
}

/** The factor allows for more than the sum of all errors of `divideLong`, whose comment has the proof. */
const SURE = 1 + 2 ** -40;

/**
 * Divides first × power + rest by the divisor, correctly rounded. Returns 0 if the quotient is too close to the middle of two
 * doubles to be sure; `Number` then reads the text. This takes a third of the time of `Number`, which needs a string.
 *
 * All four are whole numbers: `first` has 15 digits, `rest` is below `power` ≤ 10¹⁵, `divisor` ≤ 10²². A number is
 * represented as a sum of two doubles, and the second is the rounding error of the first (T. J. Dekker, "A
 * floating-point technique for extending the available precision", 1971). With u = 2⁻⁵³:
 *
 * - The dividend is `high + low` exactly: both errors that `low` adds are whole numbers of at most 2⁴⁶.
 * - The remainder of a rounded division is a double, so `high - back - error` is exact: at most u × high.
 * - `low` is at most 2u × high. So the sum `remainder` is at most 3u × high and loses at most 3u² × high; the division
 *   that makes `correction` loses at most the same. The true quotient is `quotient + correction` with an error of at most 7u² × quotient.
 * - `value + error` is `quotient + correction` exactly, because the correction is the smaller one.
 *
 * So the true quotient is `value + error` with an error of at most 7u² × value. Half the distance to the next double is at
 * least u/2 × value. The quotient rounds to `value` if `error` is below that half by 14u of it, and `SURE` asks for more.
 */
function divideLong(first: number, power: number, rest: number, divisor: number): number {
  const product = first * power;
  const high = product + rest;
  const low = productError(first, power, product) + (rest - (high - product));
  const quotient = high / divisor;
  const back = quotient * divisor;
  const remainder = high - back - productError(quotient, divisor, back) + low;
  const correction = remainder / divisor;
  const value = quotient + correction;
  const error = correction - (value - quotient);
  return value + error * SURE === value ? value : 0;
}

/** Returns a × b - product exactly. `product` is a × b rounded. */
function productError(a: number, b: number, product: number): number {
  const aSplit = a * 134217729;
  const aHigh = aSplit - (aSplit - a);
  const aLow = a - aHigh;
  const bSplit = b * 134217729;
  const bHigh = bSplit - (bSplit - b);
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

function isExponent(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  if (at < end && (bytes[at] === MINUS || bytes[at] === PLUS)) at++;
  if (at === end) return false;
  while (at < end && isDigit(bytes[at]!)) at++;
  return at === end;
}

function readWord(bytes: Buffer, start: number, end: number): number {
  read.isDecimal = false;
  if (isWord('nan', bytes, start, end)) {
    read.value = Number.NaN;
    return 0;
  }
  const negative = bytes[start] === MINUS;
  const at = negative || bytes[start] === PLUS ? start + 1 : start;
  if (!isWord('infinity', bytes, at, end) && !isWord('inf', bytes, at, end)) return NOT_A_NUMBER;
  read.value = negative ? -Infinity : Infinity;
  return 0;
}

/**
 * The value that would follow the largest float4, 2¹²⁸. A number that is nearer to it than to the largest float4 is infinite.
 */
const BEYOND_FLOAT4 = 2 ** 128;

/**
 * Rounds a decimal to float4, given the double that is nearest to the decimal. It is right for two reasons:
 *
 * - Each middle of two neighbouring float4 is a double, because it has at most 25 significant bits. Rounding keeps the order. So a decimal above a middle has a
 *   double that is not below this middle, and the other way round. Therefore the decimal and its double have the same nearest float4, unless the double
 *   is a middle.
 * - If the double is a middle, its text is compared exactly with the middle. The two neighbours are `below` and `above`: `step` is one or two units of
 *   the last place of the double, which is far less than the distance to a neighbour.
 */
function roundToFloat4(double: number, bytes: Buffer, start: number, end: number): number {
  // If rounding both gives the same float4, no middle is within `step`.
  const step = Math.abs(double) * 2 ** -52;
  const below = Math.fround(double - step);
  const above = Math.fround(double + step);
  if (below === above || (finite(below) + finite(above)) / 2 !== double) return Math.fround(double);
  const text = bytes.toString('latin1', start, end).trim().replace(/^[+-]/, '');
  const order = Math.sign(double) * compareDecimal(text, Math.abs(double));
  if (order === 0) return Math.fround(double);
  return order < 0 ? below : above;
}

function finite(float4: number): number {
  return Number.isFinite(float4) ? float4 : Math.sign(float4) * BEYOND_FLOAT4;
}

/**
 * The significant digits of a decimal that are compared exactly. No middle between two float4 values has more digits, so later
 * digits only decide if all of these are equal.
 */
const DECIDING_DIGITS = 200;

/** Returns the sign of decimal - value. Both are positive, and the decimal is within float4's exponents. */
function compareDecimal(decimal: string, value: number): number {
  const [mantissa = '', power = '0'] = decimal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  let exponent = Number(power) - fraction.length;
  let digits = all;
  if (all.length > DECIDING_DIGITS) {
    exponent += all.length - DECIDING_DIGITS - 1;
    digits = `${all.slice(0, DECIDING_DIGITS)}${/[1-9]/.test(all.slice(DECIDING_DIGITS)) ? 1 : 0}`;
  }
  // Every midpoint of float4 is a multiple of 2⁻¹⁵⁰, so the product is whole and exact.
  let left = BigInt(digits) * 2n ** 150n;
  let right = BigInt(value * 2 ** 150);
  if (exponent >= 0) left *= 10n ** BigInt(exponent);
  else right *= 10n ** BigInt(-exponent);
  return left < right ? -1 : left > right ? 1 : 0;
}
