/** Builds an .xlsx workbook from the tables with which the documentation shows sheets. */
import { type CellSpec, sheetXml } from './workbook.ts';
import { buildWorkbook } from './xlsx-builder.ts';

export interface TableSheet {
  name: string;
  /** The words between the name and the colon, such as " with the Excel table `Orders` in A3:C6". */
  about: string;
  /**
   * The cells. The first row has the letters of the columns, and the first cell of each other row has its number. A row whose
   * number is followed by "(hidden)" is hidden. A cell is written as a spreadsheet program shows it: `1234.5`, `12.5%`,
   * `1,234.50 €`, `2026-11-21`, `TRUE`; all other cells are texts, also `00042`.
   */
  cells: string[][];
}

const formats = ['yyyy-mm-dd', '0.0%', '#,##0.00 "€"'];

export function buildTableWorkbook(sheets: TableSheet[]): Buffer {
  return buildWorkbook({
    formats,
    sheets: sheets.map(({ name, about, cells: [, ...rows] }) => {
      const xml = sheetXml(rows.map(([, ...cells]) => cells.map(cellOf)));
      const hidden = rows.flatMap(([label], index) => (label!.includes('hidden') ? index + 1 : []));
      const table = /Excel table `(\w+)` in (\w+:\w+)/.exec(about);
      return {
        name,
        ...(table && { tables: [tableXml(table[1]!, table[2]!)] }),
        xml: hidden.reduce((all, row) => all.replace(`<row r="${row}"`, `$& hidden="1"`), xml),
      };
    }),
  });
}

/** Returns an Excel table whose last row has its totals. */
function tableXml(name: string, range: string): string {
  return `<table id="1" name="${name}" displayName="${name}" ref="${range}" totalsRowCount="1"><tableColumns/></table>`;
}

function cellOf(text: string): CellSpec {
  if (text === '') return null;
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return Number(text);
  if (/^(TRUE|FALSE)$/.test(text)) return text === 'TRUE';
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return styled(1, Date.parse(text) / 86_400_000 + 25_569);
  if (/^[\d.]+%$/.test(text)) return styled(2, Number(text.slice(0, -1)) / 100);
  if (/^-?[\d.,]+ €$/.test(text)) return styled(3, Number(text.slice(0, -2).replaceAll(',', '')));
  return text;
}

const styled = (style: number, value: number): CellSpec => ({
  attributes: `s="${style}"`,
  content: `<v>${value}</v>`,
});
