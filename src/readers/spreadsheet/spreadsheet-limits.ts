import type { FileMemory } from './memory-budget.ts';

/** The limits on one spreadsheet. Each limit is a setting of the service. */
export interface SpreadsheetLimits {
  /** The maximum number of unpacked bytes, over all parts of the workbook that are read. */
  maxUnpackedBytes: number;
  /** The largest ratio of unpacked to packed bytes of a part. Parts of up to a few MiB are not checked. */
  maxRatio: number;
  /** The maximum number of data rows that have a value. */
  maxRows: number;
  maxColumns: number;
  /** The maximum number of UTF-8 bytes of one cell's text. */
  maxCellBytes: number;
  /** The maximum number of bytes of one row in the file. */
  maxRowBytes: number;
  /** The maximum number of bytes of memory for the shared strings of the workbook. */
  maxSharedStringBytes: number;
  /** The largest size of an .xls file. It is the only format that is read as a whole. */
  maxLegacyFileBytes: number;
  /** Reserves memory for the file from a budget that all uploads share; undefined: nothing needs to be reserved. */
  memory?: FileMemory;
}
