/**
 * Scans a worksheet part (ECMA-376 part 1, 18.3) and pushes its cells as byte ranges.
 *
 * There are two ways to read a cell. The general way reads token by token and accepts everything that XML and the schema allow.
 * The fast way (`#fastCell`) knows only the forms that common programs write. It reads a whole cell in one step and, if the
 * cell has another form, returns without any change. A property test ensures that both give the same result. Everything after
 * `</sheetData>` is ignored here.
 */

import {
  AMPERSAND,
  COLON,
  EQUALS,
  GT,
  LOWER_B,
  LOWER_C,
  LOWER_E,
  LOWER_F,
  LOWER_I,
  LOWER_N,
  LOWER_R,
  LOWER_S,
  LOWER_T,
  LOWER_V,
  LT,
  QUOTE,
  SLASH,
  SPACE,
} from '../../../core/bytes/ascii.ts';
import * as kinds from '../../../core/cells/cell-kind.ts';
import { rowTooLong } from '../../../core/cells/row-limit.ts';
import { columnLetters, maxSheetColumn, maxSheetRow } from '../cell-address.ts';
import type { SheetScannerOptions } from '../open-xml/open-package.ts';
import { TextCollector } from '../package/text-collector.ts';
import { decodeEscapes, endOfPlainText } from '../package/xml-text.ts';
import {
  CLOSE,
  equals,
  matches,
  NEED_MORE,
  OPEN,
  preserveSpace,
  TEXT,
  XmlTokens,
} from '../package/xml-tokens.ts';
import { CellValues, type SheetTarget } from '../values/cell-values.ts';
import { endOfDecimal, TOO_PRECISE, UNCHANGED } from '../values/number-text.ts';

/** The types of cells (ECMA-376 part 1, 18.18.11), which are in the attribute `t`. */
const NUMBER = 0;
const SHARED = 1;
const TEXT_RESULT = 2;
const INLINE = 3;
const BOOLEAN = 4;
const ERROR = 5;
const ISO_DATE = 6;
const UNKNOWN = 7;

/** The form of the number has not been checked yet. */
const UNCHECKED = -1;

const cellTypes: [name: Buffer, type: number][] = [
  [Buffer.from('n'), NUMBER],
  [Buffer.from('s'), SHARED],
  [Buffer.from('str'), TEXT_RESULT],
  [Buffer.from('inlineStr'), INLINE],
  [Buffer.from('b'), BOOLEAN],
  [Buffer.from('e'), ERROR],
  [Buffer.from('d'), ISO_DATE],
  [Buffer.from(''), NUMBER],
];

const names = {
  worksheet: Buffer.from('worksheet'),
  sheetData: Buffer.from('sheetData'),
  col: Buffer.from('col'),
  min: Buffer.from('min'),
  max: Buffer.from('max'),
  hidden: Buffer.from('hidden'),
  row: Buffer.from('row'),
  c: Buffer.from('c'),
  v: Buffer.from('v'),
  f: Buffer.from('f'),
  is: Buffer.from('is'),
  t: Buffer.from('t'),
  r: Buffer.from('r'),
  s: Buffer.from('s'),
  rPh: Buffer.from('rPh'),
};

/** The fixed texts of a row that the fast way recognizes. */
const rowStart = Buffer.from('<row r="');
const rowEnd = Buffer.from('</row>');

/** A row with more further attributes is read in the general way. LibreOffice writes fewer. */
const rowAttributes = 12;

/** The fixed texts of an inline text that the fast way recognizes. */
const inlineStart = Buffer.from('<is><t');
const inlineEnd = Buffer.from('</t></is>');

/** The depths of the elements that the scanner reads. */
const ROOT = 1;
const DATA = 2;
const ROW = 3;
const CELL = 4;
const VALUE = 5;

export class SheetScanner {
  readonly #xml: XmlTokens;
  readonly #values: CellValues;
  readonly #target: SheetTarget;
  readonly #onFormula: SheetScannerOptions['onFormula'];
  readonly #maxCellBytes: number;
  readonly #maxRowBytes: number;

  /** The depth of the current element, and whether it is in `sheetData`, in a `row`, and in a `c` element. */
  #depth = 0;
  #inData = false;
  #inRow = false;
  #inCell = false;
  #isDone = false;

  /** The current row (1-based) and the last cell in it. */
  #row = 0;
  #column = 0;
  #isRowGuessed = false;
  #isRowHidden = false;
  #isRowBegun = false;
  /** The bytes of the sheet since the current row began, counted in whole chunks. */
  #rowBytes = 0;

  /** The current cell, while it is read in the general way. */
  #type = NUMBER;
  #style = 0;
  #hasValue = false;
  #hasFormula = false;
  #hasInline = false;
  #inInline = false;
  #phoneticDepth = 0;
  #textDepth = 0;
  #textMark = 0;
  #isPreserving = false;
  #inlinePreserves = false;
  #rootPreserves = false;
  readonly #text: TextCollector;

  constructor(target: SheetTarget, options: SheetScannerOptions) {
    this.#target = target;
    this.#values = new CellValues(target, options.styles, options.strings, options.is1904);
    this.#xml = new XmlTokens(options.partName);
    this.#text = new TextCollector(options.limits.maxCellBytes);
    this.#onFormula = options.onFormula;
    this.#maxCellBytes = options.limits.maxCellBytes;
    this.#maxRowBytes = options.limits.maxRowBytes;
  }

  /** Takes the next bytes of the part: UTF-8 that may be cut anywhere. The earlier bytes must have been scanned. */
  feed(chunk: Buffer): void {
    if (this.#isDone) return;
    this.#xml.feed(chunk);
    this.#rowBytes += chunk.length;
    if (this.#inRow && this.#rowBytes > this.#maxRowBytes)
      throw rowTooLong(`Row ${this.#row}`, this.#maxRowBytes);
  }

  /**
   * Scans the fed bytes. It stops when the target needs a pause.
   *
   * @returns false if all fed bytes are scanned
   */
  scan(): boolean {
    const xml = this.#xml;
    const target = this.#target;
    while (!this.#isDone) {
      if (target.isPauseDue === true) return true;
      if (this.#inData && this.#fast()) continue;
      switch (xml.next()) {
        case NEED_MORE:
          return false;
        case OPEN:
          this.#open();
          break;
        case CLOSE:
          if (this.#depth === 0) xml.fail('a closing tag without an opening one');
          this.#close(true);
          break;
        case TEXT:
          if (this.#textDepth !== 0) this.#text.append(xml.bytes, xml.textStart, xml.textEnd);
      }
    }
    return false;
  }

  /** The fed bytes that follow the cells; undefined if the cells have not ended. */
  get bytesAfterCells(): Buffer | undefined {
    const { bytes, position, end } = this.#xml;
    return this.#isDone ? bytes.subarray(position, end) : undefined;
  }

  /**
   * Ends the part.
   *
   * @throws AppError `invalid-file` if the sheet is incomplete
   */
  finish(): void {
    if (!this.#isDone) this.#xml.fail('it ends too early');
  }

  #open(): void {
    const xml = this.#xml;
    const depth = ++this.#depth;
    if (this.#inCell) this.#openInCell(depth);
    else if (this.#inRow) {
      if (depth === CELL && xml.isNamed(names.c)) this.#openCell();
    } else if (this.#inData) {
      if (depth === ROW && xml.isNamed(names.row)) this.#openRow();
    } else if (depth === DATA && xml.isNamed(names.sheetData)) {
      this.#inData = true;
    } else if (depth === ROOT) {
      if (!xml.isNamed(names.worksheet)) xml.fail('it is not a worksheet');
      this.#rootPreserves = xml.preservesSpace(false);
    } else if (depth === ROW && xml.isNamed(names.col)) {
      this.#takeColumns();
    }
    if (xml.isSelfClosing) this.#close(false);
  }

  #close(hasName: boolean): void {
    const depth = this.#depth--;
    if (this.#inCell) {
      if (depth === CELL) this.#closeCell(hasName);
      else this.#closeInCell(depth, hasName);
    } else if (this.#inRow) {
      if (depth === ROW) this.#closeRow(hasName);
    } else if (this.#inData) {
      if (depth === DATA) {
        if (hasName) this.#expectName(names.sheetData);
        this.#isDone = true;
      }
    } else if (depth === ROOT) {
      // A worksheet without `sheetData` is not valid, but the meaning is clear: it has no cells.
      this.#isDone = true;
    }
  }

  #expectName(name: Buffer): void {
    if (!this.#xml.isNamed(name))
      this.#xml.fail(`start and end tags that do not match (${name}, row ${this.#row})`);
  }

  /** Reads the properties of columns, which are stored before the rows (18.3.1.13). */
  #takeColumns(): void {
    if (!this.#isOn(names.hidden)) return;
    const first = this.#wholeAttribute(names.min);
    const last = Math.min(this.#wholeAttribute(names.max), maxSheetColumn);
    if (first >= 1 && first <= last) this.#target.hideColumns?.(first - 1, last - 1);
  }

  /** Returns an attribute that is a whole number; -1 if there is no such attribute, or it is not a whole number. */
  #wholeAttribute(name: Buffer): number {
    const { bytes, attributes } = this.#xml;
    const at = this.#xml.attribute(name);
    return at < 0 ? -1 : wholeNumber(bytes, attributes[at + 2]!, attributes[at + 3]!);
  }

  /** Returns whether the attribute is `1` or `true`. */
  #isOn(name: Buffer): boolean {
    const { bytes, attributes } = this.#xml;
    const at = this.#xml.attribute(name);
    return at >= 0 && isTrue(bytes[attributes[at + 2]!]!);
  }

  #openRow(): void {
    const xml = this.#xml;
    const at = xml.attribute(names.r);
    this.#isRowGuessed = at < 0 || xml.attributes[at + 2] === xml.attributes[at + 3];
    if (this.#isRowGuessed) {
      this.#row++;
    } else {
      this.#row = wholeNumber(xml.bytes, xml.attributes[at + 2]!, xml.attributes[at + 3]!);
      if (this.#row < 0) xml.fail('a row with an invalid number');
    }
    this.#isRowHidden = this.#isOn(names.hidden);
    this.#beginRow();
  }

  #beginRow(): void {
    this.#checkRow();
    this.#inRow = true;
    this.#isRowBegun = false;
    this.#column = 0;
    this.#rowBytes = 0;
  }

  #checkRow(): void {
    if (this.#row < 1 || this.#row > maxSheetRow) this.#xml.fail(`a row outside of 1 to ${maxSheetRow}`);
  }

  #closeRow(hasName: boolean): void {
    if (hasName) this.#expectName(names.row);
    this.#inRow = false;
    if (this.#isRowBegun) this.#target.endRow();
  }

  #openCell(): void {
    const xml = this.#xml;
    this.#inCell = true;
    this.#hasValue = false;
    this.#hasFormula = false;
    this.#hasInline = false;
    this.#text.clear();
    const reference = xml.attribute(names.r);
    if (reference < 0) this.#column++;
    else this.#takeReference(xml.attributes[reference + 2]!, xml.attributes[reference + 3]!);
    if (this.#column > maxSheetColumn) xml.fail(`a cell beyond the last column XFD in row ${this.#row}`);
    const style = xml.attribute(names.s);
    this.#style = style < 0 ? 0 : this.#styleIndex(xml.attributes[style + 2]!, xml.attributes[style + 3]!);
    const type = xml.attribute(names.t);
    this.#type = type < 0 ? NUMBER : this.#cellType(xml.attributes[type + 2]!, xml.attributes[type + 3]!);
  }

  /** Returns the index of a style. An empty attribute means style 0. An invalid one gives -1. */
  #styleIndex(start: number, end: number): number {
    return start === end ? 0 : wholeNumber(this.#xml.bytes, start, end);
  }

  /** Reads a reference such as `B7`. Some programs write `b7`. An empty reference means the column after the last one. */
  #takeReference(start: number, end: number): void {
    const { bytes } = this.#xml;
    let at = start;
    let column = 0;
    for (; at < end && at - start < 4; at++) {
      const letter = (bytes[at]! | 0x20) - 0x60;
      if (letter < 1 || letter > 26) break;
      column = column * 26 + letter;
    }
    if (start === end) {
      this.#column++;
      return;
    }
    const row = wholeNumber(bytes, at, end);
    if (column === 0 || row < 0) this.#xml.fail(`an invalid cell reference in row ${this.#row}`);
    this.#column = column;
    if (row === this.#row) return;
    if (!this.#isRowGuessed || this.#isRowBegun) {
      this.#xml.fail(`a cell of row ${row} in row ${this.#row}`);
    }
    this.#row = row;
    this.#isRowGuessed = false;
    this.#checkRow();
  }

  #cellType(start: number, end: number): number {
    const { bytes } = this.#xml;
    for (const [name, type] of cellTypes) {
      if (equals(bytes, start, end, name)) return type;
    }
    return UNKNOWN;
  }

  #openInCell(depth: number): void {
    const xml = this.#xml;
    if (this.#textDepth !== 0 || this.#phoneticDepth !== 0) return;
    if (depth === VALUE) {
      if (xml.isNamed(names.v)) {
        if (this.#hasValue) this.#failTwice('two values');
        this.#hasValue = true;
        if (!this.#hasInline) this.#beginText(depth);
      } else if (xml.isNamed(names.f)) {
        this.#hasFormula = true;
      } else if (xml.isNamed(names.is)) {
        if (this.#hasInline) this.#failTwice('two texts');
        this.#hasInline = true;
        this.#inInline = true;
        this.#inlinePreserves = xml.preservesSpace(this.#rootPreserves);
        this.#text.clear();
      }
    } else if (this.#inInline) {
      if (xml.isNamed(names.rPh)) {
        this.#phoneticDepth = depth;
      } else if (xml.isNamed(names.t)) {
        this.#beginText(depth);
        this.#isPreserving = xml.preservesSpace(this.#inlinePreserves);
      }
    }
  }

  #failTwice(what: string): never {
    this.#xml.fail(`${what} in the cell ${columnLetters(this.#column)}${this.#row}`);
  }

  #beginText(depth: number): void {
    this.#textDepth = depth;
    this.#textMark = this.#text.length;
  }

  #closeInCell(depth: number, hasName: boolean): void {
    if (depth === this.#textDepth) {
      if (hasName) this.#expectName(this.#inInline ? names.t : names.v);
      this.#textDepth = 0;
      if (this.#inInline) this.#text.endRun(this.#textMark, this.#isPreserving);
    } else if (depth === this.#phoneticDepth) {
      this.#phoneticDepth = 0;
    } else if (depth === VALUE) {
      this.#inInline = false;
    }
  }

  #closeCell(hasName: boolean): void {
    if (hasName) this.#expectName(names.c);
    this.#inCell = false;
    const text = this.#text;
    let type = this.#type;
    if (this.#hasInline && (type === INLINE || !this.#hasValue)) type = INLINE;
    let start = 0;
    let end = text.length;
    if (type === TEXT_RESULT || (type === INLINE && !this.#hasInline)) {
      end = decodeEscapes(text.bytes, 0, end);
    } else if (type !== INLINE) {
      while (end > 0 && text.bytes[end - 1]! <= SPACE) end--;
      while (start < end && text.bytes[start]! <= SPACE) start++;
    }
    if (start < end) {
      this.#value(this.#column, type, this.#style, text.bytes, start, end);
      if (this.#hasFormula) this.#onFormula?.(this.#column - 1, isZero(type, text.bytes, start, end));
    } else if (this.#hasFormula && !(type === TEXT_RESULT && this.#hasValue)) {
      this.#begin();
      this.#target.fault(this.#column - 1, kinds.FORMULA_WITHOUT_VALUE, text.bytes, 0, 0);
    }
  }

  #begin(): void {
    if (this.#isRowBegun) return;
    this.#isRowBegun = true;
    this.#target.beginRow(this.#row, this.#isRowHidden);
  }

  #value(column: number, type: number, style: number, bytes: Buffer, start: number, end: number): void {
    const values = this.#values;
    let index = -1;
    if (type === SHARED) {
      index = values.stringIndex(bytes, start, end);
      // The shared string may be empty. A cell without text does not create a row.
      if (!values.hasText(index)) return;
    }
    this.#begin();
    switch (type) {
      case NUMBER:
        values.number(column - 1, style, bytes, start, end);
        break;
      case SHARED:
        values.sharedString(column - 1, index, bytes, start, end);
        break;
      case TEXT_RESULT:
      case INLINE:
        this.#target.cell(column - 1, kinds.STRING, bytes, start, end);
        break;
      case BOOLEAN:
        values.boolean(column - 1, bytes, start, end);
        break;
      case ERROR:
        this.#target.fault(column - 1, kinds.ERROR_CELL, bytes, start, end);
        break;
      case ISO_DATE:
        values.isoDate(column - 1, style, bytes, start, end);
        break;
      default:
        this.#target.fault(column - 1, kinds.UNREADABLE_CELL, bytes, start, end);
    }
  }

  /** Reads a row start, a cell or a row end in the fast way. Returns false if that is not possible. */
  #fast(): boolean {
    if (this.#depth === ROW) return this.#inRow && (this.#fastCell() || this.#fastRowEnd());
    return this.#depth === DATA && this.#fastRow();
  }

  /**
   * Reads `<row r="7" spans="1:10">` in one step and ignores the further attributes. If it is not such a tag, the position is
   * unchanged.
   */
  #fastRow(): boolean {
    const { bytes, position } = this.#xml;
    if (!matches(bytes, position, rowStart)) return false;
    let p = position + rowStart.length;
    let byte = bytes[p]!;
    const digits = p;
    let row = 0;
    while (byte >= 0x30 && byte <= 0x39 && p - digits < 7) {
      row = row * 10 + byte - 0x30;
      byte = bytes[++p]!;
    }
    if (byte !== QUOTE || p === digits) return false;
    byte = bytes[++p]!;
    let isHidden = false;
    for (let others = 0; byte === SPACE && others < rowAttributes; others++) {
      byte = bytes[++p]!;
      const name = p;
      while (isNameLetter(byte)) byte = bytes[++p]!;
      if (byte !== EQUALS || p === name || bytes[p + 1] !== QUOTE) return false;
      if (equals(bytes, name, p, names.hidden)) isHidden = isTrue(bytes[p + 2]!);
      p += 2;
      byte = bytes[p]!;
      while (byte !== QUOTE && byte !== AMPERSAND && byte !== 0) byte = bytes[++p]!;
      if (byte !== QUOTE) return false;
      byte = bytes[++p]!;
    }
    if (byte !== GT) return false;
    this.#xml.position = p + 1;
    this.#depth++;
    this.#row = row;
    this.#isRowGuessed = false;
    this.#isRowHidden = isHidden;
    this.#beginRow();
    return true;
  }

  #fastRowEnd(): boolean {
    const { bytes, position } = this.#xml;
    if (!matches(bytes, position, rowEnd)) return false;
    this.#xml.position = position + rowEnd.length;
    this.#depth--;
    this.#closeRow(false);
    return true;
  }

  /**
   * Reads a cell such as `<c r="B7" s="3" t="s"><v>42</v></c>` in one step. Every loop ends at the zero bytes after the text,
   * so no loop checks for the end of the buffer. If the last byte matches, the cell is complete.
   *
   * @returns false, with an unchanged position, if the cell is incomplete or has another form
   */
  #fastCell(): boolean {
    const { bytes, position } = this.#xml;
    if (bytes[position + 1] !== LOWER_C || bytes[position + 2] !== SPACE || bytes[position] !== LT)
      return false;
    let p = position + 3;
    let column = 0;
    let style = 0;
    let type = NUMBER;
    for (;;) {
      const name = bytes[p];
      if (bytes[p + 1] !== EQUALS || bytes[p + 2] !== QUOTE) return false;
      p += 3;
      let byte = bytes[p]!;
      const valueStart = p;
      if (name === LOWER_R) {
        column = 0;
        while (byte >= 0x41 && byte <= 0x5a && p - valueStart < 3) {
          column = column * 26 + byte - 0x40;
          byte = bytes[++p]!;
        }
        const digits = p;
        let row = 0;
        while (byte >= 0x30 && byte <= 0x39 && p - digits < 7) {
          row = row * 10 + byte - 0x30;
          byte = bytes[++p]!;
        }
        if (row !== this.#row) return false;
      } else if (name === LOWER_S) {
        style = 0;
        while (byte >= 0x30 && byte <= 0x39 && p - valueStart < 7) {
          style = style * 10 + byte - 0x30;
          byte = bytes[++p]!;
        }
      } else if (name === LOWER_T) {
        if (bytes[p + 1] === QUOTE) {
          if (byte === LOWER_S) type = SHARED;
          else if (byte === LOWER_N) type = NUMBER;
          else if (byte === LOWER_B) type = BOOLEAN;
          else if (byte === LOWER_E) type = ERROR;
          else return false;
          p++;
        } else if (byte === LOWER_S && bytes[p + 1] === LOWER_T && bytes[p + 2] === LOWER_R) {
          type = TEXT_RESULT;
          p += 3;
        } else if (byte === LOWER_I && bytes[p + 9] === QUOTE && matches(bytes, p, cellTypes[INLINE]![0])) {
          type = INLINE;
          p += 9;
        } else return false;
      } else return false;
      if (bytes[p] !== QUOTE || p === valueStart) return false;
      byte = bytes[++p]!;
      if (byte === SPACE) {
        p++;
        continue;
      }
      if (column === 0 || column > maxSheetColumn) return false;
      if (byte === SLASH && bytes[p + 1] === GT) {
        this.#xml.position = p + 2;
        this.#column = column;
        return true;
      }
      if (byte !== GT) return false;
      p++;
      break;
    }
    return this.#fastContent(p, column, style, type);
  }

  #fastContent(from: number, column: number, style: number, type: number): boolean {
    const { bytes } = this.#xml;
    let p = from;
    let isFormula = false;
    if (bytes[p] === LT && bytes[p + 1] === LOWER_F) {
      p = skipFormula(bytes, p);
      if (p < 0) return false;
      isFormula = true;
    }
    if (type === INLINE) return this.#fastInline(p, column);
    if (bytes[p] !== LT || bytes[p + 1] !== LOWER_V || bytes[p + 2] !== GT) return false;
    p += 3;
    const start = p;
    let check = UNCHECKED;
    if (type === NUMBER) {
      const stop = endOfDecimal(bytes, start);
      if (stop !== 0) {
        p = stop > 0 ? stop : -stop;
        check = stop > 0 ? UNCHANGED : TOO_PRECISE;
      }
    }
    let byte = bytes[p]!;
    if (type === TEXT_RESULT) {
      p = endOfPlainText(bytes, p);
      byte = bytes[p]!;
    } else if (byte !== LT) {
      check = UNCHECKED;
      while (byte > SPACE && byte !== LT && byte !== AMPERSAND) byte = bytes[++p]!;
    }
    // An empty value, which may be the result of a formula, and a value that is too long are left to the general way.
    if (
      p === start ||
      p - start > this.#maxCellBytes ||
      byte !== LT ||
      bytes[p + 1] !== SLASH ||
      bytes[p + 2] !== LOWER_V
    )
      return false;
    if (bytes[p + 3] !== GT || !endsCell(bytes, p + 4)) return false;
    this.#xml.position = p + 8;
    this.#column = column;
    if (check === UNCHECKED) {
      this.#value(column, type, style, bytes, start, p);
    } else {
      this.#begin();
      this.#values.checkedNumber(column - 1, style, check, bytes, start, p);
    }
    if (isFormula) this.#onFormula?.(column - 1, isZero(type, bytes, start, p));
    return true;
  }

  #fastInline(from: number, column: number): boolean {
    const { bytes } = this.#xml;
    if (!matches(bytes, from, inlineStart)) return false;
    let p = from + inlineStart.length;
    const isPreserving = bytes[p] === SPACE;
    if (isPreserving) {
      if (!matches(bytes, p, preserveSpace)) return false;
      p += preserveSpace.length;
    }
    if (bytes[p] !== GT || (!isPreserving && bytes[p + 1]! <= SPACE)) return false;
    const start = ++p;
    p = endOfPlainText(bytes, p);
    if (p === start || p - start > this.#maxCellBytes) return false;
    if (!isPreserving && bytes[p - 1]! <= SPACE) return false;
    if (!matches(bytes, p, inlineEnd) || !endsCell(bytes, p + inlineEnd.length)) return false;
    this.#xml.position = p + inlineEnd.length + 4;
    this.#column = column;
    this.#value(column, INLINE, 0, bytes, start, p);
    return true;
  }
}

function isZero(type: number, bytes: Buffer, start: number, end: number): boolean {
  return type === NUMBER && end - start === 1 && bytes[start] === 0x30;
}

/** Returns whether a truth value that begins with this byte is true: `1` or `true`. */
function isTrue(byte: number): boolean {
  return byte === 0x31 || byte === LOWER_T;
}

/** Returns whether `</c>` is at the position. */
function endsCell(bytes: Buffer, at: number): boolean {
  return bytes[at] === LT && bytes[at + 1] === SLASH && bytes[at + 2] === LOWER_C && bytes[at + 3] === GT;
}

/** Returns whether the byte may be part of a name such as `x14ac:dyDescent`. */
function isNameLetter(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x30 && byte <= COLON);
}

/** Returns the end of the element `f` that begins at `at`, or -1 if it is incomplete or something else. */
function skipFormula(bytes: Buffer, at: number): number {
  let p = at + 2;
  if (bytes[p] !== GT && bytes[p] !== SPACE) return -1;
  while (bytes[p] !== GT) if (bytes[p] === 0 || bytes[p++] === LT) return -1;
  if (bytes[p - 1] === SLASH) return p + 1;
  while (bytes[p] !== LT) if (bytes[p++] === 0) return -1;
  return bytes[p + 1] === SLASH && bytes[p + 2] === LOWER_F && bytes[p + 3] === GT ? p + 4 : -1;
}

/** Returns the whole number, or -1 if the text is not one. At most nine digits are allowed. */
function wholeNumber(bytes: Buffer, start: number, end: number): number {
  if (end - start > 9) return -1;
  let value = start === end ? -1 : 0;
  for (let at = start; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
