/**
 * Expressions for how long the text of a value becomes, which PostgreSQL can evaluate before it writes the text. A compressed value and a number
 * with an exponent may become much longer than they are stored.
 */

/** Returns an expression for a lower bound of the length of the value's text. @param base the oid of the type (pg_type.dat) */
export function leastText(base: number, value: string): string {
  switch (base) {
    // bit and bit varying: compressed, 256 KiB may be 190,000,000 bits.
    case 1560:
    case 1562:
      return `pg_catalog.length(${value})`;
    // The arrays of these two types.
    case 1561:
    case 1563:
      return `(SELECT pg_catalog.sum(pg_catalog.length(b.b)) FROM pg_catalog.unnest(${value}) AS b(b))`;
    default:
      // In a list of numbers, the eight bytes of a number may be one digit.
      return `pg_catalog.pg_column_size(${value}) OPERATOR(pg_catalog./) 16`;
  }
}

/**
 * Returns a FROM clause with the numbers `n.n` of a value that may have many more digits than the value has bytes; undefined: the type has no
 * such numbers. @param base the oid of the type (pg_type.dat)
 */
export function numbersOf(base: number, value: string): string | undefined {
  const unnest = (what: string) => `pg_catalog.unnest(${what})`;
  const bounds = (range: string) =>
    `LATERAL (VALUES (pg_catalog.lower(${range})), (pg_catalog.upper(${range}))) AS n(n)`;
  const ofJson = (document: string) =>
    `LATERAL (SELECT j.j::pg_catalog.numeric FROM pg_catalog.jsonb_path_query(${document}, '${longNumbers}') AS j(j)) AS n(n)`;
  switch (base) {
    case 1700:
      return `(VALUES (${value})) AS n(n)`;
    case 1231:
      return `${unnest(value)} AS n(n)`;
    case 3906:
      return bounds(value);
    case 3907:
    case 4532:
      return `${unnest(value)} AS r(r), ${bounds('r.r')}`;
    case 6151:
      return `${unnest(value)} AS m(m), LATERAL ${unnest('m.m')} AS r(r), ${bounds('r.r')}`;
    case 3802:
      return ofJson(value);
    case 3807:
      return `${unnest(value)} AS d(d), ${ofJson('d.d')}`;
    default:
      return undefined;
  }
}

/** Selects the numbers in `jsonb` whose text may have many more digits than they have bytes. */
const longNumbers =
  'strict $.** ? (@.type() == "number" && (@ > 1e200 || @ < -1e200 || @ != 0 && @ < 1e-200 && @ > -1e-200))';

/**
 * Returns an expression for a lower bound of the digits of the numbers, without writing them. The binary form of a number has its
 * weight, the power of 10,000, at byte 2, and the number of digits after the point at byte 6.
 */
export function leastDigits(numbers: string): string {
  const byte = (at: number) => `pg_catalog.get_byte(s.sent, ${at})`;
  const times = (byte: string, factor: number) => `pg_catalog.int4mul(${byte}, ${factor})`;
  const plus = (a: string, b: string) => `pg_catalog.int4pl(${a}, ${b})`;
  const weight = `CASE WHEN pg_catalog.int4lt(${byte(2)}, 128) THEN ${plus(times(byte(2), 1024), times(byte(3), 4))} ELSE 0 END`;
  const scale = plus(times(byte(6), 256), byte(7));
  return `(SELECT pg_catalog.sum(${plus(weight, scale)})
    FROM (SELECT pg_catalog.numeric_send(n.n) AS sent FROM ${numbers}) AS s)`;
}

/** Returns an expression for the sum of the lengths. */
export function sumOf(lengths: string[]): string {
  return ['0::pg_catalog.int8', ...lengths].join(' OPERATOR(pg_catalog.+) ');
}

/**
 * Returns an expression for the sum of lengths for which PostgreSQL reads the values. What it has read of one is freed when it comes to the next
 * row of VALUES, so the last row reads nothing.
 */
export function sumOfValues(lengths: string[]): string {
  if (lengths.length === 0) return '0';
  const values = [...lengths, '0'].map((length) => `((${length})::pg_catalog.int8)`);
  return `(SELECT coalesce(pg_catalog.sum(v.v), 0)::pg_catalog.int8 FROM (VALUES ${values.join(', ')}) AS v(v))`;
}
