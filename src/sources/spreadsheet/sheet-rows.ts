/**
 * Processes the rows of one pass over a sheet. It finds the header, names the columns, leaves out cells outside of the range and passes the
 * other cells to the sink.
 */

import { AppError, type Warning } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';
import { isBlank, trimmedStart, trimText } from '../bytes/white-space.ts';
import {
  ERROR_CELL,
  FALSE,
  FORMULA_WITHOUT_VALUE,
  INTERVAL,
  NULL,
  SERIAL_OUT_OF_RANGE,
  STRING,
  TEXT,
  TRUE,
} from '../cell-kind.ts';
import type { CellLocation, CellSink } from '../cell-sink.ts';
import { formatMoment, momentText } from '../moment-text.ts';
import type { HeaderFault, SourceReading } from '../row-source.ts';
import { pauseBetweenSlices } from '../share-turns.ts';
import { cellAddress, columnLetters, maxSheetColumn, rowAddress } from './cell-address.ts';
import { listNames, quote } from './choose-sheet.ts';
import { type ColumnNames, nameBlankColumn, nameColumns, namesColumn } from './header-names.ts';
import { CountedRows, footerRows, HiddenColumns, hiddenColumns, hiddenRows } from './left-out-parts.ts';
import { CoveredCells, type MergedAreas, OVERLAP, SOME } from './merged-areas.ts';
import { MOMENT_LIKE, NO_VALUE, NUMBER_LIKE, SIGNS } from './proposal/cell-class.ts';
import { outlineWarnings } from './proposal/outline-warnings.ts';
import { briefOutline, SheetOutline, wholeOutline } from './proposal/sheet-outline.ts';
import { isTotalWord } from './proposal/total-words.ts';
import { SeenRows } from './seen-rows.ts';
import { type SheetWindow, windowOf } from './sheet-window.ts';
import type { SpreadsheetLimits } from './spreadsheet-limits.ts';
import type { SheetSummary, SpreadsheetOptions } from './spreadsheet-options.ts';

export interface SheetRowsOptions extends SheetWindow {
  columnNames: 'exact' | 'snake_case';
  cellErrors: 'problem' | 'null';
  /** `skip`: hidden rows and columns are left out. The row that the caller chose as the header is read in any case. */
  hidden: 'read' | 'skip';
  /** `skip`: the rows after the first empty row below a data row are left out. */
  footer: 'read' | 'skip';
  /** `brief`: enough of the outline for warnings; `whole`: for a proposal; `only`: the same, and nothing else is read. */
  outline: 'brief' | 'whole' | 'only';
  limits: SpreadsheetLimits;
}

/**
 * Converts what the caller asks for.
 *
 * @throws AppError `invalid-parameter` as `windowOf`
 */
export function toRowsOptions(options: SpreadsheetOptions, limits: SpreadsheetLimits): SheetRowsOptions {
  const { columnNames, cellErrors, hidden = 'read', footer = 'read', isOutlined = false } = options;
  const outline = isOutlined ? 'whole' : 'brief';
  return { ...windowOf(options), columnNames, cellErrors, hidden, footer, outline, limits };
}

/** The sheet that is read, and all sheets of the file. */
interface SheetOfFile {
  /** The name of the sheet; empty: the file has no sheets. */
  sheet: string;
  sheets: SheetSummary[];
}

/** The roles of a row. */
const SKIPPED = 0;
const HEADER = 1;
const DATA = 2;
/** A row of the window that is left out, because it is hidden or follows the first empty row. */
const LEFT_OUT = 3;

/** The cells of the current row that the outline still takes. `IDLE`: it does not know of the row. */
const IDLE = 0;
const NO_CELL = 1;
const FIRST_CELL = 2;
const ALL_CELLS = 3;

/** The numbers that a column of the window has if it has no column of the sink. */
const unnamed = -1;
const leftOut = -2;

/** The results of a column's formulas. */
const ALL_ZERO = 1;
const HAS_RESULT = 2;

/** The most header cells whose problems are listed. */
const maxHeaderFaults = 100;

/** The most bytes of cells with white space that are kept until the row has a value. */
const maxBlankBytes = 1024 * 1024;

/** A cell of white space in a row that has no value yet. */
interface BlankCell {
  sinkColumn: number;
  kind: number;
  bytes: Buffer;
}

export class SheetRows {
  /** The row of the sheet that is the header; 0: not known yet. Data row n is the sheet's row `headerRow + n`. */
  headerRow = 0;
  /** For each column of the sink: the 1-based column of the sheet. */
  sheetColumns: number[] = [];
  /** The names of the sink's columns. */
  readonly columnNames: string[] = [];

  readonly #sink: CellSink;
  readonly #options: SheetRowsOptions;
  readonly #firstColumn: number;
  readonly #lastColumn: number;
  readonly #cellErrorsAreNull: boolean;
  readonly #emptyBytes = Buffer.alloc(0);

  #role = SKIPPED;
  #row = 0;
  #isRowBegun = false;
  #rowCount = 0;
  #headerTexts: string[] = [];
  #names: ColumnNames | undefined;
  /** For each column of the range: the column of the sink; `unnamed`: none yet; `leftOut`: none ever. */
  #sinkColumns = new Int32Array(0);
  /** For each column of the sink: the last row that had a cell in it, to find repeated cells. */
  #lastRows = new Int32Array(64);
  /** The sheet's last row that has a value below the header. */
  #lastDataRow = 0;
  #headerFaults: { sheetColumn: number; fault: number; value: string }[] = [];
  /** For each column of the sink: `ALL_ZERO`, `HAS_RESULT` or 0, which means no formula. */
  #formulas = new Uint8Array(64);
  /** The rows that have passed, for warnings and proposals. */
  readonly outline: SheetOutline;
  #outlined = IDLE;
  #isOutlineIdle = false;
  #blankCells: BlankCell[] = [];
  #blankBytes = 0;
  /** The number of rows with only white space, and the first of them in the sheet. */
  readonly #blankRows = new CountedRows();

  readonly #skipsHidden: boolean;
  readonly #skipsFooter: boolean;
  /** Undefined: no column is hidden. */
  #hiddenColumns: HiddenColumns | undefined;
  /** true: hidden columns were added that `#sinkColumns` does not mark yet. */
  #areColumnsHidden = false;
  #isRowHidden = false;
  /** The current row is left out and has a value. */
  #hasLeftOutValue = false;
  /** The hidden rows that have a value: those that were read, or those that were left out. */
  readonly #hiddenRows = new CountedRows();
  readonly #footerRows = new CountedRows();
  /** The last row before the footer that has a value, whether it is read or hidden. */
  #lastRowBeforeFooter = 0;

  /** For each column of the sink: the number of error cells that became NULL, and the first row of the sheet that had one. */
  readonly #nulls: ({ count: number; firstRow: number } | undefined)[] = [];
  /** The number of values beneath merged cells, and the first of them. */
  #coveredValues = 0;
  #firstCoveredRow = 0;
  #firstCoveredColumn = 0;

  readonly #seenRows = new SeenRows();

  /** Undefined: the areas are not known, or the source itself leaves out the covered cells. */
  readonly merged: MergedAreas | undefined;
  /** Undefined: the sheet has no merged areas. */
  readonly #covered: CoveredCells | undefined;
  /** Whether the current row may have a cell beneath a merged area. */
  #mayBeCovered = false;

  /** @param merged the areas whose covered cells have no value */
  constructor(sink: CellSink, options: SheetRowsOptions, merged?: MergedAreas) {
    this.#sink = sink;
    this.merged = merged;
    this.#covered = merged === undefined || merged.count === 0 ? undefined : new CoveredCells(merged);
    this.#options = options;
    this.#firstColumn = options.range.firstColumn - 1;
    this.#lastColumn = options.range.lastColumn - 1;
    this.#cellErrorsAreNull = options.cellErrors === 'null';
    this.#skipsHidden = options.hidden === 'skip';
    this.#skipsFooter = options.footer === 'skip';
    const bounds = options.outline === 'brief' ? briefOutline : wholeOutline;
    this.outline = new SheetOutline(bounds, this.#firstColumn, this.#lastColumn);
    // A column gets its name when its first value comes.
    if (!options.hasHeader) this.#closeHeader(options.range.firstRow - 1);
  }

  /** Returns whether a row may follow that is the header. */
  get isHeaderAhead(): boolean {
    return this.#names === undefined && this.#options.outline !== 'only';
  }

  /** Returns the part of the sheet that is read. */
  get window(): SheetWindow {
    return this.#options;
  }

  /** Returns the warnings of a finished pass over this sheet. */
  warningsFor(source: SheetOfFile): Warning[] {
    const warnings = this.#options.hasHeader ? [...(this.#names?.warnings ?? [])] : [];
    warnings.push(...this.#outlineWarnings());
    if (this.#blankRows.count > 0) warnings.push(this.#blankRowsLeftOut());
    warnings.push(
      ...hiddenRows(this.#hiddenRows, this.#skipsHidden),
      ...hiddenColumns(this.#listHiddenColumns(), this.#skipsHidden),
      ...footerRows(this.#footerRows),
    );
    const uncalculated = this.columnNames.filter((_, column) => this.#formulas[column] === ALL_ZERO);
    if (uncalculated.length > 0) warnings.push(uncalculatedFormulas(uncalculated));
    warnings.push(...this.#errorsAsNull(source.sheet));
    if (this.#coveredValues > 0) warnings.push(this.#valuesBeneathMerged(source.sheet));
    if (this.#rowCount > 0) return warnings;
    return [...warnings, { code: 'no-rows', detail: this.#describeNothing(source) }];
  }

  #outlineWarnings(): Warning[] {
    const { hasHeader, headerRow } = this.#options;
    if (!hasHeader || this.sheetColumns.length === 0) return [];
    if (this.#isOutlineIdle) this.outline.resume(this.#lastDataRow);
    return outlineWarnings(this.outline, {
      headerRow: this.headerRow,
      headerCells: this.#headerTexts.filter((text) => text).length,
      isHeaderChosen: headerRow !== undefined,
      firstColumn: this.#leastColumn(),
      lastColumn: this.#greatestColumn(),
      lastRow: this.#lastDataRow,
    });
  }

  #leastColumn(): number {
    return this.sheetColumns.reduce((least, column) => Math.min(least, column), maxSheetColumn);
  }

  #greatestColumn(): number {
    return this.sheetColumns.reduce((greatest, column) => Math.max(greatest, column), 1);
  }

  #blankRowsLeftOut(): Warning {
    const { count, first } = this.#blankRows;
    const detail =
      count === 1
        ? `Row ${first} holds only white space and was left out.`
        : `${count} rows hold only white space and were left out. The first is row ${first}.`;
    return { code: 'blank-rows', detail };
  }

  /** Returns the hidden columns of the sheet, from 1: those that became columns, or those with values that were left out. */
  #listHiddenColumns(): number[] {
    const hidden = this.#hiddenColumns;
    if (hidden === undefined) return [];
    if (this.#skipsHidden) return hidden.withValues.map((column) => column + 1);
    return this.sheetColumns.filter((column) => hidden.has(column - 1)).sort((a, b) => a - b);
  }

  /** Returns a warning for each column with error cells that became NULL. */
  #errorsAsNull(sheet: string): Warning[] {
    return [...this.#nulls.entries()].flatMap(([column, nulls]): Warning[] => {
      if (nulls === undefined) return [];
      const { count, firstRow } = nulls;
      const name = this.columnNames[column]!;
      const cell = cellAddress(sheet, firstRow, this.sheetColumns[column]!);
      const detail =
        count === 1
          ? `The cell ${cell} of the column ${quote(name)} has no valid value and was read as NULL (cell_errors=null).`
          : `${count} cells of the column ${quote(name)} have no valid value and were read as NULL (cell_errors=null). The first is ${cell}.`;
      return [{ code: 'cell-errors-as-null', column: name, detail }];
    });
  }

  #valuesBeneathMerged(sheet: string): Warning {
    const first = cellAddress(sheet, this.#firstCoveredRow, this.#firstCoveredColumn);
    const area = this.merged?.rangeAt(this.#firstCoveredRow, this.#firstCoveredColumn);
    const place = area === undefined ? first : `${first}, in the merged cells ${area}`;
    const values =
      this.#coveredValues === 1
        ? `One value beneath merged cells was left out. It is in ${place}.`
        : `${this.#coveredValues} values beneath merged cells were left out. The first is in ${place}.`;
    return {
      code: 'merged-cells',
      detail: `${values} Only the top-left cell of merged cells has a value; to load the others, unmerge them.`,
    };
  }

  /** Describes what a finished pass over this sheet has read. @param sheet empty: the file has no sheets */
  reading(format: string, sheet: string): SourceReading {
    const ofSheet = sheet === '' ? {} : { sheet };
    if (this.sheetColumns.length === 0) return { format, ...ofSheet };
    const { headerRow } = this;
    const first = this.#leastColumn();
    const last = this.#greatestColumn();
    const lastRow = Math.max(headerRow, this.#lastDataRow);
    const { hasHeader } = this.#options;
    const firstRow = hasHeader ? headerRow : headerRow + 1;
    const range = `${columnLetters(first)}${firstRow}:${columnLetters(last)}${lastRow}`;
    return { format, ...ofSheet, ...(hasHeader && { headerRow }), range };
  }

  /**
   * Lets the sink and other requests work. The source calls this between slices of its input. It returns a promise if the
   * source must wait.
   */
  pause(): Promise<void> | undefined {
    return pauseBetweenSlices(this.#sink);
  }

  /**
   * Returns the problems of the header row.
   *
   * @param sheet the name of the sheet; empty: the file has no sheets
   */
  headerFaultsOf(sheet: string): HeaderFault[] {
    return this.#headerFaults.map(({ sheetColumn, fault, value }) => {
      return { fault, value, place: placeIn(sheet, this.headerRow, sheetColumn) };
    });
  }

  /** Explains why there are no rows. Most often this is the wrong sheet, or the header is elsewhere. */
  #describeNothing({ sheet, sheets }: SheetOfFile): string {
    const subject = sheet === '' ? 'The file' : `Sheet ${quote(sheet)}`;
    const { headerRow, range } = this.#options;
    const header = this.#headerTexts.filter((text) => text);
    if (header.length > 0) {
      const shown = header.slice(0, 3).map(quote).join(', ');
      const all = header.length > 3 ? `${shown}, …` : shown;
      return `${subject} has no row with a value below its header, which is row ${this.headerRow} (${all}).`;
    }
    const others = sheets.filter(({ name, hasCells }) => hasCells && name !== sheet);
    const otherSheets = others.length === 0 ? '' : ` Choose another with \`sheet\`: ${listNames(others)}.`;
    if (this.#row === 0) return `${subject} is empty.${otherSheets}`;
    if (headerRow !== undefined && !(range.hasFirstRow && headerRow === range.firstRow)) {
      return `${subject} has no value in row ${headerRow}, the \`header_row\`, or below it; its last row is row ${this.#row}.`;
    }
    const isPart = range.hasFirstRow || range.firstColumn > 1 || range.lastColumn < maxSheetColumn;
    return `${subject} has no cell with a value${isPart ? ' in the `range`' : ''}.${otherSheets}`;
  }

  /** Hides the columns of the sheet from `first` to `last`, both included. Called before the rows. Columns count from 0. */
  hideColumns(first: number, last: number): void {
    this.#hiddenColumns ??= new HiddenColumns();
    this.#hiddenColumns.add(first, last);
    this.#areColumnsHidden = true;
  }

  /** Records a row of a text file that is a comment. It has no value, but it is not an empty row. */
  commentRow(row: number): void {
    if (row === this.#lastRowBeforeFooter + 1) this.#lastRowBeforeFooter = row;
  }

  /** Returns whether the current row is left out although it is within the window. */
  get isRowLeftOut(): boolean {
    return this.#role === LEFT_OUT;
  }

  /**
   * Begins a row of the sheet.
   *
   * @param isHidden a person or a filter has hidden the row
   */
  beginRow(row: number, isHidden = false): void {
    const { range, headerRow } = this.#options;
    if (this.#covered !== undefined) this.#mayBeCovered = this.#hasCovered(this.#covered, row);
    if (this.#seenRows.add(row)) throw repeatedRow(row);
    this.#row = row;
    this.#isRowBegun = false;
    this.#isRowHidden = isHidden;
    this.#role = SKIPPED;
    this.#outlined = IDLE;
    if (this.#areColumnsHidden && this.#names !== undefined) this.#leaveOutColumns();
    if (row < range.firstRow || row > range.lastRow) return;
    if (this.#options.outline === 'only') {
      if (!isHidden || !this.#skipsHidden) this.#beginOutlineRow(row);
      return;
    }
    if (this.#names === undefined && headerRow !== undefined && row > headerRow) this.#closeHeader(headerRow);
    if (this.#names === undefined) {
      if (headerRow === undefined || row === headerRow) this.#role = HEADER;
    } else if (row > this.headerRow) {
      this.#role = DATA;
    } else if (headerRow === undefined || row === headerRow) {
      throw rowsOutOfOrder(row, this.headerRow);
    }
    if (isHidden && this.#skipsHidden && row !== headerRow && this.#role !== SKIPPED) this.#role = LEFT_OUT;
    if (this.#skipsFooter && this.#isInFooter(row)) this.#role = LEFT_OUT;
    const isOutlined = this.#role !== LEFT_OUT && (!this.#isOutlineIdle || row !== this.#lastDataRow + 1);
    if (isOutlined) this.#beginOutlineRow(row);
  }

  #isInFooter(row: number): boolean {
    return this.#role !== SKIPPED && this.#rowCount > 0 && row > this.#lastRowBeforeFooter + 1;
  }

  #hasCovered(covered: CoveredCells, row: number): boolean {
    if (row < this.#row) throw rowsOutOfOrder(row, this.#row);
    const found = covered.toRow(row);
    if (found === OVERLAP) {
      throw new AppError(
        'invalid-file',
        `The merged cells of the sheet overlap at row ${row}. Open the workbook in a spreadsheet program and save it again.`,
      );
    }
    return found === SOME;
  }

  cell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      const isText = kind === STRING || kind === TEXT;
      if (kind !== NULL && !(isText && isBlank(bytes, start, end))) this.coveredValue(column);
      return;
    }
    if (this.#outlined > NO_CELL) this.#outlineCell(column, kind, bytes, start, end);
    else if (!this.#isRowBegun) this.#findTotal(kind, bytes, start, end);
    if ((kind === STRING || kind === TEXT) && this.#role === DATA && isBlank(bytes, start, end)) {
      this.#takeBlank(column, kind, bytes, start, end);
      return;
    }
    const sinkColumn = this.#take(column);
    if (sinkColumn >= 0) {
      this.#put(sinkColumn, kind, bytes, start, end);
    } else if (this.#isHeaderCell(column)) {
      this.#setHeaderText(column, headerText(kind, bytes, start, end));
    } else if (this.#role !== SKIPPED) {
      const isText = kind === STRING || kind === TEXT;
      if (kind !== NULL && !(isText && isBlank(bytes, start, end))) this.#leaveOut(column);
    }
  }

  #beginOutlineRow(row: number): void {
    if (this.#isOutlineIdle) this.outline.resume(this.#lastDataRow);
    this.#outlined = this.outline.beginRow(row) ? ALL_CELLS : FIRST_CELL;
  }

  #endOutlineRow(): void {
    this.outline.endRow();
    this.#isOutlineIdle = this.outline.isIdle;
  }

  /** Looks for a total in the first cell of a data row that the outline does not know of. */
  #findTotal(kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#outlined !== IDLE || this.#role !== DATA || (kind !== STRING && kind !== TEXT)) return;
    if (isTotalWord(bytes, start, end)) this.outline.noteTotal(this.#row, bytes, start, end);
  }

  #outlineOther(column: number, found: number, value: number): void {
    if (this.#isLeftOut(column)) return;
    if (this.#outlined === ALL_CELLS) this.outline.other(column, found, value);
    else if (this.outline.firstOther(column)) this.#outlined = NO_CELL;
  }

  #outlineCell(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isLeftOut(column)) return;
    if (this.#outlined === ALL_CELLS) this.outline.cell(column, kind, bytes, start, end);
    else if (this.outline.firstCell(column, kind, bytes, start, end)) this.#outlined = NO_CELL;
  }

  /** Takes a value that is not read. It may be of a row or a column that is left out. */
  #leaveOut(column: number): void {
    if (this.#role === SKIPPED || column < this.#firstColumn || column > this.#lastColumn) return;
    if (this.#isLeftOut(column)) this.#hiddenColumns!.value(column);
    else this.#hasLeftOutValue = true;
  }

  #isLeftOut(column: number): boolean {
    return this.#skipsHidden && this.#hiddenColumns?.has(column) === true;
  }

  /** Counts a value beneath merged cells. Only sources that find these cells themselves call this. */
  coveredValue(column: number): void {
    if (this.#role === SKIPPED || column < this.#firstColumn || column > this.#lastColumn) return;
    if (this.#role === LEFT_OUT || this.#isLeftOut(column)) return;
    this.#coveredValues++;
    if (this.#coveredValues > 1) return;
    this.#firstCoveredRow = this.#row;
    this.#firstCoveredColumn = column + 1;
  }

  #put(sinkColumn: number, kind: number, bytes: Buffer, start: number, end: number): void {
    this.#refuseRepeated(sinkColumn);
    this.#sink.cell(sinkColumn, kind, bytes, start, end);
  }

  /** Takes a cell with only white space. Alone it makes neither a row nor a column. In a row that has a value it is a normal text. */
  #takeBlank(column: number, kind: number, bytes: Buffer, start: number, end: number): void {
    if (column < this.#firstColumn || column > this.#lastColumn) return;
    const place = column - this.#firstColumn;
    const sinkColumn = place < this.#sinkColumns.length ? this.#sinkColumns[place]! : unnamed;
    if (sinkColumn === leftOut || (sinkColumn === unnamed && this.#isRowBegun)) return;
    if (this.#isRowBegun) {
      this.#put(sinkColumn, kind, bytes, start, end);
      return;
    }
    this.#blankCells.push({ sinkColumn, kind, bytes: Buffer.from(bytes.subarray(start, end)) });
    this.#blankBytes += end - start;
    if (this.#blankBytes > maxBlankBytes) this.#beginDataRow();
  }

  moment(column: number, kind: number, days: number, microseconds: number): void {
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      this.coveredValue(column);
      return;
    }
    if (this.#outlined > NO_CELL) this.#outlineOther(column, MOMENT_LIKE, days);
    const sinkColumn = this.#take(column);
    if (sinkColumn >= 0) {
      this.#refuseRepeated(sinkColumn);
      this.#sink.moment(sinkColumn, kind, days, microseconds);
    } else if (this.#isHeaderCell(column)) {
      this.#setHeaderText(column, momentHeader(kind, days, microseconds));
    } else {
      this.#leaveOut(column);
    }
  }

  fault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) {
      this.coveredValue(column);
      return;
    }
    if (this.#outlined > NO_CELL) {
      this.#outlineOther(column, fault === SERIAL_OUT_OF_RANGE ? NUMBER_LIKE : SIGNS, NO_VALUE);
    }
    const sinkColumn = this.#take(column);
    const isCellError =
      fault === ERROR_CELL || fault === FORMULA_WITHOUT_VALUE || fault === SERIAL_OUT_OF_RANGE;
    if (sinkColumn >= 0) {
      this.#refuseRepeated(sinkColumn);
      if (isCellError && this.#cellErrorsAreNull) this.#putNull(sinkColumn);
      else this.#sink.fault(sinkColumn, fault, bytes, start, end);
    } else if (this.#isHeaderCell(column)) {
      this.#headerFault(column, fault, bytes, start, end);
    } else {
      this.#leaveOut(column);
    }
  }

  #putNull(sinkColumn: number): void {
    this.#nulls[sinkColumn] ??= { count: 0, firstRow: this.#row };
    this.#nulls[sinkColumn].count++;
    this.#sink.cell(sinkColumn, NULL, this.#emptyBytes, 0, 0);
  }

  #setHeaderText(column: number, text: string): void {
    const place = column - this.#firstColumn;
    if (this.#headerTexts[place] !== undefined) throw repeatedCell(this.#row, column + 1);
    this.#headerTexts[place] = text;
  }

  /** Takes a header cell with a problem. A number that is not a date can still be a name. Every other problem is reported, or the header is blank. */
  #headerFault(column: number, fault: number, bytes: Buffer, start: number, end: number): void {
    const value = shortText(bytes, start, end);
    const isNull = this.#cellErrorsAreNull && (fault === ERROR_CELL || fault === FORMULA_WITHOUT_VALUE);
    this.#setHeaderText(column, isNull ? '' : value);
    if (isNull || fault === SERIAL_OUT_OF_RANGE || this.#headerFaults.length === maxHeaderFaults) return;
    this.#headerFaults.push({ sheetColumn: column + 1, fault, value });
  }

  /** Notes that the last cell is the result of a formula. Called only if the results may be missing. */
  formula(column: number, isZero: boolean): void {
    if (this.#role !== DATA || column < this.#firstColumn || column > this.#lastColumn) return;
    if (this.#mayBeCovered && this.#covered!.has(column + 1)) return;
    const sinkColumn = this.#sinkColumns[column - this.#firstColumn] ?? unnamed;
    if (sinkColumn < 0) return;
    if (sinkColumn >= this.#formulas.length) {
      const larger = new Uint8Array(2 * sinkColumn);
      larger.set(this.#formulas);
      this.#formulas = larger;
    }
    this.#formulas[sinkColumn]! |= isZero ? ALL_ZERO : HAS_RESULT;
  }

  endRow(): void {
    if (this.#outlined !== IDLE) this.#endOutlineRow();
    if (this.#isRowBegun) {
      this.#sink.endRow();
    } else if (this.#role === HEADER) {
      this.#endHeaderRow();
    } else if (this.#blankCells.length > 0) {
      this.#blankCells = [];
      this.#blankBytes = 0;
      this.#blankRows.add(this.#row);
    } else if (this.#hasLeftOutValue) {
      this.#hasLeftOutValue = false;
      if (this.#skipsFooter && this.#isInFooter(this.#row)) {
        this.#footerRows.add(this.#row);
      } else {
        this.#hiddenRows.add(this.#row);
        this.#lastRowBeforeFooter = this.#row;
      }
    }
  }

  /** Ends the header row. A row with only white space is not the header, unless the caller chose it. */
  #endHeaderRow(): void {
    const hasText = this.#headerTexts.some((text) => text !== '');
    if (hasText || this.#options.headerRow !== undefined) {
      this.#closeHeader(this.#row);
    } else {
      this.#headerTexts = [];
      this.#headerFaults = [];
    }
  }

  /** Ends the sheet. A header without rows below it still names its columns. */
  finish(): void {
    if (this.#names === undefined && this.#options.headerRow !== undefined) {
      this.#closeHeader(this.#options.headerRow);
    }
  }

  /** Returns the place of a cell of the sink in the sheet of this name. `column` is -1 for a whole row. */
  locate(sheet: string, row: number, column: number): CellLocation {
    return placeIn(sheet, row + this.headerRow, this.sheetColumns[column]);
  }

  #isHeaderCell(column: number): boolean {
    if (this.#role !== HEADER || column < this.#firstColumn || column > this.#lastColumn) return false;
    return !this.#isLeftOut(column);
  }

  /** Returns the sink's column of a data cell and begins its row. Returns -1 if the cell is not data. */
  #take(column: number): number {
    if (this.#role !== DATA || column < this.#firstColumn || column > this.#lastColumn) return -1;
    const place = column - this.#firstColumn;
    const sinkColumn = place < this.#sinkColumns.length ? this.#sinkColumns[place]! : unnamed;
    if (sinkColumn < 0) return sinkColumn === unnamed ? this.#takeUnnamed(place) : -1;
    if (!this.#isRowBegun) this.#beginDataRow();
    return sinkColumn;
  }

  #takeUnnamed(place: number): number {
    // A column that has no header is named within the row, so that its problem has a place.
    if (!this.#isRowBegun && !this.#options.hasHeader) this.#beginDataRow();
    const sinkColumn = this.#nameBlank(place);
    if (!this.#isRowBegun) this.#beginDataRow();
    return sinkColumn;
  }

  #refuseRepeated(sinkColumn: number): void {
    if (this.#lastRows[sinkColumn] === this.#rowCount)
      throw repeatedCell(this.#row, this.sheetColumns[sinkColumn]!);
    this.#lastRows[sinkColumn] = this.#rowCount;
  }

  #beginDataRow(): void {
    this.#isRowBegun = true;
    this.#rowCount++;
    if (this.#rowCount > this.#options.limits.maxRows) {
      throw limitExceeded('The sheet has too many rows', this.#options.limits.maxRows, {
        setting: 'MAX_ROWS',
      });
    }
    this.#lastDataRow = this.#row;
    this.#lastRowBeforeFooter = this.#row;
    if (this.#isRowHidden) this.#hiddenRows.add(this.#row);
    this.#sink.beginRow(this.#row - this.headerRow);
    if (this.#blankCells.length > 0) this.#putBlankCells();
  }

  #putBlankCells(): void {
    for (const { sinkColumn, kind, bytes } of this.#blankCells) {
      if (sinkColumn >= 0) this.#put(sinkColumn, kind, bytes, 0, bytes.length);
    }
    this.#blankCells = [];
    this.#blankBytes = 0;
  }

  #closeHeader(row: number): void {
    this.headerRow = row;
    const texts = Array.from(this.#headerTexts, (text) => text ?? '');
    const { columnNames, limits } = this.#options;
    // The columns are counted before they are named, because naming takes long.
    const named = texts.filter((text) => namesColumn(text, columnNames)).length;
    if (named > limits.maxColumns) throw this.#tooManyColumns();
    this.#names = nameColumns(texts, columnNames, this.#firstColumn + 1);
    this.#sinkColumns = new Int32Array(texts.length).fill(unnamed);
    this.#names.named.forEach((name, place) => {
      if (name !== undefined) this.#addColumn(place, name);
    });
  }

  /** Marks the hidden columns of the range, so that the row of a cell is not begun for them. */
  #leaveOutColumns(): void {
    this.#areColumnsHidden = false;
    if (!this.#skipsHidden) return;
    const last = Math.min(this.#lastColumn, maxSheetColumn - 1);
    for (let column = this.#firstColumn; column <= last; column++) {
      if (!this.#hiddenColumns!.has(column)) continue;
      const place = column - this.#firstColumn;
      if (place >= this.#sinkColumns.length) this.#growSinkColumns(place);
      this.#sinkColumns[place] = leftOut;
    }
  }

  #growSinkColumns(place: number): void {
    const larger = new Int32Array(2 * place + 16).fill(unnamed);
    larger.set(this.#sinkColumns);
    this.#sinkColumns = larger;
  }

  #nameBlank(place: number): number {
    const name = nameBlankColumn(
      this.#names!,
      this.#options.columnNames,
      this.#firstColumn + place + 1,
      this.#headerTexts[place] ?? '',
    );
    if (place >= this.#sinkColumns.length) this.#growSinkColumns(place);
    return this.#addColumn(place, name);
  }

  #addColumn(place: number, name: string): number {
    const sinkColumn = this.sheetColumns.push(this.#firstColumn + place + 1) - 1;
    if (sinkColumn >= this.#options.limits.maxColumns) {
      throw this.#tooManyColumns();
    }
    if (sinkColumn >= this.#lastRows.length) {
      const larger = new Int32Array(2 * this.#lastRows.length);
      larger.set(this.#lastRows);
      this.#lastRows = larger;
    }
    this.#sinkColumns[place] = sinkColumn;
    this.columnNames.push(name);
    this.#sink.column(sinkColumn, name, place);
    return sinkColumn;
  }

  #tooManyColumns(): AppError {
    const { maxColumns } = this.#options.limits;
    const remedy = 'Load a part of it with `range`, as in range=A:Z.';
    return limitExceeded('The sheet has too many columns', maxColumns, { setting: 'MAX_COLUMNS' }, remedy);
  }
}

/** Returns the place of a cell or of a whole row. @param sheet empty: the file has no sheets */
function placeIn(sheet: string, row: number, column?: number): CellLocation {
  if (sheet === '')
    return { cell: column === undefined ? `${row}:${row}` : `${columnLetters(column)}${row}` };
  return { sheet, cell: column === undefined ? rowAddress(sheet, row) : cellAddress(sheet, row, column) };
}

const maxNamesListed = 20;

/** Warns of columns whose formulas all have the result 0. Programs that do not calculate a workbook write this result. */
function uncalculatedFormulas(columns: string[]): Warning {
  const names = columns.slice(0, maxNamesListed).map(quote).join(', ');
  const more = columns.length > maxNamesListed ? ` and ${columns.length - maxNamesListed} more` : '';
  const subject =
    columns.length === 1
      ? `All formulas in the column ${names} have`
      : `All formulas in the columns ${names}${more} have`;
  return {
    code: 'uncalculated-formulas',
    detail: `${subject} the result 0, and the workbook was probably never calculated. Open it in a spreadsheet program, save it and send it again.`,
  };
}

function rowsOutOfOrder(row: number, last: number): AppError {
  return new AppError(
    'invalid-file',
    `The rows of the sheet are out of order: row ${row} comes after row ${last}. Open the workbook in a spreadsheet program and save it again.`,
  );
}

function repeatedCell(row: number, column: number): AppError {
  return new AppError(
    'invalid-file',
    `The sheet has the cell ${columnLetters(column)}${row} twice. Open the workbook in a spreadsheet program, correct it and save it again.`,
  );
}

function repeatedRow(row: number): AppError {
  return new AppError(
    'invalid-file',
    `The sheet has row ${row} twice. Open the workbook in a spreadsheet program, correct it and save it again.`,
  );
}

function headerText(kind: number, bytes: Buffer, start: number, end: number): string {
  if (kind === TRUE) return 'TRUE';
  if (kind === FALSE) return 'FALSE';
  return kind === NULL ? '' : shortText(bytes, start, end);
}

/** The most characters kept of a header. No name is that long. All header cells are in memory at the same time, and each may be as long as a cell. */
const maxHeaderLength = 256;

/** Returns the trimmed text, or the beginning of a long one. */
function shortText(bytes: Buffer, start: number, end: number): string {
  const from = trimmedStart(bytes, start, end);
  const text = bytes.toString('utf8', from, Math.min(end, from + 4 * maxHeaderLength));
  return trimText(text).slice(0, maxHeaderLength);
}

/** Returns the text of a header that is a date or a time in ISO 8601. A duration is written in hours, minutes and seconds. */
function momentHeader(kind: number, days: number, microseconds: number): string {
  if (kind !== INTERVAL) return momentText.toString('latin1', 0, formatMoment(kind, days, microseconds));
  const sign = days < 0 || microseconds < 0 ? '-' : '';
  const seconds = Math.floor(Math.abs(microseconds) / 1_000_000);
  const hours = Math.abs(days) * 24 + Math.floor(seconds / 3600);
  const two = (count: number): string => String(count).padStart(2, '0');
  return `${sign}${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
