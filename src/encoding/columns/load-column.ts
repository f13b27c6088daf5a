/** The facts of PostgreSQL's catalogue that a load needs about a table's columns. */

import type { ReadingCost } from './reading-cost.ts';

/** The first object identifier of objects that users created (FirstNormalObjectId). */
export const firstOwnOid = 16_384;

export interface ColumnType {
  /** `pg_type.oid` */
  oid: number;
  /** The name as callers write it, with modifiers: `character varying(20)`. It is used in messages only; SQL needs `sqlName`. */
  name: string;
  /** The name for SQL in any search path: `pg_catalog.text`. Absent if it equals `name`. */
  sqlName?: string;
  /** The operator that compares two values: `OPERATOR(public.=)`. Absent if it is the operator of `pg_catalog`. */
  equality?: string;
  /** `atttypmod`; -1: none. For an array it is the modifier of the elements. */
  typmod: number;
  kind: 'base' | 'enum' | 'domain' | 'array' | 'other';
  /** For a domain: the base type at the end of the chain of domains, with the domain's modifier. */
  base?: ColumnType;
  /** For a domain: the domain, or another domain in its chain, is NOT NULL. */
  domainNotNull?: boolean;
  /** For an array: the type of its elements. */
  element?: ColumnType;
  /** For an enum: its labels, in order. */
  labels?: string[];
  /** `pg_type.typcategory`; `S` is the category of text types. */
  category?: string;
  /** `pg_type.typdelim`: the separator of elements in the text form of an array of this type. */
  delimiter?: string;
  /** The bytes to which PostgreSQL pads a value. For a composite type it is the sum of its fields; for an array it is that of one element. */
  paddedBytes?: number;
  /** A value is an array or contains one, so it can have any number of parts of `paddedBytes`. */
  repeatsPadding?: boolean;
  /** What PostgreSQL needs to read a text of the type, with its parts. Absent for a type that was not read from the catalogue. */
  cost?: ReadingCost;
  /** What a value costs more because of the indexes and expressions of the table (`costOfUse`). */
  keyCost?: ReadingCost | undefined;
  /** How many values with all digits of its numbers the expressions of the table make. Absent if there are none. */
  digitCopies?: number;
  /** Expressions of the table read texts of the value as numbers, so each of its bytes may be a digit. Only with `digitCopies`. */
  hasTextNumbers?: boolean;
  /** How often PostgreSQL stores these digits. Absent without `digitCopies`. */
  storedDigits?: number;
  /** For `interval`: the server supports infinite intervals (PostgreSQL 17 or newer). */
  hasInfinity?: boolean;
  /** The input function of the type. Absent if SQL cannot call it, because it returns a pseudo-type (arrays, enums, ranges). */
  input?: InputFunction;
}

export interface InputFunction {
  /** The name, quoted and qualified. */
  name: string;
  /** The number of arguments. 1: the text; 2: also `parameter`; 3: also the modifier. */
  argumentCount: number;
  /** The object identifier that PostgreSQL passes to the function (`getTypeIOParam`). */
  parameter: number;
}

export interface LoadColumn {
  /** `pg_attribute.attnum` */
  id: number;
  name: string;
  type: ColumnType;
  /** The type without its modifiers, as a cast in any search path needs it: `pg_catalog."bit"`, because `bit` alone means `bit(1)`. */
  bareType: string;
  isNullable: boolean;
  /** Citus decides by the column's value on which node a row is stored, and stores no row with NULL in it. */
  isDistributionColumn?: boolean;
  /** The collation, quoted. Absent if it is that of the type. */
  collation?: string;
  /**
   * The value of a missing cell. `none`: NULL. `constant`: the value of `constant`. `computed`: a value that PostgreSQL
   * evaluates for each row, from a sequence, an identity or a function.
   */
  default: 'none' | 'constant' | 'computed';
  /**
   * About how many bytes the default has in a row: the length of its expression, or more if its value is padded. For a stored generated column: the bytes
   * that its expression adds to those of other columns. Left out without both.
   */
  defaultBytes?: number;
  /** About how many bytes the expression of a virtual generated column adds to those of other columns. PostgreSQL does not store them. */
  virtualBytes?: number;
  /** About how many bytes the expressions of all indexes add to each row. Only the first column has it. */
  indexBytes?: number;
  /** The bytes that the expressions of the table compute whatever the row has, each multiplied by its copies. Only the first column has it. */
  ownWork?: number;
  /** How many digits the expressions of the table may make in each row of the default of the column. */
  ownDigits?: number;
  /** How many digits the stored value of the generated column may have, half a byte each, if expressions make long numbers of short values. */
  computedDigits?: number;
  /** The digits of all values that the expressions of the table may make of each row, and of those for indexes. Only the first column has them. */
  madeDigits?: number;
  indexDigits?: number;
  /** How often PostgreSQL stores the value again, in generated columns and indexes. Left out if it does not. */
  storedCopies?: number;
  /** The binary form of a constant default, as an SQL expression that never fails. */
  constant?: string;
  /** `GENERATED ALWAYS AS (…)`: no value can be loaded into it. */
  isGenerated: boolean;
  /** The generated value is stored, and may be much longer than the values that it is computed from. */
  isLongGenerated?: boolean;
  /** For a generated column: the columns that it is computed from. */
  generatedFrom?: string[];
  /** `GENERATED … AS IDENTITY` */
  identity: 'none' | 'always' | 'by default';
}
