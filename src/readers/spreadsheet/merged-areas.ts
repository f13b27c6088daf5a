/**
 * Keeps the merged areas of a sheet, and finds the cells beneath them.
 *
 * Only the top-left cell of a merged area has a value. Some programs leave values in the other cells of the area, where no
 * spreadsheet program shows them. The reader process of .xls uses this file too. It may read no code outside of `sources`, so nothing
 * here throws an `AppError`.
 */

import { columnLetters, maxSheetColumn, maxSheetRow } from './cell-address.ts';

/** The maximum number of merged areas. A sheet with more is refused. They take about 20 MB of memory. */
export const maxMergedAreas = 1_000_000;

const initialAreas = 64;
const initialRows = 1024;

/** The fields of an area in `MergedAreas.fields`. */
const areaFields = 4;
const FIRST_COLUMN = 0;
const LAST_COLUMN = 1;
const LAST_ROW = 2;
/** The number of the next area that begins in the same row; 0: none. */
const NEXT = 3;

/** All rows and columns count from 1. */
export class MergedAreas {
  count = 0;
  /** For each row: the number of an area that begins in it, from 1; 0: none. */
  firstOfRow = new Int32Array(initialRows);
  fields = new Int32Array(areaFields * initialAreas);

  /**
   * Adds the area between two opposite corners. An area of one cell, or one outside of the sheet, covers nothing.
   *
   * @returns false if there are too many areas
   */
  add(firstRow: number, firstColumn: number, lastRow: number, lastColumn: number): boolean {
    if (firstRow > lastRow) return this.add(lastRow, firstColumn, firstRow, lastColumn);
    if (firstColumn > lastColumn) return this.add(firstRow, lastColumn, lastRow, firstColumn);
    if (firstRow < 1 || firstColumn < 1 || lastRow > maxSheetRow || lastColumn > maxSheetColumn) return true;
    if (firstRow === lastRow && firstColumn === lastColumn) return true;
    if (this.count === maxMergedAreas) return false;
    const area = this.count++;
    if (areaFields * this.count > this.fields.length)
      this.fields = doubled(this.fields, areaFields * this.count);
    if (firstRow >= this.firstOfRow.length) this.firstOfRow = doubled(this.firstOfRow, firstRow + 1);
    const at = areaFields * area;
    this.fields[at + FIRST_COLUMN] = firstColumn;
    this.fields[at + LAST_COLUMN] = lastColumn;
    this.fields[at + LAST_ROW] = lastRow;
    this.fields[at + NEXT] = this.firstOfRow[firstRow]!;
    this.firstOfRow[firstRow] = this.count;
    return true;
  }

  /** For the areas whose top-left cell is in a row: returns the last column of each, by its first column. */
  columnsFrom(row: number): Map<number, number> {
    const columns = new Map<number, number>();
    for (let area = this.firstOfRow[row] ?? 0; area !== 0; ) {
      const at = areaFields * (area - 1);
      columns.set(this.fields[at + FIRST_COLUMN]!, this.fields[at + LAST_COLUMN]!);
      area = this.fields[at + NEXT]!;
    }
    return columns;
  }

  /** Returns the area that contains a cell, such as `B3:C5`; undefined: none. It is slow, because it searches all areas that begin above the cell. */
  rangeAt(row: number, column: number): string | undefined {
    for (let firstRow = Math.min(row, this.firstOfRow.length - 1); firstRow >= 1; firstRow--) {
      for (
        let area = this.firstOfRow[firstRow]!;
        area !== 0;
        area = this.fields[areaFields * (area - 1) + NEXT]!
      ) {
        const at = areaFields * (area - 1);
        const firstColumn = this.fields[at + FIRST_COLUMN]!;
        const lastColumn = this.fields[at + LAST_COLUMN]!;
        const lastRow = this.fields[at + LAST_ROW]!;
        if (lastRow < row || firstColumn > column || lastColumn < column) continue;
        return `${columnLetters(firstColumn)}${firstRow}:${columnLetters(lastColumn)}${lastRow}`;
      }
    }
    return undefined;
  }
}

function doubled(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(length, 2 * array.length));
  larger.set(array);
  return larger;
}

/** The results of `CoveredCells.toRow`. */
export const NONE = 0;
export const SOME = 1;
export const OVERLAP = 2;

/** Finds the covered cells of a sheet in one pass over its rows, from top to bottom. */
export class CoveredCells {
  readonly #areas: MergedAreas;
  #row = 0;
  /** The last row of all areas that have begun so far. */
  #lastCoveredRow = 0;
  /** For each column: the last row of the latest area that covers it. */
  readonly #lastRows = new Int32Array(maxSheetColumn + 1);
  /** For each column: the last row in which it has the top-left cell of an area. */
  readonly #topLeftRows = new Int32Array(maxSheetColumn + 1);

  constructor(areas: MergedAreas) {
    this.#areas = areas;
  }

  /**
   * Goes to this row, which must not be above the last one.
   *
   * @returns `NONE`, `SOME` if the row may have a covered cell, `OVERLAP` if areas overlap so much that a row would take long
   */
  toRow(row: number): number {
    const { firstOfRow, fields } = this.#areas;
    const end = Math.min(row, firstOfRow.length - 1);
    // Areas that reach this row and do not overlap have different columns. So their widths together are at most the width of a sheet.
    let freeColumns = maxSheetColumn;
    for (let firstRow = this.#row + 1; firstRow <= end; firstRow++) {
      for (let area = firstOfRow[firstRow]!; area !== 0; area = fields[areaFields * (area - 1) + NEXT]!) {
        const at = areaFields * (area - 1);
        const lastRow = fields[at + LAST_ROW]!;
        if (lastRow < row) continue;
        const firstColumn = fields[at + FIRST_COLUMN]!;
        const lastColumn = fields[at + LAST_COLUMN]!;
        freeColumns -= lastColumn - firstColumn + 1;
        if (freeColumns < 0) return OVERLAP;
        this.#lastRows.fill(lastRow, firstColumn, lastColumn + 1);
        this.#topLeftRows[firstColumn] = firstRow;
        this.#lastCoveredRow = Math.max(this.#lastCoveredRow, lastRow);
      }
    }
    this.#row = row;
    return row <= this.#lastCoveredRow ? SOME : NONE;
  }

  /** Returns whether a merged area covers the cell of the current row, without being its top-left cell. */
  has(column: number): boolean {
    return this.#lastRows[column]! >= this.#row && this.#topLeftRows[column] !== this.#row;
  }
}
