/**
 * The interface of a spreadsheet format: one function that opens a file and returns a scan for each sheet. sheet-source.ts contains
 * what all formats share. open-spreadsheet.ts lists the formats.
 */

import type { TextReadAs } from '../../core/cells/row-source.ts';
import type { Warning } from '../../core/errors.ts';
import type { MergedAreas } from './merged-areas.ts';
import type { WorkbookNames } from './names/workbook-names.ts';
import type { ZipContainer } from './package/zip-container.ts';
import type { RandomAccessFile } from './random-access-file.ts';
import type { FileKind } from './recognize-file.ts';
import type { SheetRows } from './sheet-rows.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SheetSummary, TextDialect } from './spreadsheet-options.ts';
import type { StatedColumn, StatedRows } from './stated-rows.ts';

/** A file, and the kind of file that its first bytes show. */
export interface FileContent {
  file: RandomAccessFile;
  /** The first bytes of the file: `recognizedBytes` of them, or all. */
  head: Buffer;
  kind: FileKind;
  /** Undefined: the file is not a zip file. */
  container: ZipContainer | undefined;
}

/** What a format needs to know of the request. */
export interface OpenOptions {
  /** true: all sheets will be read. A format that reads the whole file at once then keeps them, as far as memory allows. */
  allSheets: boolean;
  /** How a text file is read. Undefined fields are detected. */
  text: TextDialect;
  /** White space around texts is removed. */
  trim: boolean;
  /** The password of an encrypted workbook. */
  password: string | undefined;
  /**
   * Returns the index of the sheet that is read. A format that reads cells while it opens a file asks which sheet is wanted.
   *
   * @param names reads the names that the file gives to its cells
   * @throws AppError `invalid-parameter` (an unknown sheet or name)
   */
  chooseSheet(sheets: SheetSummary[], names?: () => Promise<WorkbookNames>): Promise<number>;
}

/**
 * Opens a file of one format.
 *
 * @returns undefined if the file is of another format
 * @throws AppError `unsupported-file`, `password-required`, `wrong-password`, `invalid-file`, `limit-exceeded`, `invalid-parameter` (a
 *   parameter that does not fit the file); the errors of `OpenOptions.chooseSheet`; the signal's reason
 */
export type OpenFormat = (
  content: FileContent,
  options: OpenOptions,
  limits: SpreadsheetLimits,
  signal: AbortSignal,
) => Promise<OpenedFile | undefined>;

/** A format in the list of all formats. */
export interface SheetFormat {
  open: OpenFormat;
  /** The usual extensions of its files. They are only used in texts: the content of a file decides its format. */
  extensions: readonly string[];
}

export interface StatedFile {
  columns: readonly StatedColumn[];
  /** Pushes every cell into `rows`. Otherwise it is as `ScanSheet`. */
  scan(rows: StatedRows, signal: AbortSignal): Promise<void>;
}

/** The bytes of a sheet that are searched for rows or for a header. */
export const maxProbedBytes = 1024 * 1024;

export interface OpenedFile {
  /** The name of the format in answers, such as `xlsx`. */
  format: string;
  /** The sheets in the order of their tabs. A format without sheets has one, whose name is empty. */
  sheets: SheetSummary[];
  /** true: the parameters of text files (`delimiter` and others) apply. Default: false. */
  isText?: boolean;
  /** true: the whole file is read before the first row arrives, so that reading only a few rows costs as much as reading all. */
  isReadAsWhole?: boolean;
  /**
   * The columns and the scan of a file that states the names and types of its columns. Then `scanOf` is not called, and the parameters of
   * headers and cells do not apply.
   */
  stated?: StatedFile;
  /**
   * Returns the scan of the sheet with this index, which has cells.
   *
   * @returns undefined if the file must be opened anew for this sheet
   * @throws AppError `invalid-file` if the file does not contain the sheet
   */
  scanOf(sheet: number): ScanSheet | undefined;
  /** Reads the names that the file gives to its cells. Undefined: the format has no names. */
  names?(signal: AbortSignal): Promise<WorkbookNames>;
  /**
   * Scans the beginning of the sheet with this index, until `isEnough` or for `maxProbedBytes`.
   *
   * @returns whether the whole sheet was scanned
   */
  probe?(sheet: number, rows: SheetRows, isEnough: () => boolean, signal: AbortSignal): Promise<boolean>;
}

/**
 * Passes all rows of a sheet with their cells to `rows`. Awaits `rows.pause()` between pieces of the input. Can be called again for
 * another pass.
 *
 * @throws AppError `invalid-file`, `limit-exceeded`; the signal's reason once it is aborted
 */
export type ScanSheet = (rows: SheetRows, signal: AbortSignal) => Promise<ScanResult>;

/** What a pass has found in addition to cells. */
export interface ScanResult {
  /** How the file was read. */
  warnings?: Warning[];
  /**
   * The merged areas, if the file lists them after the cells and `rows.merged` was undefined. If there are any, the sheet is read
   * again with them.
   */
  merged?: MergedAreas;
  /** The records of a text file in which unpaired quotes may have joined several lines. */
  joined?: { reason: string; damage?: { record: number; column: number } | undefined; records: number[] };
  /** How a text file was read. */
  text?: TextReadAs;
}
