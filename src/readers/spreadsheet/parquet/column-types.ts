/** Finds the type of PostgreSQL for each leaf of the file's schema, and how its values are written. */

import type { SchemaElement } from 'hyparquet';
import { broken } from './fault.ts';

/** How a value is written. They are single constants, because the functions for values compare with them. */
export const BOOLEAN = 0;
/** An integer of 32 bits. */
export const INT = 1;
export const UNSIGNED_INT = 2;
/** An integer of 64 bits. */
export const LONG = 3;
export const UNSIGNED_LONG = 4;
export const FLOAT = 5;
export const DOUBLE = 6;
export const HALF = 7;
/** A decimal whose digits are an integer of 32 or 64 bits, or big-endian bytes. */
export const INT_DECIMAL = 8;
export const LONG_DECIMAL = 9;
export const BYTES_DECIMAL = 10;
export const DATE = 11;
export const INT_TIME = 12;
export const LONG_TIME = 13;
export const TIMESTAMP = 14;
export const INT96 = 15;
export const TEXT = 16;
export const JSON_TEXT = 17;
export const UUID = 18;
export const INTERVAL = 19;
export const BYTES = 20;

/** The type of a leaf. */
export interface LeafType {
  code: number;
  physical: PhysicalType;
  /** The type in PostgreSQL. */
  name: string;
  /** The number of bytes of a value; 0: values have different lengths, or are bits. */
  width: number;
  /** For decimals. */
  scale: number;
  /** For times and timestamps: the parts of a second that are 1. */
  perSecond: number;
  /** For timestamps: the instant is known. */
  isUtc: boolean;
}

export type PhysicalType = NonNullable<SchemaElement['type']>;

const widths: Record<PhysicalType, number> = {
  BOOLEAN: 0,
  INT32: 4,
  INT64: 8,
  INT96: 12,
  FLOAT: 4,
  DOUBLE: 8,
  BYTE_ARRAY: 0,
  FIXED_LEN_BYTE_ARRAY: 0,
};

const perSecondOf = { MILLIS: 1000, MICROS: 1_000_000, NANOS: 1_000_000_000 };

/** PostgreSQL's limit. */
const maxPrecision = 1000;

/** The largest FIXED_LEN_BYTE_ARRAY. */
const maxFixedBytes = 16 * 1024 * 1024;

/** @throws Fault */
export function leafTypeOf(element: SchemaElement): LeafType {
  const { type: physical, type_length: fixedLength = 0 } = element;
  if (physical === undefined) throw broken('a column without a type');
  const isFixed = physical === 'FIXED_LEN_BYTE_ARRAY';
  if (isFixed && !(fixedLength > 0 && fixedLength <= maxFixedBytes)) throw broken('a length of values');
  const width = isFixed ? fixedLength : widths[physical];
  const plain = { physical, width, scale: 0, perSecond: 0, isUtc: false };
  return { ...plain, ...(annotatedType(element, physical, width) ?? physicalTypes[physical]) };
}

type Found = Pick<LeafType, 'code' | 'name'> & Partial<LeafType>;

const physicalTypes: Record<PhysicalType, Found> = {
  BOOLEAN: { code: BOOLEAN, name: 'boolean' },
  INT32: { code: INT, name: 'integer' },
  INT64: { code: LONG, name: 'bigint' },
  INT96: { code: INT96, name: 'timestamp without time zone' },
  FLOAT: { code: FLOAT, name: 'real' },
  DOUBLE: { code: DOUBLE, name: 'double precision' },
  BYTE_ARRAY: { code: BYTES, name: 'bytea' },
  FIXED_LEN_BYTE_ARRAY: { code: BYTES, name: 'bytea' },
};

/** Returns the type that the annotation gives to values of this physical type; undefined: none. */
function annotatedType(element: SchemaElement, physical: PhysicalType, width: number): Found | undefined {
  const annotation = element.logical_type?.type ?? element.converted_type;
  if (annotation === 'NULL') return { code: physicalTypes[physical].code, name: 'text' };
  if (annotation === 'DECIMAL') return decimalType(element, physical);
  switch (physical) {
    case 'INT32':
    case 'INT64':
      return integerType(element, physical);
    case 'BYTE_ARRAY':
      if (annotation === 'STRING' || annotation === 'UTF8' || annotation === 'ENUM')
        return { code: TEXT, name: 'text' };
      return annotation === 'JSON' ? { code: JSON_TEXT, name: 'jsonb' } : undefined;
    case 'FIXED_LEN_BYTE_ARRAY':
      if (annotation === 'UUID' && width === 16) return { code: UUID, name: 'uuid' };
      if (annotation === 'FLOAT16' && width === 2) return { code: HALF, name: 'real' };
      return annotation === 'INTERVAL' && width === 12 ? { code: INTERVAL, name: 'interval' } : undefined;
    default:
      return undefined;
  }
}

function decimalType(element: SchemaElement, physical: PhysicalType): Found {
  const logical = element.logical_type;
  const { precision = 0, scale = 0 } = logical?.type === 'DECIMAL' ? logical : element;
  if (!(precision >= 1 && precision <= maxPrecision && scale >= 0 && scale <= precision))
    throw broken(`DECIMAL(${precision}, ${scale})`);
  const name = `numeric(${precision},${scale})`;
  if (physical === 'INT32') return { code: INT_DECIMAL, name, scale };
  if (physical === 'INT64') return { code: LONG_DECIMAL, name, scale };
  if (physical === 'BYTE_ARRAY' || physical === 'FIXED_LEN_BYTE_ARRAY')
    return { code: BYTES_DECIMAL, name, scale };
  throw broken(`DECIMAL as ${physical}`);
}

/** Returns the type of integers with an annotation. The old annotations of timestamps mean instants. */
function integerType(
  { logical_type: logical, converted_type: converted }: SchemaElement,
  physical: 'INT32' | 'INT64',
): Found | undefined {
  const isLong = physical === 'INT64';
  if (logical?.type === 'DATE' || (logical === undefined && converted === 'DATE'))
    return isLong ? undefined : { code: DATE, name: 'date' };
  if (logical?.type === 'TIME' || logical?.type === 'TIMESTAMP') {
    const { unit, isAdjustedToUTC } = logical;
    return momentType(logical.type, unit, isAdjustedToUTC, isLong);
  }
  if (logical?.type === 'INTEGER') return wholeType(logical.bitWidth, logical.isSigned, isLong);
  const [, word, part] = /^(TIME|TIMESTAMP|INT|UINT)_(\w+)$/.exec(converted ?? '') ?? [];
  if (word === 'TIME' || word === 'TIMESTAMP')
    return momentType(word, part as keyof typeof perSecondOf, word === 'TIMESTAMP', isLong);
  return word === undefined ? undefined : wholeType(Number(part), word === 'INT', isLong);
}

function momentType(
  annotation: 'TIME' | 'TIMESTAMP',
  unit: keyof typeof perSecondOf,
  isUtc: boolean,
  isLong: boolean,
): Found | undefined {
  const perSecond = perSecondOf[unit];
  if (annotation === 'TIME')
    return { code: isLong ? LONG_TIME : INT_TIME, name: 'time without time zone', perSecond };
  if (!isLong) return undefined;
  const name = isUtc ? 'timestamp with time zone' : 'timestamp without time zone';
  return { code: TIMESTAMP, name, perSecond, isUtc };
}

function wholeType(bits: number, isSigned: boolean, isLong: boolean): Found | undefined {
  if (isLong) {
    if (isSigned || bits !== 64) return undefined;
    return { code: UNSIGNED_LONG, name: 'numeric(20,0)' };
  }
  const neededBits = isSigned ? bits : bits + 1;
  const name = neededBits <= 16 ? 'smallint' : neededBits <= 32 ? 'integer' : 'bigint';
  return { code: isSigned ? INT : UNSIGNED_INT, name };
}
