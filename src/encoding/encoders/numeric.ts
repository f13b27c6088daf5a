/**
 * Encodes numeric with every digit exact. The groups in base 10000 are written directly from the ASCII digits.
 *
 * The format is that of `numeric_send`: int16 number of groups, int16 weight (of the first group, in groups), int16 sign, int16 display
 * scale, the groups. It reads the forms that `numeric_in` of PostgreSQL 16 reads, with other bases, underscores, NaN and the infinities.
 */
import * as ascii from '../../core/bytes/ascii.ts';
import { NUMBER, STRING } from '../../core/cells/cell-kind.ts';
import { NOT_A_NUMBER, OUT_OF_RANGE } from '../problems/cell-problems.ts';
import type { ColumnEncoder } from './column-encoder.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { readOtherBase, readShortOtherBase } from './other-base.ts';

/** The maximum number of digits of `numeric`: 131,072 before the point and 16,383 after it (PostgreSQL 8.1.2). */
const MOST_WHOLE_DIGITS = 131_072;
const MOST_FRACTION_DIGITS = 16_383;
/** The largest exponent that PostgreSQL accepts: numeric.c refuses numbers with an exponent from INT_MAX / 2 on. */
const MOST_EXPONENT = 1_073_741_823;

const POSITIVE = 0x0000;
const NEGATIVE = 0x4000;
const NOT_A_NUMBER_SIGN = 0xc000;
const INFINITE = 0xd000;
const NEGATIVE_INFINITE = 0xf000;

/** Writes a numeric. The server rounds it to numeric(p,s). A number that would not fit is refused. */
export function encodeNumeric(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (kind !== NUMBER && kind !== STRING) return NOT_A_NUMBER;
  if (encodeSmall(out, encoder, bytes, start, end) >= 0) return 0;
  let at = start;
  let sign = POSITIVE;
  if (bytes[at] === ascii.MINUS && at < end) {
    sign = NEGATIVE;
    at++;
  }
  const firstDigit = at;
  while (at < end && bytes[at] === ascii.ZERO) at++;
  const wholeStart = at;
  while (at < end && ascii.isDigit(bytes[at]!)) at++;
  const wholeEnd = at;
  if (at === firstDigit) return encodeUnusual(out, encoder, bytes, start, end);
  let fractionStart = at;
  if (at < end && bytes[at] === ascii.POINT) {
    fractionStart = ++at;
    while (at < end && ascii.isDigit(bytes[at]!)) at++;
  }
  if (at !== end) return encodeUnusual(out, encoder, bytes, start, end);

  const fractionEnd = Math.min(at, fractionStart + neededFraction(encoder));
  if (wholeEnd - wholeStart > MOST_WHOLE_DIGITS || fractionEnd - fractionStart > MOST_FRACTION_DIGITS) {
    return OUT_OF_RANGE;
  }
  if (encoder.precision >= 0 && wholeEnd - wholeStart >= encoder.precision - encoder.scale) {
    const point = wholeEnd > wholeStart ? wholeEnd - wholeStart : pointOf(bytes, fractionStart, fractionEnd);
    const first = wholeEnd > wholeStart ? wholeStart : fractionStart - point;
    if (overflows(encoder, point, bytes, first, fractionEnd)) return OUT_OF_RANGE;
  }
  writeDigits(out, sign, bytes, wholeStart, wholeEnd, fractionStart, fractionEnd);
  return 0;
}

/** The maximum number of bytes that `encodePlainNumeric` reads. `numeric` stores every such number. */
const MOST_PLAIN_BYTES = 1_000;

/**
 * Writes a numeric that is written as PostgreSQL writes it: digits, at most one point between digits, no zeros before the first digit, and
 * not `-0`.
 *
 * @param encoder of a numeric without precision
 * @returns the number of bytes from the point on, 0 without a point; -1 if nothing was written
 */
export function encodePlainNumeric(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const wholeStart = bytes[start] === ascii.MINUS ? start + 1 : start;
  if (bytes[wholeStart] === ascii.ZERO && end > wholeStart + 1 && bytes[wholeStart + 1] !== ascii.POINT)
    return -1;
  if (bytes[end - 1] === ascii.POINT || (wholeStart > start && hasOnlyZeros(bytes, wholeStart, end)))
    return -1;
  const tail = encodeSmall(out, encoder, bytes, start, end);
  if (tail >= 0 || end - start > MOST_PLAIN_BYTES) return tail;
  let at = wholeStart;
  while (at < end && ascii.isDigit(bytes[at]!)) at++;
  const wholeEnd = at;
  if (wholeEnd === wholeStart) return -1;
  const fractionStart = Math.min(at + 1, end);
  if (at < end) {
    if (bytes[at] !== ascii.POINT) return -1;
    for (at = fractionStart; at < end; at++) if (!ascii.isDigit(bytes[at]!)) return -1;
  }
  const sign = wholeStart > start ? NEGATIVE : POSITIVE;
  const firstDigit = bytes[wholeStart] === ascii.ZERO ? wholeEnd : wholeStart;
  writeDigits(out, sign, bytes, firstDigit, wholeEnd, fractionStart, end);
  return end - wholeEnd;
}

function hasOnlyZeros(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    if (bytes[at] !== ascii.ZERO && bytes[at] !== ascii.POINT) return false;
  return true;
}

/**
 * Encodes the common case without a loop over groups: at most eight digits before the point and four after it, if numeric(p,s) has
 * room for them.
 *
 * @returns the number of bytes from the point on, 0 without a point; -1 if nothing was written
 */
function encodeSmall(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const isNegative = bytes[start] === ascii.MINUS;
  const wholeStart = isNegative ? start + 1 : start;
  if (end - start > 14) return -1;
  let whole = 0;
  let at = wholeStart;
  for (; at < end; at++) {
    const digit = bytes[at]! - ascii.ZERO;
    if (digit < 0 || digit > 9) break;
    whole = whole * 10 + digit;
  }
  const wholeDigits = at - wholeStart;
  if (wholeDigits === 0 || wholeDigits > 8) return -1;
  let fraction = 0;
  let scale = 0;
  if (at < end) {
    if (bytes[at] !== ascii.POINT) return -1;
    scale = end - ++at;
    if (scale > 4) return -1;
    for (; at < end; at++) {
      const digit = bytes[at]! - ascii.ZERO;
      if (digit < 0 || digit > 9) return -1;
      fraction = fraction * 10 + digit;
    }
    for (let missing = scale; missing < 4; missing++) fraction *= 10;
  }
  if (encoder.precision >= 0 && (scale > encoder.scale || wholeDigits > encoder.precision - encoder.scale))
    return -1;
  const high = (whole / 10_000) | 0;
  const low = whole - high * 10_000;
  writeSmall(out, isNegative ? NEGATIVE : POSITIVE, scale, high, low, fraction);
  return end - wholeStart - wholeDigits;
}

/**
 * Writes (high · 10⁸ + low · 10⁴ + fraction) / 10⁴. A numeric has one number for each four digits. Numbers that are 0 are left
 * out at both ends.
 */
function writeSmall(
  out: CopyBuffer,
  sign: number,
  scale: number,
  high: number,
  low: number,
  fraction: number,
): void {
  const first = high !== 0 ? 0 : low !== 0 ? 1 : 2;
  const last = fraction !== 0 ? 2 : low !== 0 ? 1 : 0;
  const groups = Math.max(0, last - first + 1);
  const isZero = groups === 0;
  out.ensure(18);
  out.int64(8 + groups * 2, (groups << 16) | (isZero ? 0 : (1 - first) & 0xffff));
  out.int32(((isZero ? POSITIVE : sign) << 16) | scale);
  for (let group = first; group <= last; group++)
    out.int16(group === 0 ? high : group === 1 ? low : fraction);
}

/** Returns how many fraction digits decide the stored value: those of the scale, and one more for rounding. */
function neededFraction(encoder: ColumnEncoder): number {
  return encoder.precision < 0 ? Number.MAX_SAFE_INTEGER : Math.max(encoder.scale, 0) + 1;
}

/** Returns `point` (0.d₁d₂… · 10^point) for a number below one: minus the number of zeros between the point and the first other digit. */
function pointOf(bytes: Buffer, fractionStart: number, fractionEnd: number): number {
  let at = fractionStart;
  while (at < fractionEnd && bytes[at] === ascii.ZERO) at++;
  return fractionStart - at;
}

/**
 * Returns whether the number 0.d₁d₂… · 10^point has too many digits for numeric(p,s) after rounding (`apply_typmod`). bytes[first, end)
 * are its digits. d₁ is not 0, and a point may be among the digits.
 */
function overflows(
  encoder: ColumnEncoder,
  point: number,
  bytes: Buffer,
  first: number,
  end: number,
): boolean {
  const room = encoder.precision - encoder.scale;
  if (first >= end || point < room) return false;
  if (point > room) return true;
  // If all kept digits are nines, rounding up adds another digit.
  let nines = 0;
  for (let at = first; at < end; at++) {
    if (bytes[at] === ascii.POINT) continue;
    if (nines === encoder.precision) return bytes[at]! >= 0x35;
    if (bytes[at] !== ascii.NINE) return false;
    nines++;
  }
  return false;
}

function writeDigits(
  out: CopyBuffer,
  sign: number,
  source: Buffer,
  wholeStart: number,
  wholeEnd: number,
  fractionStart: number,
  fractionEnd: number,
): void {
  const whole = wholeEnd - wholeStart;
  const fraction = fractionEnd - fractionStart;
  out.ensure(16 + ((whole + fraction) >> 1));
  const bytes = out.bytes;
  const fieldStart = out.position;
  const groupsStart = fieldStart + 12;
  let position = groupsStart;
  let groupsEnd = groupsStart; // after the last group that is not 0
  let weight = ((whole + 3) >> 2) - 1;

  let at = wholeStart;
  let group = 0;
  for (let left = whole; left > 0; ) {
    const count = ((left - 1) & 3) + 1;
    group = source[at]! - ascii.ZERO;
    for (let more = 1; more < count; more++) group = group * 10 + source[at + more]! - ascii.ZERO;
    at += count;
    left -= count;
    bytes[position] = group >> 8;
    bytes[position + 1] = group;
    position += 2;
    if (group !== 0) groupsEnd = position;
  }
  at = fractionStart;
  while (at < fractionEnd) {
    group = (source[at]! - ascii.ZERO) * 1000;
    if (at + 1 < fractionEnd) group += (source[at + 1]! - ascii.ZERO) * 100;
    if (at + 2 < fractionEnd) group += (source[at + 2]! - ascii.ZERO) * 10;
    if (at + 3 < fractionEnd) group += source[at + 3]! - ascii.ZERO;
    at += 4;
    if (group === 0 && position === groupsStart) {
      weight--;
      continue;
    }
    bytes[position] = group >> 8;
    bytes[position + 1] = group;
    position += 2;
    if (group !== 0) groupsEnd = position;
  }
  const isZero = groupsEnd === groupsStart;
  finish(out, groupsEnd, isZero ? 0 : weight, isZero ? POSITIVE : sign, fraction);
}

/** Fills in the header of the field. The groups are already written after the header, up to `groupsEnd`. */
function finish(out: CopyBuffer, groupsEnd: number, weight: number, sign: number, scale: number): void {
  const payload = groupsEnd - out.position - 4;
  out.int32(payload);
  out.int16((payload - 8) >> 1);
  out.int16(weight);
  out.int16(sign);
  out.int16(scale);
  out.position = groupsEnd;
}

/** Encodes numbers with spaces around them, a plus, an exponent, no digit before the point, underscores or another base, NaN and infinities. */
function encodeUnusual(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  let at = start;
  let stop = end;
  while (at < stop && ascii.isSpace(bytes[at]!)) at++;
  while (stop > at && ascii.isSpace(bytes[stop - 1]!)) stop--;
  if (ascii.isWord('nan', bytes, at, stop)) return encodeSpecial(out, NOT_A_NUMBER_SIGN);
  const negative = bytes[at] === ascii.MINUS;
  if (at < stop && (negative || bytes[at] === ascii.PLUS)) at++;
  if (ascii.isWord('infinity', bytes, at, stop) || ascii.isWord('inf', bytes, at, stop)) {
    if (encoder.precision >= 0) return OUT_OF_RANGE;
    return encodeSpecial(out, negative ? NEGATIVE_INFINITE : INFINITE);
  }
  const sign = negative ? NEGATIVE : POSITIVE;
  if (
    at + 1 < stop &&
    bytes[at] === ascii.ZERO &&
    'xob'.includes(String.fromCharCode(bytes[at + 1]! | 0x20))
  ) {
    return encodeOtherBase(out, encoder, sign, bytes, at, stop);
  }
  const problem = readDigits(bytes, at, stop);
  return problem !== 0 ? problem : encodeRead(out, encoder, sign);
}

function encodeSpecial(out: CopyBuffer, sign: number): number {
  out.ensure(12);
  finish(out, out.position + 12, 0, sign, 0);
  return 0;
}

/** The result of `readDigits`: 0.d₁d₂… · 10^point. `digits` contains the digits as ASCII, and d₁ is not 0. */
const read = { digits: Buffer.alloc(64), count: 0, point: 0, scale: 0 };

function appendDigit(byte: number): void {
  if (read.count === read.digits.length) {
    read.digits = Buffer.concat([read.digits], read.digits.length * 2);
  }
  read.digits[read.count++] = byte;
}

/** Reads digits [. digits] [e [sign] digits] with single underscores between digits. Digits beyond numeric's limits are not kept. */
function readDigits(bytes: Buffer, start: number, end: number): number {
  read.count = 0;
  read.point = 0;
  read.scale = 0;
  let seen = false;
  let inFraction = false;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === ascii.UNDERSCORE) {
      if (at === start || at + 1 >= end || !ascii.isDigit(bytes[at - 1]!) || !ascii.isDigit(bytes[at + 1]!))
        return NOT_A_NUMBER;
    } else if (byte === ascii.POINT) {
      if (inFraction) return NOT_A_NUMBER;
      inFraction = true;
    } else if (ascii.isDigit(byte)) {
      seen = true;
      if (inFraction) read.scale++;
      if (read.count === 0 && byte === ascii.ZERO) {
        if (inFraction) read.point--;
        continue;
      }
      if (!inFraction) read.point++;
      if (read.count < MOST_WHOLE_DIGITS + MOST_FRACTION_DIGITS + 1) appendDigit(byte);
    } else {
      break;
    }
  }
  if (!seen) return NOT_A_NUMBER;
  if (at === end) return 0;
  if ((bytes[at]! | 0x20) !== ascii.LOWER_E) return NOT_A_NUMBER;
  return readExponent(bytes, at + 1, end);
}

function readExponent(bytes: Buffer, start: number, end: number): number {
  let at = start;
  const negative = bytes[at] === ascii.MINUS;
  if (at < end && (negative || bytes[at] === ascii.PLUS)) at++;
  const firstDigit = at;
  let exponent = 0;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === ascii.UNDERSCORE && at > firstDigit && at + 1 < end && ascii.isDigit(bytes[at + 1]!))
      continue;
    if (!ascii.isDigit(byte)) return NOT_A_NUMBER;
    if (exponent < MOST_EXPONENT) exponent = exponent * 10 + byte - ascii.ZERO;
  }
  if (at === firstDigit) return NOT_A_NUMBER;
  if (exponent >= MOST_EXPONENT) return OUT_OF_RANGE;
  if (negative) exponent = -exponent;
  read.point += exponent;
  read.scale = Math.max(0, read.scale - exponent);
  return 0;
}

/** Writes the number in `read`. The zeros that an exponent means are never written as digits. */
function encodeRead(out: CopyBuffer, encoder: ColumnEncoder, sign: number): number {
  const needed = neededFraction(encoder);
  if (read.scale > needed) {
    read.scale = needed;
    read.count = Math.max(0, Math.min(read.count, read.point + needed));
  }
  if (read.scale > MOST_FRACTION_DIGITS) return OUT_OF_RANGE;
  if (read.count === 0) return encodeZero(out, read.scale);
  if (read.point > MOST_WHOLE_DIGITS) return OUT_OF_RANGE;
  if (encoder.precision >= 0 && overflows(encoder, read.point, read.digits, 0, read.count))
    return OUT_OF_RANGE;

  const weight = Math.floor((read.point - 1) / 4);
  const padding = (weight + 1) * 4 - read.point; // zeros before d₁ in its group
  out.ensure(16 + 2 * ((read.count + padding) >> 2));
  let position = out.position + 12;
  let groupsEnd = position;
  for (let at = -padding; at < read.count; at += 4) {
    let group = 0;
    for (let digit = at; digit < at + 4; digit++) {
      group = group * 10 + (digit >= 0 && digit < read.count ? read.digits[digit]! - ascii.ZERO : 0);
    }
    out.bytes[position] = group >> 8;
    out.bytes[position + 1] = group;
    position += 2;
    if (group !== 0) groupsEnd = position;
  }
  finish(out, groupsEnd, weight, sign, read.scale);
  return 0;
}

function encodeZero(out: CopyBuffer, scale: number): number {
  out.ensure(12);
  finish(out, out.position + 12, 0, POSITIVE, scale);
  return 0;
}

/** The maximum number of bytes of a number in base 16, 8 or 2. A longer one is refused as out of range, because converting it would block the event loop. */
const MOST_OTHER_BYTES = 1_000;

function encodeOtherBase(
  out: CopyBuffer,
  encoder: ColumnEncoder,
  sign: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  if (end - start > MOST_OTHER_BYTES) return OUT_OF_RANGE;
  const short = readShortOtherBase(bytes, start, end);
  if (short >= 0) {
    readDigits(shortDigits, writeShortDigits(short), shortDigits.length);
    return encodeRead(out, encoder, sign);
  }
  const value = readOtherBase(bytes, start, end);
  if (value === undefined) return NOT_A_NUMBER;
  const decimal = Buffer.from(value.toString());
  readDigits(decimal, 0, decimal.length);
  return encodeRead(out, encoder, sign);
}

/** The digits of a whole number that is an exact double. They end at the end of the buffer. */
const shortDigits = Buffer.alloc(16);

/** Writes the digits of the number. @returns where they begin */
function writeShortDigits(value: number): number {
  let at = shortDigits.length;
  let left = value;
  do {
    const rest = Math.floor(left / 10);
    shortDigits[--at] = ascii.ZERO + left - rest * 10;
    left = rest;
  } while (left > 0);
  return at;
}
