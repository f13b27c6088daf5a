/** Describes the part of a sheet that is read. A sheet can be read again with another window: `SheetSource.within`. */

import { wrongParameter } from '../../core/errors.ts';
import { type CellRange, maxSheetRow, parseRange, wholeSheet } from './cell-address.ts';
import { quote } from './choose-sheet.ts';
import type { SpreadsheetOptions } from './spreadsheet-options.ts';

export interface SheetWindow {
  /** Cells outside of the range are not read. */
  range: CellRange;
  /** The 1-based row of the sheet with the header; undefined: the first row of the range that has a value. */
  headerRow: number | undefined;
  /** The number of rows of the header, from `headerRow` on. Default: 1. */
  headerRows?: number;
  /** false: the first row of the range is a data row. */
  hasHeader: boolean;
  /** Rows that repeat the header are left out. */
  leavesOutHeaders?: boolean;
}

/** Returns the window of a range. If the range names its first row, that row is the header, even if it is blank. */
export function windowOfRange(range: CellRange, hasHeader = true): SheetWindow {
  return {
    // A text file may have more rows than a sheet.
    range: range.lastRow < maxSheetRow ? range : { ...range, lastRow: Number.MAX_SAFE_INTEGER },
    headerRow: range.hasFirstRow && hasHeader ? range.firstRow : undefined,
    hasHeader,
  };
}

/**
 * Returns the window that the caller asks for.
 *
 * @throws AppError `invalid-parameter` if the range is invalid or the header row is outside of it
 */
export function windowOf(options: SpreadsheetOptions): SheetWindow {
  const { range: text, headerRow, headerRows = 1, hasHeader, tableRange } = options;
  if (text !== undefined && tableRange !== undefined) {
    throw wrongParameter('range', '`table_range` names the cells that are read: leave `range` out.', {
      value: text,
    });
  }
  const range = text === undefined ? wholeSheet : parseRange(text);
  if (range === undefined) {
    const detail = `The range must be like B3:F200, B:F or B3:F, not ${quote(text!)}.`;
    throw wrongParameter('range', detail, { value: text! });
  }
  if (headerRows > 1 && hasHeader === false) {
    throw wrongParameter('header_rows', 'With `header=false` there is no header: leave `header_rows` out.');
  }
  return withHeaderRow({ ...windowOfRange(range, hasHeader), headerRows }, headerRow);
}

/**
 * Returns the window with another header row.
 *
 * @throws AppError `invalid-parameter` if the row is outside of the window, or the caller asks for no header
 */
export function withHeaderRow(window: SheetWindow, headerRow: SpreadsheetOptions['headerRow']): SheetWindow {
  // With `header_row=auto` the header row is known only after the sheet has been read.
  if (headerRow === undefined || headerRow === 'auto') return window;
  if (!window.hasHeader) {
    throw wrongParameter('header_row', 'With `header=false` there is no header row: leave `header_row` out.');
  }
  if (headerRow < window.range.firstRow || headerRow > window.range.lastRow) {
    const detail = `Header row ${headerRow} is outside of the range that is read.`;
    throw wrongParameter('header_row', detail, { value: String(headerRow) });
  }
  return { ...window, headerRow };
}
