/** Makes a workbook from rows of plain values, for tests in which the form of the file does not matter. */
import { columnLetters } from '../../src/readers/spreadsheet/cell-address.ts';
import { buildWorkbook, escapeXml, type WorkbookSpec } from './xlsx-builder.ts';

/** Numbers and booleans as such, text as inline strings; null: no cell. `{ xml }`: the cell's attributes and content. */
export type CellSpec = string | number | boolean | null | { attributes: string; content: string };

export function sheetOf(rows: CellSpec[][], name = 'Sheet1'): Buffer {
  return buildWorkbook({ sheets: [{ name, xml: sheetXml(rows) }] });
}

/**
 * Returns a workbook of several sheets.
 *
 * @param more other parts of the workbook, such as the formats of its cells
 * @param merged the merged areas of the first sheet
 */
export function bookOf(
  sheets: Record<string, CellSpec[][]>,
  more: Partial<WorkbookSpec> = {},
  merged: string[] = [],
): Buffer {
  const [first = ''] = Object.keys(sheets);
  const xmlOf = (name: string, rows: CellSpec[][]): string =>
    name === first && merged.length > 0 ? mergedSheetXml(rows, merged) : sheetXml(rows);
  return buildWorkbook({
    sheets: Object.entries(sheets).map(([name, rows]) => ({ name, xml: xmlOf(name, rows) })),
    ...more,
  });
}

/** Returns the whole part of a sheet with merged areas. */
export function mergedSheetXml(rows: CellSpec[][], merged: string[]): string {
  const merges = merged.map((range) => `<mergeCell ref="${range}"/>`).join('');
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  return `<?xml version="1.0"?><worksheet xmlns="${main}"><sheetData>${sheetXml(rows)}</sheetData><mergeCells>${merges}</mergeCells></worksheet>`;
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
