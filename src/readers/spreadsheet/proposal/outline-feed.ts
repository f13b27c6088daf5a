/** Passes cells to the outline. Of most rows in a large sheet the outline needs none. */

import { STRING, TEXT } from '../../../core/cells/cell-kind.ts';
import type { SheetOutline } from './sheet-outline.ts';
import { isTotalWord } from './total-words.ts';

/** How many cells of the current row the outline still needs. `NO_ROW`: the outline was not told about the row. */
const NO_ROW = 0;
const NO_CELL = 1;
const FIRST_CELL = 2;
const ALL_CELLS = 3;

export class OutlineFeed {
  readonly #outline: SheetOutline;
  #wanted = NO_ROW;
  /** true: the outline needs no row before the next blank row. */
  #isIdle = false;

  constructor(outline: SheetOutline) {
    this.#outline = outline;
  }

  /** Begins a row that does not belong in the outline. */
  skipRow(): void {
    this.#wanted = NO_ROW;
  }

  /**
   * Begins a row of the sheet.
   *
   * @param lastDataRow the last row above it that has a value
   */
  beginRow(row: number, lastDataRow: number): void {
    this.#wanted = NO_ROW;
    if (this.#isIdle && row === lastDataRow + 1) return;
    this.finish(lastDataRow);
    this.#wanted = this.#outline.beginRow(row) ? ALL_CELLS : FIRST_CELL;
  }

  /** Returns whether the outline needs the next cell of the row. */
  get wantsCell(): boolean {
    return this.#wanted > NO_CELL;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#wanted === ALL_CELLS) this.#outline.cell(column, kind, bytes, start, end);
    else if (this.#outline.firstCell(column, kind, bytes, start, end)) this.#wanted = NO_CELL;
  }

  /** Passes on a cell that is not a text, or one with a problem. @param value see `SheetOutline.other` */
  other(column: number, found: number, value: number): void {
    if (this.#wanted === ALL_CELLS) this.#outline.other(column, found, value);
    else if (this.#outline.firstOther(column)) this.#wanted = NO_CELL;
  }

  /** Checks whether the first cell of a data row is a word such as `Total`, for rows that the outline was not told about. */
  firstCell(row: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#wanted !== NO_ROW || (kind !== STRING && kind !== TEXT)) return;
    if (isTotalWord(bytes, start, end)) this.#outline.noteTotal(row, bytes, start, end);
  }

  endRow(): void {
    if (this.#wanted === NO_ROW) return;
    this.#outline.endRow();
    this.#isIdle = this.#outline.isIdle;
  }

  /** Tells the outline which row is the last, if it was not told about the rows before. */
  finish(lastDataRow: number): void {
    if (this.#isIdle) this.#outline.resume(lastDataRow);
  }
}
