import type { FileMemory } from './memory-budget.ts';

/** The limits on one spreadsheet. Each limit is a setting of the service. */
export interface SpreadsheetLimits {
  /** The maximum number of unpacked bytes, over all parts of the workbook that are read. */
  maxUnpackedBytes: number;
  /** The ratio of unpacked to packed bytes of a part. It is checked only for parts of more than a few MiB. */
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
  /** The largest size of an .xls file, the only format that is not read as a stream. */
  maxLegacyFileBytes: number;
  /** The memory that the file claims of what all uploads share; undefined: it need not claim any. */
  memory?: FileMemory;
}
