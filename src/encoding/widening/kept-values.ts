/**
 * Finds out whether a column's type keeps a value that its encoder accepts. PostgreSQL rounds numbers and seconds to the modifier of the type, removes
 * spaces for which `varchar(n)` has no room, and a `date` drops the time of day.
 *
 * A loss that no type avoids is not looked for: the offset of a `timestamp`, digits beyond microseconds, the digits of a `double precision`. Such values
 * are loaded with a warning, or as PostgreSQL rounds them.
 */
import { isDigit, MINUS, POINT } from '../../core/bytes/ascii.ts';
import { endOfExactNumber, FALSE, ROUNDED_NUMBER, TRUE } from '../../core/cells/cell-kind.ts';
import type { ColumnType } from '../columns/load-column.ts';
import type { ColumnEncoder } from '../encoders/column-encoder.ts';
import { losses, TIME_LEFT_OUT } from '../encoders/losses.ts';
import * as codes from '../encoders/type-codes.ts';
import { fractionDigits, hasDigit } from './number-size.ts';

export const varcharOid = 1043;

/** What a type may lose of an accepted value. */
export interface Loss {
  /** One of the constants of this module. */
  readonly kind: number;
  /** The characters, decimals or microseconds that the type keeps. */
  readonly limit: number;
}

export const NOTHING = 0;
const SPACES = 1;
const DECIMALS = 2;
const FLOAT_DIGITS = 3;
const SECONDS = 4;
const TIME_OF_DAY = 5;

export function lossOf(type: ColumnType, { code, maxLength, precision, scale }: ColumnEncoder): Loss {
  if (code === codes.TEXT && maxLength >= 0 && type.oid === varcharOid)
    return { kind: SPACES, limit: maxLength };
  if (code === codes.NUMERIC && precision >= 0) return { kind: DECIMALS, limit: scale };
  if (code === codes.FLOAT4) return { kind: FLOAT_DIGITS, limit: 0 };
  if (code === codes.DATE) return { kind: TIME_OF_DAY, limit: 0 };
  const unit = 10 ** (6 - secondsPrecision(type));
  return { kind: unit > 1 ? SECONDS : NOTHING, limit: unit };
}

const codesOfSeconds: ReadonlySet<number | undefined> = new Set([
  codes.TIME,
  codes.TIMETZ,
  codes.TIMESTAMP,
  codes.TIMESTAMPTZ,
]);

/** Returns how many digits of the fraction of a second the type stores: 6 for other types and without a modifier. */
export function secondsPrecision({ oid, typmod }: ColumnType): number {
  const code = codes.codeOfOid.get(oid);
  if (typmod < 0) return 6;
  if (code === codes.INTERVAL) return Math.min(typmod & 0xffff, 6);
  return codesOfSeconds.has(code) ? typmod : 6;
}

/**
 * Returns whether the type keeps the value that was just encoded.
 *
 * @param encoded contains the encoded field from `at` on
 */
export function isKept(
  { kind: loss, limit }: Loss,
  encoded: Buffer,
  at: number,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  switch (loss) {
    case SPACES:
      if (end - start <= limit || kind === TRUE || kind === FALSE) return true;
      return countCharacters(bytes, start, end) <= limit;
    case DECIMALS:
      return hasFewDecimals(bytes, start, end, limit) || !(fractionDigits(bytes, start, end) > limit);
    case FLOAT_DIGITS:
      if (end - start <= FLOAT4_DIGITS && hasFewDecimals(bytes, start, end, FLOAT4_DIGITS)) return true;
      return isExactFloat(encoded.readFloatBE(at + 4), kind, bytes, start, end);
    case SECONDS:
      return isMultipleOf(limit, encoded.readInt32BE(at + 4), encoded.readUInt32BE(at + 8));
    case TIME_OF_DAY:
      return (losses.ofCell & TIME_LEFT_OUT) === 0;
    default:
      return true;
  }
}

/** Counts the characters as `varchar(n)` does: code points. */
export function countCharacters(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if ((bytes[at]! & 0xc0) !== 0x80) count++;
  return count;
}

/** Returns whether the number is written with digits and a point alone, and at most `scale` digits follow the point. Most numbers are. */
function hasFewDecimals(bytes: Buffer, start: number, end: number, scale: number): boolean {
  let point = end - 1;
  for (let at = bytes[start] === MINUS ? start + 1 : start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === POINT) point = at;
    else if (!isDigit(byte)) return false;
  }
  return scale >= 0 && end - 1 - point <= scale;
}

/** `float4` keeps every number of so many digits. */
const FLOAT4_DIGITS = 6;

/** Returns whether the float4 has the digits of the number: PostgreSQL writes it with the fewest digits that distinguish it from other float4. */
function isExactFloat(float: number, kind: number, bytes: Buffer, start: number, end: number): boolean {
  if (!hasDigit(bytes, start, end)) return true;
  const isRounded = kind === ROUNDED_NUMBER;
  const from = isRounded ? end : start;
  const text = bytes.toString('latin1', from, isRounded ? endOfExactNumber(bytes, end) : end);
  const sent = Number(text.replaceAll('_', ''));
  for (let digits = FLOAT4_DIGITS; digits < 10; digits++) {
    const shortest = Number(float.toPrecision(digits));
    if (Math.fround(shortest) === float) return shortest === sent;
  }
  return false;
}

/** Returns whether high · 2³² + low is an infinity or a multiple of the unit. */
function isMultipleOf(unit: number, high: number, low: number): boolean {
  const isInfinite = (high === 0x7fffffff && low === 0xffffffff) || (high === -0x80000000 && low === 0);
  return isInfinite || ((high % unit) * (4_294_967_296 % unit) + (low % unit)) % unit === 0;
}
