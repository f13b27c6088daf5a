/** Reads and writes cells, columns and ranges as Excel writes them: `Orders!C1483`, `B3:F200`. */

import type { CellLocation } from '../../core/cells/cell-sink.ts';

/** The last row and column of a sheet in Office Open XML. */
export const maxSheetRow = 1_048_576;
export const maxSheetColumn = 16_384;

/** Rows and columns count from 1, both ends included. */
export interface CellRange {
  firstRow: number;
  lastRow: number;
  firstColumn: number;
  lastColumn: number;
  /** true: the text names the first row. false: the range begins at the top of the sheet. */
  hasFirstRow: boolean;
}

export const wholeSheet: CellRange = {
  firstRow: 1,
  lastRow: maxSheetRow,
  firstColumn: 1,
  lastColumn: maxSheetColumn,
  hasFirstRow: false,
};

/** Returns the letters of a column: 1 is `A`, 27 is `AA`. */
export function columnLetters(column: number): string {
  let letters = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(0x41 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}

/**
 * Reads `B3:F200`, `B:F`, `3:200`, `B3:F` (open below) or a single cell; `$` and case do not matter.
 *
 * @returns undefined if the text is not a range of a sheet
 */
export function parseRange(text: string): CellRange | undefined {
  const range = readCorners(text);
  if (range === undefined) return undefined;
  const isOrdered = range.firstRow <= range.lastRow && range.firstColumn <= range.lastColumn;
  return isOrdered && isInSheet(range) ? range : undefined;
}

/** Reads a range like `parseRange`, but from any two opposite corners, as Excel does: `B3:A2` is `A2:B3`. */
export function parseArea(text: string): CellRange | undefined {
  const corners = readCorners(text);
  if (corners === undefined) return undefined;
  const range = {
    ...corners,
    firstRow: Math.min(corners.firstRow, corners.lastRow),
    lastRow: Math.max(corners.firstRow, corners.lastRow),
    firstColumn: Math.min(corners.firstColumn, corners.lastColumn),
    lastColumn: Math.max(corners.firstColumn, corners.lastColumn),
  };
  return isInSheet(range) ? range : undefined;
}

function isInSheet({ firstRow, lastRow, lastColumn }: CellRange): boolean {
  return firstRow >= 1 && lastRow <= maxSheetRow && lastColumn <= maxSheetColumn;
}

/** Returns the corners of a range, in the order in which the text has them. */
function readCorners(text: string): CellRange | undefined {
  const found = /^([A-Z]{0,3})(\d{0,7})(?::([A-Z]{0,3})(\d{0,7}))?$/.exec(
    text.trim().replaceAll('$', '').toUpperCase(),
  );
  if (found === null) return undefined;
  const [, startLetters = '', startRow = '', endLetters, endRow] = found;
  if (startLetters === '' && startRow === '') return undefined;
  if (endLetters === '' && endRow === '') return undefined;
  const isSingle = endLetters === undefined;
  if (isSingle && (startLetters === '' || startRow === '')) return undefined;
  const lastLetters = isSingle ? startLetters : endLetters;
  const lastRow = isSingle ? startRow : endRow!;
  return {
    firstRow: startRow === '' ? 1 : Number(startRow),
    lastRow: lastRow === '' ? maxSheetRow : Number(lastRow),
    firstColumn: startLetters === '' ? 1 : columnNumber(startLetters),
    lastColumn: lastLetters === '' ? maxSheetColumn : columnNumber(lastLetters),
    hasFirstRow: startRow !== '',
  };
}

function columnNumber(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 0x40;
  return column;
}

/** Returns a range as `parseRange` reads it: `B3:F200`, or `B:F` for whole columns. */
export function rangeText({ firstRow, lastRow, firstColumn, lastColumn, hasFirstRow }: CellRange): string {
  const [first, last] = [columnLetters(firstColumn), columnLetters(lastColumn)];
  if (!hasFirstRow && lastRow >= maxSheetRow) return `${first}:${last}`;
  return `${first}${firstRow}:${last}${Math.min(lastRow, maxSheetRow)}`;
}

/** Returns `Orders!C7`. The name is quoted if Excel would quote it: `'My sheet'!C7`. */
export function cellAddress(sheet: string, row: number, column: number): string {
  return `${quoteSheetName(sheet)}!${columnLetters(column)}${row}`;
}

/** Returns the address of a whole row: `Orders!7:7`. */
export function rowAddress(sheet: string, row: number): string {
  return `${quoteSheetName(sheet)}!${row}:${row}`;
}

/**
 * Returns the place of a cell, or of a whole row if there is no column.
 *
 * @param sheet the name of the sheet; empty: the file has no sheets
 */
export function placeInSheet(sheet: string, row: number, column?: number): CellLocation {
  if (sheet === '') {
    return { cell: column === undefined ? `${row}:${row}` : `${columnLetters(column)}${row}` };
  }
  return { sheet, cell: column === undefined ? rowAddress(sheet, row) : cellAddress(sheet, row, column) };
}

/** Returns the name in single quotes if Excel would quote it. */
export function quoteSheetName(name: string): string {
  const isPlain = /^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name);
  // A name such as `A1`, `R1C1` or `TRUE` needs quotes, because it would otherwise be read as a cell or a value.
  const isAmbiguous = /^([A-Z]{1,3}\d+|R\d*C\d*|[RC]\d*|TRUE|FALSE)$/i.test(name);
  return isPlain && !isAmbiguous ? name : `'${name.replaceAll("'", "''")}'`;
}
