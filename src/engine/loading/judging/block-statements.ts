/**
 * The statements that move staged rows in small blocks and note the rows that PostgreSQL refuses.
 *
 * The work is done in PostgreSQL (PL/pgSQL), because a round trip for each refused row would take minutes for a million rows. `passOver` runs
 * in the callers' search path, so its parts qualify all names. The names of variables are random, because the table may have columns of any
 * name.
 */

import { maxMessageCharacters } from '../../../core/cut-text.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { keptOfDetail } from '../../../postgres/cut-errors.ts';
import { isRaisedAtInSql } from '../../../postgres/server-internals.ts';
import { quoteIdentifier, quoteLiteral } from '../../../postgres/sql.ts';
import { sqlstateFor } from '../../../postgres/sqlstate.ts';
import {
  changedCounter,
  hasCountInBlock,
  mergeBlock,
  progress,
  type RowRange,
  unchangedCounter,
} from '../staged/merge-statements.ts';
import type { StagedLoad } from '../staged/staged-load.ts';
import { rowNumber, shapeNumber, stagingTable, unlike } from '../staged/staging-table.ts';

/** A temporary table of one row with three counts so far: rows inserted or updated (`merged`), rows changed, and rows refused. */
const state = 'pg_temp."tablewright pass"';
/** A table of the rows that PostgreSQL has refused so far, with the fields of the errors. */
export const refusedRows = 'pg_temp."tablewright refused rows"';

/** Creates the temporary tables that record the progress. PostgreSQL drops them when the transaction ends. */
export const createPassTables = `CREATE TEMPORARY TABLE ${state} (merged bigint NOT NULL, changed bigint NOT NULL, refused integer NOT NULL) ON COMMIT DROP;
INSERT INTO ${state} VALUES (0, 0, 0);
CREATE TEMPORARY TABLE ${refusedRows} (data_row integer NOT NULL, shape integer NOT NULL, waits boolean NOT NULL, code text, message text, detail text, column_name text,
  constraint_name text, table_name text, schema_name text) ON COMMIT DROP`;

/** Reads the counts. `changed` is 0 unless the table is sharded. For other tables a sequence counts the changes. */
export const readPassState = `SELECT merged::int, changed::int, refused FROM ${state}`;

/** A row that PostgreSQL refused. */
export interface RefusedRow {
  row: number;
  shape: number;
  code: string;
  /** null: only the first refused rows have the texts of the error. */
  message: string | null;
  detail: string | null;
  column: string | null;
  constraint: string | null;
  table: string | null;
  schema: string | null;
}

/** The maximum number of bytes of the texts of errors that are read. The other rows are counted by groups. */
const maxTextBytes = 32 * 1024 * 1024;

/** The order of the refused rows: rows with the texts of their errors come first, because only the first refused rows have them. */
const refusedOrder = 'message IS NULL, data_row';

export function readRefusedRows(limit: number): string {
  return `SELECT data_row AS row, shape, code, message, detail, nullif(column_name, '') AS column, nullif(constraint_name, '') AS constraint,
  nullif(table_name, '') AS table, nullif(schema_name, '') AS schema
FROM (SELECT *, sum(octet_length(message) + octet_length(coalesce(detail, ''))) OVER (ORDER BY ${refusedOrder} ROWS UNBOUNDED PRECEDING) AS bytes
  FROM ${refusedRows}) summed
WHERE bytes <= ${maxTextBytes} OR bytes IS NULL ORDER BY ${refusedOrder} LIMIT ${limit}`;
}

/** Returns one row, whose column `rows` has the numbers of all refused rows. */
export const refusedNumbers = `SELECT coalesce(array_agg(data_row), '{}') AS rows FROM ${refusedRows}`;

/** The refused rows with the same shape, column, constraint and code, and the number of the first of them. */
export interface RefusedGroup extends Omit<RefusedRow, 'message' | 'detail'> {
  count: number;
}

/** Groups the refused rows, without the first `from` of them. */
export function groupRefusedRows(from: number): string {
  return `SELECT min(data_row) AS row, shape, code, nullif(column_name, '') AS column, nullif(constraint_name, '') AS constraint,
  nullif(table_name, '') AS table, nullif(schema_name, '') AS schema, count(*)::int AS count
FROM (SELECT * FROM ${refusedRows} ORDER BY ${refusedOrder} OFFSET ${from}) later GROUP BY 2, 3, 4, 5, 6, 7 ORDER BY 1`;
}

/** Deletes the refused rows from the staging table. */
export const deleteRefusedRows = `DELETE FROM ${stagingTable} s USING ${refusedRows} f WHERE s.${rowNumber} = f.data_row`;

/**
 * Returns statements that take the waiting rows (`waits`, see `PassOptions.ownReferences`) out of the refused rows and put them into a table like the staging table.
 *
 * @param table the name of that table, quoted
 */
export function takeWaitingRows(table: string): string {
  return `CREATE TEMPORARY TABLE ${table} ON COMMIT DROP AS
SELECT s.* FROM ${stagingTable} s JOIN ${refusedRows} f ON s.${rowNumber} = f.data_row WHERE f.waits;
CREATE INDEX ON ${table} (${rowNumber});
DELETE FROM ${refusedRows} WHERE waits`;
}

/** Returns one row `count`: the number of rows that wait. */
export const countWaitingRows = `SELECT count(*)::int AS count FROM ${refusedRows} WHERE waits`;

/** Refuses the rows that wait. */
export const refuseWaitingRows = `UPDATE ${state} SET refused = refused + (SELECT count(*) FROM ${refusedRows} WHERE waits);
UPDATE ${refusedRows} SET waits = false WHERE waits`;

export interface PassOptions {
  /** The data row numbers from `from` (included) to `to` (excluded). */
  from: number;
  to: number;
  /** The number of refused rows after which the pass ends. */
  maxRefused: number;
  /** The number of refused rows whose texts of errors are kept. */
  maxListed: number;
  /** A regular expression over the SQLSTATE, a space and the message of an error. A matching error is not about a row and ends the pass. */
  notOfRows: string;
  /** true: sequences count the rows of the table that are changed or found unchanged (`startCounting`). Their values are set back when a block is undone. */
  countsMet: boolean;
  /** The foreign keys that refer to the table itself. A row that violates one waits, because the row that it refers to may come later. */
  ownReferences: string[];
}

/**
 * Moves rows in their order, in blocks of rows of the same shape. If PostgreSQL refuses a block, the block is undone and divided, until the
 * refused row is alone in its block. This row is recorded and skipped.
 */
export function passOver(load: StagedLoad, options: PassOptions): CallersStatement {
  const { to, maxRefused, countsMet } = options;
  const text = `#variable_conflict use_column
DECLARE
  ${declareVariables(options)}
BEGIN
  WHILE ${is(at, '<', to)} AND ${is(refused, '<=', maxRefused)} LOOP
    ${end} := LEAST(${at} ${plus} ${size}, ${to});
    ${load.shapes.all.length > 1 ? endOfShape(to, load.source) : ''}
    ${countsMet ? keepCounts : ''}
    BEGIN
      ${mergeOf(load)}
      ${chooseNextBlock(options)}
    -- OTHERS has neither of the two conditions that are named here.
    EXCEPTION WHEN OTHERS OR assert_failure OR query_canceled THEN
      IF ${isNotOfRows(options)} THEN
        GET STACKED DIAGNOSTICS ${detail} = PG_EXCEPTION_CONTEXT;
        IF NOT ${isRaisedAtInSql(detail)} THEN RAISE; END IF;
      END IF;
      ${countsMet ? restoreCounts : ''}
      ${reached} := (SELECT CASE WHEN q.is_called THEN q.last_value ELSE 0 END FROM ${progress} q);
      ${isBeforeSuspect} := false;
      IF ${is(`${end} ${minus} ${at}`, '<=', 1)} THEN
        ${recordRefusedRow(options)}
      ELSE
        ${divideBlock}
      END IF;
    END;
  END LOOP;
  UPDATE ${state} SET merged = merged ${plus} ${merged}, changed = changed ${plus} ${changed}, refused = ${refused};
END`;
  const quote = `$tw${unlike}$`;
  return qualified`DO ${quote}${text}${quote}`;
}

const stateAndMessage = "(SQLSTATE OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) SQLERRM)";
const plus = 'OPERATOR(pg_catalog.+)';
const minus = 'OPERATOR(pg_catalog.-)';
const times = 'OPERATOR(pg_catalog.*)';
const dividedBy = 'OPERATOR(pg_catalog./)';

function is(left: string, operator: string, right: string | number): string {
  return `${left} OPERATOR(pg_catalog.${operator}) ${right}`;
}

function variable(purpose: string): string {
  return quoteIdentifier(`tablewright ${purpose} ${unlike}`);
}

/** The number of the first row of the block. */
const at = variable('at');
/** The row number after the block. */
const end = variable('end');
/** The number of rows of the next block. */
const size = variable('size');
/** The row number after the last refused row. */
const afterRefused = variable('gap');
/** true: the row after the block is probably the one that PostgreSQL refuses, so it becomes a block of its own. */
const isBeforeSuspect = variable('suspect');
/** How often PostgreSQL has refused a block that begins with this row. */
const failures = variable('failures');
/** The number of rows that were inserted or updated. */
const merged = variable('merged');
/** The number of rows of the current block that were inserted or updated. */
const stored = variable('stored');
/** The number of changed rows of the current block and of all blocks. They are counted here only for a sharded table. */
const changedNow = variable('changed now');
const changed = variable('changed');
/** The number of refused rows, also those of earlier statements. */
const refused = variable('refused');
/** The number of the row that PostgreSQL was moving when it refused the block. */
const reached = variable('reached');
// The counts of the sequences before the block. They are restored if the block is undone, because a rollback does not reset a sequence.
const changedBefore = variable('changed before');
const unchangedBefore = variable('unchanged before');
/** true: the refused row waits until all other rows were moved. */
const waits = variable('waits');
/** The shape of the rows of the block. */
const shape = variable('block shape');
// The fields of the error.
const message = variable('message');
const detail = variable('detail');
const column = variable('column');
const constraint = variable('constraint');
const table = variable('table');
const schema = variable('schema');

function declareVariables({ from, to }: PassOptions): string {
  return `${at} integer := ${from};
  ${end} integer;
  ${size} integer := ${to - from};
  ${afterRefused} integer := ${from};
  ${isBeforeSuspect} boolean := false;
  ${failures} integer := 0;
  ${merged} bigint := 0;
  ${stored} bigint;
  ${changedNow} bigint := 0;
  ${changed} bigint := 0;
  ${refused} integer := (SELECT p.refused FROM ${state} p);
  ${reached} bigint;
  ${changedBefore} bigint;
  ${unchangedBefore} bigint;
  ${waits} boolean;
  ${shape} integer := 0;
  ${[message, detail, column, constraint, table, schema].map((text) => `${text} pg_catalog.text;`).join(' ')}`;
}

/** Sets the shape of the block to that of its first row, and ends the block before the first row of another shape. */
function endOfShape(to: number, source = stagingTable): string {
  const row = `s.${rowNumber}`;
  return `SELECT ${row}, s.${shapeNumber} INTO ${at}, ${shape} FROM ${source} s
      WHERE ${is(row, '>=', at)} ORDER BY ${row} LIMIT 1;
    EXIT WHEN NOT FOUND OR ${is(at, '>=', to)};
    ${end} := GREATEST(${end}, ${at} ${plus} 1);
    ${end} := coalesce((SELECT ${row} FROM ${source} s WHERE ${is(row, '>', at)}
      AND ${is(row, '<', end)} AND ${is(`s.${shapeNumber}`, '<>', shape)} ORDER BY ${row} LIMIT 1), ${end});`;
}

const keepCounts = `SELECT c.last_value, u.last_value INTO ${changedBefore}, ${unchangedBefore} FROM ${changedCounter} c, ${unchangedCounter} u;`;
const restoreCounts = `PERFORM pg_catalog.setval('${changedCounter}', ${changedBefore}), pg_catalog.setval('${unchangedCounter}', ${unchangedBefore});`;

function mergeOf(load: StagedLoad): string {
  const block: RowRange = { from: at, to: end };
  const merges = load.shapes.all.map((_, number) => {
    const merge = mergeBlock(load, number, block, `INTO ${stored}, ${changedNow}`);
    return hasCountInBlock(load) ? `${merge};` : `${merge}; GET DIAGNOSTICS ${stored} = ROW_COUNT;`;
  });
  if (merges.length === 1) return merges[0]!;
  return merges.map((merge, number) => `IF ${is(shape, '=', number)} THEN ${merge} END IF;`).join('\n');
}

/** Chooses the next block after PostgreSQL has accepted one: it is twice as long, or has only the row that PostgreSQL probably refuses. */
function chooseNextBlock(options: PassOptions): string {
  const twice = atMostAll(`(${end} ${minus} ${at}) ${times} 2`, options);
  return `${merged} := ${merged} ${plus} ${stored};
      ${changed} := ${changed} ${plus} ${changedNow};
      ${size} := CASE WHEN ${isBeforeSuspect} THEN 1 ELSE ${twice} END;
      ${at} := ${end};
      ${isBeforeSuspect} := false;
      ${failures} := 0;`;
}

const raised = quoteLiteral(sqlstateFor('raise_exception'));

/** Returns SQL for whether the error can never be about a row. An error that a function raised with RAISE may always be about a row. */
function isNotOfRows({ notOfRows }: PassOptions): string {
  return is(stateAndMessage, '~', quoteLiteral(notOfRows));
}

/** Keeps one character more than the service shows, so that the service sees that a text was cut. */
const cutFields = [message, column, constraint, table, schema]
  .map((field) => `${field} := pg_catalog.left(${field}, ${maxMessageCharacters + 1});`)
  .concat(`IF ${is(`pg_catalog.length(${detail})`, '>', keptOfDetail.first + keptOfDetail.last)} THEN
          ${detail} := pg_catalog.left(${detail}, ${keptOfDetail.first}) OPERATOR(pg_catalog.||) pg_catalog.right(${detail}, ${keptOfDetail.last + 1});
        END IF;`)
  .join(' ');

/**
 * Records the row of a refused block that has only this row. The next block is as long as the distance between the last two refused
 * rows.
 */
function recordRefusedRow(options: PassOptions): string {
  const { ownReferences } = options;
  const names = `ARRAY[${ownReferences.map(quoteLiteral).join(', ')}]::pg_catalog.text[]`;
  const isOwnReference = `${is('SQLSTATE', '=', quoteLiteral(sqlstateFor('foreign_key_violation')))} AND ${constraint} OPERATOR(pg_catalog.=) ANY (${names})`;
  return `GET STACKED DIAGNOSTICS ${message} = MESSAGE_TEXT, ${detail} = PG_EXCEPTION_DETAIL, ${column} = COLUMN_NAME,
          ${constraint} = CONSTRAINT_NAME, ${table} = TABLE_NAME, ${schema} = SCHEMA_NAME;
        ${cutFields}
        ${waits} := ${ownReferences.length > 0 ? isOwnReference : 'false'};
        IF ${is(refused, '>=', options.maxListed)} THEN ${message} := NULL; ${detail} := NULL; END IF;
        INSERT INTO ${refusedRows} VALUES (${at}, ${shape}, ${waits}, CASE WHEN ${isNotOfRows(options)} THEN ${raised} ELSE SQLSTATE END, ${message}, ${detail}, ${column}, ${constraint}, ${table}, ${schema});
        IF NOT ${waits} THEN ${refused} := ${refused} ${plus} 1; END IF;
        ${at} := ${end};
        ${size} := ${atMostAll(`${at} ${minus} ${afterRefused}`, options)};
        ${afterRefused} := ${at};
        ${failures} := 0;`;
}

/**
 * Divides a refused block of several rows. The sequence `progress` shows which row was moved last, so the next block ends before this
 * row. If the error came at the end of the block (references, AFTER triggers), the sequence does not show the refused row, and the
 * block is halved.
 */
const divideBlock = `IF ${is(failures, '=', 0)} AND ${is(reached, '=', at)} THEN
          ${size} := 1;
        ELSIF ${is(failures, '=', 0)} AND ${is(reached, '>', at)} AND ${is(reached, '<', end)} THEN
          ${size} := (${reached} ${minus} ${at})::pg_catalog.int4;
          ${isBeforeSuspect} := true;
        ELSE
          ${size} := GREATEST((${end} ${minus} ${at}) ${dividedBy} 2, 1);
        END IF;
        ${failures} := ${failures} ${plus} 1;`;

function atMostAll(value: string, { from, to }: PassOptions): string {
  return `LEAST(${value}, ${to - from})`;
}
