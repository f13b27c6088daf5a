/** Describes in words what one pass over a sheet has read, and what it has not read. */

import type { SourceReading } from '../../core/cells/row-source.ts';
import type { Warning } from '../../core/errors.ts';
import { columnLetters, maxSheetColumn } from './cell-address.ts';
import { listNames, quote } from './choose-sheet.ts';
import type { HeaderRow } from './header-row.ts';
import { outlineWarnings } from './proposal/outline-warnings.ts';
import type { SheetOutline } from './proposal/sheet-outline.ts';
import type { SheetColumns } from './sheet-columns.ts';
import type { SheetWindow } from './sheet-window.ts';
import type { SheetSummary } from './spreadsheet-options.ts';

/** The sheet that is read, and all sheets of the file. */
export interface SheetOfFile {
  /** The name of the sheet; empty: the file has no sheets. */
  sheet: string;
  sheets: SheetSummary[];
}

/** What a finished pass has read. Rows count from 1. */
export interface SheetPass {
  window: SheetWindow;
  /** The last row of the header. */
  headerRow: number;
  header: HeaderRow;
  columns: SheetColumns;
  /** The last row that has a value below the header. */
  lastDataRow: number;
  /** The last row of the sheet; 0: it has none. */
  lastRow: number;
}

/** Describes what was read: the format, the sheet, the header row and the range. @param sheet empty: the file has no sheets */
export function readingOf(pass: SheetPass, format: string, sheet: string): SourceReading {
  const ofSheet = sheet === '' ? {} : { sheet };
  const { columns, headerRow, lastDataRow, window } = pass;
  const firstHeaderRow = firstRowOf(pass);
  if (columns.sheetColumns.length === 0) return { format, ...ofSheet };
  const lastRow = Math.max(headerRow, lastDataRow);
  const firstRow = window.hasHeader ? firstHeaderRow : headerRow + 1;
  const header = {
    headerRow: firstHeaderRow,
    ...(headerRow > firstHeaderRow && { headerRows: headerRow - firstHeaderRow + 1 }),
  };
  const range = `${columnLetters(columns.first)}${firstRow}:${columnLetters(columns.last)}${lastRow}`;
  return { format, ...ofSheet, ...(window.hasHeader && header), range };
}

function firstRowOf({ header, headerRow }: SheetPass): number {
  return header.firstRow ?? headerRow;
}

/** Warns of rows and columns that do not look like a part of the table. */
export function surroundingsOf(pass: SheetPass, outline: SheetOutline): Warning[] {
  const { columns, header, headerRow, lastDataRow, window } = pass;
  if (!window.hasHeader || columns.sheetColumns.length === 0) return [];
  return outlineWarnings(outline, {
    headerRow: firstRowOf(pass),
    headerRows: headerRow - firstRowOf(pass) + 1,
    headerCells: header.texts.filter((text) => text).length,
    isHeaderChosen: window.headerRow !== undefined,
    firstColumn: columns.first,
    lastColumn: columns.last,
    lastRow: lastDataRow,
  });
}

/** Explains why there are no rows. Most often the wrong sheet was read, or the header is elsewhere. */
export function noRowsWarning(pass: SheetPass, { sheet, sheets }: SheetOfFile): Warning {
  return { code: 'no-rows', detail: describeNothing(pass, sheet, sheets) };
}

function describeNothing(
  { window: { headerRow, range }, ...pass }: SheetPass,
  sheet: string,
  sheets: SheetSummary[],
): string {
  const subject = sheet === '' ? 'The file' : `Sheet ${quote(sheet)}`;
  const header = pass.header.texts.filter((text) => text);
  if (header.length > 0) {
    const shown = header.slice(0, 3).map(quote).join(', ');
    const all = header.length > 3 ? `${shown}, …` : shown;
    return `${subject} has no row with a value below its header, which is row ${pass.headerRow} (${all}).`;
  }
  const others = sheets.filter(({ name, hasCells }) => hasCells && name !== sheet);
  const otherSheets = others.length === 0 ? '' : ` Choose another with \`sheet\`: ${listNames(others)}.`;
  if (pass.lastRow === 0) return `${subject} is empty.${otherSheets}`;
  if (headerRow !== undefined && !(range.hasFirstRow && headerRow === range.firstRow)) {
    return `${subject} has no value in row ${headerRow}, the \`header_row\`, or below it; its last row is row ${pass.lastRow}.`;
  }
  const isPart = range.hasFirstRow || range.firstColumn > 1 || range.lastColumn < maxSheetColumn;
  return `${subject} has no cell with a value${isPart ? ' in the `range`' : ''}.${otherSheets}`;
}
