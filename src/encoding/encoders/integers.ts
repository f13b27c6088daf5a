/**
 * Encodes int2, int4, int8 and oid.
 *
 * Text is read as `pg_strtoint64` of PostgreSQL 16 and newer reads it (4.1.2.6): spaces around the number, a sign, decimal digits or
 * digits after 0x, 0o or 0b, and single underscores between digits. A number of JSON or of a spreadsheet may have any form if it is
 * whole: 42.0 and 4.2e1 lose nothing. oid accepts only plain digits, because the server turns -1 into 4294967295 and reads 010 as ten
 * or as eight depending on its version.
 */
import { isDigit, isSpace, MINUS, PLUS, POINT, UNDERSCORE, ZERO } from '../../core/bytes/ascii.ts';
import { NUMBER, STRING } from '../../core/cells/cell-kind.ts';
import { NOT_A_WHOLE_NUMBER, OUT_OF_RANGE } from '../problems/cell-problems.ts';
import type { CopyBuffer } from './copy-buffer.ts';
import { readExponent } from './exponent.ts';
import { readOtherBase, readShortOtherBase } from './other-base.ts';

export function encodeInt2(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  let value = kind === NUMBER || kind === STRING ? readShort(bytes, start, end) : LONG;
  if (value === LONG) {
    const problem = readLong(kind, bytes, start, end);
    if (problem !== 0) return problem;
    value = longAsDouble();
  }
  if (value < -0x8000 || value > 0x7fff) return OUT_OF_RANGE;
  out.ensure(6);
  out.int32(2);
  out.int16(value);
  return 0;
}

export function encodeInt4(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  let value = kind === NUMBER || kind === STRING ? readShort(bytes, start, end) : LONG;
  if (value === LONG) {
    const problem = readLong(kind, bytes, start, end);
    if (problem !== 0) return problem;
    value = longAsDouble();
    if (value < -0x80000000 || value > 0x7fffffff) return OUT_OF_RANGE;
  }
  out.ensure(8);
  out.int32Field(value);
  return 0;
}

export function encodeOid(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  const problem = readLong(kind, bytes, start, end);
  if (problem !== 0) return problem;
  if (kind === STRING && !isPlain(bytes, start, end)) return NOT_A_WHOLE_NUMBER;
  const value = longAsDouble();
  if (value < 0 || value > 0xffffffff) return OUT_OF_RANGE;
  out.ensure(8);
  out.int32Field(value);
  return 0;
}

/** Returns whether the text is digits without a leading zero, with optional spaces around them. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end && isSpace(bytes[at]!)) at++;
  const firstDigit = at;
  while (at < end && isDigit(bytes[at]!)) at++;
  if (bytes[firstDigit] === ZERO && at > firstDigit + 1) return false;
  while (at < end && isSpace(bytes[at]!)) at++;
  return at === end;
}

export function encodeInt8(out: CopyBuffer, kind: number, bytes: Buffer, start: number, end: number): number {
  if ((kind === NUMBER || kind === STRING) && encodeDigits(out, bytes, start, end)) return 0;
  const problem = readLong(kind, bytes, start, end);
  if (problem !== 0) return problem;
  // The limit is 9223372036854775807, and one more for negative numbers.
  if (
    long.high > 9_223_372_036 ||
    (long.high === 9_223_372_036 && long.low > 854_775_807 + (long.negative ? 1 : 0))
  ) {
    return OUT_OF_RANGE;
  }
  out.ensure(12);
  out.int32(8);
  writeLong(out);
  return 0;
}

/**
 * Writes an int8 of at most fifteen digits that is written as PostgreSQL writes it: without zeros before the first digit, and not `-0`.
 * Returns false and writes nothing for everything else.
 */
export function encodePlainInt8(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (bytes[first] === ZERO && end - start > 1) return false;
  return encodeDigits(out, bytes, start, end);
}

/** Writes an int8: an optional sign and at most fifteen digits. Returns false and writes nothing for everything else. */
function encodeDigits(out: CopyBuffer, bytes: Buffer, start: number, end: number): boolean {
  const short = readShort(bytes, start, end);
  if (short !== LONG) {
    out.ensure(12);
    out.int32(8);
    out.int32(short >> 31);
    out.int32(short);
    return true;
  }
  const plain = readPlain(bytes, start, end);
  if (Number.isNaN(plain)) return false;
  const high = Math.floor(plain / 4_294_967_296);
  out.ensure(12);
  out.int32(8);
  out.int64(high, plain - high * 4_294_967_296);
  return true;
}

/** The result of `readShort` if it did not read the text. Nine digits cannot make this number. */
const LONG = 0x7fffffff;

/** Reads the common case: an optional sign and one to nine digits. Returns `LONG` for everything else. */
function readShort(bytes: Buffer, start: number, end: number): number {
  let at = start;
  const negative = bytes[at] === MINUS;
  if (negative) at++;
  const count = end - at;
  if (count < 1 || count > 9) return LONG;
  let value = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit < 0 || digit > 9) return LONG;
    value = value * 10 + digit;
  }
  return negative ? -value | 0 : value;
}

/** Reads an optional sign and at most fifteen digits, which a double stores exactly. Returns NaN for everything else. */
function readPlain(bytes: Buffer, start: number, end: number): number {
  let at = start;
  const negative = bytes[at] === MINUS;
  if (negative) at++;
  if (end - at < 1 || end - at > 15) return Number.NaN;
  let value = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

/**
 * The result of `readLong`: ±(high · 10⁹ + low). Both are exact, because they have at most ten and nine digits. They start as fractions so
 * that the engine stores the fields as doubles.
 */
const long = { negative: false, high: 0.5, low: 0.5 };

/** The maximum number of digits of any integer type. A longer number gets a `high` that is out of range for every type. */
const MOST_DIGITS = 19;
const TOO_HIGH = 9_999_999_999;

function longAsDouble(): number {
  const magnitude = long.high * 1e9 + long.low;
  return long.negative ? -magnitude : magnitude;
}

/** Writes the 64 bits. A double cannot store 10⁹ · high exactly, so 16 bits are calculated separately. */
function writeLong(out: CopyBuffer): void {
  const lower = (long.high % 65_536) * 1e9 + long.low;
  const upper = Math.floor(long.high / 65_536) * 1e9 + Math.floor(lower / 65_536);
  let high = Math.floor(upper / 65_536);
  let low = (upper % 65_536) * 65_536 + (lower % 65_536);
  if (long.negative) {
    low = 4_294_967_296 - low;
    high = low === 4_294_967_296 ? -high : -high - 1;
  }
  out.int64(high, low);
}

function readLong(kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind !== NUMBER && kind !== STRING) return NOT_A_WHOLE_NUMBER;
  let at = start;
  let stop = end;
  while (at < stop && isSpace(bytes[at]!)) at++;
  while (stop > at && isSpace(bytes[stop - 1]!)) stop--;
  long.negative = bytes[at] === MINUS;
  if (at < stop && (long.negative || bytes[at] === PLUS)) at++;
  if (kind === NUMBER) return readWholeNumber(bytes, at, stop);
  if (at + 1 < stop && bytes[at] === ZERO && !isDigit(bytes[at + 1]!) && bytes[at + 1] !== UNDERSCORE) {
    return readBased(bytes, at, stop);
  }
  return readDecimal(bytes, at, stop);
}

/** Reads decimal digits with single underscores between them. */
function readDecimal(bytes: Buffer, start: number, end: number): number {
  if (start >= end) return NOT_A_WHOLE_NUMBER;
  let digits = 0;
  let first = end;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === UNDERSCORE) {
      if (at === start || at + 1 === end || bytes[at + 1] === UNDERSCORE) return NOT_A_WHOLE_NUMBER;
    } else if (!isDigit(byte)) {
      return NOT_A_WHOLE_NUMBER;
    } else if (digits > 0 || byte !== ZERO) {
      if (digits === 0) first = at;
      digits++;
    }
  }
  collect(bytes, first, digits, 0);
  return 0;
}

/**
 * Sets `long` to the number of `digits` significant digits from `at` on, times ten to the power of `zeros`. Bytes that are not digits
 * are skipped.
 */
function collect(bytes: Buffer, at: number, digits: number, zeros: number): void {
  long.low = 0;
  long.high = 0;
  let left = digits + zeros;
  if (left > MOST_DIGITS) {
    long.high = TOO_HIGH;
    return;
  }
  for (; left > 0; left--) {
    let digit = 0;
    if (left > zeros) {
      while (!isDigit(bytes[at]!)) at++;
      digit = bytes[at++]! - ZERO;
    }
    if (left > 9) long.high = long.high * 10 + digit;
    else long.low = long.low * 10 + digit;
  }
}

/** Reads a number in JSON's grammar, which must be whole. */
function readWholeNumber(bytes: Buffer, start: number, end: number): number {
  let significant = 0; // digits from the first that is not 0 to the last that is not 0
  let run = 0; // digits from the first that is not 0 to the last digit seen
  let first = end;
  let fraction = 0; // digits after the point, the last zeros left out
  let fractionRun = 0;
  let inFraction = false;
  let at = start;
  for (; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === POINT) {
      inFraction = true;
      continue;
    }
    if (!isDigit(byte)) break;
    if (inFraction) fractionRun++;
    if (run > 0 || byte !== ZERO) {
      if (run === 0) first = at;
      run++;
    }
    if (byte !== ZERO) {
      significant = run;
      fraction = inFraction ? fractionRun : 0;
    }
  }
  if (significant === 0) {
    collect(bytes, first, 0, 0);
    return 0;
  }
  // `significant` leaves out the last zeros before the point. They count, unless a digit after the point is the last one that is not 0.
  const zeros = fraction > 0 ? -fraction : run - fractionRun - significant;
  const exponent = readExponent(bytes, at + 1, end);
  if (zeros + exponent < 0) return NOT_A_WHOLE_NUMBER;
  collect(bytes, first, significant, zeros + exponent);
  return 0;
}

/** The maximum number of bytes of a number in another base. A longer text is refused as out of range without being read: it could be in the range only with many leading zeros. */
const MOST_OTHER_BYTES = 200;

function readBased(bytes: Buffer, start: number, end: number): number {
  if (end - start > MOST_OTHER_BYTES) return OUT_OF_RANGE;
  const short = readShortOtherBase(bytes, start, end);
  if (short >= 0) {
    long.high = Math.floor(short / 1_000_000_000);
    long.low = short % 1_000_000_000;
    return 0;
  }
  const value = readOtherBase(bytes, start, end);
  if (value === undefined) return NOT_A_WHOLE_NUMBER;
  long.high = value >= 10n ** 19n ? TOO_HIGH : Number(value / 1_000_000_000n);
  long.low = Number(value % 1_000_000_000n);
  return 0;
}
