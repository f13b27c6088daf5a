/** The content of an upload: a definition, rows, or both. The code that uses this interface treats JSON and spreadsheets alike. */

import type { CellSink } from '../../../core/cells/cell-sink.ts';
import type { ExpandedBytes } from '../../../core/cells/expanded-bytes.ts';
import type { RowSource } from '../../../core/cells/row-source.ts';
import type { NotationOf } from '../../../encoding/text-reading/natural/natural-reading.ts';

/** How many rows are read to learn the types of the columns. */
export interface HeadSize {
  /** For JSON: the bytes of the rows. */
  bytes: number;
  /** For spreadsheets: the number of cells. */
  cells: number;
}

/** A column that the table of an upload has or gets. */
export interface ExpectedColumn {
  name: string;
  /** Its type stores objects (`json`, `jsonb`), so an object is not split into its members. */
  isJson: boolean;
}

/** A cell whose value the upload corrects (`patch`). Values are shortened; null: NULL, or no cell. */
export interface CorrectedCell {
  pointer?: string;
  line?: number;
  cell?: string;
  /** The number of the data row, from 1. */
  row: number;
  column: string;
  from: string | null;
  to: string | null;
}

export interface LoadInput extends RowSource {
  /** Reads until it is known whether there is a definition before the rows. */
  open(): Promise<void>;

  /** The value of `table`; undefined: there is none, or it was not read yet because it comes after the rows. */
  readonly definition: unknown;

  /** The cells that the upload has corrected. Known after the rows were read. */
  readonly corrected?: readonly CorrectedCell[] | undefined;

  /** true: the definition was not sent with the upload, so an upload without rows has nothing to load. */
  readonly isDefinitionOfProfile?: boolean;

  /** true: the input has a list of rows, which may be empty: a header, or an array of rows. Known after the rows were read. */
  readonly hasRowList: boolean;

  /**
   * Makes all passes go through the sink that `through` returns, before empty cells are filled (`fill_down`). Only an input that fills cells has
   * this.
   */
  passBeforeFilling?(through: (sink: CellSink) => CellSink): void;

  /** true: an empty text is a value, and so is `="7"`. Otherwise an empty text of a spreadsheet is no cell. */
  readonly areBlanksValues?: boolean;

  /** The input whose cells are as they were sent; undefined: this one. */
  readonly sent?: LoadInput | undefined;

  /** false: the rows were read, and they were not stored. Undefined: the rows can always be read again. */
  readonly isKept?: boolean | undefined;

  /** Counts what the file expands to; undefined: the upload is not a file, but its rows. */
  readonly expanded?: ExpandedBytes | undefined;

  /** Returns the notation of a column that `values=natural` has found. Only an input that is read in these notations has this. */
  readonly notationOf?: NotationOf | undefined;

  /** Takes the columns of the table before a pass, if they are known. Only an input that reads rows differently for them has this. */
  expectColumns?(columns: readonly ExpectedColumn[]): void;

  /**
   * Pushes the first rows into the sink. The next pass begins with these rows again. The last of them may be incomplete.
   *
   * @returns `whole`: there are no more rows; `part`: there are more; undefined: a separate pass over the first rows would save no
   *   time, or they have an error, which the next pass finds
   * @throws the errors of receiving the upload
   */
  readHead?(sink: CellSink, size: HeadSize, signal: AbortSignal): Promise<'part' | 'whole' | undefined>;

  /** Pushes every row into the sink and stores the rows, so that they can be read again. Rows that were not stored can be read only once. */
  readAndKeep(sink: CellSink, signal: AbortSignal): Promise<void>;

  /** Receives and stores the rest of the upload, so that a later pass does not wait for the sender. */
  keep(signal: AbortSignal): Promise<void>;

  /** Closes the files of the input and releases its memory. */
  close(): Promise<void>;
}
