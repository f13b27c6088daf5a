/** A table's columns as a load needs them: what PostgreSQL's catalogue says, nothing derived. */

export interface ColumnType {
  /** `pg_type.oid` */
  oid: number;
  /** As callers know it, modifiers included: `character varying(20)`. Only for messages: SQL needs `sqlName`. */
  name: string;
  /** The same for SQL, in any search path: `pg_catalog.text`. Left out where it is `name`. */
  sqlName?: string;
  /** The operator that compares two values, if it is not that of `pg_catalog`: `OPERATOR(public.=)`. */
  equality?: string;
  /** `atttypmod`; -1: none. For an array it is the elements'. */
  typmod: number;
  kind: 'base' | 'enum' | 'domain' | 'array' | 'other';
  /** Of a domain: the type it is over, with the domain's own modifier (a domain over a domain: the innermost). */
  base?: ColumnType;
  /** Of a domain: some level of it is NOT NULL. */
  domainNotNull?: boolean;
  /** Of an array: its elements' type. */
  element?: ColumnType;
  /** Of an enum: its labels, in order. */
  labels?: string[];
  /** `pg_type.typcategory`; `S` is text of any kind. */
  category?: string;
  /** `pg_type.typdelim`: what separates the elements in the text form of an array of this type. */
  delimiter?: string;
  /** The bytes to which PostgreSQL pads a value; of a composite type, those of its fields together. Of an array they are its elements'. */
  paddedBytes?: number;
  /** A value may have any number of parts of `paddedBytes`: it is an array or has one in it. */
  repeatsPadding?: boolean;
  /** Of `interval`: the server has infinite ones (from PostgreSQL 17 on). */
  hasInfinity?: boolean;
  /** The input function of the type, if SQL can call it: absent for functions that answer a pseudo-type (arrays, enums, ranges). */
  input?: InputFunction;
}

export interface InputFunction {
  /** Quoted and qualified. */
  name: string;
  /** 1: the text; 2: also `parameter`; 3: also the modifier. */
  argumentCount: number;
  /** The object identifier that PostgreSQL hands to the function (`getTypeIOParam`). */
  parameter: number;
}

export interface LoadColumn {
  /** `pg_attribute.attnum` */
  id: number;
  name: string;
  type: ColumnType;
  /** The type without its modifiers, as a cast takes it in any search path (`pg_catalog."bit"`, which is not `bit`). */
  bareType: string;
  isNullable: boolean;
  /** Quoted; left out where it is that of the type. */
  collation?: string;
  /**
   * What a missing cell gets: NULL (`none`), a `constant`, or what PostgreSQL evaluates for each row (`computed`: sequences,
   * identity, every function).
   */
  default: 'none' | 'constant' | 'computed';
  /** About how many bytes the default has in a row: the length of its expression, or more if its value is padded. Left out without a default. */
  defaultBytes?: number;
  /** The binary form of a constant default, as an SQL expression that never fails. */
  constant?: string;
  /** `GENERATED ALWAYS AS (…)`: no value can be loaded into it. */
  isGenerated: boolean;
  /** Of a generated column: the columns that it is computed from. */
  generatedFrom?: string[];
  /** `GENERATED … AS IDENTITY` */
  identity: 'none' | 'always' | 'by default';
}

/** The operator by which a key over the column tells whether two values are equal. */
export function equalityOperator(column: LoadColumn | undefined): string {
  const type = column?.type;
  return (type?.base ?? type)?.equality ?? 'OPERATOR(pg_catalog.=)';
}

/** What a domain is over, as `Equality` wants it. The values of a domain with a modifier are compared without a cast. */
export function baseOfDomain(column: LoadColumn | undefined): string | null {
  const base = column?.type.base;
  return base === undefined || base.typmod >= 0 ? null : (base.sqlName ?? base.name);
}
