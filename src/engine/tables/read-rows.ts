/**
 * Reads the first rows of a table as JSON, exactly as PostgreSQL has them. PostgreSQL itself writes the JSON (`asJson`).
 *
 * A value of hundreds of megabytes would take seconds to write. PostgreSQL knows the lengths of values without reading them, so it reads only the
 * beginning of long texts, and no other long values.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { type CallersStatement, qualified } from '../../postgres/callers-statement.ts';
import { isChangeOfNamedObject, isUndefinedTable } from '../../postgres/named-objects.ts';
import { pipeline } from '../../postgres/pipeline.ts';
import { rollBackTo, savepoint } from '../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../postgres/search-path.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../postgres/sql.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { noteTable } from '../../postgres/transaction.ts';
import { asJson, ofVirtualColumns, type RowColumn, rowColumns } from './row-columns.ts';
import {
  hasPlaces,
  nextPlace,
  ofOrder,
  type PageOrder,
  pageClauses,
  pageOrder,
  type RowPage,
} from './row-pages.ts';
import { leastDigits, leastText, numbersOf, sumOf, sumOfValues } from './value-lengths.ts';

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
/** The maximum number of bytes of the values of a row, unpacked and without its texts. Their JSON may be eight times as long, and PostgreSQL writes a row as a whole. */
const maxOtherBytes = 8 * 1024 * 1024;
/** The maximum number of bytes of those that are compressed. Only up to here they are unpacked to find their length. */
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
  /** The place at which the next page begins; undefined: there is none. */
  next: string | undefined;
}

/**
 * Reads a page of rows. Without another order they come in the order in which PostgreSQL stores them: after a load this is the order of the file,
 * as long as no row was changed.
 *
 * If the first row is too long, shorter values are cut in all rows.
 *
 * @throws AppError `write-conflict`; `invalid-parameter` for an unknown column or place; `limit-exceeded` if the first row is too long also with its values cut, or if PostgreSQL cannot write a row as JSON because it is too long; PostgreSQL's errors, for example if the role may not read a column
 */
export async function readFirstRows(
  client: ClientBase,
  schema: string,
  name: string,
  page: RowPage,
): Promise<FirstRows> {
  let { rows, order } = await queryRows(client, { schema, name }, page, usualLengths);
  if (rows[0]?.row === null)
    ({ rows, order } = await queryRows(client, { schema, name }, page, leastLengths));
  const fitting = rows.slice(0, page.limit).flatMap(({ row }) => (row === null ? [] : [row]));
  if (fitting.length === 0 && rows.length > 0) {
    throw limitExceeded('The first row is too long to be listed', maxListedRowsBytes, 'bytes');
  }
  const cut = rows
    .slice(0, fitting.length)
    .flatMap(({ cut }, index) => (cut ?? []).map((column) => ({ row: index + 1, column })));
  const hasMore = rows.length > fitting.length;
  const last = rows[fitting.length - 1];
  const isNamed = hasMore && !order.columns.some(({ name }) => last!.cut?.includes(name));
  return { rows: fitting, cut, hasMore, next: isNamed ? nextPlace(order, page.by, last!) : undefined };
}

/** A row as PostgreSQL writes it. `row` is null if the rows up to this one are too long together. */
interface WrittenRow {
  row: string | null;
  cut: string[] | null;
  /** Its `ctid`; null: it is not needed. */
  place: string | null;
}

/** The maximum number of attempts, because another session may change the columns between the query of the columns and that of the rows. */
const maxTries = 3;

async function queryRows(
  client: ClientBase,
  { schema, name }: { schema: string; name: string },
  page: RowPage,
  lengths: Lengths,
): Promise<{ rows: WrittenRow[]; order: PageOrder }> {
  const relation = quoteQualified(schema, name);
  for (let tries = 1; ; tries++) {
    const { columns, placesAreOwn } = await readColumns(client, schema, name);
    const order = pageOrder(page, columns, placesAreOwn);
    const part = { place: order.hasPlace, clauses: `${pageClauses(order, page)} LIMIT ${page.limit + 1}` };
    try {
      const statement = firstRows(relation, columns, part, lengths);
      return { rows: (await queryInCallersPath<WrittenRow>(client, statement)).rows, order };
    } catch (thrown) {
      const error = ofOrder(thrown, page);
      if (error !== thrown) throw error;
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
async function readColumns(
  client: ClientBase,
  schema: string,
  name: string,
): Promise<{ columns: RowColumn[]; placesAreOwn: boolean }> {
  const query = { text: rowColumns, values: [schema, name] };
  const [, , , columns, places] = await pipeline(client, [
    savepoint(rowsSavepoint),
    readFromBeginning,
    beginWithNoBytes,
    query,
    hasPlaces(schema, name),
  ]);
  noteTable(client, { columns: columns!.rows.length });
  return { columns: columns!.rows, placesAreOwn: places!.rows[0]?.hasPlaces === true };
}

/** Returns whether the table had other columns, or columns of other types, than the query of its rows expected. */
function isOfOtherColumns(error: unknown): boolean {
  return isChangeOfNamedObject(error) || conditionOf(error) === 'datatype_mismatch';
}

function changedMeanwhile(cause: unknown): AppError {
  const detail = 'Other sessions kept changing the columns of the table. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
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

/**
 * Returns a query of the rows. `row` is null if the rows up to this one are too long together. The lengths of their texts show this for most rows
 * before PostgreSQL writes them, because the JSON of a text is not shorter than the text. Other values may become much longer, so after each
 * row its bytes are added to a setting, and PostgreSQL writes no row after the sum is too large. A sum over the rows would be known only after
 * all of them are written. `OFFSET 0` keeps the two steps of a row apart.
 */
function firstRows(
  relation: string,
  columns: RowColumn[],
  { place, clauses }: { place: boolean; clauses: string },
  lengths: Lengths,
): CallersStatement {
  const long = columns.filter(({ isLong }) => isLong);
  const cut = long.map((one) => `CASE WHEN ${isTooLong(one, lengths)} THEN ${quoteLiteral(one.name)} END`);
  const least = sumOf(long.map((one) => leastLength(one, lengths)));
  const packed = sumOf(long.filter(({ isText }) => !isText).map((one) => packedLength(one, lengths)));
  const others = columns.flatMap((column, index) =>
    column.isLong && !column.isText ? [otherLength(column, `stored.c${index}`, lengths)] : [],
  );
  // The columns may have any names, so the inner query gives them names of its own.
  const stored = columns.map(({ name }, index) => `t.${quoteIdentifier(name)} AS c${index}, `);
  const values = columns.map(
    (column, index) =>
      `${shownValue(column, `stored.c${index}`, lengths)} AS ${quoteIdentifier(column.name)}`,
  );
  const setting = lengths === leastLengths ? bytesOfLeast : bytesOfUsual;
  const written = `coalesce(pg_catalog.substring(pg_catalog.current_setting('${setting}', true), '[0-9]+'), '0')::pg_catalog.int8`;
  return qualified`
SELECT CASE WHEN summed.bytes OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} THEN summed.row END AS row, summed.cut, summed.place
FROM (
  SELECT written.row, written.cut, written.place, pg_catalog.set_config('${setting}', (${written}
    OPERATOR(pg_catalog.+) coalesce(pg_catalog.octet_length(written.row), ${maxListedRowsBytes + 1})
    OPERATOR(pg_catalog.+) pg_catalog.octet_length(pg_catalog.array_to_json(written.cut)::pg_catalog.text)
    OPERATOR(pg_catalog.+) (${bytesOfCut} OPERATOR(pg_catalog.*) pg_catalog.cardinality(written.cut)))::pg_catalog.text, true)::pg_catalog.int8 AS bytes
  FROM (
    SELECT stored.cut, stored.place, CASE WHEN stored.least OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} AND stored.packed OPERATOR(pg_catalog.<=) ${maxPackedBytes}
      AND ${sumOfValues(others)} OPERATOR(pg_catalog.<=) ${maxOtherBytes} AND ${written} OPERATOR(pg_catalog.<=) ${maxListedRowsBytes} THEN (
      SELECT pg_catalog.row_to_json(v.*)::pg_catalog.text FROM (SELECT ${values.join(', ')}) AS v) END AS row
    FROM (
      SELECT ${stored.join('')}${place ? 't.ctid::pg_catalog.text' : 'NULL::pg_catalog.text'} AS place, pg_catalog.array_remove(ARRAY[${cut.join(', ')}]::pg_catalog.text[], NULL) AS cut,
        ${packed} AS packed, pg_catalog.sum(${least}) OVER (ROWS UNBOUNDED PRECEDING) AS least
      FROM (SELECT t.*${place ? ', t.ctid' : ''} FROM ${relation} AS t${clauses}) AS t
    ) AS stored OFFSET 0
  ) AS written OFFSET 0
) AS summed`;
}

/** Returns an expression for the compressed bytes of a value that is shown whole. */
function packedLength(column: RowColumn, lengths: Lengths): string {
  const value = `t.${quoteIdentifier(column.name)}`;
  return `CASE WHEN pg_catalog.pg_column_compression(${value}) IS NULL OR ${isTooLong(column, lengths)}
    THEN 0 ELSE pg_catalog.pg_column_size(${value}) END`;
}

/** Returns an expression for the bytes of a value that is shown whole and may be long. A row has the values of its columns unpacked (`toast_flatten_tuple_to_datum`). */
function otherLength(column: RowColumn, value: string, lengths: Lengths): string {
  const size = `pg_catalog.pg_column_size(${value})`;
  return `CASE WHEN ${size} OPERATOR(pg_catalog.>) ${leastLengths.stored} AND ${isShownWhole(column, value, lengths)} THEN pg_catalog.pg_column_size(ROW(${value})) ELSE 0 END`;
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

/** Returns an expression for what is shown of the value. */
function shownValue(column: RowColumn, value: string, lengths: Lengths): string {
  const { isLong, isText } = column;
  if (isText) {
    return `CASE WHEN pg_catalog.octet_length(${value}) OPERATOR(pg_catalog.>) ${lengths.text}
      THEN pg_catalog.substr(${value}, 1, ${cutLength}) ELSE ${value} END`;
  }
  const shown = asJson(column, value);
  if (!isLong) return shown;
  return `CASE WHEN ${isShownWhole(column, value, lengths)} THEN ${shown} END`;
}

/** Returns the condition that a value of another type than a text is shown. */
function isShownWhole({ base }: RowColumn, value: string, lengths: Lengths): string {
  return `pg_catalog.pg_column_size(${value}) OPERATOR(pg_catalog.<=) ${mostStoredBytes(base, lengths)}`;
}
