/** Passes to the outline the cells that it needs. From most rows of a large sheet it needs none. */

import { STRING, TEXT } from '../../../core/cells/cell-kind.ts';
import type { SheetOutline } from './sheet-outline.ts';
import { isTotalWord } from './total-words.ts';

/** The cells of the current row that the outline still wants. `NO_ROW`: it does not know of the row. */
const NO_ROW = 0;
const NO_CELL = 1;
const FIRST_CELL = 2;
const ALL_CELLS = 3;

export class OutlineFeed {
  readonly #outline: SheetOutline;
  #wanted = NO_ROW;
  /** true: the outline wants no row before the next blank row. */
  #isIdle = false;

  constructor(outline: SheetOutline) {
    this.#outline = outline;
  }

  /** Begins a row that is not in the outline. */
  skipRow(): void {
    this.#wanted = NO_ROW;
  }

  /**
   * Begins a row of the sheet.
   *
   * @param lastDataRow the last row before it that has a value
   */
  beginRow(row: number, lastDataRow: number): void {
    this.#wanted = NO_ROW;
    if (this.#isIdle && row === lastDataRow + 1) return;
    this.finish(lastDataRow);
    this.#wanted = this.#outline.beginRow(row) ? ALL_CELLS : FIRST_CELL;
  }

  /** Returns whether the outline wants the next cell of the row. */
  get wantsCell(): boolean {
    return this.#wanted > NO_CELL;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#wanted === ALL_CELLS) this.#outline.cell(column, kind, bytes, start, end);
    else if (this.#outline.firstCell(column, kind, bytes, start, end)) this.#wanted = NO_CELL;
  }

  /** Takes a cell that is not a text, or one with a problem. @param value as for `SheetOutline.other` */
  other(column: number, found: number, value: number): void {
    if (this.#wanted === ALL_CELLS) this.#outline.other(column, found, value);
    else if (this.#outline.firstOther(column)) this.#wanted = NO_CELL;
  }

  /** Looks for a total in the first cell of a data row that the outline does not know of. */
  firstCell(row: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#wanted !== NO_ROW || (kind !== STRING && kind !== TEXT)) return;
    if (isTotalWord(bytes, start, end)) this.#outline.noteTotal(row, bytes, start, end);
  }

  endRow(): void {
    if (this.#wanted === NO_ROW) return;
    this.#outline.endRow();
    this.#isIdle = this.#outline.isIdle;
  }

  /** Passes the last data row to the outline, if the outline did not want the rows up to it. */
  finish(lastDataRow: number): void {
    if (this.#isIdle) this.#outline.resume(lastDataRow);
  }
}
