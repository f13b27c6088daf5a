/** Chooses the encoder of a column's type, and describes it for the functions that encode cells. */
import { COMMA } from '../../core/bytes/ascii.ts';
import type { ColumnType } from '../columns/load-column.ts';
import type { ReadingCost } from '../columns/reading-cost.ts';
import { type EnumLabels, enumLabels } from './enum-labels.ts';
import { readingCost } from './row-cost.ts';
import * as codes from './type-codes.ts';

/**
 * What the functions that encode cells need to know about a column's type. Every encoder has the same fields in the same order, so
 * that the engine sees only one object shape.
 */
export interface ColumnEncoder {
  /** The type as a constant of type-codes.ts. */
  readonly code: number;
  /** The oid of the type itself; for a domain, not that of its base type. */
  readonly oid: number;
  /** For varchar and bpchar: the maximum number of characters; -1: no limit. */
  readonly maxLength: number;
  /** For numeric: the maximum number of digits. For interval: the maximum number of digits in the fraction of a second. -1: no limit. */
  readonly precision: number;
  /** For numeric: the digits after the point; may be negative or greater than the precision (PostgreSQL 15). */
  readonly scale: number;
  /** The type is a domain with NOT NULL. It is checked here only for array elements; the sink checks the NULLs of a column. */
  readonly notNull: boolean;
  readonly element: ColumnEncoder | undefined;
  readonly labels: EnumLabels | undefined;
  /** For json and jsonb: a string with the text of a JSON object or array is read as JSON, because a cell of a sheet has no other way to contain one. */
  readonly readsText: boolean;
  /** The byte between the elements of an array of the type, in its text form. */
  readonly delimiter: number;
  /** For interval: the server supports infinite intervals. */
  readonly takesInfinity: boolean;
  /** What PostgreSQL needs to read a value; undefined: only a few times the length of its text. */
  readonly readingCost: ReadingCost | undefined;
  /** How many values with the digits of a number the expressions of the table make, and how many of them PostgreSQL stores. */
  readonly digitCopies: number;
  readonly storedDigits: number;
  /** As in `ColumnType`. */
  readonly hasTextNumbers: boolean;
}

/**
 * Returns the encoder of a column's type; undefined: the column is staged as text, and the server casts the text.
 *
 * The server rounds and pads values to the type's modifier (`numeric_recv`, `timestamp_recv`, `bpchar_recv` and others do it). The
 * encoders only refuse values that the modifier refuses.
 */
export function columnEncoder(type: ColumnType): ColumnEncoder | undefined {
  const found = encoderOf(type);
  return found && type.digitCopies ? encoder({ ...found, ...digitsOf(type) }) : found;
}

function encoderOf(type: ColumnType): ColumnEncoder | undefined {
  if (type.kind !== 'array') return scalarEncoder(type);
  // An array of a domain over an array has no encoder, because encoders of arrays cannot be nested. PostgreSQL reads it from text.
  const isNested = type.element?.base?.kind === 'array';
  const element =
    type.element === undefined || isNested ? undefined : scalarEncoder(type.element, type.typmod);
  return element && encoder({ code: codes.ARRAY, oid: type.oid, element, readingCost: readingCost(type) });
}

/** Returns the encoder for a column whose rows come from a sheet; undefined as for `columnEncoder`. */
export function sheetEncoder(type: ColumnType): ColumnEncoder | undefined {
  const found = columnEncoder(type);
  return found && encoder({ ...found, readsText: true });
}

/** Returns the encoder for a column whose type has no binary encoder. The column is staged as text, which PostgreSQL reads. */
export function stagedEncoder(type: ColumnType): ColumnEncoder {
  const base = type.base ?? type;
  if (base.kind !== 'array' || base.element === undefined)
    return encoder({ ...stagedScalar(type), ...digitsOf(type) });
  const element = stagedScalar(base.element);
  const code = codes.STAGED_ARRAY;
  return encoder({ code, oid: type.oid, element, readingCost: readingCost(type), ...digitsOf(type) });
}

function digitsOf({ digitCopies, storedDigits, hasTextNumbers }: ColumnType) {
  return { digitCopies, storedDigits, hasTextNumbers };
}

function stagedScalar(type: ColumnType): ColumnEncoder {
  const { category, delimiter = ',' } = type.base ?? type;
  return encoder({
    // A type of the string category (`citext`) accepts objects and arrays, like text.
    code: category === STRING_CATEGORY ? codes.TEXT : codes.STAGED,
    oid: type.oid,
    notNull: type.domainNotNull === true,
    delimiter: delimiter.charCodeAt(0),
    readingCost: readingCost(type),
  });
}

/** The value of `pg_type.typcategory` for string types. */
const STRING_CATEGORY = 'S';

export function isArrayEncoder({ code }: ColumnEncoder): boolean {
  return code === codes.ARRAY || code === codes.STAGED_ARRAY;
}

function scalarEncoder(type: ColumnType, typmod = type.typmod): ColumnEncoder | undefined {
  switch (type.kind) {
    case 'enum':
      if (type.labels === undefined) return undefined;
      return encoder({ code: codes.ENUM, oid: type.oid, labels: enumLabels(type.labels) });
    case 'domain': {
      const base = type.base === undefined ? undefined : columnEncoder(type.base);
      const others = { oid: type.oid, notNull: type.domainNotNull === true, readingCost: readingCost(type) };
      return base && encoder({ ...base, ...others });
    }
    case 'base':
      return baseEncoder(type, typmod);
    default:
      return undefined;
  }
}

function baseEncoder(type: ColumnType, typmod: number): ColumnEncoder | undefined {
  const { oid } = type;
  const code = codes.codeOfOid.get(oid);
  if (code === undefined) return undefined;
  if (code === codes.TEXT && typmod >= 4)
    return encoder({ code, oid, maxLength: typmod - 4, readingCost: readingCost(type) });
  if (code === codes.NUMERIC && typmod >= 4) {
    // The modifier of numeric (numerictypmodin) has the precision in its upper bits and a signed scale in its lower eleven bits.
    const packed = typmod - 4;
    return encoder({ code, oid, precision: packed >> 16, scale: ((packed & 0x7ff) ^ 1024) - 1024 });
  }
  // `interval hour to minute` and similar types have no encoder, because they change how a number without a unit is read. PostgreSQL reads
  // them from text.
  if (code === codes.INTERVAL && typmod >= 0) {
    const precision = typmod & 0xffff;
    if (typmod >> 16 !== INTERVAL_FULL_RANGE) return undefined;
    return encoder({
      code,
      oid,
      precision: precision === INTERVAL_FULL_PRECISION ? -1 : precision,
      takesInfinity: type.hasInfinity,
    });
  }
  return encoder({ code, oid, takesInfinity: type.hasInfinity, readingCost: readingCost(type) });
}

type Fields = { [Name in keyof ColumnEncoder]?: ColumnEncoder[Name] | undefined } & {
  code: number;
  oid: number;
};

const INTERVAL_FULL_RANGE = 0x7fff;
const INTERVAL_FULL_PRECISION = 0xffff;

function encoder(fields: Fields): ColumnEncoder {
  return {
    code: fields.code,
    oid: fields.oid,
    maxLength: fields.maxLength ?? -1,
    precision: fields.precision ?? -1,
    scale: fields.scale ?? 0,
    notNull: fields.notNull ?? false,
    element: fields.element,
    labels: fields.labels,
    readsText: fields.readsText ?? false,
    delimiter: fields.delimiter ?? COMMA,
    takesInfinity: fields.takesInfinity ?? false,
    readingCost: fields.readingCost,
    digitCopies: fields.digitCopies ?? 0,
    storedDigits: fields.storedDigits ?? 0,
    hasTextNumbers: fields.hasTextNumbers ?? false,
  };
}
