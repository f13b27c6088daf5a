/** Writes the rows of a COPY as the XML of a sheet. The COPY has the text format: fields separated by tabs, `\N` for NULL. */
import { BACKSLASH, LF, TAB } from '../../../../core/bytes/ascii.ts';
import { limitExceeded } from '../../../../core/limit-exceeded.ts';
import type { RowColumn } from '../../row-columns.ts';
import type { Chunks } from '../chunks.ts';
import type { RowWriter } from '../row-stream.ts';
import { type CellClass, cellClassOf } from './cell-classes.ts';
import { maxSheetRows } from './sheet-limits.ts';
import { SheetWriter } from './sheet-writer.ts';

/** The maximum number of bytes of the XML: without ZIP64, which Excel does not open without a warning, a file in a ZIP archive has no more. */
const maxSheetBytes = 4 * 1024 * 1024 * 1024 - 1024 * 1024;

const upperN = 0x4e;

export class SheetRows implements RowWriter {
  readonly #classes: CellClass[];
  readonly #sheet: SheetWriter;

  constructor(columns: RowColumn[]) {
    this.#classes = columns.map(({ base }) => cellClassOf(base));
    this.#sheet = new SheetWriter(columns.map(({ name }) => name));
  }

  begin(out: Chunks): void {
    this.#sheet.begin(out);
  }

  row(message: Buffer, out: Chunks): void {
    const sheet = this.#sheet;
    if (sheet.row > maxSheetRows)
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
    sheet.beginRow(out);
    const end = message[message.length - 1] === LF ? message.length - 1 : message.length;
    let start = 0;
    for (let column = 0; column < this.#classes.length; column++) {
      let at = start;
      while (at < end && message[at] !== TAB) at++;
      const isNull = at - start === 2 && message[start] === BACKSLASH && message[start + 1] === upperN;
      if (!isNull) sheet.cell(column, this.#classes[column]!, message, start, at);
      start = at + 1;
    }
    sheet.endRow();
  }

  end(out: Chunks): void {
    this.#sheet.end(out);
  }
}
