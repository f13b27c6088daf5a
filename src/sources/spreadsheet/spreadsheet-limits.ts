import type { ReaderSlots } from './reader-slots.ts';

/** The limits on one spreadsheet. Each limit is a setting of the service. */
export interface SpreadsheetLimits {
  /** Unpacked bytes of all parts of the workbook that are read. */
  maxUnpackedBytes: number;
  /** The ratio of unpacked to packed bytes of a part. It is checked only for parts of more than a few MiB. */
  maxRatio: number;
  /** Data rows that have a value. */
  maxRows: number;
  maxColumns: number;
  /** UTF-8 bytes of one cell's text. */
  maxCellBytes: number;
  /** Bytes of one row as it is in the file. */
  maxRowBytes: number;
  /** Memory that the shared strings of the workbook take. */
  maxSharedStringBytes: number;
  /** Size of an .xls file, the only format that is not read as a stream. */
  maxLegacyFileBytes: number;
  /** The processes that read .xls files, shared by all uploads; undefined: any number. */
  readerSlots?: ReaderSlots;
}
