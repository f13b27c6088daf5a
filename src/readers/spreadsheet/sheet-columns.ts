/** Names the columns of a sheet by its header, and assigns a column of the sink (the receiver of the cells) to each of them. */

import type { CellSink } from '../../core/cells/cell-sink.ts';
import type { AppError, Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { maxSheetColumn } from './cell-address.ts';
import { type ColumnNames, nameBlankColumn, nameColumns, namesColumn } from './header-names.ts';
import type { HeaderRow } from './header-row.ts';

/** The header has no name for this column of the range. The column gets a name, and a column of the sink, as soon as a row has a value in it. */
export const UNNAMED = -1;
/** This column of the range is never passed to the sink. */
const LEFT_OUT_COLUMN = -2;

export interface ColumnOptions {
  columnNames: 'exact' | 'snake_case';
  limits: { maxColumns: number };
}

export class SheetColumns {
  /** The names of the sink's columns. */
  readonly names: string[] = [];
  /** For each column of the sink: the 1-based column of the sheet. */
  readonly sheetColumns: number[] = [];

  readonly #sink: CellSink;
  readonly #options: ColumnOptions;
  readonly #firstColumn: number;
  readonly #header: HeaderRow;
  /** undefined: the header is not known yet. */
  #headerNames: ColumnNames | undefined;
  /** For each column of the range: the column of the sink, `UNNAMED` or `LEFT_OUT_COLUMN`. */
  #sinkColumns = new Int32Array(0);
  /** For each column of the sink: the last row that had a cell in it. A second cell for the same row is an error of the file. */
  #lastRows = new Int32Array(64);

  /** @param firstColumn the first column of the range, from 0 */
  constructor(sink: CellSink, options: ColumnOptions, firstColumn: number, header: HeaderRow) {
    this.#sink = sink;
    this.#options = options;
    this.#firstColumn = firstColumn;
    this.#header = header;
  }

  /** Returns whether the header is known. */
  get areNamed(): boolean {
    return this.#headerNames !== undefined;
  }

  /** Returns the warnings about the names in the header. */
  get warnings(): Warning[] {
    return this.#headerNames?.warnings ?? [];
  }

  /** Returns the first column of the sheet that is passed to the sink. It counts from 1. */
  get first(): number {
    return this.sheetColumns.reduce((least, column) => Math.min(least, column), maxSheetColumn);
  }

  /** Returns the last column of the sheet that is passed to the sink. It counts from 1. */
  get last(): number {
    return this.sheetColumns.reduce((greatest, column) => Math.max(greatest, column), 1);
  }

  /**
   * Names the columns from the texts of the header.
   *
   * @throws AppError `limit-exceeded`
   */
  nameFromHeader(): void {
    const { texts, areJoined } = this.#header;
    const { columnNames, limits } = this.#options;
    // Checked before the names are computed, because that takes long for many columns.
    const named = texts.filter((text) => namesColumn(text, columnNames)).length;
    if (named > limits.maxColumns) throw this.#tooMany();
    this.#headerNames = nameColumns(texts, columnNames, this.#firstColumn + 1, areJoined);
    this.#sinkColumns = new Int32Array(texts.length).fill(UNNAMED);
    this.#headerNames.named.forEach((name, place) => {
      if (name !== undefined) this.#add(place, name);
    });
  }

  /** Returns the column of the sink, `UNNAMED` or `LEFT_OUT_COLUMN`. @param place the column of the range, from 0 */
  at(place: number): number {
    return place < this.#sinkColumns.length ? this.#sinkColumns[place]! : UNNAMED;
  }

  /** Records that a row has a cell in a column of the sink. @returns false if it already has one */
  fill(sinkColumn: number, row: number): boolean {
    if (this.#lastRows[sinkColumn] === row) return false;
    this.#lastRows[sinkColumn] = row;
    return true;
  }

  /** Never passes this column of the range to the sink. */
  leaveOut(place: number): void {
    if (place >= this.#sinkColumns.length) this.#grow(place);
    this.#sinkColumns[place] = LEFT_OUT_COLUMN;
  }

  /** The columns of the sink that have a blank header. */
  readonly #blankNamed = new Set<number>();

  /** Returns whether the header of the column is blank or missing. */
  isBlankNamed(sinkColumn: number): boolean {
    return this.#blankNamed.size > 0 && this.#blankNamed.has(sinkColumn);
  }

  /** Names a column that has a value but no name in the header. @returns the column of the sink */
  nameBlank(place: number): number {
    const name = nameBlankColumn(
      this.#headerNames!,
      this.#options.columnNames,
      this.#firstColumn + place + 1,
      this.#header.textAt(place),
    );
    if (place >= this.#sinkColumns.length) this.#grow(place);
    const sinkColumn = this.#add(place, name);
    this.#blankNamed.add(sinkColumn);
    return sinkColumn;
  }

  #grow(place: number): void {
    const larger = new Int32Array(2 * place + 16).fill(UNNAMED);
    larger.set(this.#sinkColumns);
    this.#sinkColumns = larger;
  }

  #add(place: number, name: string): number {
    const sinkColumn = this.sheetColumns.push(this.#firstColumn + place + 1) - 1;
    if (sinkColumn >= this.#options.limits.maxColumns) throw this.#tooMany();
    if (sinkColumn >= this.#lastRows.length) {
      const larger = new Int32Array(2 * this.#lastRows.length);
      larger.set(this.#lastRows);
      this.#lastRows = larger;
    }
    this.#sinkColumns[place] = sinkColumn;
    this.names.push(name);
    this.#sink.column(sinkColumn, name, place);
    return sinkColumn;
  }

  #tooMany(): AppError {
    const { maxColumns } = this.#options.limits;
    const remedy = 'Load a part of it with `range`, as in range=A:Z.';
    return limitExceeded('The sheet has too many columns', maxColumns, { setting: 'MAX_COLUMNS' }, remedy);
  }
}
