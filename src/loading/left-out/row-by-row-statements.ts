/**
 * The statements that move staged rows in small blocks and note the rows that PostgreSQL refuses.
 *
 * The work is done in PostgreSQL (PL/pgSQL), because a round trip for each refused row would take minutes for a million rows. The
 * statements run in the callers' search path, so they qualify all names (search-path.ts). The names of variables are random, because
 * the table may have columns of any name.
 */
import { quoteIdentifier, quoteLiteral, type Statement } from '../../postgres/sql.ts';
import { mergeRows, progress, type RowRange, updateCounter } from '../staged/merge-statements.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { rowNumber, shapeNumber, stagingTable, unlike } from '../staged/staging-table.ts';

const state = 'pg_temp."tablewright pass"';
const refusedRows = 'pg_temp."tablewright refused rows"';

/** Creates the tables that record the progress. They exist until the transaction ends or is rolled back. */
export const createPassTables: Statement = {
  text: `CREATE TEMPORARY TABLE ${state} (merged bigint NOT NULL, refused integer NOT NULL) ON COMMIT DROP;
INSERT INTO ${state} VALUES (0, 0);
CREATE TEMPORARY TABLE ${refusedRows} (data_row integer NOT NULL, code text, message text, detail text, column_name text,
  constraint_name text, table_name text, schema_name text) ON COMMIT DROP`,
};

/** Returns one row: the number of rows inserted or updated, and the number of refused rows. */
export const readPassState: Statement = { text: `SELECT merged::int, refused FROM ${state}` };

/** A row that PostgreSQL refused. */
export interface RefusedRow {
  row: number;
  code: string;
  /** null: only the first refused rows have the texts of the error. */
  message: string | null;
  detail: string | null;
  column: string | null;
  constraint: string | null;
  table: string | null;
  schema: string | null;
}

/** The order of the refused rows: those with the texts of their errors come first. */
const refusedOrder = 'message IS NULL, data_row';

export function readRefusedRows(limit: number): Statement {
  return {
    text: `SELECT data_row AS row, code, message, detail, nullif(column_name, '') AS column, nullif(constraint_name, '') AS constraint,
  nullif(table_name, '') AS table, nullif(schema_name, '') AS schema FROM ${refusedRows} ORDER BY ${refusedOrder} LIMIT ${limit}`,
  };
}

/** Returns one row, whose column `rows` has the numbers of all refused rows. */
export const refusedNumbers: Statement = {
  text: `SELECT coalesce(array_agg(data_row), '{}') AS rows FROM ${refusedRows}`,
};

/** The refused rows with the same column, constraint and code. */
export interface RefusedGroup {
  /** The number of the first of these rows. */
  row: number;
  code: string;
  column: string | null;
  constraint: string | null;
  table: string | null;
  schema: string | null;
  count: number;
}

/** Groups the refused rows from the one with the place `from` on, counted from 0. */
export function groupRefusedRows(from: number): Statement {
  return {
    text: `SELECT min(data_row) AS row, code, nullif(column_name, '') AS column, nullif(constraint_name, '') AS constraint,
  nullif(table_name, '') AS table, nullif(schema_name, '') AS schema, count(*)::int AS count
FROM (SELECT * FROM ${refusedRows} ORDER BY ${refusedOrder} OFFSET ${from}) later GROUP BY 2, 3, 4, 5, 6 ORDER BY 1`,
  };
}

/** Deletes the refused rows from the staging table. */
export const deleteRefusedRows: Statement = {
  text: `DELETE FROM ${stagingTable} s USING ${refusedRows} f WHERE s.${rowNumber} = f.data_row`,
};

/** Returns one row: the first and the last data row number; null: no row is staged. */
export const readStagedRange: Statement = {
  text: `SELECT min(${rowNumber}) AS first, max(${rowNumber}) AS last FROM ${stagingTable}`,
};

export interface PassOptions {
  /** The data row numbers from `from` (included) to `to` (excluded). */
  from: number;
  to: number;
  /** The number of refused rows after which the pass ends. */
  maxRefused: number;
  /** The number of refused rows whose texts of errors are kept. */
  maxListed: number;
  /** The SQLSTATEs of errors that are not about a row, as a regular expression. They end the pass. */
  notOfRows: string;
  /** true: `mergeRows` counts the updated rows. */
  countsUpdates: boolean;
}

/**
 * Moves rows in their order, in blocks of rows of the same shape. If PostgreSQL refuses a block, the block is undone and divided, until the
 * refused row is alone in its block. This row is recorded and skipped. The sequence `progress` shows which row of the block was refused, and the block is divided
 * there. If the error comes at the end of a block (references, AFTER triggers), the sequence does not show the row, and the block is halved.
 */
export function passOver(load: StagedLoad, options: PassOptions): string {
  const { from, to, maxRefused, maxListed, notOfRows, countsUpdates } = options;
  const name = (purpose: string) => quoteIdentifier(`tablewright ${purpose} ${unlike}`);
  const [at, end, size, gap, isSuspect, failures] = ['at', 'end', 'size', 'gap', 'suspect', 'failures'].map(
    name,
  );
  const [merged, stored, refused, reached] = ['merged', 'stored', 'refused', 'reached'].map(name);
  const [message, detail, column, constraint] = ['message', 'detail', 'column', 'constraint'].map(name);
  const [table, schema, updates, hasUpdates] = ['table', 'schema', 'updates', 'has updates'].map(name);
  const shape = name('block shape');
  const plus = 'OPERATOR(pg_catalog.+)';
  const minus = 'OPERATOR(pg_catalog.-)';
  const times = 'OPERATOR(pg_catalog.*)';
  const is = (left: string, operator: string, right: string | number) =>
    `${left} OPERATOR(pg_catalog.${operator}) ${right}`;
  const atMost = (value: string) => `LEAST(${value}, ${to - from})`;
  const text = `#variable_conflict use_column
DECLARE
  ${at} integer := ${from};
  ${end} integer;
  ${size} integer := ${to - from};
  ${gap} integer := ${from};
  ${isSuspect} boolean := false;
  ${failures} integer := 0;
  ${merged} bigint := 0;
  ${stored} bigint;
  ${refused} integer := (SELECT p.refused FROM ${state} p);
  ${reached} bigint;
  ${updates} bigint;
  ${hasUpdates} boolean;
  ${shape} integer := 0;
  ${[message, detail, column, constraint, table, schema].map((one) => `${one} pg_catalog.text;`).join(' ')}
BEGIN
  WHILE ${is(at!, '<', to)} AND ${is(refused!, '<=', maxRefused)} LOOP
    ${end} := LEAST(${at} ${plus} ${size}, ${to});
    ${load.shapes.all.length > 1 ? endOfShape(shape, at!, end!, to) : ''}
    ${countsUpdates ? `SELECT c.last_value, c.is_called INTO ${updates}, ${hasUpdates} FROM ${updateCounter} c;` : ''}
    BEGIN
      ${mergeShape(load, shape, { from: at!, to: end! }, stored!)}
      ${merged} := ${merged} ${plus} ${stored};
      ${size} := CASE WHEN ${isSuspect} THEN 1 ELSE ${atMost(`(${end} ${minus} ${at}) ${times} 2`)} END;
      ${at} := ${end};
      ${isSuspect} := false;
      ${failures} := 0;
    EXCEPTION WHEN OTHERS THEN
      IF ${is('SQLSTATE', '~', quoteLiteral(notOfRows))} THEN RAISE; END IF;
      ${countsUpdates ? `PERFORM pg_catalog.setval('${updateCounter}', ${updates}, ${hasUpdates});` : ''}
      ${reached} := (SELECT CASE WHEN q.is_called THEN q.last_value ELSE 0 END FROM ${progress} q);
      ${isSuspect} := false;
      IF ${is(`${end} ${minus} ${at}`, '<=', 1)} THEN
        GET STACKED DIAGNOSTICS ${message} = MESSAGE_TEXT, ${detail} = PG_EXCEPTION_DETAIL, ${column} = COLUMN_NAME,
          ${constraint} = CONSTRAINT_NAME, ${table} = TABLE_NAME, ${schema} = SCHEMA_NAME;
        IF ${is(refused!, '>=', maxListed)} THEN ${message} := NULL; ${detail} := NULL; END IF;
        INSERT INTO ${refusedRows} VALUES (${at}, SQLSTATE, ${message}, ${detail}, ${column}, ${constraint}, ${table}, ${schema});
        ${refused} := ${refused} ${plus} 1;
        ${at} := ${end};
        ${size} := ${atMost(`${at} ${minus} ${gap}`)};
        ${gap} := ${at};
        ${failures} := 0;
      ELSE
        IF ${is(failures!, '=', 0)} AND ${is(reached!, '=', at!)} THEN
          ${size} := 1;
        ELSIF ${is(failures!, '=', 0)} AND ${is(reached!, '>', at!)} AND ${is(reached!, '<', end!)} THEN
          ${size} := (${reached} ${minus} ${at})::pg_catalog.int4;
          ${isSuspect} := true;
        ELSE
          ${size} := GREATEST((${end} ${minus} ${at}) OPERATOR(pg_catalog./) 2, 1);
        END IF;
        ${failures} := ${failures} ${plus} 1;
      END IF;
    END;
  END LOOP;
  UPDATE ${state} SET merged = merged ${plus} ${merged}, refused = ${refused};
END`;
  const quote = `$tw${unlike}$`;
  return `DO ${quote}${text}${quote}`;
}

/** Sets the shape of the first row of the block, and ends the block before the first row of another shape. */
function endOfShape(shape: string, at: string, end: string, to: number): string {
  const row = `s.${rowNumber}`;
  return `SELECT ${row}, s.${shapeNumber} INTO ${at}, ${shape} FROM ${stagingTable} s
      WHERE ${row} OPERATOR(pg_catalog.>=) ${at} ORDER BY ${row} LIMIT 1;
    EXIT WHEN NOT FOUND OR ${at} OPERATOR(pg_catalog.>=) ${to};
    ${end} := GREATEST(${end}, ${at} OPERATOR(pg_catalog.+) 1);
    ${end} := coalesce((SELECT ${row} FROM ${stagingTable} s WHERE ${row} OPERATOR(pg_catalog.>) ${at}
      AND ${row} OPERATOR(pg_catalog.<) ${end} AND s.${shapeNumber} OPERATOR(pg_catalog.<>) ${shape} ORDER BY ${row} LIMIT 1), ${end});`;
}

function mergeShape(load: StagedLoad, shape: string, range: RowRange, stored: string): string {
  const merges = load.shapes.all.map(
    (_, number) => `${mergeRows(load, number, range).text}; GET DIAGNOSTICS ${stored} = ROW_COUNT;`,
  );
  if (merges.length === 1) return merges[0]!;
  return merges
    .map((merge, number) => `IF ${shape} OPERATOR(pg_catalog.=) ${number} THEN ${merge} END IF;`)
    .join('\n');
}
