/** Says which types a column may become so that it keeps its values and one more: each column climbs its own ladder of types. */
import { SPACE } from '../../core/bytes/ascii.ts';
import { FALSE, TRUE } from '../../core/cells/cell-kind.ts';
import type { ColumnType, LoadColumn } from '../columns/load-column.ts';
import * as codes from '../encoders/type-codes.ts';
import { countCharacters, secondsPrecision, varcharOid } from './kept-values.ts';
import { fractionDigits, hasDigit, wholeDigits } from './number-size.ts';

const bpcharOid = 1042;

const typeOf = (oid: number, name: string, typmod = -1): ColumnType => ({ oid, name, typmod, kind: 'base' });

const integer = typeOf(23, 'integer');
const bigint = typeOf(20, 'bigint');
const numeric = typeOf(1700, 'numeric');
const double = typeOf(701, 'double precision');
const timestamp = typeOf(1114, 'timestamp without time zone');
export const text = typeOf(25, 'text');

/** The maximum precision of `numeric(p,s)` and length of `varchar(n)` and `char(n)`. Beyond them the type has no modifier, and `char(n)` no wider type. */
const maxPrecision = 1000;
const maxCharacters = 10_485_760;

/**
 * Returns the type that values may make wider: that of the column, or of the elements of an array. undefined: there is none, because the column
 * is generated, or its type is a domain or one that PostgreSQL reads from text.
 */
export function wideningType({ type, isGenerated }: LoadColumn): ColumnType | undefined {
  const found = type.kind === 'array' ? elementOf(type) : type;
  const isRead = found?.kind === 'enum' || (found?.kind === 'base' && codes.codeOfOid.has(found.oid));
  return isRead && !isGenerated ? found : undefined;
}

/** Returns the type of the elements of an array. The modifier of the array is that of its elements. */
function elementOf({ element, typmod, name }: ColumnType): ColumnType | undefined {
  return element && { ...element, typmod, name: name.replace(/\[\]$/, '') };
}

/** Returns the array of the elements. Its oid is -1 if it is not that of the other array. */
export function arrayOf(array: ColumnType, element: ColumnType): ColumnType {
  const oid = element.oid === array.element?.oid ? array.oid : -1;
  return { oid, name: `${element.name}[]`, typmod: element.typmod, kind: 'array', element };
}

/**
 * Returns the types that the column may become for a value, the narrowest first. The encoder must still decide whether the type stores the value.
 *
 * @param toText the column may become text
 * @param bytes the text of the value; for `TRUE` and `FALSE` it is unused
 */
export function widerTypes(
  type: ColumnType,
  identity: LoadColumn['identity'],
  toText: boolean,
  kind: number,
  bytes: Buffer,
  start: number,
  end: number,
): ColumnType[] {
  const isWord = kind === TRUE || kind === FALSE;
  // `NaN` in a column of amounts is more often a word for no value than a number. So only numbers make a type of numbers wider.
  const isNumber = !isWord && hasDigit(bytes, start, end);
  const types = isNumber ? widerNumbers(type, bytes, start, end) : [];
  if (identity !== 'none') return types.filter(({ oid }) => oid !== numeric.oid);
  types.push(...widerOthers(type, lengthIn(type, kind, bytes, start, end)));
  if (toText && type.oid !== text.oid) types.push(text);
  return types;
}

function widerNumbers(type: ColumnType, bytes: Buffer, start: number, end: number): ColumnType[] {
  switch (codes.codeOfOid.get(type.oid)) {
    case codes.INT2:
      return [integer, bigint, numeric];
    case codes.INT4:
      return [bigint, numeric];
    case codes.INT8:
      return [numeric];
    case codes.FLOAT4:
      return [double];
    case codes.NUMERIC: {
      if (type.typmod < 0) return [];
      // The modifier: see `baseEncoder` in encoders/column-encoder.ts.
      const packed = type.typmod - 4;
      const scale = ((packed & 0x7ff) ^ 1024) - 1024;
      const whole = Math.max((packed >> 16) - scale, wholeDigits(bytes, start, end));
      return [numericOf(whole, Math.max(scale, fractionDigits(bytes, start, end)))];
    }
    default:
      return [];
  }
}

function numericOf(whole: number, scale: number): ColumnType {
  const precision = whole + scale;
  if (precision > maxPrecision || scale > maxPrecision) return numeric;
  const typmod = ((precision << 16) | (scale & 0x7ff)) + 4;
  return typeOf(numeric.oid, `numeric(${precision},${scale})`, typmod);
}

/** @param length the characters of the value */
function widerOthers(type: ColumnType, length: number): ColumnType[] {
  const { oid, typmod } = type;
  const code = codes.codeOfOid.get(oid);
  if (code === codes.DATE) return [timestamp];
  if (code === codes.TEXT && typmod >= 4 && length > typmod - 4) return longerText(oid, length);
  const widest: ColumnType[] = [];
  for (let digits = secondsPrecision(type) + 1; digits <= 6; digits++) widest.push(withSeconds(type, digits));
  return widest;
}

/** Counts the characters of a value. Spaces at the end do not count in `char(n)`. */
function lengthIn({ oid }: ColumnType, kind: number, bytes: Buffer, start: number, end: number): number {
  if (kind === TRUE) return 'true'.length;
  if (kind === FALSE) return 'false'.length;
  let stop = end;
  if (oid === bpcharOid) while (stop > start && bytes[stop - 1] === SPACE) stop--;
  return countCharacters(bytes, start, stop);
}

function longerText(oid: number, length: number): ColumnType[] {
  const name = oid === varcharOid ? 'character varying' : 'character';
  if (length <= maxCharacters) return [typeOf(oid, `${name}(${length})`, length + 4)];
  return oid === varcharOid ? [typeOf(oid, name)] : [];
}

/** Returns the type with this many digits of the fraction of a second. */
function withSeconds(type: ColumnType, digits: number): ColumnType {
  const typmod = digits === 6 ? -1 : (type.typmod & ~0xffff) | digits;
  return { ...type, typmod, name: type.name.replace(/\(\d\)/, digits === 6 ? '' : `(${digits})`) };
}
