/**
 * Collects the texts of the header of a sheet, from which the columns get their names, and its problems. The texts of a header of several rows
 * are joined for each column, from top to bottom.
 */

import { trimmedStart, trimText } from '../../core/bytes/white-space.ts';
import {
  ERROR_CELL,
  FALSE,
  FORMULA_WITHOUT_VALUE,
  INTERVAL,
  NULL,
  SERIAL_OUT_OF_RANGE,
  TRUE,
} from '../../core/cells/cell-kind.ts';
import { formatMoment, momentText } from '../../core/cells/moment-text.ts';
import type { HeaderFault } from '../../core/cells/row-source.ts';
import { placeInSheet } from './cell-address.ts';
import { repeatedCell, rowsOutOfOrder } from './file-errors.ts';
import type { MergedAreas } from './merged-areas.ts';
import type { SheetWindow } from './sheet-window.ts';
import { spreadHeader } from './spread-header.ts';

/** The maximum number of header cells whose problems are listed. */
const maxFaults = 100;

export class HeaderRow {
  readonly #firstColumn: number;
  readonly #cellErrorsAreNull: boolean;
  readonly #rows: number;
  readonly #isHidden: (column: number) => boolean;
  #firstRow: number | undefined;
  #row = 0;
  /** The texts of the cells, by column from the first column of the range. A column without a cell has no entry. */
  #texts: string[] = [];
  #faults: { row: number; sheetColumn: number; fault: number; value: string }[] = [];
  /** If the header has several rows: those above the current one. */
  #above: { row: number; texts: string[] }[] = [];

  /**
   * @param firstColumn the first column of the range, from 0
   * @param isHidden returns whether a column is left out. Its texts may still be the names of groups that reach other columns
   */
  constructor(
    firstColumn: number,
    { headerRow, headerRows = 1 }: Pick<SheetWindow, 'headerRow' | 'headerRows'>,
    cellErrorsAreNull: boolean,
    isHidden: (column: number) => boolean,
  ) {
    this.#isHidden = isHidden;
    this.#firstColumn = firstColumn;
    this.#firstRow = headerRow;
    this.#rows = headerRows;
    this.#cellErrorsAreNull = cellErrorsAreNull;
  }

  /** Begins a row that may be the header. */
  begin(row: number): void {
    if (this.#above.length > 0 && row < this.#row) throw rowsOutOfOrder(row, this.#row);
    this.#row = row;
  }

  /** Returns the first row of the header; undefined: it is not known yet. */
  get firstRow(): number | undefined {
    return this.#firstRow;
  }

  get lastRow(): number | undefined {
    return this.#firstRow === undefined ? undefined : this.#firstRow + this.#rows - 1;
  }

  /** Ends the row. A row with only white space is not part of the header, unless the caller chose it. @returns whether the header is complete */
  end(): boolean {
    if (this.#firstRow === undefined && !this.#hasText) {
      if (this.#texts.length > 0) this.#texts = [];
      if (this.#faults.length > 0) this.#faults = [];
      return false;
    }
    this.#firstRow ??= this.#row;
    if (this.#row === this.lastRow) return true;
    this.#keep();
    return false;
  }

  #keep(): void {
    this.#above.push({ row: this.#row, texts: this.#texts });
    this.#texts = [];
  }

  /** Joins the texts of all rows of the header. @param merged the merged areas of the sheet, if they are known */
  join(merged: MergedAreas | undefined): void {
    if (this.#above.length === 0) return;
    this.#keep();
    const rows = this.#above;
    const columns = rows.reduce((most, { texts }) => Math.max(most, texts.length), 0);
    const areas = rows.map(({ row }) => merged?.columnsFrom(row) ?? new Map<number, number>());
    const lastMerged = (row: number, column: number): number => {
      const last = areas[row]!.get(this.#firstColumn + column + 1);
      return last === undefined ? column : last - this.#firstColumn - 1;
    };
    const hasText = (row: number, column: number): boolean => !!rows[row]!.texts[column];
    const isMerged = areas.some((columns) => [...columns].some(([first, last]) => first < last));
    const spread = spreadHeader({ rows: rows.length, columns, hasText, ...(isMerged && { lastMerged }) });
    this.#texts = Array.from({ length: columns }, (_, column) => {
      const parts = spread.map((from, row) => rows[row]!.texts[from[column]!] ?? '');
      return parts.filter((text, row) => text !== '' && text !== parts[row - 1]).join(' ');
    });
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#setText(column, headerText(kind, bytes, start, end));
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#setText(column, momentHeader(kind, days, microseconds));
  }

  /**
   * Takes a cell with a problem. A number that is not a date can still be a name. With cell_errors=null, an error cell has no text.
   * Every other problem is reported.
   */
  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const value = shortText(bytes, start, end);
    const isNull = this.#cellErrorsAreNull && (fault === ERROR_CELL || fault === FORMULA_WITHOUT_VALUE);
    this.#setText(column, isNull ? '' : value);
    if (isNull || fault === SERIAL_OUT_OF_RANGE || this.#faults.length === maxFaults) return;
    if (this.#isHidden(column)) return;
    this.#faults.push({ row: this.#row, sheetColumn: column + 1, fault, value });
  }

  #setText(column: number, text: string): void {
    const place = column - this.#firstColumn;
    if (this.#texts[place] !== undefined) throw repeatedCell(this.#row, column + 1);
    this.#texts[place] = text;
  }

  /** Returns whether the texts are those of several rows. */
  get areJoined(): boolean {
    return this.#rows > 1;
  }

  get #hasText(): boolean {
    return this.#texts.some((text, place) => text !== '' && !this.#isHidden(this.#firstColumn + place));
  }

  /** Returns the trimmed texts by column, from the first column of the range on; `''`: the column has no text or is hidden. */
  get texts(): string[] {
    return Array.from(this.#texts, (text, place) =>
      text === undefined || this.#isHidden(this.#firstColumn + place) ? '' : text,
    );
  }

  textAt(place: number): string {
    return this.#texts[place] ?? '';
  }

  /**
   * Returns the problems of the header.
   *
   * @param sheet the name of the sheet; empty: the file has no sheets
   */
  faultsIn(sheet: string): HeaderFault[] {
    return this.#faults.map(({ row, sheetColumn, fault, value }) => {
      return { fault, value, place: placeInSheet(sheet, row, sheetColumn) };
    });
  }
}

function headerText(kind: number, bytes: Buffer, start: number, end: number): string {
  if (kind === TRUE) return 'TRUE';
  if (kind === FALSE) return 'FALSE';
  return kind === NULL ? '' : shortText(bytes, start, end);
}

/** The maximum number of characters that are kept of a header cell. No name is longer. Header cells are limited because all of them are in memory at the same time. */
const maxHeaderLength = 256;

/** Returns the trimmed text, or the beginning of a long one. */
function shortText(bytes: Buffer, start: number, end: number): string {
  const from = trimmedStart(bytes, start, end);
  const text = bytes.toString('utf8', from, Math.min(end, from + 4 * maxHeaderLength));
  return trimText(text).slice(0, maxHeaderLength);
}

/** Returns the text of a header cell that is a date or a time, in ISO 8601. A duration is written in hours, minutes and seconds. */
function momentHeader(kind: number, days: number, microseconds: number): string {
  if (kind !== INTERVAL) return momentText.toString('latin1', 0, formatMoment(kind, days, microseconds));
  const sign = days < 0 || microseconds < 0 ? '-' : '';
  const seconds = Math.floor(Math.abs(microseconds) / 1_000_000);
  const hours = Math.abs(days) * 24 + Math.floor(seconds / 3600);
  const two = (count: number): string => String(count).padStart(2, '0');
  return `${sign}${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
