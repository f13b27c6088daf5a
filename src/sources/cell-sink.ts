/**
 * The one interface between the sources (bytes → cells) and the sinks (cells → column types, cells → COPY).
 *
 * A source pushes; nothing is allocated per cell or per row. The bytes of a cell are valid only during the call.
 * All buffers are Node's `Buffer`, never a bare `Uint8Array`, so that element access stays monomorphic.
 */
export interface CellSink {
  /**
   * Names a column of the source. Called once per column, before its first cell; `column` counts from 0 in the
   * order of first appearance.
   *
   * @param place where the column stands among the others, if not in that order: its number in the sheet
   */
  column(column: number, name: string, place?: number): void;

  /** Begins the data row `row`: 1-based, ascending, gaps allowed (a sheet's empty rows). */
  beginRow(row: number): void;

  /**
   * One cell of the row begun. A column without a cell in a row is *missing* there (its default applies), which is
   * not the same as a `NULL` cell.
   *
   * @param kind one of cell-kind.ts from `NULL` to `ARRAY`, `TEXT`, or `ROUNDED_NUMBER`
   * @param bytes holds the cell at `start` (included) to `end` (excluded); unused for `NULL`, `FALSE`, `TRUE`
   */
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;

  /**
   * A cell that is a moment or a duration, without any time zone.
   *
   * @param kind `DATE`, `TIMESTAMP`, `TIME` or `INTERVAL` of cell-kind.ts
   * @param days since 2000-01-01 (PostgreSQL's epoch) for `DATE` and `TIMESTAMP`; 0 for `TIME`; whole days of an `INTERVAL`
   * @param microseconds of the day, 0 to 86,399,999,999; of a negative `INTERVAL` days and microseconds are negative or 0
   */
  moment(column: number, kind: number, days: number, microseconds: number): void;

  /**
   * A cell that is a problem in itself. `column` is -1 where the whole row is.
   *
   * @param fault one of cell-kind.ts from `REPEATED_KEY` on; the bytes show the value
   */
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void;

  endRow(): void;

  /**
   * What the values of a column become, once it was named: `ANY_VALUE`, `TEXT_VALUE`, `NUMBER_VALUE` or `DATE_VALUE`. A sink that does
   * not say so takes any value.
   */
  wants?(column: number): number;

  /** Before a cell with the bytes `rewritten`: the text that they were made from, for the person who is told of a problem with it. */
  original?(rewritten: Buffer, bytes: Buffer, start: number, end: number): void;

  /** Asked between slices of input: a promise when the source must wait for it before it pushes more. */
  drain(): Promise<void> | undefined;
}

/** Stands for the rewritten bytes in `CellSink.original` if a moment comes next. */
export const READ_AS_MOMENT: Buffer = Buffer.alloc(0);

/** What a column's values become: not known yet. */
export const ANY_VALUE = 0;
/** Text, or a type that reads its values itself. */
export const TEXT_VALUE = 1;
export const NUMBER_VALUE = 2;
/** A date, with or without a time of day. */
export const DATE_VALUE = 3;

/** Says where a cell stands in the caller's own terms. `column` is -1 for a whole row. */
export type LocateCell = (row: number, column: number, name: string) => CellLocation;

export interface CellLocation {
  pointer?: string;
  line?: number;
  sheet?: string;
  cell?: string;
}
