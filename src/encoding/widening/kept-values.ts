/**
 * Finds out whether a column's type keeps a value that its encoder accepts. PostgreSQL rounds numbers and seconds to the modifier of the type, removes
 * spaces for which `varchar(n)` has no room, and a `date` drops the time of day.
 *
 * A loss that no type avoids is not looked for: the offset of a `timestamp`, digits beyond microseconds, the digits of a `double precision`. Such values
 * are loaded with a warning, or as PostgreSQL rounds them.
 */
import { endOfExactNumber, FALSE, ROUNDED_NUMBER, TRUE } from '../../core/cells/cell-kind.ts';
import type { ColumnType } from '../columns/load-column.ts';
import type { ColumnEncoder } from '../encoders/column-encoder.ts';
import { losses, TIME_LEFT_OUT } from '../encoders/losses.ts';
import * as codes from '../encoders/type-codes.ts';
import { fractionDigits, hasDigit } from './number-size.ts';

export const varcharOid = 1043;

/** What the type may lose of an accepted value. */
export const NOTHING = 0;
const SPACES = 1;
const DECIMALS = 2;
const FLOAT_DIGITS = 3;
const SECONDS = 4;
const TIME_OF_DAY = 5;

/** Returns what the type may lose: one of the constants of this module. */
export function mayLose(type: ColumnType, { code, maxLength, precision }: ColumnEncoder): number {
  if (code === codes.TEXT && maxLength >= 0) return type.oid === varcharOid ? SPACES : NOTHING;
  if (code === codes.NUMERIC && precision >= 0) return DECIMALS;
  if (code === codes.FLOAT4) return FLOAT_DIGITS;
  if (code === codes.DATE) return TIME_OF_DAY;
  return secondsPrecision(type) < 6 ? SECONDS : NOTHING;
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
 * @param loss what the type may lose (`mayLose`)
 * @param encoded contains the encoded field from `at` on
 */
export function isKept(
  loss: number,
  type: ColumnType,
  encoder: ColumnEncoder,
  encoded: Buffer,
  at: number,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  switch (loss) {
    case SPACES:
      return kind === TRUE || kind === FALSE || countCharacters(bytes, start, end) <= encoder.maxLength;
    case DECIMALS:
      return !(fractionDigits(bytes, start, end) > encoder.scale);
    case FLOAT_DIGITS:
      return isExactFloat(encoded.readFloatBE(at + 4), kind, bytes, start, end);
    case SECONDS:
      return hasSecondsDigits(encoded, at, secondsPrecision(type));
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

/** Returns whether the float4 has the digits of the number: PostgreSQL writes it with the fewest digits that distinguish it from other float4. */
function isExactFloat(float: number, kind: number, bytes: Buffer, start: number, end: number): boolean {
  if (!hasDigit(bytes, start, end)) return true;
  const isRounded = kind === ROUNDED_NUMBER;
  const text = bytes.toString(
    'latin1',
    isRounded ? end : start,
    isRounded ? endOfExactNumber(bytes, end) : end,
  );
  const sent = Number(text.replaceAll('_', ''));
  for (let digits = 1; digits < 10; digits++) {
    const shortest = Number(float.toPrecision(digits));
    if (Math.fround(shortest) === float) return shortest === sent;
  }
  return false;
}

/** Returns whether the encoded microseconds have at most `digits` digits of a second. They are the first eight bytes of the field. */
function hasSecondsDigits(encoded: Buffer, at: number, digits: number): boolean {
  const high = encoded.readInt32BE(at + 4);
  const low = encoded.readUInt32BE(at + 8);
  const isInfinite = (high === 0x7fffffff && low === 0xffffffff) || (high === -0x80000000 && low === 0);
  const unit = 10 ** (6 - digits);
  return isInfinite || ((high % unit) * (4_294_967_296 % unit) + (low % unit)) % unit === 0;
}
