/** The statements of an export. They run in the callers' path. */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { failUnless } from '../../../postgres/refuse-unless.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../postgres/sql.ts';
import { asJson, type RowColumn } from '../row-columns.ts';
import { leastDigits, leastText, numbersOf, sumOf } from '../value-lengths.ts';
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
/** How many bytes a compressed byte may become counts less than this, because most values expand less. A text's length is known exactly. */
const expansion = 16;

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
  const within = (lengths: string[], bytes: number) => `${sumOf(lengths)} OPERATOR(pg_catalog.<=) ${bytes}`;
  const lengths = long.map((column) => textBytes(column, long.length));
  const isShort = isJson
    ? `CASE WHEN ${within(lengths, Math.floor(maxExportedRowBytes / bytesOfEscape))} THEN true
      WHEN ${within(lengths, maxExportedRowBytes)} THEN ${within([...lengths, ...long.map(bytesOfEscapes)], maxExportedRowBytes)} ELSE false END`
    : within(lengths, maxExportedRowBytes);
  const where =
    long.length === 0
      ? ''
      : ` WHERE ${failUnless(isShort, 'a row is too long to be exported')} OPERATOR(pg_catalog.=) 0`;
  const by = order.map(
    ({ column, isDescending }) => `t.${quoteIdentifier(column)}${isDescending ? ' DESC' : ''}`,
  );
  const orderBy = by.length === 0 ? '' : ` ORDER BY ${by.join(', ')}`;
  return `FROM ${quoteQualified(schema, name)} AS t${where}${orderBy}${limit === undefined ? '' : ` LIMIT ${limit}`}`;
}

/** JSON writes a control character as `\u0001`, and a quotation mark, a backslash and white space with two characters. */
const bytesOfEscape = 6;
const addedByEscape = `${bytesOfEscape - 1}::pg_catalog.int8 OPERATOR(pg_catalog.*)`;
const shortEscapes = String.raw`E'"\\b\f\n\r\t'`;
const longEscapes = String.raw`E'\x01\x02\x03\x04\x05\x06\x07\x0b\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f'`;

/** Returns an expression for the bytes that escapes add at most to the value in JSON. PostgreSQL reads a text for it. */
function bytesOfEscapes({ name, base, isText }: RowColumn): string {
  if (base === bytea || base === json || base === jsonb) return '0';
  const value = `t.${quoteIdentifier(name)}`;
  const size = `pg_catalog.pg_column_size(${value})`;
  if (!isText && base !== char && base !== xml)
    return `CASE WHEN ${size} OPERATOR(pg_catalog.>) ${uncheckedBytes} THEN ${addedByEscape} ${size} ELSE 0 END`;
  const text = `${value}::pg_catalog.text`;
  const removed = (signs: string) =>
    `(pg_catalog.octet_length(${text}) OPERATOR(pg_catalog.-) pg_catalog.octet_length(pg_catalog.translate(${text}, ${signs}, '')))`;
  // PostgreSQL reads operators that are written like this from left to right, also + and *.
  return `coalesce(${removed(shortEscapes)} OPERATOR(pg_catalog.+) (${addedByEscape} ${removed(longEscapes)}), 0)`;
}

const bytea = 17;
const jsonb = 3802;
const json = 114;
const xml = 142;
const char = 1042;

/** Returns an expression for the approximate bytes of a value's text, which PostgreSQL evaluates without reading a long value. @param count the number of such values in a row */
function textBytes({ name, base, isText }: RowColumn, count: number): string {
  const value = `t.${quoteIdentifier(name)}`;
  const octets = (text: string) => `coalesce(pg_catalog.octet_length(${text}), 0)`;
  if (base === bytea) return `(2::pg_catalog.int8 OPERATOR(pg_catalog.*) ${octets(value)})`;
  if (isText || base === char) return octets(value);
  if (base === json || base === xml) return octets(`${value}::pg_catalog.text`);
  const size = `coalesce(pg_catalog.pg_column_size(${value}), 0)`;
  const isPacked = `pg_catalog.pg_column_compression(${value}) IS NOT NULL`;
  const numbers = numbersOf(base, value);
  const text = `coalesce(${leastText(base, value)}, 0)`;
  const least = numbers === undefined ? text : `greatest(${text}, coalesce(${leastDigits(numbers)}, 0))`;
  return `CASE WHEN ${size} OPERATOR(pg_catalog.<=) ${Math.floor(uncheckedBytes / count)} AND NOT (${isPacked}) THEN 0::pg_catalog.int8
    ELSE greatest(${least}, CASE WHEN ${isPacked} THEN ${expansion}::pg_catalog.int8 OPERATOR(pg_catalog.*) ${size} ELSE 0 END) END`;
}
