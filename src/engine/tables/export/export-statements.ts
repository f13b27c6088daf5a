/** The statements of an export. They run in the callers' path. */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { failUnless } from '../../../postgres/refuse-unless.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../postgres/sql.ts';
import { asJson, type RowColumn } from '../row-columns.ts';
import { leastDigits, leastText, numbersOf, sumOf, sumOfValues } from '../value-lengths.ts';
import type { OrderBy } from './export-columns.ts';

export interface ExportedRows {
  schema: string;
  name: string;
  columns: RowColumn[];
  order: OrderBy[];
  /** undefined: all rows. */
  limit: number | undefined;
}

/** The maximum number of bytes of the text of a row: the longest message of PostgreSQL that the service accepts. PostgreSQL keeps the row and its text in memory. */
export const maxExportedRowBytes = 64 * 1024 * 1024;
/** All values of a row that are not compressed may have this many bytes in all without being checked: 256 numbers of 131,072 digits. */
const uncheckedBytes = 2048;
/** The maximum number of bytes that a compressed byte becomes: with lz4, and less with pglz. */
const expansion = 255;
/** How many bytes of text or JSON a byte of other values than texts and numbers may become. */
const bytesOfByte = 8;
/** A value of another type is written to find its length if it has up to this many bytes. As JSON it takes PostgreSQL up to 20 times as many. */
const maxMeasuredBytes = 16 * 1024 * 1024;

/** Returns the COPY of the rows. @param isJson true: each row is one value, a JSON object, in the binary format */
export function copyOut(rows: ExportedRows, options: 'csv' | 'text' | 'json'): CallersStatement {
  const { columns } = rows;
  if (options !== 'json') {
    const list = columns.map(({ name }) => `t.${quoteIdentifier(name)}`);
    const format = options === 'csv' ? 'FORMAT csv, HEADER true' : 'FORMAT text';
    return qualified`COPY (SELECT ${list.join(', ')} ${chosenRows(rows, false)}) TO STDOUT (${format})`;
  }
  const list = columns.map(
    (column) => `${asJson(column, `t.${quoteIdentifier(column.name)}`)} AS ${quoteIdentifier(column.name)}`,
  );
  return qualified`COPY (SELECT pg_catalog.row_to_json(r.*) FROM (SELECT ${list.join(', ')} ${chosenRows(rows, true)}) AS r) TO STDOUT (FORMAT binary)`;
}

/**
 * Returns a query that counts the rows, up to `maxRows`, and lists the columns that have a text of more than `maxLength` characters.
 */
export function measureRows(rows: ExportedRows, maxRows: number, maxLength: number): CallersStatement {
  const texts = rows.columns.filter(({ isText }) => isText);
  const long = texts.map(({ name, base }) => {
    const value = `t.${quoteIdentifier(name)}`;
    // The lengths in bytes are known without reading the values. The hexadecimal text of a `bytea` has two characters for each byte.
    const isLong =
      base === bytea
        ? `pg_catalog.octet_length(${value}) OPERATOR(pg_catalog.>) ${Math.floor((maxLength - 2) / 2)}`
        : `pg_catalog.octet_length(${value}) OPERATOR(pg_catalog.>) ${maxLength} AND pg_catalog.char_length(${value}) OPERATOR(pg_catalog.>) ${maxLength}`;
    return `CASE WHEN pg_catalog.bool_or(${isLong}) THEN ${quoteLiteral(name)} END`;
  });
  const limited = { ...rows, limit: Math.min(rows.limit ?? maxRows, maxRows) };
  const list = texts.map(({ name }) => `t.${quoteIdentifier(name)}`);
  return qualified`SELECT pg_catalog.count(*)::pg_catalog.float8 AS rows, pg_catalog.array_remove(ARRAY[${long.join(', ')}]::pg_catalog.text[], NULL) AS long
    FROM (SELECT ${list.join(', ')} ${chosenRows(rows.limit === undefined ? { ...limited, order: [] } : limited, false)}) AS t`;
}

/** Returns the clauses from FROM on. A row that is too long makes the statement fail before its text is written. */
function chosenRows({ schema, name, columns, order, limit }: ExportedRows, isJson: boolean): string {
  const long = columns.filter(({ isLong }) => isLong);
  const where =
    long.length === 0
      ? ''
      : ` WHERE ${failUnless(isShortRow(long, isJson), 'a row is too long to be exported')} OPERATOR(pg_catalog.=) 0`;
  const by = order.map(
    ({ column, isDescending }) => `t.${quoteIdentifier(column)}${isDescending ? ' DESC' : ''}`,
  );
  const orderBy = by.length === 0 ? '' : ` ORDER BY ${by.join(', ')}`;
  return `FROM ${quoteQualified(schema, name)} AS t${where}${orderBy}${limit === undefined ? '' : ` LIMIT ${limit}`}`;
}

/**
 * Returns a condition that is true if the text of the row is not too long. For most rows the stored lengths show it. In the others PostgreSQL reads
 * one value after the other: it keeps what an expression has read until the end of the row, but a row of VALUES only until the next one.
 */
function isShortRow(long: RowColumn[], isJson: boolean): string {
  const within = (lengths: string[]) => `${sumOf(lengths)} OPERATOR(pg_catalog.<=) ${maxExportedRowBytes}`;
  if (long[0]!.isSharded) return within(long.map(storedBytes));
  const texts = long.filter(isPlainText);
  const exact = [
    ...texts.map(bytesOfText),
    ...(isJson && texts.length > 0 ? [bytesOfEscapes(texts)] : []),
    bytesOfOthers(long.filter((column) => !isPlainText(column))),
  ];
  const sizes = long.map((column) => mostBytes(column, isJson));
  const unlessLong = (column: RowColumn, index: number) => unlessNumbers(column, sizes[index]!, long.length);
  // The digits are counted at one place only, because the query of a wide table takes PostgreSQL much memory.
  const least = sumOf(long.map((column) => leastBytes(column, long.length)));
  return `CASE WHEN ${within(long.map(unlessLong))} THEN true ELSE (
    SELECT CASE WHEN s.least OPERATOR(pg_catalog.>) ${maxExportedRowBytes} THEN false WHEN ${within(['s.least', ...sizes])} THEN true ELSE ${within(exact)} END
    FROM (SELECT ${least} AS least OFFSET 0) AS s) END`;
}

/** Returns an expression for about how many bytes a value has. Citus takes no query within the row, so compressed values and escapes are not counted exactly there. */
function storedBytes(column: RowColumn): string {
  if (isPlainText(column)) return bytesOfText(column);
  if (column.base === bytea) return mostBytes(column, false);
  const size = `coalesce(pg_catalog.pg_column_size(t.${quoteIdentifier(column.name)}), 0)`;
  return `(${bytesOfByte}::pg_catalog.int8 OPERATOR(pg_catalog.*) ${size})`;
}

/** Returns the length, or for a value that may have many digits more than a row may have. @param count the number of long values in a row */
function unlessNumbers({ name, base }: RowColumn, length: string, count: number): string {
  const value = `t.${quoteIdentifier(name)}`;
  if (numbersOf(base, value) === undefined) return length;
  return `CASE WHEN ${isUnchecked(value, count)} THEN 0 ELSE ${maxExportedRowBytes + 1} END`;
}

function isUnchecked(value: string, count: number): string {
  return `coalesce(pg_catalog.pg_column_size(${value}), 0) OPERATOR(pg_catalog.<=) ${Math.floor(uncheckedBytes / count)} AND pg_catalog.pg_column_compression(${value}) IS NULL`;
}

const bytea = 17;
const json = 114;
const xml = 142;
const char = 1042;

function isPlainText({ isText, base }: RowColumn): boolean {
  return (isText && base !== bytea) || base === char || base === xml;
}

/** Returns an expression for the bytes of a text, which PostgreSQL knows without reading it. */
function bytesOfText({ name, base }: RowColumn): string {
  const value = `t.${quoteIdentifier(name)}`;
  return `coalesce(pg_catalog.octet_length(${base === xml ? `${value}::pg_catalog.text` : value}), 0)`;
}

/** JSON writes a control character as `\u0001`, and a quotation mark, a backslash and white space with two characters. */
const bytesOfEscape = 6;
/** A text is searched for escapes in parts of so many characters. */
const charactersOfPart = 2 * 1024 * 1024;

/** Returns an expression for the bytes that escapes add to texts in JSON. PostgreSQL writes a part of a text as JSON for it. */
function bytesOfEscapes(texts: RowColumn[]): string {
  const values = texts.map(({ name }) => `(t.${quoteIdentifier(name)}::pg_catalog.text)`);
  // With the encoding SQL_ASCII a part may end within a character, so `json_send`, which checks it, cannot be used.
  return `(SELECT coalesce(pg_catalog.sum(pg_catalog.int4mi(pg_catalog.octet_length(pg_catalog.to_json(p.p)::pg_catalog.text),
      pg_catalog.int4pl(pg_catalog.octet_length(p.p), 2))), 0)::pg_catalog.int8
    FROM (VALUES ${values.join(', ')}) AS v(v),
    -- The function makes a copy, so that the text is not decompressed for each part.
    LATERAL (SELECT pg_catalog.textcat(v.v, '') OFFSET 0) AS w(w),
    LATERAL pg_catalog.generate_series(1, pg_catalog.char_length(w.w), ${charactersOfPart}) AS i(i),
    LATERAL (SELECT pg_catalog.substr(w.w, i.i, ${charactersOfPart}) OFFSET 0) AS p(p))`;
}

/** Returns an expression for the bytes of other values as JSON, which is longer than their text. */
function bytesOfOthers(others: RowColumn[]): string {
  const lengths = others.map((column) => {
    const value = `t.${quoteIdentifier(column.name)}`;
    if (column.base === bytea) return mostBytes(column, true);
    if (column.base === json) return `pg_catalog.octet_length(pg_catalog.json_send(${value}))`;
    // The digits of arrays of numbers are known here, so they need no query of their elements.
    if (column.isArray && numbersOf(column.base, value) === undefined)
      return `(SELECT pg_catalog.sum(coalesce(pg_catalog.octet_length(pg_catalog.json_send(pg_catalog.to_json(${asJson(column, 'e.e')}))), 4)) OPERATOR(pg_catalog.+) pg_catalog.cardinality(${value})
        FROM (SELECT pg_catalog.unnest(${value}) AS e OFFSET 0) AS e)`;
    const isMeasured = `pg_catalog.pg_column_size(ROW(${value})) OPERATOR(pg_catalog.<=) ${maxMeasuredBytes}`;
    return `CASE WHEN ${isMeasured} THEN pg_catalog.octet_length(pg_catalog.json_send(pg_catalog.to_json(${asJson(column, value)}))) ELSE ${maxExportedRowBytes + 1} END`;
  });
  return sumOfValues(lengths);
}

/** Returns an expression for an upper bound of the bytes of a value in the row, except the digits of numbers, which PostgreSQL evaluates without reading a long value. */
function mostBytes(column: RowColumn, isJson: boolean): string {
  const value = `t.${quoteIdentifier(column.name)}`;
  const times = (factor: number, bytes: string) =>
    `(${factor}::pg_catalog.int8 OPERATOR(pg_catalog.*) ${bytes})`;
  if (isPlainText(column)) return times(isJson ? bytesOfEscape : 1, bytesOfText(column));
  if (column.base === bytea) return times(2, `coalesce(pg_catalog.octet_length(${value}), 0)`);
  const size = `coalesce(pg_catalog.pg_column_size(${value}), 0)`;
  const ofByte = column.base === json ? 1 : bytesOfByte;
  return `CASE WHEN pg_catalog.pg_column_compression(${value}) IS NULL THEN ${times(ofByte, size)} ELSE ${times(ofByte * expansion, size)} END`;
}

/** Returns an expression for a lower bound of the bytes of a value in the row, but with all digits of its numbers. */
function leastBytes(column: RowColumn, count: number): string {
  const { name, base } = column;
  const value = `t.${quoteIdentifier(name)}`;
  if (base === bytea) return mostBytes(column, false);
  if (isPlainText(column)) return bytesOfText(column);
  if (base === json) return '0';
  const numbers = numbersOf(base, value);
  const least = `coalesce(${leastText(base, value)}, 0)`;
  const digits = numbers === undefined ? least : `greatest(${least}, coalesce(${leastDigits(numbers)}, 0))`;
  return `CASE WHEN ${isUnchecked(value, count)} THEN 0::pg_catalog.int8 ELSE ${digits} END`;
}
