/** A workbook from rows of plain values, for tests that care for what becomes of them and not for the file. */
import { columnLetters } from '../../src/sources/spreadsheet/cell-address.ts';
import { buildWorkbook, escapeXml } from './xlsx-builder.ts';

/** Numbers and booleans as such, text as inline strings; null: no cell. `{ xml }`: the cell's attributes and content. */
export type CellSpec = string | number | boolean | null | { attributes: string; content: string };

export function sheetOf(rows: CellSpec[][], name = 'Sheet1'): Buffer {
  return buildWorkbook({ sheets: [{ name, xml: sheetXml(rows) }] });
}

export function sheetXml(rows: CellSpec[][]): string {
  return rows
    .map((cells, row) => {
      const xml = cells
        .map((cell, column) => cellXml(`${columnLetters(column + 1)}${row + 1}`, cell))
        .join('');
      return `<row r="${row + 1}">${xml}</row>`;
    })
    .join('');
}

function cellXml(address: string, cell: CellSpec): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${address}"><v>${cell}</v></c>`;
  if (typeof cell === 'boolean') return `<c r="${address}" t="b"><v>${Number(cell)}</v></c>`;
  if (typeof cell === 'string') {
    return `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(cell)}</t></is></c>`;
  }
  return `<c r="${address}" ${cell.attributes}>${cell.content}</c>`;
}
