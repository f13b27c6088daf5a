/**
 * Records the outline of a sheet while its cells are read: for some rows, which columns have a value and the class of each value.
 * find-tables.ts searches it for tables. Its memory is bounded, whatever the file contains.
 */

import { isBlank } from '../../../core/bytes/white-space.ts';
import { NULL, STRING, TEXT } from '../../../core/cells/cell-kind.ts';
import { cutText } from '../../../core/cut-text.ts';
import { BLANK, cellClass, cellValue, WORDS } from './cell-class.ts';
import { isTotalWord } from './total-words.ts';

/** How much of a sheet is kept in the outline. */
export interface OutlineBounds {
  /** The number of rows with a value that are kept from the top. */
  firstRows: number;
  /** The largest number of cells in all kept rows. */
  maxCells: number;
  isBrief: boolean;
}

/** The limits of an outline for a proposal. */
export const wholeOutline: OutlineBounds = { firstRows: 2000, maxCells: 200_000, isBrief: false };
/** The limits of an outline that is only for the warnings of an upload, because these should take little time. */
export const briefOutline: OutlineBounds = { firstRows: 30, maxCells: 50_000, isBrief: true };

/** The number of rows that are kept after each blank row. They may be notes or another table. */
const rowsAfterGap = 5;
/** After this many blank rows no further rows are kept. */
const maxGaps = 200;

/** A header is searched for only in rows whose values are kept: this many first rows, and the rows after a blank row. */
const rowsWithValues = 200;
const maxValues = 100_000;

const maxLabelLength = 40;

/** A row with a value. Columns count from 0. */
export interface OutlineRow {
  /** The row of the sheet, from 1. */
  row: number;
  /**
   * The last of the following rows that are not kept; `row` if there is none. There is no blank row among them, unless the outline
   * is full (`maxGaps` blank rows or `maxCells` cells). Then it is the last row of the sheet that has a value.
   */
  until: number;
  firstColumn: number;
  /** The number of cells with a value. */
  filled: number;
  /** One class of cell-class.ts for each column from `firstColumn` on. */
  classes: Uint8Array;
  /** The values of these cells (`cellValue`); undefined: they are not kept. */
  values: Int32Array | undefined;
  /** The first cell, if it is a text; shortened. */
  label: string;
  isTotal: boolean;
}

export class SheetOutline {
  /** From top to bottom. */
  readonly rows: OutlineRow[] = [];
  /** The last row that begins with a word such as `Total`; undefined: there is none. */
  lastTotal: { row: number; label: string } | undefined;
  /** The number of rows that begin with such a word. */
  totals = 0;
  /** true: the rows did not come in ascending order, so the outline is useless. */
  isOutOfOrder = false;

  readonly #bounds: OutlineBounds;
  readonly #firstColumn: number;
  readonly #lastColumn: number;

  #lastKept: OutlineRow | undefined;
  #row = 0;
  #lastRow = 0;
  #cellsLeft: number;
  #valuesLeft = maxValues;
  #gaps = 0;
  /** The number of rows with a value since the last blank row. */
  #rowsInBlock = 0;

  #isKept = false;
  #hasValues = false;
  #filled = 0;
  #first = 0;
  #last = -1;
  #label = '';
  #isTotal = false;
  /** The cells of the current row, by column. */
  #classes = new Uint8Array(64);
  #values = new Int32Array(64);

  /** @param firstColumn from 0; cells before it or after `lastColumn` are ignored */
  constructor(bounds: OutlineBounds, firstColumn: number, lastColumn: number) {
    this.#bounds = bounds;
    this.#cellsLeft = bounds.maxCells;
    this.#firstColumn = firstColumn;
    this.#lastColumn = lastColumn;
  }

  /** Begins a row. @returns true: all of its cells are needed; false: only the first one (`firstCell`, `firstOther`) */
  beginRow(row: number): boolean {
    if (row <= this.#row) this.isOutOfOrder = true;
    this.#row = row;
    this.#isKept = false;
    const isNear = row > this.#lastRow + 1 || this.#rowsInBlock < rowsAfterGap;
    if (!isNear && this.rows.length >= this.#bounds.firstRows) return false;
    this.#isKept = this.#cellsLeft > 0 && this.#gaps < maxGaps;
    this.#hasValues = this.#isKept && this.#valuesLeft > 0 && (isNear || this.rows.length < rowsWithValues);
    this.#label = '';
    this.#isTotal = false;
    return this.#isKept;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    const found = cellClass(kind, bytes, start, end);
    if (found === BLANK || !this.#add(column, found)) return;
    if (this.#filled === 1) this.#setLabel(found, bytes, start, end);
    if (this.#hasValues) this.#values[column] = cellValue(found, bytes, start, end);
  }

  /** Receives a cell that is not a text, or one with a problem. @param value see `cellValue` */
  other(column: number, found: number, value: number): void {
    if (this.#add(column, found) && this.#hasValues) this.#values[column] = value;
  }

  /**
   * Returns whether no cells are needed before the next blank row. The caller then calls `resume` after these rows, and `noteTotal`
   * for each of them that is a total.
   */
  get isIdle(): boolean {
    return (
      this.#bounds.isBrief && this.rows.length >= this.#bounds.firstRows && this.#rowsInBlock >= rowsAfterGap
    );
  }

  /** Records the last of the rows that were not passed. @param lastRow the last row with a value before the blank row */
  resume(lastRow: number): void {
    if (lastRow <= this.#lastRow) return;
    this.#row = lastRow;
    this.#lastRow = lastRow;
    if (this.#lastKept !== undefined) this.#lastKept.until = lastRow;
  }

  /** Receives the first cell of a row whose other cells are not needed. @returns false if the cell has no value, so that the next one is needed */
  firstCell(column: number, kind: number, bytes: Buffer, start: number, end: number): boolean {
    if (column < this.#firstColumn || column > this.#lastColumn || kind === NULL) return false;
    if (kind === STRING || kind === TEXT) {
      if (isBlank(bytes, start, end)) return false;
      if (isTotalWord(bytes, start, end)) this.noteTotal(this.#row, bytes, start, end);
    }
    this.#filled = 1;
    return true;
  }

  /** Receives the first cell of such a row, like `firstCell`, if it is not a text. */
  firstOther(column: number): boolean {
    if (column < this.#firstColumn || column > this.#lastColumn) return false;
    this.#filled = 1;
    return true;
  }

  /** @returns false if the column is outside of the range, or already has a cell in this row */
  #add(column: number, found: number): boolean {
    if (column < this.#firstColumn || column > this.#lastColumn) return false;
    if (column >= this.#classes.length) this.#grow(column + 1);
    if (this.#classes[column] !== BLANK) return false;
    this.#classes[column] = found;
    this.#filled++;
    if (this.#filled === 1 || column < this.#first) this.#first = column;
    if (column > this.#last) this.#last = column;
    return true;
  }

  #grow(length: number): void {
    const size = Math.max(length, 2 * this.#classes.length);
    const classes = new Uint8Array(size);
    classes.set(this.#classes);
    this.#classes = classes;
    const values = new Int32Array(size);
    values.set(this.#values);
    this.#values = values;
  }

  #setLabel(found: number, bytes: Buffer, start: number, end: number): void {
    if (found !== WORDS) return;
    if (this.#hasValues) this.#label = shortLabel(bytes, start, end);
    this.#isTotal = isTotalWord(bytes, start, end);
    if (this.#isTotal) this.noteTotal(this.#row, bytes, start, end);
  }

  /** Records a row that begins with a word such as `Total`. @param bytes contains this word */
  noteTotal(row: number, bytes: Buffer, start: number, end: number): void {
    this.totals++;
    this.lastTotal = { row, label: shortLabel(bytes, start, end) };
  }

  endRow(): void {
    if (this.#filled === 0) return;
    this.#countRow();
    if (this.#isKept) {
      this.#keepRow();
      return;
    }
    this.#filled = 0;
    if (this.#lastKept !== undefined) this.#lastKept.until = this.#row;
  }

  #keepRow(): void {
    const first = this.#first;
    const end = this.#last + 1;
    this.#lastKept = {
      row: this.#row,
      until: this.#row,
      firstColumn: first,
      filled: this.#filled,
      classes: this.#classes.slice(first, end),
      values: this.#hasValues ? this.#values.slice(first, end) : undefined,
      label: this.#label,
      isTotal: this.#isTotal,
    };
    this.rows.push(this.#lastKept);
    this.#filled = 0;
    this.#cellsLeft -= end - first;
    if (this.#hasValues) this.#valuesLeft -= end - first;
    this.#classes.fill(BLANK, first, end);
    if (this.#hasValues) this.#values.fill(0, first, end);
    this.#last = -1;
  }

  #countRow(): void {
    if (this.#row > this.#lastRow + 1) {
      this.#gaps++;
      this.#rowsInBlock = 0;
    }
    this.#rowsInBlock++;
    this.#lastRow = this.#row;
  }
}

function shortLabel(bytes: Buffer, start: number, end: number): string {
  const text = bytes
    .toString('utf8', start, Math.min(end, start + 4 * maxLabelLength))
    .replace(/\s+/g, ' ')
    .trim();
  return cutText(text, maxLabelLength);
}
