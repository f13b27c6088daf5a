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
 * Returns a condition that is true if the text of the row is not too long. Most rows are so short that nothing is read for it. In the text of the
 * others, PostgreSQL reads one value after the other: it keeps what an expression has read until the end of the row, but a row of VALUES only until the next one.
 */
function isShortRow(long: RowColumn[], isJson: boolean): string {
  const within = (lengths: string[], bytes: number) => `${sumOf(lengths)} OPERATOR(pg_catalog.<=) ${bytes}`;
  const documents = long.filter(({ base }) => base === json);
  const others = long.filter(({ base }) => base !== json).map((column) => textBytes(column, long.length));
  const ofDocuments =
    documents.length === 0 ? [] : [sumOver(documents, json, 'octet_length(pg_catalog.json_send(v.v))')];
  const bytes = sumOf([...others, ...ofDocuments]);
  const escapes = isJson ? bytesOfEscapes(long) : [];
  const isShort = `CASE WHEN s.bytes OPERATOR(pg_catalog.<=) ${maxExportedRowBytes} THEN ${within(['s.bytes', ...escapes], maxExportedRowBytes)} ELSE false END`;
  return `CASE WHEN ${within([...others, ...documents.map(bytesOfDocument)], Math.floor(maxExportedRowBytes / (isJson ? bytesOfEscape : 1)))} THEN true
    ELSE (SELECT ${isShort} FROM (SELECT ${bytes} AS bytes OFFSET 0) AS s) END`;
}

/** Returns an expression for the sum of `of`, in which `v.v` is the value of one of the columns as the type with this oid. */
function sumOver(columns: RowColumn[], type: typeof json | typeof text, of: string, from = ''): string {
  const values = columns.map(
    ({ name }) => `(t.${quoteIdentifier(name)}::pg_catalog.${type === json ? 'json' : 'text'})`,
  );
  return `(SELECT coalesce(pg_catalog.sum(pg_catalog.${of}), 0)::pg_catalog.int8 FROM (VALUES ${values.join(', ')}) AS v(v)${from})`;
}

/** JSON writes a control character as `\u0001`, and a quotation mark, a backslash and white space with two characters. */
const bytesOfEscape = 6;
/** A text is searched for escapes in parts of so many characters. */
const charactersOfPart = 2 * 1024 * 1024;

/** Returns expressions for the bytes that escapes add at most to the values in JSON. PostgreSQL writes a part of a text as JSON for it. */
function bytesOfEscapes(long: RowColumn[]): string[] {
  const isPlain = ({ isText, base }: RowColumn) =>
    (isText && base !== bytea) || base === char || base === xml;
  const texts = long.filter(isPlain);
  const added =
    'int4mi(pg_catalog.octet_length(pg_catalog.json_send(pg_catalog.to_json(p.p))), pg_catalog.int4pl(pg_catalog.octet_length(p.p), 2))';
  // The function makes a copy, so that the text is not decompressed for each part.
  const parts = `, LATERAL (SELECT pg_catalog.textcat(v.v, '') OFFSET 0) AS w(w),
    LATERAL pg_catalog.generate_series(1, pg_catalog.char_length(w.w), ${charactersOfPart}) AS i(i),
    LATERAL (SELECT pg_catalog.substr(w.w, i.i, ${charactersOfPart}) OFFSET 0) AS p(p)`;
  const ofOthers = long
    .filter((column) => !isPlain(column) && ![bytea, json, jsonb].includes(column.base))
    .map(({ name }) => {
      const size = `pg_catalog.pg_column_size(t.${quoteIdentifier(name)})`;
      return `CASE WHEN ${size} OPERATOR(pg_catalog.>) ${uncheckedBytes} THEN ${bytesOfEscape - 1}::pg_catalog.int8 OPERATOR(pg_catalog.*) ${size} ELSE 0 END`;
    });
  return [...(texts.length === 0 ? [] : [sumOver(texts, text, added, parts)]), ...ofOthers];
}

const bytea = 17;
const jsonb = 3802;
const json = 114;
const text = 25;
const xml = 142;
const char = 1042;

/** Returns an expression for the approximate bytes of a value's text, which PostgreSQL evaluates without reading a long value. @param count the number of such values in a row */
function textBytes({ name, base, isText }: RowColumn, count: number): string {
  const value = `t.${quoteIdentifier(name)}`;
  const octets = (text: string) => `coalesce(pg_catalog.octet_length(${text}), 0)`;
  if (base === bytea) return `(2::pg_catalog.int8 OPERATOR(pg_catalog.*) ${octets(value)})`;
  if (isText || base === char) return octets(value);
  if (base === xml) return octets(`${value}::pg_catalog.text`);
  const size = `coalesce(pg_catalog.pg_column_size(${value}), 0)`;
  const isPacked = `pg_catalog.pg_column_compression(${value}) IS NOT NULL`;
  const numbers = numbersOf(base, value);
  const text = `coalesce(${leastText(base, value)}, 0)`;
  const least = numbers === undefined ? text : `greatest(${text}, coalesce(${leastDigits(numbers)}, 0))`;
  return `CASE WHEN ${size} OPERATOR(pg_catalog.<=) ${Math.floor(uncheckedBytes / count)} AND NOT (${isPacked}) THEN 0::pg_catalog.int8
    ELSE greatest(${least}, CASE WHEN ${isPacked} THEN ${expansion}::pg_catalog.int8 OPERATOR(pg_catalog.*) ${size} ELSE 0 END) END`;
}

/** Returns an expression for the bytes of a document, or for more than a row may have if it is compressed. */
function bytesOfDocument({ name }: RowColumn): string {
  const value = `t.${quoteIdentifier(name)}`;
  return `CASE WHEN pg_catalog.pg_column_compression(${value}) IS NULL THEN coalesce(pg_catalog.pg_column_size(${value}), 0) ELSE ${maxExportedRowBytes + 1} END`;
}
