/** Writes kept rows as the sheet of a workbook. The cells with problems are filled. */
import * as kinds from '../../../core/cells/cell-kind.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import { readMoment } from '../../tables/export/workbook/cell-classes.ts';
import { fieldOf } from '../../tables/export/workbook/cell-text.ts';
import { SheetWriter, type WrittenClass } from '../../tables/export/workbook/sheet-writer.ts';
import { textOf } from './csv-rows.ts';
import { isNullCell, isTextInSheet, numberText, type SentNotation } from './format-fit.ts';
import type { RowsWriter } from './rows-writer.ts';
import type { SentColumn } from './sent-column.ts';
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

export function sheetOfRows({ names, columns, ofTable, notation, hasReasons }: WrittenTable): RowsWriter {
  const sheet = new SheetWriter(hasReasons ? [...names, problemColumn] : names);
  return {
    begin: (out) => sheet.begin(out),
    row(row, out) {
      sheet.beginRow(out);
      for (const [index, column] of columns.entries()) {
        const cell = row.cellOf.get(column);
        const isMarked = row.marked.has(column);
        const field = cell === undefined ? noField : fieldOfCell(row, cell, ofTable?.[index], notation);
        if (field.text === '') {
          if (isMarked) sheet.markedBlank(index);
          continue;
        }
        const bytes = fieldOf(field.text);
        if (isMarked) sheet.markNext();
        sheet.cell(index, field.kind, bytes, 0, bytes.length);
      }
      const reason = fieldOf(row.reason);
      if (hasReasons) sheet.cell(names.length, 'text', reason, 0, reason.length);
      sheet.endRow();
    },
    end: (out) => sheet.end(out),
  };
}

interface Field {
  text: string;
  kind: WrittenClass;
}

const noField: Field = { text: '', kind: 'text' };

function fieldOfCell(
  row: SentRowReader,
  cell: number,
  at: SentColumn | undefined,
  notation: SentNotation | undefined,
): Field {
  const kind = row.kinds[cell]!;
  const start = row.starts[cell]!;
  const end = row.ends[cell]!;
  if (isNullCell(kind, row.bytes, start, end, notation)) return noField;
  // A cell gets the exact number, which a spreadsheet program shows rounded.
  if (kind === kinds.ROUNDED_NUMBER) {
    const both = row.bytes.toString('latin1', start, end);
    return { text: both.slice(both.indexOf('\0') + 1), kind: 'double' };
  }
  const text = textOf(row, cell, at).toString();
  const written = classes[kind] ?? 'text';
  if (written === 'number' && isTextInSheet(row.bytes, start, end, at))
    return { text: numberText(text, at, notation), kind: 'text' };
  if (written === 'error' && !errorName.test(text)) return { text, kind: 'text' };
  if (written !== 'timestamp') return { text, kind: written };
  const bytes = Buffer.from(text.replace('T', ' '));
  const isMoment = readMoment(bytes, 0, bytes.length, written);
  return isMoment ? { text: bytes.toString(), kind: written } : { text, kind: 'text' };
}
