/** Describes PostgreSQL's refusal of a row: its error, and what is known about the row. */
import type { EncodingSink } from '../../../encoding/sink/encoding-sink.ts';
import { copyLineOf, maxRowsStoredTogether, storesRowsTogether } from '../../../postgres/server-internals.ts';

export interface Refusal {
  error: Error;
  /** The data row that the error is about; undefined: PostgreSQL does not say. */
  row?: number | undefined;
  /**
   * The first and the last of the data rows among which the refused row is, because PostgreSQL stores several rows at a time.
   */
  amongRows?: [first: number, last: number] | undefined;
  /** The first data row that the refused statement sent, if PostgreSQL does not name the row. */
  firstRow?: number | undefined;
  /** The column that the error is about, if only the context of the COPY names it. */
  column?: string | undefined;
  /** The columns of the refused COPY, as indexes. All its rows have exactly these columns. */
  sentColumns?: readonly number[] | undefined;
  /**
   * The last data row that was moved from the staging table, and the columns that it has. The error is about this row unless
   * PostgreSQL checks the rule before it moves a row (a constant default) or later (references, AFTER triggers).
   */
  moved?: { row: number; sentColumns: readonly number[] } | undefined;
  /** The error occurred when PostgreSQL checked deferred constraints. */
  isDeferred?: boolean;
}

/**
 * Reads PostgreSQL's refusal of a row in a COPY.
 *
 * @param rowsBefore the number of rows that were sent in earlier COPYs
 * @param numbers the data rows of all rows that were sent
 */
export function refusalOfCopy(
  error: Error,
  sentColumns: readonly number[],
  rowsBefore: number,
  numbers: EncodingSink['rowNumbers'],
): Refusal {
  const copied = copyLineOf(error);
  if (copied === undefined) return { error, sentColumns, firstRow: numbers.rowOf(rowsBefore) };
  const { line, column } = copied;
  // PostgreSQL counts the end of the data as a line.
  const last = Math.min(rowsBefore + line, numbers.count) - 1;
  const row = numbers.rowOf(last);
  if (!storesRowsTogether(error)) return { error, sentColumns, column, row };
  // PostgreSQL stores several rows together, and the line in the error is that of the last of them.
  const first = Math.max(rowsBefore, last - maxRowsStoredTogether);
  const firstRow = numbers.rowOf(first);
  if (first === last || firstRow === undefined) return { error, sentColumns, column, row };
  return { error, sentColumns, column, amongRows: [firstRow, row!] };
}
