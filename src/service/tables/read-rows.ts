/**
 * Reads the first rows of a table as JSON, exactly as PostgreSQL has them.
 *
 * PostgreSQL itself writes the JSON, so a number has all its digits. For that it would call a cast to `json` that somebody has made for a
 * type of their own, and that function would run with the rights of the service. So values of types outside `pg_catalog` are read as
 * text, by the output function of the type, which only a superuser can make.
 *
 * A value of hundreds of megabytes would take seconds to write. PostgreSQL knows the lengths of values without reading them, so it reads only the
 * beginning of long texts, and no other long values.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { type CallersStatement, qualified } from '../postgres/callers-statement.ts';
import { isChangeOfNamedObject, isUndefinedTable } from '../postgres/named-objects.ts';
import { pipeline } from '../postgres/pipeline.ts';
import { rollBackTo, savepoint } from '../postgres/savepoints.ts';
import { queryInCallersPath } from '../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../postgres/sql.ts';
import { conditionOf, isFailureOfExpression } from '../postgres/sqlstate.ts';
import { noteTable } from '../postgres/transaction.ts';

/** The maximum number of bytes of a list of rows. */
const maxListedRowsBytes = 16 * 1024 * 1024;
/** The number of characters that a cut text keeps, and the number of bytes that a cut `bytea` keeps. */
const cutLength = 1000;

/** Up to which lengths values are shown whole. */
interface Lengths {
  /** The maximum number of bytes of a text or `bytea`. */
  text: number;
  /** The maximum number of bytes in which PostgreSQL stores a value of another type. Compressed, they may be a hundred times more. */
  stored: number;
}

const usualLengths: Lengths = { text: 1024 * 1024, stored: 256 * 1024 };
/** The maximum number of compressed bytes of the values of a row, except its texts. Their JSON may be a hundred times as long, and PostgreSQL writes a row as a whole. */
const maxPackedBytes = 1024 * 1024;
/** The smallest lengths. With them almost every row of 1,600 columns can be listed. */
const leastLengths: Lengths = { text: 4096, stored: 256 };
/**
 * The maximum number of bytes in which PostgreSQL stores a listed value of `jsonpath` or `jsonpath[]`. SQL cannot read the numbers in such a value, so their
 * digits are not counted. Compressed, 256 bytes may have 2,000 numbers of 131,072 digits.
 */
const maxStoredPathBytes = 256;
/** How many bytes one entry of `cut` counts, without the name of its column. */
const bytesOfCut = 64;

export interface CutValue {
  /** The number of the row in the list, from 1. */
  row: number;
  column: string;
}

export interface FirstRows {
  /** One JSON object for each row, as text. Its members are the columns, in their order. */
  rows: string[];
  /** The values that are not shown whole. The rows have the beginning of a text, and null for a value of another type. */
  cut: CutValue[];
  /** The table has further rows. */
  hasMore: boolean;
}

/**
 * Reads rows in the order in which PostgreSQL stores them: after a load this is the order of the file, as long as no row was changed.
 *
 * If the first row is too long, shorter values are cut in all rows.
 *
 * @throws AppError `write-conflict`; `limit-exceeded` if the first row is too long also with its values cut, or if PostgreSQL cannot write a row as JSON because it is too long; PostgreSQL's errors, for example if the role may not read a column
 */
export async function readFirstRows(
  client: ClientBase,
  schema: string,
  name: string,
  limit: number,
): Promise<FirstRows> {
  let rows = await queryRows(client, { schema, name }, limit + 1, usualLengths);
  if (rows[0]?.row === null) rows = await queryRows(client, { schema, name }, limit + 1, leastLengths);
  const fitting = rows.slice(0, limit).flatMap(({ row }) => (row === null ? [] : [row]));
  if (fitting.length === 0 && rows.length > 0) {
    throw limitExceeded('The first row is too long to be listed', maxListedRowsBytes, 'bytes');
  }
  const cut = rows
    .slice(0, fitting.length)
    .flatMap(({ cut }, index) => (cut ?? []).map((column) => ({ row: index + 1, column })));
  return { rows: fitting, cut, hasMore: rows.length > fitting.length };
}

/** A row as PostgreSQL writes it. `row` is null if the rows up to this one are too long together. */
interface WrittenRow {
  row: string | null;
  cut: string[] | null;
}

/** The maximum number of attempts, because another session may change the columns between the query of the columns and that of the rows. */
const maxTries = 3;

async function queryRows(
  client: ClientBase,
  { schema, name }: { schema: string; name: string },
  limit: number,
  lengths: Lengths,
): Promise<WrittenRow[]> {
  const relation = quoteQualified(schema, name);
  for (let tries = 1; ; tries++) {
    const columns = await readColumns(client, schema, name);
    try {
      return (await queryInCallersPath<WrittenRow>(client, firstRows(relation, columns, limit, lengths)))
        .rows;
    } catch (error) {
      if (conditionOf(error) === 'program_limit_exceeded')
        throw limitExceeded('A row is too long to be listed', maxListedRowsBytes, 'bytes');
      if (isUndefinedTable(error) || !isOfOtherColumns(error)) throw ofVirtualColumns(error, columns);
      if (tries === maxTries) throw changedMeanwhile(error);
      await rollBackTo(client, rowsSavepoint, error);
    }
  }
}

const rowsSavepoint = 'first rows';

/** Sets a savepoint and reads the columns. If the columns have changed before the rows are read, `queryRows` rolls back to the savepoint. */
async function readColumns(client: ClientBase, schema: string, name: string): Promise<RowColumn[]> {
  const query = { text: rowColumns, values: [schema, name] };
  const [, , , columns] = await pipeline(client, [
    savepoint(rowsSavepoint),
    readFromBeginning,
    beginWithNoBytes,
    query,
  ]);
  noteTable(client, { columns: columns!.rows.length });
  return columns!.rows;
}

/** Returns whether the table had other columns, or columns of other types, than the query of its rows expected. */
function isOfOtherColumns(error: unknown): boolean {
  return isChangeOfNamedObject(error) || conditionOf(error) === 'datatype_mismatch';
}

function changedMeanwhile(cause: unknown): AppError {
  const detail = 'Other sessions kept changing the columns of the table. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

/** Changes the error to name the columns that PostgreSQL computes when it reads the rows, if one of them may have caused it. */
function ofVirtualColumns(error: unknown, columns: RowColumn[]): unknown {
  const virtual = columns.filter(({ isVirtual }) => isVirtual).map(({ name }) => `"${name}"`);
  if (virtual.length === 0 || !isFailureOfExpression(error)) return error;
  const which =
    virtual.length === 1 ? `the column ${virtual[0]}` : `one of the columns ${virtual.join(', ')}`;
  const detail = `PostgreSQL computes ${which} when it reads a row, and for one of the rows this fails: ${error.message}. Change its expression, or the row, in PostgreSQL.`;
  return new AppError('invalid-data', detail, { cause: error });
}

interface RowColumn {
  name: string;
  /** `GENERATED ALWAYS AS (…) VIRTUAL` (PostgreSQL 18) */
  isVirtual: boolean;
  /** The type, or the type that the domain is based on, is one of PostgreSQL's own. */
  isBuiltIn: boolean;
  /** A value may be long. */
  isLong: boolean;
  /** `pg_type.oid` of the type, or of the type that the domain is based on. */
  base: number;
  /** The length of the text, or `bytea`, is known without reading it, and its beginning can be read alone. */
  isText: boolean;
}

/** Switches off a setting with which a large table is not read from its beginning if another session reads it. */
const readFromBeginning = `SELECT set_config('synchronize_seqscans', 'off', true)`;

/**
 * The settings in which a statement counts the bytes of the rows that it has written so far: one with the usual lengths, one with
 * the least lengths. They may not exist yet, because Citus runs the statement for a table with one shard at a worker.
 */
const bytesOfUsual = 'tablewright.written_bytes';
const bytesOfLeast = 'tablewright.written_bytes_of_cut';
const beginWithNoBytes = `SELECT set_config('${bytesOfUsual}', '0', true), set_config('${bytesOfLeast}', '0', true)`;

const rowColumns = `
SELECT a.attname AS name, a.attgenerated = 'v' AS "isVirtual", b.typnamespace = 'pg_catalog'::regnamespace AS "isBuiltIn", a.attlen = -1 AS "isLong",
  b.oid::bigint::float8 AS base, b.oid IN ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype) AS "isText"
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
  WITH RECURSIVE base AS (
    SELECT t.oid, t.typtype, t.typbasetype, t.typnamespace FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
    UNION ALL
    SELECT t.oid, t.typtype, t.typbasetype, t.typnamespace FROM base JOIN pg_catalog.pg_type t ON t.oid = base.typbasetype
    WHERE base.typtype = 'd')
  SELECT base.oid, base.typnamespace FROM base WHERE base.typtype <> 'd') AS b
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum`;

/**
 * Returns a query of the rows. `row` is null if the rows up to this one are too long together. The lengths of their texts show this for most rows
 * before PostgreSQL writes them, because the JSON of a text is not shorter than the text. Other values may become much longer, so after each
 * row its bytes are added to a setting, and PostgreSQL writes no row after the sum is too large. A sum over the rows would be known only after
 * all of them are written. `OFFSET 0` keeps the two steps of a row apart.
 */
function firstRows(
  relation: string,
  columns: RowColumn[],
  limit: number,
  lengths: Lengths,
): CallersStatement {
  const long = columns.filter(({ isLong }) => isLong);
  const cut = long.map((one) => `CASE WHEN ${isTooLong(one, lengths)} THEN ${quoteLiteral(one.name)} END`);
  const least = sumOf(long.map((one) => leastLength(one, lengths)));
  const packed = sumOf(long.filter(({ isText }) => !isText).map((one) => packedLength(one, lengths)));
  // The columns may have any names, so the inner query gives them names of its own.
  const stored = columns.map(({ name }, index) => `t.${quoteIdentifier(name)} AS c${index}, `);
  const values = columns.map(
    (column, index) =>
      `${shownValue(column, `stored.c${index}`, lengths)} AS ${quoteIdentifier(column.name)}`,
  );
  const setting = lengths === leastLengths ? bytesOfLeast : bytesOfUsual;
  const written = `coalesce(pg_catalog.substring(pg_catalog.current_setting('${setting}', true), '[0-9]+'), '0')::pg_catalog.int8`;
  return qualified`
SELECT CASE WHEN summed.bytes OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} THEN summed.row END AS row, summed.cut
FROM (
  SELECT written.row, written.cut, pg_catalog.set_config('${setting}', (${written}
    OPERATOR(pg_catalog.+) coalesce(pg_catalog.octet_length(written.row), ${maxListedRowsBytes + 1})
    OPERATOR(pg_catalog.+) pg_catalog.octet_length(pg_catalog.array_to_json(written.cut)::pg_catalog.text)
    OPERATOR(pg_catalog.+) (${bytesOfCut} OPERATOR(pg_catalog.*) pg_catalog.cardinality(written.cut)))::pg_catalog.text, true)::pg_catalog.int8 AS bytes
  FROM (
    SELECT stored.cut, CASE WHEN stored.least OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} AND stored.packed OPERATOR(pg_catalog.<=) ${maxPackedBytes}
      AND ${written} OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} THEN (
      SELECT pg_catalog.row_to_json(v.*)::pg_catalog.text FROM (SELECT ${values.join(', ')}) AS v) END AS row
    FROM (
      SELECT ${stored.join('')}pg_catalog.array_remove(ARRAY[${cut.join(', ')}]::pg_catalog.text[], NULL) AS cut,
        ${packed} AS packed, pg_catalog.sum(${least}) OVER (ROWS UNBOUNDED PRECEDING) AS least
      FROM (SELECT t.* FROM ${relation} AS t LIMIT ${limit}) AS t
    ) AS stored OFFSET 0
  ) AS written OFFSET 0
) AS summed`;
}

function sumOf(lengths: string[]): string {
  return ['0::pg_catalog.int8', ...lengths].join(' OPERATOR(pg_catalog.+) ');
}

/** Returns an expression for the compressed bytes of a value that is shown whole. */
function packedLength(column: RowColumn, lengths: Lengths): string {
  const value = `t.${quoteIdentifier(column.name)}`;
  return `CASE WHEN pg_catalog.pg_column_compression(${value}) IS NULL OR ${isTooLong(column, lengths)}
    THEN 0 ELSE pg_catalog.pg_column_size(${value}) END`;
}

/** Returns the condition that a value is not shown whole. PostgreSQL can evaluate it without reading the value. */
function isTooLong({ name, isText, base }: RowColumn, lengths: Lengths): string {
  const value = `t.${quoteIdentifier(name)}`;
  return isText
    ? `pg_catalog.octet_length(${value}) OPERATOR(pg_catalog.>) ${lengths.text}`
    : `pg_catalog.pg_column_size(${value}) OPERATOR(pg_catalog.>) ${mostStoredBytes(base, lengths)}`;
}

/** Returns the maximum number of stored bytes of a value that is shown whole. @param base the oid of the type (pg_type.dat) */
function mostStoredBytes(base: number, { stored }: Lengths): number {
  return base === 4072 || base === 4073 ? maxStoredPathBytes : stored;
}

/** Returns an expression for a lower bound of the bytes of the value's JSON. */
function leastLength(column: RowColumn, lengths: Lengths): string {
  const value = `t.${quoteIdentifier(column.name)}`;
  const length = column.isText ? `pg_catalog.octet_length(${value})` : leastText(column.base, value);
  const numbers = numbersOf(column.base, value);
  const least = numbers === undefined ? length : `greatest(${length}, ${leastDigits(numbers)})`;
  return `CASE WHEN ${isTooLong(column, lengths)} THEN 0 ELSE coalesce(${least}, 0) END`;
}

/** Returns an expression for a lower bound of the length of the value's text. @param base the oid of the type (pg_type.dat) */
function leastText(base: number, value: string): string {
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
function numbersOf(base: number, value: string): string | undefined {
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
function leastDigits(numbers: string): string {
  const byte = (at: number) => `pg_catalog.get_byte(s.sent, ${at})`;
  const times = (byte: string, factor: number) => `pg_catalog.int4mul(${byte}, ${factor})`;
  const plus = (a: string, b: string) => `pg_catalog.int4pl(${a}, ${b})`;
  const weight = `CASE WHEN pg_catalog.int4lt(${byte(2)}, 128) THEN ${plus(times(byte(2), 1024), times(byte(3), 4))} ELSE 0 END`;
  const scale = plus(times(byte(6), 256), byte(7));
  return `(SELECT pg_catalog.sum(${plus(weight, scale)})
    FROM (SELECT pg_catalog.numeric_send(n.n) AS sent FROM ${numbers}) AS s)`;
}

/** Returns an expression for what is shown of the value. */
function shownValue({ isBuiltIn, isLong, isText, base }: RowColumn, value: string, lengths: Lengths): string {
  if (isText) {
    return `CASE WHEN pg_catalog.octet_length(${value}) OPERATOR(pg_catalog.>) ${lengths.text}
      THEN pg_catalog.substr(${value}, 1, ${cutLength}) ELSE ${value} END`;
  }
  const isShown = isLong
    ? [`pg_catalog.pg_column_size(${value}) OPERATOR(pg_catalog.<=) ${mostStoredBytes(base, lengths)}`]
    : [];
  // `IS NULL` cannot be used here, because it is also true for a composite value whose fields are all null.
  if (!isBuiltIn) isShown.push(`pg_catalog.num_nulls(${value}) OPERATOR(pg_catalog.=) 0`);
  const shown = isBuiltIn ? value : `pg_catalog.format('%s', ${value})`;
  return isShown.length === 0 ? shown : `CASE WHEN ${isShown.join(' AND ')} THEN ${shown} END`;
}
