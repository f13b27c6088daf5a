/**
 * The types with an encoder, as small integers. `encodeCell` switches on them.
 *
 * They are single constants and not an object, because the engine compiles constants into the machine code of the per-cell paths.
 */

export const BOOL = 1;
export const INT2 = 2;
export const INT4 = 3;
export const INT8 = 4;
export const OID = 5;
export const FLOAT4 = 6;
export const FLOAT8 = 7;
export const NUMERIC = 8;
/** text, varchar and bpchar, which differ only in their limit. */
export const TEXT = 9;
export const NAME = 10;
export const DATE = 11;
export const TIME = 12;
export const TIMETZ = 13;
export const TIMESTAMP = 14;
export const TIMESTAMPTZ = 15;
export const INTERVAL = 16;
export const UUID = 17;
export const BYTEA = 18;
export const PLAIN_JSON = 19;
export const JSONB = 20;
export const INET = 21;
export const CIDR = 22;
export const MACADDR = 23;
export const ENUM = 24;
export const ARRAY = 25;
/** Types without an encoder. PostgreSQL converts their text. */
export const STAGED = 26;
/** Arrays of types without an encoder. A JSON array becomes PostgreSQL's text form of an array. */
export const STAGED_ARRAY = 27;
/** The type `"char"`, which stores one byte. */
export const BYTE_CHARACTER = 28;

/** The codes by oid (`pg_type.dat`). The oids of built-in types never change. */
export const codeOfOid = new Map<number, number>([
  [16, BOOL],
  [17, BYTEA],
  [18, BYTE_CHARACTER],
  [19, NAME],
  [20, INT8],
  [21, INT2],
  [23, INT4],
  [25, TEXT],
  [26, OID],
  [114, PLAIN_JSON],
  [650, CIDR],
  [700, FLOAT4],
  [701, FLOAT8],
  [829, MACADDR],
  [869, INET],
  [1042, TEXT],
  [1043, TEXT],
  [1082, DATE],
  [1083, TIME],
  [1114, TIMESTAMP],
  [1184, TIMESTAMPTZ],
  [1186, INTERVAL],
  [1266, TIMETZ],
  [1700, NUMERIC],
  [2950, UUID],
  [3802, JSONB],
]);
