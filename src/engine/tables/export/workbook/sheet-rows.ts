/** Writes the rows of a COPY as the XML of a sheet. The COPY has the text format: fields separated by tabs, `\N` for NULL. */
import { BACKSLASH, LF, TAB } from '../../../../core/bytes/ascii.ts';
import { limitExceeded } from '../../../../core/limit-exceeded.ts';
import type { RowColumn } from '../../row-columns.ts';
import type { Chunks } from '../chunks.ts';
import type { RowWriter } from '../row-stream.ts';
import { type CellClass, cellClassOf } from './cell-classes.ts';
import { maxCellLength, maxSheetRows } from './sheet-limits.ts';
import { SheetWriter } from './sheet-writer.ts';

/** The maximum number of bytes of the XML: without ZIP64, which Excel does not open without a warning, a file in a ZIP archive has no more. */
const maxSheetBytes = 4 * 1024 * 1024 * 1024 - 1024 * 1024;

/** A longer field is refused before its end has arrived. A character that is one UTF-16 code unit has at most three bytes. */
const maxFieldBytes = 3 * maxCellLength;

const upperN = 0x4e;
const noBytes = Buffer.alloc(0);

export class SheetRows implements RowWriter {
  readonly #classes: CellClass[];
  readonly #sheet: SheetWriter;
  /** Whether parts of the current row are missing: the column of the next field, and the beginning of the field. */
  #isInRow = false;
  #column = 0;
  #rest: Buffer = noBytes;

  constructor(columns: RowColumn[]) {
    this.#classes = columns.map(({ base }) => cellClassOf(base));
    this.#sheet = new SheetWriter(columns.map(({ name }) => name));
  }

  begin(out: Chunks): void {
    this.#sheet.begin(out);
  }

  row(part: Buffer, out: Chunks, isLast: boolean): void {
    const sheet = this.#sheet;
    if (!this.#isInRow) this.#beginRow(out);
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const end = isLast && bytes[bytes.length - 1] === LF ? bytes.length - 1 : bytes.length;
    let start = 0;
    let column = this.#column;
    for (; column < this.#classes.length; column++) {
      let at = start;
      while (at < end && bytes[at] !== TAB) at++;
      if (at === end && !isLast && at - start <= maxFieldBytes) break;
      const isNull = at - start === 2 && bytes[start] === BACKSLASH && bytes[start + 1] === upperN;
      if (!isNull) sheet.cell(column, this.#classes[column]!, bytes, start, at);
      start = at + 1;
    }
    if (isLast) sheet.endRow();
    this.#isInRow = !isLast;
    this.#column = isLast ? 0 : column;
    this.#rest = isLast ? noBytes : Buffer.from(bytes.subarray(start));
  }

  end(out: Chunks): void {
    this.#sheet.end(out);
  }

  #beginRow(out: Chunks): void {
    const advice = 'Export CSV instead.';
    if (this.#sheet.row > maxSheetRows)
      throw limitExceeded('The table has too many rows for a workbook', maxSheetRows, 'rows', advice);
    if (out.allBytes > maxSheetBytes)
      throw limitExceeded('The sheet of the workbook is too long', maxSheetBytes, 'bytes', advice);
    this.#sheet.beginRow(out);
  }
}
