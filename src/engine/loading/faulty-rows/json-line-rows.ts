/** Writes kept rows as NDJSON: the objects that were sent, with the reasons. The digits of numbers and the text of nested values are unchanged. */
import { ARRAY, FALSE, NUMBER, OBJECT, ROUNDED_NUMBER, TRUE } from '../../../core/cells/cell-kind.ts';
import { problemColumn } from '../../../core/identifiers.ts';
import { textOf } from './csv-rows.ts';
import { isNullCell, type SentNotation } from './format-fit.ts';
import type { RowsWriter } from './rows-writer.ts';
import type { SentColumn } from './sent-column.ts';
import { REPEATED, type SentRowReader, type WrittenTable } from './sent-rows.ts';

/** A number of JSON (RFC 8259 section 6). */
export const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A row is written in parts of this length, so that the text of a whole long row is not in memory, too. */
const maxTextLength = 64 * 1024;

export function jsonLineRows({ names, columns, ofTable, notation, hasReasons }: WrittenTable): RowsWriter {
  const columnsOfTable = new Map(columns.map((column, index) => [column, ofTable?.[index]]));
  const keys = new Map(columns.map((column, index) => [column, `${JSON.stringify(names[index])}:`]));
  return {
    begin() {},
    row(row, out) {
      let text = '{';
      for (let cell = 0; cell < row.count; cell++) {
        text += `${cell > 0 ? ',' : ''}${keys.get(row.columns[cell]!)}${jsonOf(row, cell, columnsOfTable.get(row.columns[cell]!), notation)}`;
        if (text.length < maxTextLength) continue;
        out.append(Buffer.from(text));
        text = '';
      }
      // JSON has no parameter `empty_cells`, so a cell that is empty and means NULL becomes null.
      const missing = notation?.emptyIsNull ? columns.filter((column) => !row.cellOf.has(column)) : [];
      if (missing.length > 0) {
        const nulls = missing.map((column) => `${keys.get(column)}null`).join();
        text += `${row.count > 0 ? ',' : ''}${nulls}`;
      }
      if (hasReasons)
        text += `${row.count + missing.length > 0 ? ',' : ''}${JSON.stringify(problemColumn)}:${JSON.stringify(row.reason)}`;
      out.append(Buffer.from(`${text}}\n`));
    },
    end() {},
  };
}

function jsonOf(
  row: SentRowReader,
  cell: number,
  at: SentColumn | undefined,
  notation: SentNotation | undefined,
): string {
  const kind = row.kinds[cell]!;
  if (isNullCell(kind, row.bytes, row.starts[cell]!, row.ends[cell]!, notation)) return 'null';
  const text = textOf(row, cell, at).toString();
  if (kind === TRUE || kind === FALSE || kind === NUMBER) return text;
  // The text of a nested value has line breaks only between its tokens.
  if (kind === OBJECT || kind === ARRAY) return text.replaceAll(/[\r\n]/g, ' ');
  if (kind === ROUNDED_NUMBER && jsonNumber.test(text)) return text;
  return kind === REPEATED && isJson(text) ? text.replaceAll(/[\r\n]/g, ' ') : JSON.stringify(text);
}

/** The kind of the value of a repeated key is not known. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
