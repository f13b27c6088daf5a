/** Writes kept rows as the sheet of a workbook. The cells with problems are filled. */
import * as kinds from '../../../core/cells/cell-kind.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import { fieldOf } from '../../tables/export/workbook/cell-text.ts';
import { SheetWriter, type WrittenClass } from '../../tables/export/workbook/sheet-writer.ts';
import { textOf } from './csv-rows.ts';
import type { RowsWriter } from './rows-writer.ts';
import { CELL_ERROR, type SentRowReader, type WrittenTable } from './sent-rows.ts';

/** By the kind of the cell. All others are texts, as the cells of a text file. */
const classes: Record<number, WrittenClass> = {
  [kinds.FALSE]: 'boolean',
  [kinds.TRUE]: 'boolean',
  [kinds.NUMBER]: 'number',
  [kinds.ROUNDED_NUMBER]: 'double',
  [kinds.DATE]: 'date',
  [kinds.TIMESTAMP]: 'timestamp',
  [kinds.TIME]: 'time',
  [CELL_ERROR]: 'error',
};

const errorName = /^#[\w/!?]{1,20}$/;

export function sheetOfRows({ names, columns, hasReasons }: WrittenTable): RowsWriter {
  const sheet = new SheetWriter(hasReasons ? [...names, problemColumn] : names);
  return {
    begin: (out) => sheet.begin(out),
    row(row, out) {
      sheet.beginRow(out);
      for (const [index, column] of columns.entries()) {
        const cell = row.cellOf.get(column);
        const isMarked = row.marked.has(column);
        const field = cell === undefined ? '' : fieldTextOf(row, cell);
        if (cell === undefined || field === '') {
          if (isMarked) sheet.markedBlank(index);
          continue;
        }
        const bytes = fieldOf(field);
        if (isMarked) sheet.markNext();
        sheet.cell(index, classOf(row.kinds[cell]!, field), bytes, 0, bytes.length);
      }
      const reason = fieldOf(row.reason);
      if (hasReasons) sheet.cell(names.length, 'text', reason, 0, reason.length);
      sheet.endRow();
    },
    end: (out) => sheet.end(out),
  };
}

function classOf(kind: number, text: string): WrittenClass {
  const known = classes[kind] ?? 'text';
  return known === 'error' && !errorName.test(text) ? 'text' : known;
}

function fieldTextOf(row: SentRowReader, cell: number): string {
  const kind = row.kinds[cell]!;
  // A cell gets the exact number, which a spreadsheet program shows rounded.
  if (kind === kinds.ROUNDED_NUMBER) {
    const both = row.bytes.toString('latin1', row.starts[cell], row.ends[cell]);
    return both.slice(both.indexOf('\0') + 1);
  }
  const text = textOf(row, cell).toString();
  return kind === kinds.TIMESTAMP ? text.replace('T', ' ') : text;
}
