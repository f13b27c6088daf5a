/** PostgreSQL's refusal of a row, and the problem in its own words, for rules that no query knows (triggers, exclusion, partitions, sizes). */
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
  /** The first and the last of the data rows among which the refused row is. PostgreSQL stores several rows at a time. */
  amongRows?: [first: number, last: number] | undefined;
  /** The first data row of the statement that was refused, if PostgreSQL does not name the row. */
  firstRow?: number | undefined;
  /** The column that the error is about, if the error itself has no such field. */
  column?: string | undefined;
  /** The columns that the refused COPY names, as indexes: its rows bring these and no others. */
  brought?: readonly number[] | undefined;
  /**
   * The data row that was moved last from the staging table, and the columns that it brought. The error is about this row
   * unless PostgreSQL checks the rule before it moves a row (a constant default) or later (references, AFTER triggers).
   */
  moved?: { row: number; brought: readonly number[] } | undefined;
  /** The error came when constraints were checked that are deferred to the end of the transaction. */
  isDeferred?: boolean;
}

/**
 * Reads PostgreSQL's refusal of a row in a COPY.
 *
 * @param rowsBefore how many rows were sent in earlier COPYs
 * @param sentRows how many rows were sent in all
 * @param rowOf returns the data row of the n-th row that was sent, from 0
 */
export function refusalOfCopy(
  error: Error,
  brought: readonly number[],
  rowsBefore: number,
  sentRows: number,
  rowOf: (ordinal: number) => number | undefined,
): Refusal {
  const copied = copyLineOf(error);
  if (copied === undefined) return { error, brought, firstRow: rowOf(rowsBefore) };
  const { line, column } = copied;
  // PostgreSQL counts the end of the data as a line.
  const last = Math.min(rowsBefore + line, sentRows) - 1;
  const row = rowOf(last);
  if (!storesRowsTogether(error)) return { error, brought, column, row };
  // The line is that of the last row among the rows that are stored together.
  const first = Math.max(rowsBefore, last - maxRowsStoredTogether);
  const firstRow = rowOf(first);
  if (first === last || firstRow === undefined) return { error, brought, column, row };
  return { error, brought, column, amongRows: [firstRow, row!] };
}

/** One statement would change a row twice, although the keys of the rows that were sent looked different. */
const sameInTheTable =
  'two rows have the same key in the table: by the default of a column that they do not bring, or by a trigger; send every column of the key, as the table holds it';

/** @param row the data row that was refused */
export function refusalProblem(
  { error, column: copyColumn, amongRows }: Refusal,
  places: CellPlaces,
  row: number | undefined,
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
  return `the row has too many values: they take ${sizes.size} bytes, and PostgreSQL stores a row in at most ${sizes.max} (long texts apart); load fewer columns, or split them over several tables`;
}

function oneOfRows([first, last]: [number, number], { locate }: CellPlaces): string {
  const nameOf = (row: number) => locate(row, -1, '').cell ?? row;
  return `one of the rows ${nameOf(first)} to ${nameOf(last)}`;
}

/** Returns the problem of a NULL that PostgreSQL found, after triggers and defaults could have set a value. */
export function missingValue(column: string, row: number | undefined, places: CellPlaces): Problem {
  return {
    ...(row !== undefined && { ...places.locate(row, places.sourceColumn(column), column), row }),
    column,
    ...describeCellProblem(NOT_NULL),
  };
}
