import type { Warning } from '../errors.ts';
import type { CellLocation, CellSink, LocateCell } from './cell-sink.ts';

/**
 * Thrown at the end of a pass that gave wrong cells, because the source learned only at its end what it needed at the beginning,
 * such as the merged cells of a sheet. The next pass gives the right cells.
 */
export class ReadAgain extends Error {
  override name = 'ReadAgain';
  constructor() {
    super('the source must be read again');
  }
}

/** Does the work, which reads a source into new sinks. If the work throws `ReadAgain`, it is done once more. */
export async function withSecondReading<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ReadAgain)) throw error;
    return work();
  }
}

/** Rows that can be read more than once: a spooled JSON document, one sheet of a workbook, a CSV file. */
export interface RowSource {
  /**
   * Pushes every row into the sink in one whole pass. It may be called again for another pass. It awaits `sink.drain()` between slices
   * of input and yields to the event loop at least every 20 ms.
   *
   * @throws ReadAgain at the end of the first pass, if it was wrong: see `withSecondReading`
   * @throws AppError `invalid-json` or `invalid-file` (with the byte offset or the name of the broken part), `limit-exceeded`;
   *   the signal's reason after it was aborted
   */
  read(sink: CellSink, signal: AbortSignal): Promise<void>;

  locate: LocateCell;

  /** `exact`: names are used exactly as written. `loose`: if no name is exactly the same, case and outer space are ignored. */
  nameMatching: 'exact' | 'loose';

  /** Warnings about how the source was read. Complete after the first pass. */
  warnings: Warning[];

  /** Cells of the header that are problems. Complete after the first pass. */
  headerFaults?: HeaderFault[];

  /** The texts of the header by column, as they are in the file; '': blank. Undefined: there is no header. Complete after the first pass. */
  headerTexts?: readonly string[] | undefined;

  /** Rows of a text file that quotes may have joined. Complete after the first pass. */
  joinedLines?: JoinedLines | undefined;

  /** Describes what was read. Complete after the first pass. */
  reading?: SourceReading;

  /** The number of rows of the file before data row 1, as people count them. Known when a pass pushes its first row. Default: 0. */
  rowsBefore?: number;
}

/** A problem of a header cell, which belongs to no data row. */
export interface HeaderFault {
  /** The kind of the problem: a constant of cell-kind.ts, as in `CellSink.fault`. */
  fault: number;
  /** The cell's text. */
  value: string;
  place: CellLocation;
}

/** Information about rows of a text file in which quotes may have joined several lines that should be separate rows. */
export interface JoinedLines {
  /** The reason why no such row may be left out, for the message. */
  reason: string;
  /** The place of the first record whose quotes are wrong, so that the whole upload is refused. Undefined: there is none. */
  damage?: { row: number; place: CellLocation } | undefined;
  /** The data rows whose quotes are valid, at most `maxJoinedRows` of them. */
  rows: readonly number[];
}

export const maxJoinedRows = 1000;

/** How a text file was read. */
export interface TextReadAs {
  /** The character between the fields. */
  delimiter: string;
  /** A value of the parameter `encoding`. */
  encoding: string;
  /** The parameter `quoted`; undefined: quotes change nothing. */
  quoted?: 'text' | 'exact' | undefined;
}

export interface SourceReading extends Partial<TextReadAs> {
  /** The format, such as `json`, `ndjson` or `xlsx`. */
  format: string;
  /** The name of the file that was sent, without folders. Known from the beginning. */
  fileName?: string | undefined;
  /** The name of the file in the zip file that was sent. */
  fileInZip?: string | undefined;
  /** The sheet that is read. Known from the beginning. */
  sheet?: string;
  /** The 1-based row of the sheet with the header. */
  headerRow?: number;
  /** The number of rows of the header; undefined: one. */
  headerRows?: number;
  /** The range from the header to the last row with a value: `A3:F200`. */
  range?: string;
}
