/**
 * The only interface between the sources, which make cells of bytes, and the sinks, which infer column types or write COPY data.
 *
 * A source pushes cells into a sink. Nothing is allocated for a cell or a row. The bytes of a cell are valid only during the call. All
 * buffers are Node's `Buffer` and never a `Uint8Array`, so that element access remains monomorphic.
 */
export interface CellSink {
  /**
   * Names a column of the source. It is called once for each column, before its first cell. `column` counts from 0 in the
   * order of first appearance.
   *
   * @param place the place of the column among the others if it differs from that order: its number in the sheet
   * @param type the type in PostgreSQL that the file states for the column; undefined: it states none
   */
  column(column: number, name: string, place?: number, type?: string): void;

  /** Begins the data row `row`: 1-based, ascending, gaps allowed (a sheet's empty rows). */
  beginRow(row: number): void;

  /**
   * Takes one cell of the current row. A column without a cell in a row is *missing* in it, and its default applies. That differs from a
   * `NULL` cell.
   *
   * @param kind one of cell-kind.ts from `NULL` to `ARRAY`, `TEXT`, `ROUNDED_NUMBER` or `BYTES`
   * @param bytes contains the cell from `start` (included) to `end` (excluded); unused for `NULL`. Those of `FALSE` and `TRUE` are only shown
   */
  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void;

  /**
   * Takes an object or array like `cell`, but in turns of the event loop (core/bytes/scan-in-turns.ts). A source that can wait calls it
   * instead of `cell` for a long value. The bytes must stay valid until the promise ends.
   */
  longCell?(column: number, kind: number, bytes: Buffer, start: number, end: number): Promise<void>;

  /**
   * Takes the cell if its bytes alone prove its class, and the class is one of `classes` (encoding/text-reading/seen.ts). A sink
   * may always refuse. If it does, it has taken nothing, and the caller passes the cell to `cell`.
   *
   * @returns whether it took the cell
   */
  plainCell?(
    column: number,
    kind: number,
    bytes: Buffer,
    start: number,
    end: number,
    classes: number,
  ): boolean;

  /**
   * Takes a cell that is a moment or a duration. Only `UTC_TIMESTAMP` has a time zone.
   *
   * @param kind `DATE`, `TIMESTAMP`, `UTC_TIMESTAMP`, `TIME` or `INTERVAL` of cell-kind.ts
   * @param days the days since 2000-01-01 (PostgreSQL's epoch) for dates and timestamps; 0 for `TIME`; whole days of an `INTERVAL`
   * @param microseconds the microseconds of the day, 0 to 86,399,999,999; in a negative `INTERVAL` days and microseconds are negative or 0
   */
  moment(column: number, kind: number, days: number, microseconds: number): void;

  /**
   * Takes a cell in which the source found a problem. `column` is -1 if the problem is one of the whole row.
   *
   * @param fault one of cell-kind.ts from `REPEATED_KEY` on; the bytes show the value
   */
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void;

  endRow(): void;

  /**
   * Returns the kind of value that a named column needs: one of the constants from `ANY_VALUE` on. A sink without this method needs
   * no certain kind.
   */
  wants?(column: number): number;

  /** Announces the original text of the next cell, whose bytes are `rewritten`, so that a problem can show the text that the caller sent. */
  original?(rewritten: Buffer, bytes: Buffer, start: number, end: number): void;

  /**
   * The source calls this between slices of input. If it returns a promise, the source waits for it before it pushes more.
   *
   * @param rowBytes about how many bytes of the current row the source has read, if that is a long row
   */
  drain(rowBytes?: number): Promise<void> | undefined;

  /** Drops the current row, of which a part is missing. No more cells follow. */
  stop?(): void;
}

/** The argument `rewritten` of `CellSink.original` if the next cell is a moment, which has no bytes. */
export const READ_AS_MOMENT: Buffer = Buffer.alloc(0);

/** The type of the column's values is not known yet. */
export const ANY_VALUE = 0;
/** Text, or a type that reads its values itself. */
export const TEXT_VALUE = 1;
export const NUMBER_VALUE = 2;
/** A date, with or without a time of day. */
export const DATE_VALUE = 3;
export const BOOLEAN_VALUE = 4;
/** A time of day. */
export const TIME_VALUE = 5;
export const INTERVAL_VALUE = 6;

/** Returns the place of a cell in the caller's own terms. `column` is -1 for a whole row. */
export type LocateCell = (row: number, column: number, name: string) => CellLocation;

export interface CellLocation {
  pointer?: string;
  line?: number;
  sheet?: string;
  cell?: string;
}
