/**
 * Processes the rows of one pass over a sheet: each cell goes to the header, to the sink (the receiver of the data cells), or is
 * counted as left out. Cells outside of the range and cells that merged cells cover are ignored.
 */

import { hasLineEnd, isBlank } from '../../core/bytes/white-space.ts';
import { isCellError, NULL, SERIAL_OUT_OF_RANGE, STRING, TEXT } from '../../core/cells/cell-kind.ts';
import type { CellLocation, CellSink } from '../../core/cells/cell-sink.ts';
import { rowTooLong } from '../../core/cells/row-limit.ts';
import type { HeaderFault, SourceReading } from '../../core/cells/row-source.ts';
import type { Warning } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import { pauseBetweenSlices } from '../share-turns.ts';
import { maxSheetColumn, placeInSheet } from './cell-address.ts';
import { CountedValues, pauseBytes } from './counted-values.ts';
import { overlappingAreas, repeatedCell, repeatedRow, rowsOutOfOrder } from './file-errors.ts';
import { HeaderRow } from './header-row.ts';
import { HeldCells } from './held-cells.ts';
import { LeftOutParts } from './left-out-parts.ts';
import { CoveredCells, type MergedAreas, OVERLAP, SOME } from './merged-areas.ts';
import { MOMENT_LIKE, NO_VALUE, NUMBER_LIKE, SIGNS, WORDS } from './proposal/cell-class.ts';
import { OutlineFeed } from './proposal/outline-feed.ts';
import { briefOutline, SheetOutline, wholeOutline } from './proposal/sheet-outline.ts';
import { SeenRows } from './seen-rows.ts';
import { SheetColumns, UNNAMED } from './sheet-columns.ts';
import { SheetFindings } from './sheet-findings.ts';
import {
  noRowsWarning,
  readingOf,
  type SheetOfFile,
  type SheetPass,
  surroundingsOf,
} from './sheet-result.ts';
import type { SheetRowsOptions } from './sheet-rows-options.ts';
import type { SheetWindow } from './sheet-window.ts';

/** The roles that a row of the sheet can have. */
const SKIPPED = 0;
const HEADER = 1;
const DATA = 2;
/** A row of the window that is left out: it is hidden, or follows the first empty row (`footer=skip`). */
const LEFT_OUT = 3;

/** What a date or time counts towards the bytes of a row. It has no text, and PostgreSQL stores most of them in 8 bytes. */
const momentBytes = 8;

export class SheetRows {
  /** The number of the header row in the sheet (of several, the last one); 0: not known yet. Data row n is row `headerRow + n` of the sheet. */
  headerRow = 0;
  /** Undefined: the merged areas are not known. A format that itself ignores the covered cells sets them, and adds areas before their first row ends. */
  merged: MergedAreas | undefined;
  /** The rows that have passed, for warnings and proposals. */
  readonly outline: SheetOutline;

  readonly #sink: CellSink;
  readonly #options: SheetRowsOptions;
  readonly #firstColumn: number;
  readonly #lastColumn: number;
  readonly #cellErrorsAreNull: boolean;

  readonly #header: HeaderRow;
  readonly #columns: SheetColumns;
  readonly #leftOut: LeftOutParts;
  readonly #findings = new SheetFindings();
  readonly #feed: OutlineFeed;
  readonly #seenRows = new SeenRows();
  /** Undefined: the sheet has no merged areas, or the format itself ignores the covered cells. */
  readonly #covered: CoveredCells | undefined;

  /** Whether the source must call `pause` before it pushes more cells. */
  isPauseDue = false;
  /** The bytes of the values of the current row so far. */
  #rowBytes = 0;
  /** At this number of bytes in the current row, a pause is due or the row is too long. */
  #noticeBytes = pauseBytes;
  readonly #counted: CountedValues;
  readonly #maxRowBytes: number;

  #role = SKIPPED;
  #row = 0;
  /** true: the sink has received the beginning of the current row, because the row has a value. */
  #isRowBegun = false;
  /** Whether the current row may have a cell beneath a merged area. */
  #mayBeCovered = false;
  #rowCount = 0;
  /** The sheet's last row that has a value below the header. */
  #lastDataRow = 0;
  /** true: `#columns` has not yet been told about the hidden columns. */
  #areColumnsHidden = false;
  readonly #blankCells = new HeldCells();
  readonly #emptyBytes = Buffer.alloc(0);

  /** @param merged the areas whose covered cells have no value */
  constructor(sink: CellSink, options: SheetRowsOptions, merged?: MergedAreas) {
    const { range, outline, hasHeader } = options;
    this.#sink = sink;
    this.#options = options;
    this.merged = merged;
    this.#covered = merged === undefined || merged.count === 0 ? undefined : new CoveredCells(merged);
    this.#firstColumn = range.firstColumn - 1;
    this.#lastColumn = range.lastColumn - 1;
    this.#cellErrorsAreNull = options.cellErrors === 'null';
    this.#maxRowBytes = options.limits.maxRowBytes;
    this.#counted = new CountedValues(options.expanded);
    const leftOut = new LeftOutParts(options);
    this.#leftOut = leftOut;
    const isHidden = (column: number): boolean => leftOut.hasColumn(column);
    this.#header = new HeaderRow(this.#firstColumn, options, this.#cellErrorsAreNull, isHidden);
    this.#columns = new SheetColumns(sink, options, this.#firstColumn, this.#header);
    const bounds = outline === 'brief' ? briefOutline : wholeOutline;
    this.outline = new SheetOutline(bounds, this.#firstColumn, this.#lastColumn);
    this.#feed = new OutlineFeed(this.outline);
    // Without a header row each column is named when its first value arrives.
    if (!hasHeader) this.#closeHeader(range.firstRow - 1);
  }

  /** Returns the part of the sheet that is read. */
  get window(): SheetWindow {
    return this.#options;
  }

  /** Returns whether rows may get long values that the source does not have in them. */
  get repeatsValues(): boolean {
    return this.#options.fillDown.length > 0;
  }

  /** Returns whether the header may still follow. */
  get isHeaderAhead(): boolean {
    return !this.#columns.areNamed && this.#options.outline !== 'only';
  }

  /** Returns the names of the sink's columns. */
  get columnNames(): string[] {
    return this.#columns.names;
  }

  /** Returns the texts of the header by the sink's columns; undefined: there is no header. */
  get headerTexts(): string[] | undefined {
    if (!this.#options.hasHeader) return undefined;
    return this.#columns.sheetColumns.map((column) => this.#header.textAt(column - 1 - this.#firstColumn));
  }

  /** Hides the columns of the sheet from `first` to `last`, both included. Called before the rows. Columns count from 0. */
  hideColumns(first: number, last: number): void {
    this.#leftOut.hideColumns(first, last);
    this.#areColumnsHidden = true;
  }

  /** Records a comment line of a text file. It has no values, but does not count as an empty row. */
  commentRow(row: number): void {
    this.#leftOut.commentRow(row);
  }

  /** Returns whether the current row is outside of the window. */
  get isRowSkipped(): boolean {
    return this.#role === SKIPPED;
  }

  /** Returns whether the current row is left out although it is within the window. */
  get isRowLeftOut(): boolean {
    return this.#role === LEFT_OUT;
  }

  /**
   * Begins a row of the sheet.
   *
   * @param isHidden true: the row was hidden by a user or by a filter
   */
  beginRow(row: number, isHidden = false): void {
    if (this.#covered !== undefined) this.#mayBeCovered = this.#hasCovered(this.#covered, row);
    if (this.#seenRows.add(row)) throw repeatedRow(row);
    this.#row = row;
    this.#isRowBegun = false;
    this.#role = SKIPPED;
    this.#feed.skipRow();
    if (this.#areColumnsHidden && this.#columns.areNamed) this.#leaveOutColumns();
    const { range, outline } = this.#options;
    if (row < range.firstRow || row > range.lastRow) return;
    if (outline === 'only') {
      if (!this.#leftOut.hasRow(isHidden)) this.#feed.beginRow(row, this.#lastDataRow);
      return;
    }
    this.#role = this.#roleOf(row, isHidden);
    if (this.#role !== LEFT_OUT) this.#feed.beginRow(row, this.#lastDataRow);
  }

  #roleOf(row: number, isHidden: boolean): number {
    const { headerRow } = this.#options;
    const last = this.#header.lastRow;
    if (!this.#columns.areNamed && last !== undefined && row > last) this.#closeHeader(last);
    let role = SKIPPED;
    if (!this.#columns.areNamed) {
      if (headerRow !== undefined && row < headerRow) return SKIPPED;
      this.#header.begin(row);
      role = HEADER;
    } else if (row > this.headerRow) {
      role = DATA;
    } else if (headerRow === undefined || row >= headerRow) {
      throw rowsOutOfOrder(row, this.headerRow);
    } else {
      return SKIPPED;
    }
    const isChosen = role === HEADER && headerRow !== undefined;
    return this.#leftOut.beginRow(row, isHidden, isChosen, this.#rowCount > 0) ? LEFT_OUT : role;
  }

  #hasCovered(covered: CoveredCells, row: number): boolean {
    if (row < this.#row) throw rowsOutOfOrder(row, this.#row);
    const found = covered.toRow(row);
    if (found === OVERLAP) throw overlappingAreas(row);
    return found === SOME;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#rowBytes += end - start;
    if (this.#rowBytes > this.#noticeBytes) this.#notice();
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      const isText = kind === STRING || kind === TEXT;
      if (kind !== NULL && !(isText && isBlank(bytes, start, end))) this.coveredValue(column);
      return;
    }
    if (this.#feed.wantsCell) {
      if (this.#options.areBlanksValues && isBlank(bytes, start, end))
        this.#outlineOther(column, WORDS, NO_VALUE);
      else if (!this.#leftOut.hasColumn(column)) this.#feed.cell(column, kind, bytes, start, end);
    } else if (!this.#isRowBegun && this.#role === DATA) {
      this.#feed.firstCell(this.#row, kind, bytes, start, end);
    }
    if ((kind === STRING || kind === TEXT) && this.#role === DATA && isBlank(bytes, start, end)) {
      this.#takeBlank(column, kind, bytes, start, end);
      return;
    }
    const sinkColumn = this.#take(column);
    if (sinkColumn >= 0) {
      this.#put(sinkColumn, kind, bytes, start, end);
      return;
    }
    if (this.#isHeaderCell(column)) this.#header.cell(column, kind, bytes, start, end);
    if (this.#role !== SKIPPED) {
      const isText = kind === STRING || kind === TEXT;
      if (kind !== NULL && !(isText && isBlank(bytes, start, end))) this.#leaveOut(column);
    }
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    this.#rowBytes += momentBytes;
    if (this.#rowBytes > this.#noticeBytes) this.#notice();
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      this.coveredValue(column);
      return;
    }
    if (this.#feed.wantsCell) this.#outlineOther(column, MOMENT_LIKE, days);
    const sinkColumn = this.#take(column);
    if (sinkColumn >= 0) {
      this.#refuseRepeated(sinkColumn);
      this.#sink.moment(sinkColumn, kind, days, microseconds);
    } else {
      if (this.#isHeaderCell(column)) this.#header.moment(column, kind, days, microseconds);
      this.#leaveOut(column);
    }
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    this.#rowBytes += end - start;
    if (this.#rowBytes > this.#noticeBytes) this.#notice();
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      this.coveredValue(column);
      return;
    }
    if (this.#feed.wantsCell) {
      this.#outlineOther(column, fault === SERIAL_OUT_OF_RANGE ? NUMBER_LIKE : SIGNS, NO_VALUE);
    }
    const sinkColumn = this.#take(column);
    if (sinkColumn >= 0) {
      this.#refuseRepeated(sinkColumn);
      if (this.#cellErrorsAreNull && isCellError(fault)) this.#putNull(sinkColumn);
      else this.#sink.fault(sinkColumn, fault, bytes, start, end);
    } else {
      if (this.#isHeaderCell(column)) this.#header.fault(column, fault, bytes, start, end);
      this.#leaveOut(column);
    }
  }

  /** Counts a value that merged cells cover. Called only by formats that find these cells themselves. */
  coveredValue(column: number): void {
    if (this.#role === SKIPPED || column < this.#firstColumn || column > this.#lastColumn) return;
    if (this.#role === LEFT_OUT || this.#leftOut.hasColumn(column)) return;
    this.#findings.coveredValue(this.#row, column + 1);
  }

  /** Records that the last cell is the result of a formula. Called only if the program that wrote the file may not have computed results. */
  formula(column: number, isZero: boolean): void {
    if (this.#role !== DATA || column < this.#firstColumn || column > this.#lastColumn) return;
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) return;
    const sinkColumn = this.#columns.at(column - this.#firstColumn);
    if (sinkColumn >= 0) this.#findings.formula(sinkColumn, isZero);
  }

  endRow(): void {
    if (this.#counted.addRow(this.#rowBytes, this.#columns.names.length)) this.isPauseDue = true;
    this.#rowBytes = 0;
    this.#noticeBytes = Math.min(pauseBytes, this.#maxRowBytes);
    this.#feed.endRow();
    if (this.#isRowBegun) {
      this.#sink.endRow();
    } else if (this.#role === HEADER) {
      if (this.#header.end()) this.#closeHeader(this.#row);
    } else if (this.#blankCells.count > 0) {
      this.#blankCells.clear();
      this.#findings.blankRows.add(this.#row);
    } else {
      this.#leftOut.endRow(this.#row);
    }
  }

  /**
   * Gives the sink and other requests time to work. The source calls this between pieces of its input, and when `isPauseDue` is
   * set. A returned promise must be awaited.
   *
   * @throws AppError `limit-exceeded` if the values have too many bytes for a file of this size
   */
  pause(): Promise<void> | undefined {
    this.#counted.count(this.#row);
    this.isPauseDue = false;
    return pauseBetweenSlices(this.#sink);
  }

  /** Ends the sheet. The header names the columns even if no row follows it. */
  finish(): void {
    this.#counted.count(this.#row);
    const last = this.#header.lastRow;
    if (!this.#columns.areNamed && last !== undefined) this.#closeHeader(last);
  }

  /** Called when the row has `#noticeBytes` bytes. The sink keeps a row in memory until it is complete, so long rows need a pause or are refused. */
  #notice(): void {
    if (this.#rowBytes > this.#maxRowBytes) throw rowTooLong(`Row ${this.#row}`, this.#maxRowBytes);
    this.isPauseDue = true;
    this.#noticeBytes = Math.min(this.#rowBytes + pauseBytes, this.#maxRowBytes);
  }

  /** Returns the warnings of a finished pass over this sheet. */
  warningsFor(source: SheetOfFile): Warning[] {
    this.#feed.finish(this.#lastDataRow);
    return [
      ...(this.#options.hasHeader ? this.#columns.warnings : []),
      ...surroundingsOf(this.#pass, this.outline),
      ...this.#findings.blankRowWarnings(),
      ...this.#leftOut.warnings(this.#columns.sheetColumns),
      ...this.#findings.cellWarnings(source.sheet, this.#columns, this.merged),
      ...(this.#rowCount === 0 ? [noRowsWarning(this.#pass, source)] : []),
    ];
  }

  /** Describes what a finished pass over this sheet has read. @param sheet empty: the file has no sheets */
  reading(format: string, sheet: string): SourceReading {
    return readingOf(this.#pass, format, sheet);
  }

  /** Returns the problems of the header row. @param sheet empty: the file has no sheets */
  headerFaultsOf(sheet: string): HeaderFault[] {
    return this.#header.faultsIn(sheet);
  }

  /** Returns the place in the sheet of a cell of the sink. @param column -1: the whole row */
  locate(sheet: string, row: number, column: number): CellLocation {
    return placeInSheet(sheet, row + this.headerRow, this.#columns.sheetColumns[column]);
  }

  get #pass(): SheetPass {
    return {
      window: this.#options,
      headerRow: this.headerRow,
      header: this.#header,
      columns: this.#columns,
      lastDataRow: this.#lastDataRow,
      lastRow: this.#row,
    };
  }

  #closeHeader(row: number): void {
    this.headerRow = row;
    this.#header.join(this.merged);
    this.#columns.nameFromHeader();
  }

  #isHeaderCell(column: number): boolean {
    if (this.#role !== HEADER || column < this.#firstColumn || column > this.#lastColumn) return false;
    return this.#header.areJoined || !this.#leftOut.hasColumn(column);
  }

  #outlineOther(column: number, found: number, value: number): void {
    if (!this.#leftOut.hasColumn(column)) this.#feed.other(column, found, value);
  }

  /** Records a value that is not passed to the sink, if it is in a row or column that is left out. */
  #leaveOut(column: number): void {
    if (this.#role === HEADER && !this.#leftOut.hasColumn(column)) return;
    if (this.#role === SKIPPED || column < this.#firstColumn || column > this.#lastColumn) return;
    this.#leftOut.value(column);
  }

  /** Removes the hidden columns from the range, so that a cell in them does not begin a row of the sink. */
  #leaveOutColumns(): void {
    this.#areColumnsHidden = false;
    const last = Math.min(this.#lastColumn, maxSheetColumn - 1);
    for (let column = this.#firstColumn; column <= last; column++) {
      if (this.#leftOut.hasColumn(column)) this.#columns.leaveOut(column - this.#firstColumn);
    }
  }

  /** Returns the sink's column for a data cell, and begins its row if needed. Returns -1 if the cell is not data. */
  #take(column: number): number {
    if (this.#role !== DATA || column < this.#firstColumn || column > this.#lastColumn) return -1;
    const place = column - this.#firstColumn;
    const sinkColumn = this.#columns.at(place);
    if (sinkColumn < 0) return sinkColumn === UNNAMED ? this.#takeUnnamed(place) : -1;
    if (!this.#isRowBegun) this.#beginDataRow();
    return sinkColumn;
  }

  #takeUnnamed(place: number): number {
    // Naming the column may be refused. The row begins before, so that the problem has a place.
    if (!this.#isRowBegun && !this.#options.hasHeader) this.#beginDataRow();
    const sinkColumn = this.#columns.nameBlank(place);
    if (!this.#isRowBegun) this.#beginDataRow();
    return sinkColumn;
  }

  #put(sinkColumn: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#refuseRepeated(sinkColumn);
    this.#sink.cell(sinkColumn, kind, bytes, start, end);
  }

  #putNull(sinkColumn: number): void {
    this.#findings.errorAsNull(sinkColumn, this.#row);
    this.#sink.cell(sinkColumn, NULL, this.#emptyBytes, 0, 0);
  }

  #refuseRepeated(sinkColumn: number): void {
    if (this.#columns.fill(sinkColumn, this.#rowCount)) return;
    throw repeatedCell(this.#row, this.#columns.sheetColumns[sinkColumn]!);
  }

  #beginDataRow(): void {
    const { maxRows } = this.#options.limits;
    this.#isRowBegun = true;
    this.#rowCount++;
    if (this.#rowCount > maxRows) {
      throw limitExceeded('The sheet has too many rows', maxRows, { setting: 'MAX_ROWS' });
    }
    this.#lastDataRow = this.#row;
    this.#leftOut.dataRow(this.#row);
    this.#sink.beginRow(this.#row - this.headerRow);
    if (this.#blankCells.count > 0) this.#putBlankCells();
  }

  /**
   * Handles a cell with only white space. It does not make a row non-empty, except with `areBlanksValues`. In a row with a value it is a
   * normal text, except below a blank header: there it has no value, unless it is a line break, which a text file has only in quotes.
   * Otherwise the result would depend on whether it comes before or after the value that creates the column.
   */
  #takeBlank(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (column < this.#firstColumn || column > this.#lastColumn) return;
    const place = column - this.#firstColumn;
    if (this.#isRowBegun) {
      this.#putBlank(place, kind, bytes, start, end);
      return;
    }
    const sinkColumn = this.#columns.at(place);
    if (sinkColumn < 0 && sinkColumn !== UNNAMED) return;
    this.#blankCells.add(place, kind, bytes, start, end);
    const isValue = this.#options.areBlanksValues && (sinkColumn >= 0 || !this.#options.hasHeader);
    if (isValue || this.#blankCells.areTooMany) this.#beginDataRow();
  }

  #putBlank(place: number, kind: number, bytes: Buffer, start: number, end: number): void {
    // Without a header row even a cell with only white space creates its column.
    const isValue = !this.#options.hasHeader || (kind === TEXT && hasLineEnd(bytes, start, end));
    let sinkColumn = this.#columns.at(place);
    if (sinkColumn === UNNAMED && isValue) sinkColumn = this.#columns.nameBlank(place);
    if (sinkColumn < 0 || (!isValue && this.#columns.isBlankNamed(sinkColumn))) return;
    this.#put(sinkColumn, kind, bytes, start, end);
  }

  #putBlankCells(): void {
    const { count, places, kinds, ends, bytes } = this.#blankCells;
    for (let cell = 0, start = 0; cell < count; start = ends[cell++]!)
      this.#putBlank(places[cell]!, kinds[cell]!, bytes, start, ends[cell]!);
    this.#blankCells.clear();
  }
}
