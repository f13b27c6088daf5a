/**
 * Reads numbers that are written with other signs than PostgreSQL's: `1.234,50`, `1 234,50`, `1'234.50`.
 *
 * A thousands sign separates groups of three digits or, as in India, groups of two digits before the last three: `12,34,567`. Any other
 * grouping is not a number, so that `1.2345` is never read as 12345. A space may be U+0020, U+00A0, U+2009 or U+202F, because programs
 * write all of them between digits. An apostrophe may also be U+2019, and a minus sign U+2212.
 */

import { APOSTROPHE, isDigit, LOWER_E, MINUS, PLUS, POINT, SPACE, ZERO } from '../../core/bytes/ascii.ts';

/** The signs as code points. `thousands` is 0 if there is no thousands sign. */
export interface NumberSigns {
  decimal: number;
  thousands: number;
}

/** The bit that turns a capital letter into a small one. */
const LOWER = 0x20;

/**
 * Writes the number in PostgreSQL's form, `-1234.50`, to the beginning of `out`, which has room for at least as many bytes as the text.
 *
 * @returns the length written; -1: the text is not a number with these signs
 */
export function readNumber(
  bytes: Buffer,
  start: number,
  end: number,
  { decimal, thousands }: NumberSigns,
  out: Buffer,
): number {
  let at = start;
  let length = 0;
  if (at < end && (bytes[at] === PLUS || bytes[at] === MINUS)) {
    if (bytes[at] === MINUS) out[length++] = MINUS;
    at += 1;
  } else if (isMinusSign(bytes, at, end)) {
    out[length++] = MINUS;
    at += 3;
  }

  const firstDigit = length;
  let groupStart = length;
  /** The number of digits in the first group, and in each group between the first and the last one; 0: there is no such group yet. */
  let firstGroup = 0;
  let innerGroup = 0;
  let groups = 0;
  while (at < end) {
    const byte = bytes[at]!;
    if (isDigit(byte)) {
      out[length++] = byte;
      at += 1;
      continue;
    }
    const signLength = thousands === 0 ? 0 : signLengthAt(bytes, at, end, thousands);
    if (signLength === 0) break;
    const digits = length - groupStart;
    if (digits === 0 || digits > 3) return -1;
    if (groups === 0) firstGroup = digits;
    else if (innerGroup !== 0 && innerGroup !== digits) return -1;
    else innerGroup = digits;
    groups += 1;
    groupStart = length;
    at += signLength;
  }
  const wholeDigits = length - firstDigit;
  if (groups > 0) {
    // The last group always has three digits. The groups before it all have three, or all have two.
    if (length - groupStart !== 3 || innerGroup === 1) return -1;
    if (innerGroup === 2 && firstGroup === 3) return -1;
    // A number such as `0.500` has no thousands. Its point is a decimal sign.
    if (out[firstDigit] === ZERO) return -1;
  }

  let fractionDigits = 0;
  if (at < end && bytes[at] === decimal) {
    at += 1;
    out[length++] = POINT;
    while (at < end && isDigit(bytes[at]!)) {
      out[length++] = bytes[at++]!;
      fractionDigits += 1;
    }
    if (fractionDigits === 0) return -1;
  }
  if (wholeDigits + fractionDigits === 0) return -1;

  if (at < end && (bytes[at]! | LOWER) === LOWER_E) {
    out[length++] = bytes[at++]!;
    if (at < end && (bytes[at] === PLUS || bytes[at] === MINUS)) out[length++] = bytes[at++]!;
    const exponent = at;
    while (at < end && isDigit(bytes[at]!)) out[length++] = bytes[at++]!;
    if (at === exponent) return -1;
  }
  return at === end ? length : -1;
}

/** Returns the length in bytes of the thousands sign at `at`; 0: there is none. */
function signLengthAt(bytes: Buffer, at: number, end: number, thousands: number): number {
  const byte = bytes[at]!;
  if (byte === thousands) return 1;
  if (thousands === SPACE) {
    if (byte === 0xc2) return at + 1 < end && bytes[at + 1] === 0xa0 ? 2 : 0;
    if (byte !== 0xe2 || at + 2 >= end || bytes[at + 1] !== 0x80) return 0;
    return bytes[at + 2] === 0xaf || bytes[at + 2] === 0x89 ? 3 : 0;
  }
  const isRightQuote = byte === 0xe2 && at + 2 < end && bytes[at + 1] === 0x80 && bytes[at + 2] === 0x99;
  return thousands === APOSTROPHE && isRightQuote ? 3 : 0;
}

/** Returns whether U+2212 is at `at`. */
function isMinusSign(bytes: Buffer, at: number, end: number): boolean {
  return at + 2 < end && bytes[at] === 0xe2 && bytes[at + 1] === 0x88 && bytes[at + 2] === 0x92;
}
