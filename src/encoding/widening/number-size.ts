/** Measures a decimal number as `numeric(p,s)` does: its digits before and after the point, without zeros at the ends. */
import { isDigit, LOWER_E, POINT, ZERO } from '../../core/bytes/ascii.ts';

const LOWER_X = 0x78;
const LOWER_O = 0x6f;
const LOWER_B = 0x62;

/** Returns whether the text has a digit, so that it is not NaN or an infinity. */
export function hasDigit(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (isDigit(bytes[at]!)) return true;
  return false;
}

/**
 * Returns how many digits the number has before the point; negative if zeros follow the point: -2 for 0.001. Few for zero.
 *
 * @param bytes a number that the encoder of `numeric` reads
 */
export function wholeDigits(bytes: Buffer, start: number, end: number): number {
  // A number in another base has at most this many decimal digits for each of its own.
  if (isInOtherBase(bytes, start, end)) return Math.ceil((end - start) * 1.21);
  let seen = 0;
  let first = -1;
  let point = -1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (isDigit(byte)) {
      if (first < 0 && byte !== ZERO) first = seen;
      seen++;
    } else if (byte === POINT) point = seen;
    else if ((byte | 0x20) === LOWER_E) break;
  }
  if (first < 0) return Number.NEGATIVE_INFINITY;
  return (point < 0 ? seen : point) - first + exponentOf(bytes, start, end);
}

/** Returns how many digits the number has after the point; negative if zeros come before it: -2 for 1200. */
export function fractionDigits(bytes: Buffer, start: number, end: number): number {
  if (isInOtherBase(bytes, start, end)) return 0;
  let seen = 0;
  let last = -1;
  let point = -1;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (isDigit(byte)) {
      if (byte !== ZERO) last = seen;
      seen++;
    } else if (byte === POINT) point = seen;
    else if ((byte | 0x20) === LOWER_E) break;
  }
  if (last < 0) return Number.NEGATIVE_INFINITY;
  return last + 1 - (point < 0 ? seen : point) - exponentOf(bytes, start, end);
}

function exponentOf(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    if ((bytes[at]! | 0x20) === LOWER_E)
      return Number(bytes.toString('latin1', at + 1, end).replaceAll('_', ''));
  }
  return 0;
}

/** Returns whether the number begins with 0x, 0o or 0b. */
function isInOtherBase(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at + 1 < end; at++) {
    if (!isDigit(bytes[at]!)) continue;
    const letter = bytes[at + 1]! | 0x20;
    return bytes[at] === ZERO && (letter === LOWER_X || letter === LOWER_O || letter === LOWER_B);
  }
  return false;
}
