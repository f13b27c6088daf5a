/** Writes the numbers of a file as text, with all their digits. */

import { MINUS, POINT } from '../../../core/bytes/ascii.ts';
import type { RecordBuffer } from './record-buffer.ts';

const UPPER = 4_294_967_296;

/** @param value a safe integer */
export function appendInteger(out: RecordBuffer, value: number): void {
  if (value < 0) out.appendByte(MINUS);
  out.appendDigits(Math.abs(value), 1);
}

export function appendLong(out: RecordBuffer, low: number, high: number, isSigned: boolean): void {
  const value = (isSigned ? high : high >>> 0) * UPPER + (low >>> 0);
  if (Number.isSafeInteger(value)) appendInteger(out, value);
  else out.appendText(String(exactLong(low, high, isSigned)));
}

export function exactLong(low: number, high: number, isSigned: boolean): bigint {
  return BigInt(isSigned ? high : high >>> 0) * BigInt(UPPER) + BigInt(low >>> 0);
}

/** The power of ten up to which a scaled safe integer is divided exactly. */
const maxExactScale = 15;

/** Writes a whole number divided by 10 to the power of `scale`. @param value a safe integer */
export function appendScaled(out: RecordBuffer, value: number, scale: number): void {
  if (scale > maxExactScale) {
    appendScaledExact(out, BigInt(value), scale);
    return;
  }
  if (value < 0) out.appendByte(MINUS);
  const digits = Math.abs(value);
  const unit = 10 ** scale;
  const whole = Math.floor(digits / unit);
  out.appendDigits(whole, 1);
  if (scale === 0) return;
  out.appendByte(POINT);
  out.appendDigits(digits - whole * unit, scale);
}

export function appendScaledLong(out: RecordBuffer, low: number, high: number, scale: number): void {
  const value = high * UPPER + (low >>> 0);
  if (Number.isSafeInteger(value)) appendScaled(out, value, scale);
  else appendScaledExact(out, exactLong(low, high, true), scale);
}

/** The longest big-endian integer that is read as a number. */
const shortBytes = 6;

/** Writes a decimal whose digits are a big-endian integer. @param end after `start` */
export function appendScaledBytes(
  out: RecordBuffer,
  bytes: Buffer,
  start: number,
  end: number,
  scale: number,
): void {
  const sign = bytes[start]! >= 0x80 ? 0xff : 0;
  let at = start;
  // Leading bytes that only repeat the sign are left out.
  while (end - at > 1 && bytes[at] === sign && (bytes[at + 1]! & 0x80) === (sign & 0x80)) at++;
  const length = end - at;
  if (length <= shortBytes) {
    appendScaled(out, bytes.readIntBE(at, length), scale);
    return;
  }
  const unsigned = BigInt(`0x${bytes.toString('hex', at, end)}`);
  appendScaledExact(out, BigInt.asIntN(8 * length, unsigned), scale);
}

function appendScaledExact(out: RecordBuffer, value: bigint, scale: number): void {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const point = digits.length - scale;
  out.appendText(
    `${value < 0n ? '-' : ''}${digits.slice(0, point)}${scale > 0 ? '.' : ''}${digits.slice(point)}`,
  );
}

/** Writes a finite number with the fewest digits that give it back. */
export function appendDouble(out: RecordBuffer, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) <= 0x7fffffff && !Object.is(value, -0)) {
    appendInteger(out, value);
  } else {
    out.appendText(Object.is(value, -0) ? '-0' : String(value));
  }
}

/** A float of 32 bits has 6 to 9 significant digits. */
const minFloatDigits = 6;

/** Writes a finite float of 32 bits with the fewest digits that give it back. */
export function appendFloat(out: RecordBuffer, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 24) {
    appendDouble(out, value);
    return;
  }
  for (let digits = minFloatDigits; ; digits++) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) !== value) continue;
    out.appendText(String(rounded));
    return;
  }
}

/** Returns the value of a float of 16 bits. */
export function halfOf(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
