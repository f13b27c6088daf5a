/** Scans a binary worksheet part (MS-XLSB 2.1.7.62) and pushes its cells as byte ranges. */

import * as kinds from '../../../core/cells/cell-kind.ts';
import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import type { SheetScannerOptions } from '../open-xml/open-package.ts';
import { CellValues, type SheetTarget } from '../values/cell-values.ts';
import { errorTexts, unknownErrorText } from '../values/error-texts.ts';
import { BinaryRecords, NEED_MORE } from './binary-records.ts';
import { maxDoubleBytes, writeDouble } from './double-text.ts';
import * as types from './record-types.ts';

const wantedTypes = [
  types.COLUMN_INFO,
  types.ROW_HEADER,
  types.CELL_BLANK,
  types.CELL_RK,
  types.CELL_ERROR,
  types.CELL_BOOLEAN,
  types.CELL_REAL,
  types.CELL_TEXT,
  types.CELL_SHARED_STRING,
  types.FORMULA_TEXT,
  types.FORMULA_NUMBER,
  types.FORMULA_BOOLEAN,
  types.FORMULA_ERROR,
  types.SHORT_BLANK,
  types.SHORT_RK,
  types.SHORT_ERROR,
  types.SHORT_BOOLEAN,
  types.SHORT_REAL,
  types.SHORT_TEXT,
  types.SHORT_SHARED_STRING,
  types.CELL_RICH_TEXT,
  types.BEGIN_SHEET,
  types.END_SHEET,
  types.BEGIN_SHEET_DATA,
  types.END_SHEET_DATA,
];

/** The bytes before the value of a cell: column, style and flags. A short record has only style and flags. */
const cellHeadBytes = 8;
const shortHeadBytes = 4;

/** The positions of the flag that a column (BrtColInfo) or a row (BrtRowHdr) is hidden. */
const columnFlagsAt = 16;
const rowFlagsAt = 11;
const rowIsHidden = 0x10;

const errorBytes = Array.from({ length: 256 }, (_, code) =>
  Buffer.from(errorTexts[code] ?? unknownErrorText),
);

const trueBytes = Buffer.from('1');
const falseBytes = Buffer.from('0');

export class BinarySheetScanner {
  readonly #records: BinaryRecords;
  readonly #values: CellValues;
  readonly #target: SheetTarget;
  readonly #maxRowBytes: number;
  readonly #number: Buffer = Buffer.alloc(maxDoubleBytes);

  #sawSheet = false;
  #inData = false;
  #isDone = false;
  /** The current row, 1-based; 0 before the first row. */
  #row = 0;
  #isRowHidden = false;
  /** The column of the last cell of the row, from 0. */
  #column = -1;
  #isRowBegun = false;
  /** The bytes of the records of the current row. */
  #rowBytes = 0;

  constructor(target: SheetTarget, options: SheetScannerOptions) {
    this.#target = target;
    this.#values = new CellValues(target, options.styles, options.strings, options.is1904);
    this.#records = new BinaryRecords(options.partName, wantedTypes, options.limits);
    this.#maxRowBytes = options.limits.maxRowBytes;
  }

  /** Takes the next bytes of the part, which may be cut anywhere. The earlier bytes must have been scanned. */
  feed(chunk: Buffer): void {
    if (!this.#isDone) this.#records.feed(chunk);
  }

  /** Scans the fed bytes until the target needs a pause. @returns false if all fed bytes are scanned */
  scan(): boolean {
    const records = this.#records;
    while (!this.#isDone) {
      if (this.#target.isPauseDue === true) return true;
      const type = records.next();
      if (type === NEED_MORE) return false;
      if (type > types.ROW_HEADER && type <= types.SHORT_SHARED_STRING) this.#cell(type);
      else this.#other(type);
    }
    return false;
  }

  get bytesAfterCells(): Buffer | undefined {
    return this.#isDone ? this.#records.rest : undefined;
  }

  /**
   * Ends the part.
   *
   * @throws AppError `invalid-file` if the sheet is incomplete
   */
  finish(): void {
    if (!this.#isDone) this.#records.fail('no end of the sheet');
  }

  #other(type: number): void {
    switch (type) {
      case types.ROW_HEADER:
        if (this.#inData) this.#beginRow();
        break;
      case types.CELL_RICH_TEXT:
        this.#cell(type);
        break;
      case types.COLUMN_INFO:
        this.#takeColumns();
        break;
      case types.BEGIN_SHEET:
        this.#sawSheet = true;
        break;
      case types.BEGIN_SHEET_DATA:
        if (!this.#sawSheet) this.#records.fail('no worksheet');
        if (this.#inData) this.#records.fail('a second list of cells');
        this.#inData = true;
        break;
      default:
        // The list of cells has ended, or the sheet has no such list.
        if (!this.#sawSheet) this.#records.fail('no worksheet');
        this.#endRow();
        this.#isDone = true;
    }
  }

  /** Reads the properties of columns (BrtColInfo), which are stored before the rows. */
  #takeColumns(): void {
    const records = this.#records;
    const [first, last] = [records.uint32(0), Math.min(records.uint32(4), maxSheetColumn - 1)];
    const isHidden = (records.uint16(columnFlagsAt) & 1) === 1;
    if (isHidden && first <= last) this.#target.hideColumns?.(first, last);
  }

  #beginRow(): void {
    this.#endRow();
    const records = this.#records;
    this.#row = records.uint32(0) + 1;
    const hasFlags = records.end - records.start > rowFlagsAt;
    this.#isRowHidden = hasFlags && (records.uint8(rowFlagsAt) & rowIsHidden) !== 0;
    if (this.#row > maxSheetRow) this.#records.fail(`a row outside of 1 to ${maxSheetRow}`);
    this.#column = -1;
    this.#rowBytes = 0;
  }

  #endRow(): void {
    if (!this.#isRowBegun) return;
    this.#isRowBegun = false;
    this.#target.endRow();
  }

  #cell(type: number): void {
    if (!this.#inData) return;
    const records = this.#records;
    if (this.#row === 0) records.fail('a cell outside of a row');
    const isShort = type >= types.SHORT_BLANK && type <= types.SHORT_SHARED_STRING;
    this.#column = isShort ? this.#column + 1 : records.uint32(0);
    const column = this.#column;
    if (column >= maxSheetColumn) records.fail(`a cell beyond the last column XFD in row ${this.#row}`);
    const value = isShort ? shortHeadBytes : cellHeadBytes;
    const style = records.uint32(value - 4) & 0xff_ffff;
    this.#rowBytes += records.end - records.start;
    if (this.#rowBytes > this.#maxRowBytes) throw rowTooLong(`Row ${this.#row}`, this.#maxRowBytes);
    switch (type) {
      case types.CELL_RK:
      case types.SHORT_RK:
        this.#real(column, style, rkNumber(records.uint32(value)));
        break;
      case types.CELL_REAL:
      case types.SHORT_REAL:
      case types.FORMULA_NUMBER:
        this.#real(column, style, records.double(value));
        break;
      case types.CELL_SHARED_STRING:
      case types.SHORT_SHARED_STRING:
        this.#sharedString(column, records.uint32(value));
        break;
      case types.CELL_TEXT:
      case types.SHORT_TEXT:
      case types.FORMULA_TEXT:
        this.#text(column, value);
        break;
      case types.CELL_RICH_TEXT:
        this.#text(column, value + 1);
        break;
      case types.CELL_BOOLEAN:
      case types.SHORT_BOOLEAN:
      case types.FORMULA_BOOLEAN:
        this.#boolean(column, records.uint8(value) !== 0);
        break;
      case types.CELL_ERROR:
      case types.SHORT_ERROR:
      case types.FORMULA_ERROR:
        this.#error(column, records.uint8(value));
        break;
    }
  }

  #begin(): void {
    if (this.#isRowBegun) return;
    this.#isRowBegun = true;
    this.#target.beginRow(this.#row, this.#isRowHidden);
  }

  #real(column: number, style: number, value: number): void {
    this.#begin();
    this.#values.number(column, style, this.#number, 0, writeDouble(value, this.#number));
  }

  /** Passes on a shared string. As in .xlsx, a cell without text does not create a row. */
  #sharedString(column: number, named: number): void {
    const index = this.#values.existingString(named);
    if (!this.#values.hasText(index)) return;
    this.#begin();
    const end = index < 0 ? writeDouble(named, this.#number) : 0;
    this.#values.sharedString(column, index, this.#number, 0, end);
  }

  #text(column: number, offset: number): void {
    const length = this.#records.readText(offset);
    if (length === 0) return;
    this.#begin();
    this.#target.cell(column, kinds.STRING, this.#records.text, 0, length);
  }

  #boolean(column: number, isTrue: boolean): void {
    this.#begin();
    this.#values.boolean(column, isTrue ? trueBytes : falseBytes, 0, 1);
  }

  #error(column: number, code: number): void {
    this.#begin();
    const text = errorBytes[code]!;
    this.#target.fault(column, kinds.ERROR_CELL, text, 0, text.length);
  }
}

/**
 * Decodes an RK number (MS-XLSB 2.5.122). The upper 30 bits are a whole number or the upper bits of a double. Two flags say which, and
 * whether the value is in hundredths.
 */
function rkNumber(word: number): number {
  const value = (word & 2) === 0 ? doubleOfHighBits(word & ~3) : (word | 0) >> 2;
  return (word & 1) === 0 ? value : value / 100;
}

const doubleView = new DataView(new ArrayBuffer(8));

function doubleOfHighBits(bits: number): number {
  doubleView.setInt32(0, bits);
  return doubleView.getFloat64(0);
}
