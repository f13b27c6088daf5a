/**
 * Prepares the records of an .xls file (MS-XLS 2.3) for the library, in one pass: it counts the cells, refuses what no program
 * writes, because the library would guess what it means, and corrects records that the library misunderstands.
 *
 * Everything but the count, the repeated cells and the lengths of cells concerns Excel 5 and later, whose records have one layout.
 * The pass ends where the library stops reading.
 */

import { CONTINUE, checkSharedStrings, checkText, RecordBytes, recordHeadBytes } from './record-bytes.ts';

const CODE_PAGE = 0x42;
const BOUND_SHEET = 0x85;
const DATE_MODE = 0x22;
const STYLE = 0xe0;
const FONT = 0x31;
const FORMAT = 0x41e;
const SHARED_STRINGS = 0xfc;
const BOF = 0x809;
const EOF = 0x0a;
const FORMULA = 0x06;
const STRING = 0x207;
const NUMBER = 0x203;
const RK = 0x27e;
const MULTIPLE_RK = 0xbd;
const BOOLEAN = 0x205;
const SHARED_TEXT = 0xfd;
const LABEL = 0x204;
const RICH_LABEL = 0xd6;
const ROW = 0x208;
const COLUMN_INFO = 0x7d;
const MERGED_CELLS = 0xe5;
/** May be between a formula and its text: Array, ShrFmla, Table and Sub. */
const PARTS_OF_FORMULA = new Set([0x221, 0x4bc, 0x236, 0x91, CONTINUE]);
/** Describe the whole workbook, so they have no effect in a sheet. The library would let them take effect there. */
const GLOBALS = new Set([CODE_PAGE, BOUND_SHEET, DATE_MODE, STYLE, FONT, FORMAT, SHARED_STRINGS]);
/** The beginnings of a sheet in Excel 2, 3 and 4. */
const OLD_BEGINNINGS = new Set([0x09, 0x209, 0x409]);
/** The cells of Excel 2, and the formulas of Excel 3 and 4. */
const OLD_CELLS = new Set([0x02, 0x03, 0x04, 0x05, 0x206, 0x406]);
/** Some programs write the formulas of Excel 97 with these types. The result is at the same place. */
const OLD_FORMULAS = new Set([0x206, 0x406]);
/** The other records of these versions that the library reads in every file: String, Format and XF. */
const OLD_RECORDS = new Set([0x07, 0x1e, 0x43, 0x243, 0x443]);

/** A cell begins with its row, its column and its style, which have 2 bytes each. */
const cellHeadBytes = 6;
/** The length of a MulRk record without its cells (row, first column, last column), and the length of each cell. */
const multipleHeadBytes = 6;
const multipleCellBytes = 6;

/**
 * The minimum lengths of the records whose content the library reads (MS-XLS 2.4). It would read beyond the end of a shorter record.
 * The length of `FORMAT` follows from its text. Some records of Excel 2 to 4 are shorter.
 */
const commonLeastBytes: [type: number, bytes: number][] = [
  [NUMBER, 14],
  [RK, 10],
  [MULTIPLE_RK, multipleHeadBytes + multipleCellBytes],
  [BOOLEAN, 8],
  [SHARED_TEXT, 10],
  [LABEL, 8],
  [RICH_LABEL, 8],
  [CODE_PAGE, 2],
];
const leastFormulaBytes = 22;
const leastBytes = new Map([
  ...commonLeastBytes,
  [FORMULA, leastFormulaBytes],
  [STRING, 2],
  [STYLE, 16],
  [BOUND_SHEET, 7],
  [DATE_MODE, 2],
  [SHARED_STRINGS, 8],
  [ROW, 16],
  // Some programs omit the last bytes, which are reserved.
  [COLUMN_INFO, 10],
  [MERGED_CELLS, 2],
]);
const leastOldBytes = new Map([
  ...commonLeastBytes,
  [FORMULA, 17],
  [0x206, 18],
  [0x406, 18],
  [0x02, 9],
  [0x03, 15],
  [0x04, 8],
  [0x05, 9],
]);
const styleBytes97 = 20;
const mergedAreaBytes = 8;

const textResult = 0;
const booleanResult = 1;

const EXCEL_5 = 0x500;
const EXCEL_97 = 0x600;
/** The versions that a BOF record of Excel 5 may state, for which the library reads the file as one of Excel 2, 3 or 4. */
const OLD_VERSIONS = new Set([0x02, 0x07, 0x200, 0x300, 0x400]);
const SHEET = 0x10;
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

/** The texts have a code page that the service does not know. */
export class UnknownCodePage extends Error {
  readonly codePage: number;

  constructor(codePage: number) {
    super(`Unknown code page ${codePage}`);
    this.codePage = codePage;
  }
}

/**
 * Checks the records of a workbook and corrects some of them in place.
 *
 * @param hasTable returns whether the library has a table for a code page
 * @throws Error if the workbook is broken
 */
export function prepareRecords(stream: Buffer, hasTable: (codePage: number) => boolean): PreparedRecords {
  const pass = new RecordPass(stream, hasTable);
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
  readonly #text: RecordBytes;
  readonly #hasTable: (codePage: number) => boolean;
  /** `EXCEL_5` or `EXCEL_97`; 0: an older version, or one that the file does not state. */
  #version = 0;
  #depth = 0;
  /** The position of the current part of the workbook: its globals, or a sheet. */
  #partStart = 0;
  #parts = 0;
  #isChart = false;
  readonly #sheetStarts: number[] = [];
  #cells = 0;
  /** The formats of the styles. */
  readonly #formats: number[] = [];
  #unstyled: UnstyledNumber[] = [];
  readonly #brokenFormats = new Set<number>();
  /** The last cell is a formula whose result is a text, which has not occurred yet. */
  #awaitsText = false;
  #hasSharedStrings = false;
  readonly #seen = new SeenCells();

  constructor(stream: Buffer, hasTable: (codePage: number) => boolean) {
    this.#stream = stream;
    this.#text = new RecordBytes(stream);
    this.#hasTable = hasTable;
  }

  /** Takes the next record. @returns false if the library stops before it */
  take(type: number, at: number, end: number): boolean {
    const start = at + recordHeadBytes;
    const awaitsText = this.#awaitsText;
    if (!PARTS_OF_FORMULA.has(type)) this.#awaitsText = false;
    if (type === BOF || OLD_BEGINNINGS.has(type)) {
      this.#begin(type, at, end);
      return true;
    }
    if (this.#depth === 0) return false;
    if (this.#version !== 0 && GLOBALS.has(type) && (this.#parts > 1 || this.#depth > 1)) {
      this.#stream.writeUInt16LE(ignoredType, at);
      return true;
    }
    const least = (this.#version === 0 ? leastOldBytes : leastBytes).get(type);
    if (least !== undefined && end - start < least) throw new Error('A record is too short');
    if (type === EOF) this.#finishPart(start, end);
    else if (type === NUMBER || type === RK) this.#number(start);
    else if (type === FORMULA) this.#formula(start);
    else if (type === MULTIPLE_RK) this.#multiple(start, end);
    else if (type === BOOLEAN) this.#boolean(start);
    else if (type === SHARED_TEXT || type === LABEL || type === RICH_LABEL) this.#label(type, start, end);
    else if (this.#version !== 0 && OLD_FORMULAS.has(type) && end - start >= leastFormulaBytes) {
      this.#stream.writeUInt16LE(FORMULA, at);
      this.#formula(start);
    } else if (OLD_CELLS.has(type)) this.#oldCell(start);
    else if (type === STRING) this.#textOfFormula(awaitsText, start, end);
    else if (type === CODE_PAGE) this.#codePage(start);
    else if (this.#version !== 0) this.#other(type, start, end);
    return true;
  }

  finish(): PreparedRecords {
    const starts = this.#sheetStarts.sort((a, b) => a - b);
    const indices = new Map(starts.map((start, index) => [start, index]));
    if (indices.size < starts.length) throw new Error('Two sheets have the same records');
    const unstyled = this.#unstyled.map((cell) => ({ ...cell, sheet: indices.get(cell.sheet) ?? -1 }));
    return { cells: this.#cells, hasStyles: this.#formats.length > 0, unstyled };
  }

  #begin(type: number, at: number, end: number): void {
    const start = at + recordHeadBytes;
    if (type === BOF && end - start < 4) throw new Error('A record is too short');
    if (this.#parts === 0) this.#version = type === BOF ? this.#readVersion(start) : 0;
    // The first record decides, also in files whose sheets state another version. The library would change its mind.
    else if (this.#version !== 0 && type === BOF) this.#stream.writeUInt16LE(this.#version, start);
    else if (this.#version !== 0) throw new Error('A sheet is of another version of Excel');
    if (this.#depth++ > 0) return;
    this.#partStart = at;
    this.#isChart = end - start >= 4 && this.#stream.readUInt16LE(start + 2) === CHART;
    this.#parts++;
    this.#seen.beginSheet();
  }

  #readVersion(start: number): number {
    const version = this.#stream.readUInt16LE(start);
    if (version === EXCEL_5 || version === EXCEL_97) return version;
    // The library would read any other workbook as one of Excel 97.
    const isOld =
      OLD_VERSIONS.has(version) || (version === 0 && this.#stream.readUInt16LE(start + 2) === SHEET);
    if (!isOld) throw new Error('The version of Excel is unknown');
    return 0;
  }

  #finishPart(start: number, end: number): void {
    if (this.#version !== 0 && end > start) throw new Error('The end of a sheet has content');
    this.#depth--;
  }

  #other(type: number, start: number, end: number): void {
    const stream = this.#stream;
    const is97 = this.#version === EXCEL_97;
    if (type === STYLE) {
      if (is97 && end - start < styleBytes97) throw new Error('A record is too short');
      this.#formats.push(stream.readUInt16LE(start + 2));
    } else if (type === BOUND_SHEET) {
      this.#sheetStarts.push(stream.readUInt32LE(start));
      this.#checkText(start + 6, end, 1);
    } else if (type === FORMAT) {
      this.#format(start, end, is97 ? 2 : 1);
    } else if (type === SHARED_STRINGS) {
      if (this.#hasSharedStrings) throw new Error('The shared strings occur twice');
      this.#hasSharedStrings = true;
      checkSharedStrings(this.#text.moveTo(start, end));
    } else if (type === DATE_MODE) {
      if (end - start > 2) throw new Error('A record is too long');
      this.#checkBoolean(stream.readUInt16LE(start));
    } else if (type === MERGED_CELLS) {
      if (end - start < 2 + mergedAreaBytes * stream.readUInt16LE(start))
        throw new Error('A record is too short');
    } else if (OLD_RECORDS.has(type)) {
      throw new Error('A record is of another version of Excel');
    }
  }

  /** A format that does not fit into its record is ignored, unless a number has it. */
  #format(start: number, end: number, lengthBytes: number): void {
    try {
      this.#checkText(start + 2, end, lengthBytes);
    } catch {
      if (end - start >= 2) this.#brokenFormats.add(this.#stream.readUInt16LE(start));
      this.#stream.writeUInt16LE(ignoredType, start - recordHeadBytes);
    }
  }

  #codePage(start: number): void {
    // Since Excel 97 all texts are UTF-16, and their compressed form omits high bytes that are 0. The library would decode them with the code page.
    if (this.#version === EXCEL_97) {
      this.#stream.writeUInt16LE(utf16, start);
      return;
    }
    const codePage = this.#stream.readUInt16LE(start);
    if (codePage === ascii) this.#stream.writeUInt16LE(libraryAscii, start);
    else if (!builtInCodePages.has(codePage) && !this.#hasTable(codePage))
      throw new UnknownCodePage(codePage);
  }

  /** Checks the text of a record. Only those cells are checked that the library does not ignore. */
  #checkText(start: number, end: number, lengthBytes: number, mayHaveMore = false): void {
    if (this.#version === 0 || this.#isChart || this.#depth > 1) return;
    checkText(this.#text.moveTo(start, end), lengthBytes, this.#version === EXCEL_97);
    if (!mayHaveMore) this.#text.expectEnd();
  }

  #number(start: number): void {
    this.#cell(start);
    const style = this.#stream.readUInt16LE(start + 4);
    this.#checkStyle(start, this.#stream.readUInt16LE(start + 2), style);
  }

  #formula(start: number): void {
    this.#number(start);
    if (this.#version === 0) return;
    // A result that is not a number has 0xFFFF in its last two bytes, and its type in the first one (MS-XLS 2.5.133).
    if (this.#stream.readUInt16LE(start + 12) !== 0xffff) return;
    const result = this.#stream[start + 6];
    if (result === booleanResult) this.#checkBoolean(this.#stream[start + 8]!);
    this.#awaitsText = result === textResult;
  }

  /** The library would give the text to the last formula, whatever its result is and whatever has followed it. */
  #textOfFormula(isAwaited: boolean, start: number, end: number): void {
    if (this.#version === 0) return;
    if (!isAwaited) throw new Error('A text follows a formula whose result it is not');
    this.#checkText(start, end, 2);
  }

  #label(type: number, start: number, end: number): void {
    this.#cell(start);
    if (type !== SHARED_TEXT) this.#checkText(start + cellHeadBytes, end, 2, type === RICH_LABEL);
  }

  #boolean(start: number): void {
    this.#cell(start);
    if (this.#version === 0) return;
    const isError = this.#stream[start + 7] === 1;
    if (!isError) this.#checkBoolean(this.#stream[start + 6]!);
  }

  /** The library would take any other value for false. */
  #checkBoolean(value: number): void {
    if (value > 1) throw new Error('A boolean is neither true nor false');
  }

  #multiple(start: number, end: number): void {
    const count = Math.floor((end - start - multipleHeadBytes) / multipleCellBytes);
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

  #oldCell(start: number): void {
    if (this.#version !== 0) throw new Error('A record is of another version of Excel');
    this.#cell(start);
  }

  #cell(start: number): void {
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
    if (this.#brokenFormats.has(this.#formats[style]!)) throw new Error('The format of a number is broken');
    if (style < this.#formats.length || style === 0 || this.#version === 0 || this.#depth > 1) return;
    if (this.#unstyled.length === maxUnstyled) throw new Error('Too many numbers have no style');
    this.#unstyled.push({ sheet: this.#partStart, row: this.#stream.readUInt16LE(start), column });
  }
}

/** The code page of UTF-16. */
const utf16 = 1200;
const ascii = 367;
const libraryAscii = 20_127;
/**
 * The code pages that the library reads without a table: the Macintosh and Windows ones under other numbers, ASCII, UTF-7 and UTF-8.
 * UTF-16 is missing, because a text of Excel 5 has one byte for each stated character.
 */
const builtInCodePages = new Set([0x8000, 0x8001, libraryAscii, 65_000, 65_001]);

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
