/**
 * Describes PostgreSQL's refusal of a row, and makes a problem with PostgreSQL's own message, for rules that no query here can
 * check (triggers, exclusion constraints, partitions, sizes).
 */
import type { Problem } from '../../errors.ts';
import {
  copyLineOf,
  isSecondUpdate,
  maxRowsStoredTogether,
  partitionKeyOf,
  rowSizes,
  storesRowsTogether,
} from '../../postgres/server-internals.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';
import { describeCellProblem, NOT_NULL } from '../cell-problems.ts';
import { shortenValue } from '../problems.ts';
import type { CellPlaces } from './staged-load.ts';

export interface Refusal {
  error: Error;
  /** The data row that the error is about; undefined: PostgreSQL does not say. */
  row?: number | undefined;
  /**
   * The first and the last of the data rows among which the refused row is, because PostgreSQL stores several rows at a time.
   */
  amongRows?: [first: number, last: number] | undefined;
  /** The first data row of the statement that was refused, if PostgreSQL does not name the row. */
  firstRow?: number | undefined;
  /** The column that the error is about, if it is known only from the COPY. */
  column?: string | undefined;
  /** The columns of the refused COPY, as indexes. All its rows have exactly these columns. */
  sentColumns?: readonly number[] | undefined;
  /**
   * The last data row that was moved from the staging table, and the columns that it has. The error is about this row unless
   * PostgreSQL checks the rule before it moves a row (a constant default) or later (references, AFTER triggers).
   */
  moved?: { row: number; sentColumns: readonly number[] } | undefined;
  /** The rows of all shapes were moved by one statement. */
  movedTogether?: boolean | undefined;
  /** The error occurred when PostgreSQL checked deferred constraints. */
  isDeferred?: boolean;
}

/**
 * Reads PostgreSQL's refusal of a row in a COPY.
 *
 * @param rowsBefore the number of rows that were sent in earlier COPYs
 * @param sentRows the number of all rows that were sent
 * @param rowOf returns the data row of the n-th row that was sent, from 0
 */
export function refusalOfCopy(
  error: Error,
  sentColumns: readonly number[],
  rowsBefore: number,
  sentRows: number,
  rowOf: (ordinal: number) => number | undefined,
): Refusal {
  const copied = copyLineOf(error);
  if (copied === undefined) return { error, sentColumns, firstRow: rowOf(rowsBefore) };
  const { line, column } = copied;
  // PostgreSQL counts the end of the data as a line.
  const last = Math.min(rowsBefore + line, sentRows) - 1;
  const row = rowOf(last);
  if (!storesRowsTogether(error)) return { error, sentColumns, column, row };
  // The line is the one of the last row among the rows that are stored together.
  const first = Math.max(rowsBefore, last - maxRowsStoredTogether);
  const firstRow = rowOf(first);
  if (first === last || firstRow === undefined) return { error, sentColumns, column, row };
  return { error, sentColumns, column, amongRows: [firstRow, row!] };
}

/** Replaces PostgreSQL's message for a statement that would change a row twice, although the sent keys were different. */
const sameInTheTable =
  'two rows get the same key in the table, from the default of a column that they do not have or from a trigger; send every column of the key, with the values that the table stores';

/** Makes a problem of a refusal. */
export function refusalProblem(
  { error, column: copyColumn, row, amongRows }: Refusal,
  places: CellPlaces,
): Problem {
  const { column = copyColumn, constraint } = error as { column?: string; constraint?: string };
  const key = partitionKeyOf(error);
  const name = key ? key.columns : column;
  const isNamed = constraint === undefined || error.message.includes(`"${constraint}"`);
  const message = messageOf(error);
  if (conditionOf(error) === 'not_null_violation' && name !== undefined)
    return missingValue(name, row, places);
  const among = row === undefined && amongRows ? `: ${oneOfRows(amongRows, places)}` : '';
  return {
    ...(row !== undefined && { ...places.locate(row, -1, ''), row }),
    ...(name !== undefined && { column: name }),
    ...(key && { value: shortenValue(key.values) }),
    code: 'refused-by-postgresql',
    detail: `${isNamed ? message : `${message} (constraint "${constraint}")`}${among}`,
  };
}

/** Returns PostgreSQL's message, or a message of the service if PostgreSQL's does not say what to do. */
function messageOf(error: Error): string {
  if (isSecondUpdate(error)) return sameInTheTable;
  const sizes = rowSizes(error);
  if (sizes === undefined) return error.message;
  return `the row has too many values: they take ${sizes.size} bytes, and PostgreSQL stores at most ${sizes.max} bytes in a row (long texts are stored separately); load fewer columns, or split them over several tables`;
}

function oneOfRows([first, last]: [number, number], { locate }: CellPlaces): string {
  const nameOf = (row: number) => locate(row, -1, '').cell ?? row;
  return `one of the rows ${nameOf(first)} to ${nameOf(last)}`;
}

/** Returns the problem of a NULL that PostgreSQL refused after triggers and defaults could have set a value. */
function missingValue(column: string, row: number | undefined, places: CellPlaces): Problem {
  return {
    ...(row !== undefined && { ...places.locate(row, places.sourceColumn(column), column), row }),
    column,
    ...describeCellProblem(NOT_NULL),
  };
}
