import type { CellLocation, CellSink, LocateCell } from './cell-sink.ts';

/**
 * A pass was wrong: only at its end the source learned what it needed from the beginning, such as the merged cells of a
 * sheet. The next pass is right.
 */
export class ReadAgain extends Error {
  override name = 'ReadAgain';
  constructor() {
    super('the source must be read again');
  }
}

/** Does the work, which reads a source into new sinks; does it once more if the source must be read again. */
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
   * Pushes every row into the sink, one whole pass; may be called again for another pass. Awaits `sink.drain()`
   * between slices of input and yields to the event loop at least every 20 ms.
   *
   * @throws ReadAgain at the end of the first pass, if it was wrong: see `withSecondReading`
   * @throws AppError `invalid-json` or `invalid-file` (with the byte offset or the part at fault), `limit-exceeded`;
   *   the signal's reason once it is aborted
   */
  read(sink: CellSink, signal: AbortSignal): Promise<void>;

  locate: LocateCell;

  /** `exact`: names match to the letter. `loose`: exactly first, then ignoring case and outer space. */
  nameMatching: 'exact' | 'loose';

  /** What the person should know of how the source was read. Complete after the first pass. */
  warnings: SourceWarning[];

  /** Cells of the header that are problems. Complete after the first pass. */
  headerFaults?: HeaderFault[];

  /** What was read. Complete after the first pass. */
  reading?: SourceReading;
}

/** A problem of a header cell, which belongs to no data row. */
export interface HeaderFault {
  /** As of `CellSink.fault`. */
  fault: number;
  /** The cell's text. */
  value: string;
  place: CellLocation;
}

export interface SourceReading {
  /** `json`, `ndjson`, `xlsx`, `xls`, `xlsb`, `ods`, `csv`. */
  format: string;
  sheet?: string;
  /** 1-based row of the sheet. */
  headerRow?: number;
  /** From the header to the last row with a value: `A3:F200`. */
  range?: string;
}

export interface SourceWarning {
  /** Stable, kebab-case. */
  code: string;
  detail: string;
  column?: string;
}
