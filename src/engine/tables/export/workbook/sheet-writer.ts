/** Writes the cells of a sheet as XML (ECMA-376 part 1, 18.3.1). Its first row has the names of the columns and stays visible. */
import { LOWER_T, POINT, ZERO } from '../../../../core/bytes/ascii.ts';
import type { Chunks } from '../chunks.ts';
import { type CellClass, isExactDouble, isExactNumber, readMoment, serial } from './cell-classes.ts';
import { appendField, fieldOf, hasOuterSpace } from './cell-text.ts';

const beginning = Buffer.from(
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultColWidth="20" defaultRowHeight="15"/><sheetData>',
);
const ending = Buffer.from('</sheetData></worksheet>');
const rowStart = Buffer.from('<row r="');
const tagEnd = Buffer.from('">');
const rowEnd = Buffer.from('</row>');
const textStart = Buffer.from('" t="inlineStr"><is><t>');
const spacedTextStart = Buffer.from('" t="inlineStr"><is><t xml:space="preserve">');
const textEnd = Buffer.from('</t></is></c>');
const numberStart = Buffer.from('"><v>');
const numberEnd = Buffer.from('</v></c>');
const trueCell = Buffer.from('" t="b"><v>1</v></c>');
const falseCell = Buffer.from('" t="b"><v>0</v></c>');
const errorStart = Buffer.from('" t="e"><v>');
/** The beginnings of cells with the styles of `workbook.ts`. */
const momentStarts = startsOf(1);
const markedMomentStarts = startsOf(5);
const markStart = Buffer.from('" s="4');
const markedBlank = Buffer.from('" s="4"/>');
/** The bytes of a cell besides its text, and those of a row besides its cells. */
const cellBytes = 96;
const rowBytes = 64;

/** How a cell is written. `error`: the bytes are the name of an error, such as `#N/A`. */
export type WrittenClass = CellClass | 'error';

function startsOf(first: number): Partial<Record<WrittenClass, Buffer>> {
  const [date, timestamp, time] = [0, 1, 2].map((more) => Buffer.from(`" s="${first + more}"><v>`));
  return { date: date!, timestamp: timestamp!, time: time! };
}

export class SheetWriter {
  readonly #names: readonly string[];
  /** For each column the beginning of its cells, up to the number of the row: `<c r="A`. */
  readonly #cellStarts: Buffer[];
  /** The number of the current row. The first one has the names. */
  row = 0;
  #out!: Chunks;
  #isMarked = false;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#cellStarts = names.map((_, index) => Buffer.from(`<c r="${columnLetters(index)}`));
  }

  /** Writes what is before the rows, and the names. */
  begin(out: Chunks): void {
    out.append(beginning);
    this.beginRow(out);
    for (const [index, name] of this.#names.entries()) {
      const field = fieldOf(name);
      this.cell(index, 'text', field, 0, field.length);
    }
    this.endRow();
  }

  beginRow(out: Chunks): void {
    this.#out = out;
    this.row++;
    out.reserve(rowBytes);
    put(out, rowStart);
    putNumber(out, this.row, 1);
    put(out, tagEnd);
  }

  /** The next cell is filled with a color. */
  markNext(): void {
    this.#isMarked = true;
  }

  /**
   * Writes a cell. A value that its class cannot hold exactly is written as a text.
   *
   * @param bytes contains the value from `start` to `end` as a field of COPY's text format
   */
  cell(column: number, kind: WrittenClass, bytes: Buffer, start: number, end: number): void {
    const out = this.#out;
    this.#beginCell(column);
    if (kind === 'text' || !this.#putValue(kind, bytes, start, end)) {
      if (this.#isMarked) put(out, markStart);
      put(out, hasOuterSpace(bytes, start, end) ? spacedTextStart : textStart);
      appendField(out, bytes, start, end);
      out.reserve(textEnd.length);
      put(out, textEnd);
    }
    this.#isMarked = false;
  }

  /** Writes a cell without a value that is filled with a color. */
  markedBlank(column: number): void {
    this.#beginCell(column);
    put(this.#out, markedBlank);
  }

  endRow(): void {
    this.#out.append(rowEnd);
  }

  end(out: Chunks): void {
    out.append(ending);
  }

  #beginCell(column: number): void {
    const out = this.#out;
    out.reserve(cellBytes);
    put(out, this.#cellStarts[column]!);
    putNumber(out, this.row, 1);
  }

  /** Writes the value of a cell that is not a text. Returns false if it must be a text. */
  #putValue(kind: WrittenClass, bytes: Buffer, start: number, end: number): boolean {
    const out = this.#out;
    const momentStart = (this.#isMarked ? markedMomentStarts : momentStarts)[kind];
    if (momentStart !== undefined) {
      if (!readMoment(bytes, start, end, kind as CellClass)) return false;
      put(out, momentStart);
      putSerial(out);
      return true;
    }
    if (kind === 'number' && !isExactNumber(bytes, start, end)) return false;
    if (kind === 'double' && !isExactDouble(bytes, start, end)) return false;
    if (this.#isMarked) put(out, markStart);
    if (kind === 'boolean') {
      put(out, bytes[start] === LOWER_T ? trueCell : falseCell);
      return true;
    }
    put(out, kind === 'error' ? errorStart : numberStart);
    out.length += bytes.copy(out.bytes, out.length, start, end);
    put(out, numberEnd);
    return true;
  }
}

/** Writes the moment that `readMoment` has found. */
function putSerial(out: Chunks): void {
  putNumber(out, serial.days, 1);
  if (serial.milliseconds > 0) {
    out.bytes[out.length++] = POINT;
    // 12 places are a ten thousandth of a millisecond.
    putNumber(out, Math.round((serial.milliseconds * 1e6) / 86.4), 12);
  }
  put(out, numberEnd);
}

/** Writes bytes. There must be room for them. */
function put(out: Chunks, bytes: Buffer): void {
  const to = out.bytes;
  let at = out.length;
  for (let from = 0; from < bytes.length; from++) to[at++] = bytes[from]!;
  out.length = at;
}

/** Writes a whole number with at least this many digits. */
function putNumber(out: Chunks, number: number, minDigits: number): void {
  let count = 1;
  for (let rest = number; rest >= 10; rest = Math.floor(rest / 10)) count++;
  if (count < minDigits) count = minDigits;
  let rest = number;
  for (let at = out.length + count - 1; at >= out.length; at--) {
    const quotient = Math.floor(rest / 10);
    out.bytes[at] = ZERO + rest - quotient * 10;
    rest = quotient;
  }
  out.length += count;
}

/** Returns the letters of a column: A, Z, AA. */
function columnLetters(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnLetters(Math.floor(index / 26) - 1) + last;
}
