/**
 * Prepares the records of an .xls file (MS-XLS 2.3) for the library, in one pass: it counts the cells, refuses what no program
 * writes, because the library would guess what it means, and corrects records that the library misunderstands.
 *
 * Everything but the count and the repeated cells concerns Excel 5 and later, whose records have one layout. The pass ends where
 * the library stops reading.
 */

const CODE_PAGE = 0x42;
const BOUND_SHEET = 0x85;
const DATE_MODE = 0x22;
const STYLE = 0xe0;
const BOF = 0x809;
const EOF = 0x0a;
const FORMULA = 0x06;
const STRING = 0x207;
const NUMBER = 0x203;
const RK = 0x27e;
const MULTIPLE_RK = 0xbd;
const BOOLEAN = 0x205;
/** RString, LabelSst, Label. */
const TEXT_CELLS = new Set([0xd6, 0xfd, 0x204]);
/** The beginnings of a sheet in Excel 2, 3 and 4. */
const OLD_BEGINNINGS = new Set([0x09, 0x209, 0x409]);
/** The cells of Excel 2, and the formulas of Excel 3 and 4. */
const OLD_CELLS = new Set([0x02, 0x03, 0x04, 0x05, 0x206, 0x406]);
/** The other records of these versions that the library reads in every file: String, Format and XF. */
const OLD_RECORDS = new Set([0x07, 0x1e, 0x43, 0x243, 0x443]);

const recordHeadBytes = 4;
/** A cell begins with its row, its column and its style, which have 2 bytes each. */
const cellHeadBytes = 6;
/** The length of a MulRk record without its cells (row, first column, last column), and the length of each cell. */
const multipleHeadBytes = 6;
const multipleCellBytes = 6;

const booleanResult = 1;

const EXCEL_5 = 0x500;
const EXCEL_97 = 0x600;
const CHART = 0x20;
const maxColumns = 256;

/** A file with more numbers without a style is refused, so that a hostile file cannot fill the memory. */
const maxUnstyled = 10_000;

export interface PreparedRecords {
  /** The number of cells with a value, which decides how much memory reading the file takes. */
  cells: number;
  /** The workbook has styles, so a number whose format the library does not find may be a date. */
  hasStyles: boolean;
  /** The numbers whose style does not exist. The library gives some of them the format `General`. */
  unstyled: UnstyledNumber[];
}

interface UnstyledNumber {
  /** The index of the sheet, in the order in which the sheets are stored; -1: the workbook does not list the sheet. */
  sheet: number;
  /** Counts from 0, like `column`. */
  row: number;
  column: number;
}

/**
 * Checks the records of a workbook and corrects some of them in place.
 *
 * @throws Error if the workbook is broken
 */
export function prepareRecords(stream: Buffer): PreparedRecords {
  const pass = new RecordPass(stream);
  for (let at = 0; at + recordHeadBytes <= stream.length; ) {
    const type = stream.readUInt16LE(at);
    const end = Math.min(stream.length, at + recordHeadBytes + stream.readUInt16LE(at + 2));
    if (!pass.take(type, at, end)) break;
    at = end;
  }
  return pass.finish();
}

class RecordPass {
  readonly #stream: Buffer;
  /** `EXCEL_5` or `EXCEL_97`; 0: an older version, or one that the file does not state. */
  #version = 0;
  #depth = 0;
  /** The position of the current part of the workbook: its globals, or a sheet. */
  #partStart = 0;
  #parts = 0;
  #isChart = false;
  readonly #sheetStarts: number[] = [];
  #cells = 0;
  #styles = 0;
  #unstyled: UnstyledNumber[] = [];
  /** The last formula has a number as its result. */
  #hasNumberResult = false;
  readonly #seen = new SeenCells();

  constructor(stream: Buffer) {
    this.#stream = stream;
  }

  /** Takes the next record. @returns false if the library stops before it */
  take(type: number, at: number, end: number): boolean {
    const start = at + recordHeadBytes;
    if (type === BOF || OLD_BEGINNINGS.has(type)) this.#begin(type, at, end);
    else if (this.#depth === 0) return false;
    else if (type === EOF) this.#depth--;
    else if (type === NUMBER || type === RK) this.#number(start, end);
    else if (type === FORMULA) this.#formula(start, end);
    else if (type === MULTIPLE_RK) this.#multiple(start, end);
    else if (type === BOOLEAN) this.#boolean(start, end);
    else if (TEXT_CELLS.has(type)) this.#cell(start, end);
    else if (OLD_CELLS.has(type)) this.#oldCell(start, end);
    else if (this.#version !== 0) this.#other(type, at, end);
    return true;
  }

  finish(): PreparedRecords {
    const starts = this.#sheetStarts.sort((a, b) => a - b);
    const indices = new Map(starts.map((start, index) => [start, index]));
    if (indices.size < starts.length) throw new Error('Two sheets have the same records');
    const unstyled = this.#unstyled.map((cell) => ({ ...cell, sheet: indices.get(cell.sheet) ?? -1 }));
    return { cells: this.#cells, hasStyles: this.#styles > 0, unstyled };
  }

  #begin(type: number, at: number, end: number): void {
    const start = at + recordHeadBytes;
    const version = type === BOF && end - start >= 4 ? this.#stream.readUInt16LE(start) : 0;
    if (this.#parts === 0) this.#version = version === EXCEL_5 || version === EXCEL_97 ? version : 0;
    // The first record decides, also in files whose sheets state another version. The library would change its mind.
    else if (this.#version !== 0 && version !== 0) this.#stream.writeUInt16LE(this.#version, start);
    if (this.#depth++ > 0) return;
    this.#partStart = at;
    this.#isChart = end - start >= 4 && this.#stream.readUInt16LE(start + 2) === CHART;
    this.#parts++;
    this.#hasNumberResult = false;
    this.#seen.beginSheet();
  }

  #other(type: number, at: number, end: number): void {
    const start = at + recordHeadBytes;
    const stream = this.#stream;
    if (type === STYLE) {
      this.#styles++;
    } else if (type === BOUND_SHEET && end - start >= 4) {
      this.#sheetStarts.push(stream.readUInt32LE(start));
    } else if (type === CODE_PAGE && end - start >= 2) {
      // Since Excel 97 all texts are UTF-16, and their compressed form omits high bytes that are 0. The library would decode them with the code page.
      if (this.#version === EXCEL_97) stream.writeUInt16LE(utf16, start);
    } else if (type === DATE_MODE) {
      // Only the globals of the workbook set the date system. The library would let any sheet change it for all others.
      if (this.#parts > 1 || this.#depth > 1) stream.writeUInt16LE(ignoredType, at);
    } else if (type === STRING) {
      if (this.#hasNumberResult) throw new Error('A formula has a number and a text as its result');
    } else if (OLD_RECORDS.has(type)) {
      throw new Error('A record is of another version of Excel');
    }
  }

  #number(start: number, end: number): void {
    this.#cell(start, end);
    const style = this.#stream.readUInt16LE(start + 4);
    this.#checkStyle(start, this.#stream.readUInt16LE(start + 2), style);
  }

  #formula(start: number, end: number): void {
    this.#number(start, end);
    if (this.#version === 0) return;
    if (end - start < cellHeadBytes + 8) throw new Error('A record is too short');
    // A result that is not a number has 0xFFFF in its last two bytes, and its type in the first one (MS-XLS 2.5.133).
    this.#hasNumberResult = this.#stream.readUInt16LE(start + 12) !== 0xffff;
    const isBoolean = !this.#hasNumberResult && this.#stream[start + 6] === booleanResult;
    if (isBoolean) this.#checkBoolean(this.#stream[start + 8]!);
  }

  #boolean(start: number, end: number): void {
    this.#cell(start, end);
    if (this.#version === 0) return;
    if (end - start < cellHeadBytes + 2) throw new Error('A record is too short');
    const isError = this.#stream[start + 7] === 1;
    if (!isError) this.#checkBoolean(this.#stream[start + 6]!);
  }

  /** The library would take any other value for false. */
  #checkBoolean(value: number): void {
    if (value > 1) throw new Error('A boolean is neither true nor false');
  }

  #multiple(start: number, end: number): void {
    const count = Math.floor((end - start - multipleHeadBytes) / multipleCellBytes);
    if (count < 1) throw new Error('A record is too short');
    const first = this.#stream.readUInt16LE(start + 2);
    for (let index = 0; index < count; index++) {
      this.#place(start, first + index);
      this.#checkStyle(
        start,
        first + index,
        this.#stream.readUInt16LE(start + 4 + multipleCellBytes * index),
      );
    }
  }

  #oldCell(start: number, end: number): void {
    if (this.#version !== 0) throw new Error('A record is of another version of Excel');
    this.#cell(start, end);
  }

  #cell(start: number, end: number): void {
    if (end - start < cellHeadBytes) throw new Error('A record is too short');
    this.#place(start, this.#stream.readUInt16LE(start + 2));
  }

  /** Counts a cell and checks its place. Charts have a copy of their cells, which the library ignores. */
  #place(start: number, column: number): void {
    this.#cells++;
    if (this.#isChart || this.#depth > 1) return;
    if (column >= maxColumns) throw new Error('A cell is right of the last column');
    if (!this.#seen.add(this.#stream.readUInt16LE(start), column)) throw new Error('A cell occurs twice');
  }

  /** Notes a number whose style does not exist. A workbook without styles has only the style 0. */
  #checkStyle(start: number, column: number, style: number): void {
    if (style < this.#styles || style === 0 || this.#version === 0 || this.#depth > 1) return;
    if (this.#unstyled.length === maxUnstyled) throw new Error('Too many numbers have no style');
    this.#unstyled.push({ sheet: this.#partStart, row: this.#stream.readUInt16LE(start), column });
  }
}

/** The code page of UTF-16. */
const utf16 = 1200;

/** The type `InterfaceEnd`, which the library ignores. */
const ignoredType = 0xe2;

const maxRows = 65_536;
const rowBytes = maxColumns / 8;

/** The cells of a sheet that have occurred, one bit for each. */
class SeenCells {
  readonly #bits = new Uint8Array(maxRows * rowBytes);
  /** The number of the sheet for which the bits of a row are valid. So a new sheet need not clear all of them. */
  readonly #sheetOfRow = new Uint32Array(maxRows);
  #sheet = 0;

  beginSheet(): void {
    this.#sheet++;
  }

  /** @returns false if the cell has occurred already */
  add(row: number, column: number): boolean {
    const start = row * rowBytes;
    if (this.#sheetOfRow[row] !== this.#sheet) {
      this.#sheetOfRow[row] = this.#sheet;
      this.#bits.fill(0, start, start + rowBytes);
    }
    const at = start + (column >> 3);
    const bit = 1 << (column & 7);
    const isNew = (this.#bits[at]! & bit) === 0;
    this.#bits[at] = this.#bits[at]! | bit;
    return isNew;
  }
}
