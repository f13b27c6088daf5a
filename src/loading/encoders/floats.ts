/**
 * float4 and float8, correctly rounded. Text as `float8in` takes it: spaces around, NaN, the infinities, exponents; a
 * number that becomes infinite or 0 by rounding is out of range (8.1.3). The C library's hexadecimal floats are
 * refused.
 */
import { isDigit, isSpace, isWord, MINUS, PLUS, POINT, ZERO } from '../../sources/bytes/ascii.ts';
import { NUMBER, STRING } from '../../sources/cell-kind.ts';
import { NOT_A_NUMBER, OUT_OF_RANGE } from '../cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';

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
    if (value !== read.value && isMidpoint(read.value, value))
      value = roundMidpoint(read.value, value, bytes, start, end);
    if (!Number.isFinite(value) || (value === 0 && read.hasDigit)) return OUT_OF_RANGE;
  }
  out.ensure(8);
  out.int32(4);
  out.float32(value);
  return 0;
}

/** What `readFloat` has read. `hasDigit`: some digit is not 0; `isDecimal`: not one of the words. */
const read = { value: 0.5, hasDigit: false, isDecimal: false };

/** Up to here a product or quotient of exact doubles is the correctly rounded value (Clinger's fast path). */
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
  let rest = 0; // those after them
  let digits = 0; // from the first that is not 0
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
    if ((bytes[at]! | 0x20) !== 0x65 || !isExponent(bytes, at + 1, stop)) return NOT_A_NUMBER;
    exponent += exponentOf(bytes, at + 1, stop);
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

/**
 * (first × power + rest) / divisor, correctly rounded, or 0 where that is too close to the middle of two doubles to be
 * sure: as a sum of two doubles, of which the second is what rounding left of the first (T. J. Dekker, "A floating-point
 * technique for extending the available precision", 1971).
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
  // What is lost in all this is less than 2⁻⁴⁰ of the error.
  return value + error * 1.000001 === value ? value : 0;
}

/** a × b - product, exactly, where `product` is a × b rounded. */
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

function exponentOf(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === MINUS;
  let value = 0;
  for (let at = start; at < end; at++) {
    if (isDigit(bytes[at]!) && value < 1e8) value = value * 10 + bytes[at]! - ZERO;
  }
  return negative ? -value : value;
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

/** 2¹²⁸, which comes after the largest float4. */
const BEYOND_FLOAT4 = 2 ** 128;
const floats = new Float32Array(1);
const floatBits = new Int32Array(floats.buffer);

/** The float4 on the other side of `value` from `rounded`; 2¹²⁸ stands for the infinite one. */
function otherNeighbour(value: number, rounded: number): number {
  if (!Number.isFinite(rounded)) return floatAfter(value < 0 ? -BEYOND_FLOAT4 : BEYOND_FLOAT4, -1);
  return floatAfter(rounded, Math.abs(value) > Math.abs(rounded) ? 1 : -1);
}

/** The next float4 away from zero (`step` 1) or towards it (-1). */
function floatAfter(value: number, step: number): number {
  if (value === BEYOND_FLOAT4 || value === -BEYOND_FLOAT4) return Math.sign(value) * 3.4028234663852886e38;
  floats[0] = value;
  floatBits[0] = floatBits[0]! + step;
  const next = floats[0]!;
  return Number.isFinite(next) ? next : Math.sign(value) * BEYOND_FLOAT4;
}

/** Whether the double stands exactly between two float4: then it does not say which is nearer to the decimal. */
function isMidpoint(value: number, rounded: number): boolean {
  if (Math.abs(value) >= BEYOND_FLOAT4) return false;
  const bounded = Number.isFinite(rounded) ? rounded : Math.sign(value) * BEYOND_FLOAT4;
  return Math.abs(value - bounded) === Math.abs(otherNeighbour(value, rounded) - value);
}

/** Looks at the decimal again, exactly: nearer to zero than the midpoint, beyond it, or on it (then even wins). */
function roundMidpoint(midpoint: number, rounded: number, bytes: Buffer, start: number, end: number): number {
  const order = compareDecimal(
    bytes.toString('latin1', start, end).trim().replace(/^[+-]/, ''),
    Math.abs(midpoint),
  );
  if (order === 0) return rounded;
  const other = Math.fround(otherNeighbour(midpoint, rounded));
  const nearer = Math.abs(rounded) < Math.abs(other) ? rounded : other;
  return order < 0 ? nearer : nearer === rounded ? other : rounded;
}

/** No double between two float4 has more significant decimal digits than this; what follows only breaks the tie. */
const DECIDING_DIGITS = 200;

/** The sign of decimal - value; both positive, the decimal within float4's exponents. */
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
