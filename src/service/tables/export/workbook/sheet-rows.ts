/**
 * Writes rows as the XML of a sheet (ECMA-376 part 1, 18.3.1). Its first row has the names of the columns and stays visible. The COPY has the text format:
 * fields separated by tabs, `\N` for NULL.
 */
import { BACKSLASH, LF, LOWER_T, POINT, TAB, ZERO } from '../../../../core/bytes/ascii.ts';
import { limitExceeded } from '../../../../core/limit-exceeded.ts';
import type { RowColumn } from '../../row-columns.ts';
import type { Chunks } from '../chunks.ts';
import type { RowWriter } from '../row-stream.ts';
import {
  type CellClass,
  cellClassOf,
  isExactDouble,
  isExactNumber,
  readMoment,
  serial,
} from './cell-classes.ts';
import { appendField, fieldOf, hasOuterSpace } from './cell-text.ts';
import { maxSheetRows } from './sheet-limits.ts';

/** The maximum number of bytes of the XML: without ZIP64, which Excel does not open without a warning, a file in a ZIP archive has no more. */
const maxSheetBytes = 4 * 1024 * 1024 * 1024 - 1024 * 1024;

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
/** The beginnings of cells with the styles of `workbook.ts`. */
const momentStarts: Partial<Record<CellClass, Buffer>> = {
  date: Buffer.from('" s="1"><v>'),
  timestamp: Buffer.from('" s="2"><v>'),
  time: Buffer.from('" s="3"><v>'),
};
/** The bytes of a cell besides its text, and those of a row besides its cells. */
const cellBytes = 96;
const rowBytes = 64;

const upperN = 0x4e;

export class SheetRows implements RowWriter {
  readonly #names: string[];
  readonly #classes: CellClass[];
  /** For each column the beginning of its cells, up to the number of the row: `<c r="A`. */
  readonly #cellStarts: Buffer[];
  #row = 0;

  constructor(columns: RowColumn[]) {
    this.#names = columns.map(({ name }) => name);
    this.#classes = columns.map(({ base }) => cellClassOf(base));
    this.#cellStarts = columns.map((_, index) => Buffer.from(`<c r="${columnLetters(index)}`));
  }

  begin(out: Chunks): void {
    out.append(beginning);
    this.#beginRow(out);
    for (const [index, name] of this.#names.entries()) {
      const field = fieldOf(name);
      this.#cell(out, index, field, 0, field.length);
    }
    out.append(rowEnd);
  }

  row(message: Buffer, out: Chunks): void {
    if (this.#row > maxSheetRows)
      throw limitExceeded(
        'The table has too many rows for a workbook',
        maxSheetRows,
        'rows',
        'Export CSV instead.',
      );
    if (out.allBytes > maxSheetBytes)
      throw limitExceeded(
        'The sheet of the workbook is too long',
        maxSheetBytes,
        'bytes',
        'Export CSV instead.',
      );
    this.#beginRow(out);
    const end = message[message.length - 1] === LF ? message.length - 1 : message.length;
    let start = 0;
    for (let column = 0; column < this.#classes.length; column++) {
      let at = start;
      while (at < end && message[at] !== TAB) at++;
      const isNull = at - start === 2 && message[start] === BACKSLASH && message[start + 1] === upperN;
      if (!isNull) this.#cell(out, column, message, start, at);
      start = at + 1;
    }
    out.append(rowEnd);
  }

  end(out: Chunks): void {
    out.append(ending);
  }

  #beginRow(out: Chunks): void {
    this.#row++;
    out.reserve(rowBytes);
    put(out, rowStart);
    putNumber(out, this.#row, 1);
    put(out, tagEnd);
  }

  #cell(out: Chunks, column: number, bytes: Buffer, start: number, end: number): void {
    // The first row has the names.
    const kind = this.#row === 1 ? 'text' : this.#classes[column]!;
    out.reserve(cellBytes);
    put(out, this.#cellStarts[column]!);
    putNumber(out, this.#row, 1);
    if (kind === 'boolean') put(out, bytes[start] === LOWER_T ? trueCell : falseCell);
    else if (kind === 'text' || !putValue(out, kind, bytes, start, end)) {
      put(out, hasOuterSpace(bytes, start, end) ? spacedTextStart : textStart);
      appendField(out, bytes, start, end);
      out.reserve(textEnd.length);
      put(out, textEnd);
    }
  }
}

/** Writes the value of a cell that is not a text. Returns false if it must be a text. */
function putValue(out: Chunks, kind: CellClass, bytes: Buffer, start: number, end: number): boolean {
  const momentStart = momentStarts[kind];
  if (momentStart === undefined) {
    const isExact = kind === 'double' ? isExactDouble : isExactNumber;
    if (!isExact(bytes, start, end)) return false;
    put(out, numberStart);
    out.length += bytes.copy(out.bytes, out.length, start, end);
  } else {
    if (!readMoment(bytes, start, end, kind)) return false;
    put(out, momentStart);
    putNumber(out, serial.days, 1);
    if (serial.milliseconds > 0) {
      out.bytes[out.length++] = POINT;
      // 12 places are a ten thousandth of a millisecond.
      putNumber(out, Math.round((serial.milliseconds * 1e6) / 86.4), 12);
    }
  }
  put(out, numberEnd);
  return true;
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
