/** Messy workbooks: sheets, titles, totals, merged headers, odd cells, and the older formats. */
import * as library from '@e965/xlsx';
import { bookOf, type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook, type WorkbookSpec } from '../support/xlsx-builder.ts';
import type { MessyFile } from './messy-file.ts';

const regions: CellSpec[][] = [
  ['Order', 'Region', 'Amount'],
  ['A-1', 'North', 120.5],
  ['A-2', 'South', 80],
  ['A-3', 'East', 7],
];

const formats = ['yyyy-mm-dd', '0.0%', '#,##0.00 "€"', '00000'];
const day = (serial: number): CellSpec => ({ attributes: 's="1"', content: `<v>${serial}</v>` });
const styled = (style: number, value: number): CellSpec => ({
  attributes: `s="${style}"`,
  content: `<v>${value}</v>`,
});
const formula = (text: string): CellSpec => ({ attributes: '', content: `<f>${text}</f>` });
const errorCell = (error: string): CellSpec => ({ attributes: 't="e"', content: `<v>${error}</v>` });

/** Returns a workbook of sheets with formats. @param merged the merged areas of the first sheet */
function book(sheets: Record<string, CellSpec[][]>, more: Partial<WorkbookSpec> = {}, merged: string[] = []) {
  return bookOf(sheets, { formats, ...more }, merged);
}

function legacy(bookType: library.BookType): Buffer {
  const sheet = library.utils.aoa_to_sheet([
    ['No', 'Name', 'Amount', 'Paid'],
    [1, 'Zoë', 1234.5, true],
    [2, '00042', -0.1, false],
  ]);
  const options = { type: 'buffer', bookType } as const;
  return library.write({ SheetNames: ['Data'], Sheets: { Data: sheet } }, options) as Buffer;
}

const sheets: MessyFile[] = [
  {
    name: 'hidden-first-sheet.xlsx',
    content: buildWorkbook({
      sheets: [
        { name: 'Lists', xml: sheetXml([['x'], [1]]), state: 'hidden' },
        { name: 'Data', xml: sheetXml(regions) },
      ],
    }),
    tries: [
      {
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
];

const headers: MessyFile[] = [
  {
    name: 'blank-columns.xlsx',
    content: sheetOf([
      [null, 'id', null, 'name', null],
      [null, 1, null, 'Ann', ' '],
      [null, 2, null, 'Bob', null],
      [null, null, null, null, null],
      [null, ' ', null, null, null],
    ]),
    tries: [{ columns: 'id bigint, name text', rows: ['1 | Ann', '2 | Bob'], warnings: ['blank-rows'] }],
  },
  {
    name: 'odd-headers.xlsx',
    content: sheetOf([
      ['id', 'Amount', 'Amount', null, 'Ärger '.repeat(12), 2026, ' name '],
      [1, 2, 3, 4, 5, 6, 'Ann'],
    ]),
    tries: [
      {
        columns:
          'id bigint, Amount bigint, Amount_2 bigint, column_D bigint, Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger bigint, 2026 bigint, name text',
        rows: ['1 | 2 | 3 | 4 | 5 | 6 | Ann'],
        warnings: [
          'repeated-header Amount_2',
          'blank-header column_D',
          'shortened-header Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger Ärger',
        ],
      },
    ],
  },
  {
    name: 'header-with-line-break.xlsx',
    content: sheetOf([
      ['Order\nno', 'Amount (€)'],
      ['A-1', 5],
    ]),
    tries: [{ columns: 'Order\nno text, Amount (€) bigint', rows: ['A-1 | 5'] }],
  },
];

const parts: MessyFile[] = [
  {
    name: 'hidden-rows-and-columns.xlsx',
    content: buildWorkbook({
      sheets: [
        {
          name: 'Data',
          xml: `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cols><col min="2" max="2" width="0" hidden="1"/></cols><sheetData>${sheetXml(regions).replace('<row r="3"', '<row r="3" hidden="1"')}</sheetData></worksheet>`,
        },
      ],
    }),
    tries: [
      {
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: ['hidden-rows', 'hidden-columns'],
      },
      {
        query: 'hidden=skip',
        columns: 'Order text, Amount numeric',
        rows: ['A-1 | 120.5', 'A-3 | 7'],
        warnings: ['hidden-rows', 'hidden-columns'],
      },
    ],
  },
  {
    name: 'excel-table.xlsx',
    content: buildWorkbook({
      sheets: [
        {
          name: 'Data',
          xml: sheetXml([['Draft'], [], ...regions, ['Total', null, 207.5]]),
          tables: [
            '<table id="1" name="Sales" displayName="Sales" ref="A3:C7" totalsRowCount="1"><tableColumns/></table>',
          ],
        },
      ],
    }),
    tries: [
      {
        query: 'table_range=Sales',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: ['totals-row'],
      },
    ],
  },
];

const cells: MessyFile[] = [
  {
    name: 'numbers-as-text.xlsx',
    content: sheetOf([
      ['No', 'Amount'],
      ['1', '120.5'],
      ['2', '80'],
      ['3', '7'],
    ]),
    tries: [{ columns: 'No text, Amount text', rows: ['1 | 120.5', '2 | 80', '3 | 7'] }],
  },
  {
    name: 'dates-as-text.xlsx',
    content: sheetOf([
      ['No', 'Day'],
      [1, '21.11.2026'],
      [2, '02.12.2026'],
    ]),
    tries: [
      {
        columns: 'No bigint, Day text',
        rows: ['1 | 21.11.2026', '2 | 02.12.2026'],
        warnings: ['other-notation Day Sheet1!B2'],
      },
      { query: 'date_order=dmy', columns: 'No bigint, Day date', rows: ['1 | 2026-11-21', '2 | 2026-12-02'] },
    ],
  },
  {
    name: 'one-date-as-text.xlsx',
    content: book({
      Data: [
        ['No', 'Day'],
        [1, day(46347)],
        [2, day(46348)],
        [3, '23.11.2026'],
        [4, day(46350)],
      ],
    }),
    tries: [
      {
        columns: 'No bigint, Day text',
        rows: ['1 | 2026-11-21', '2 | 2026-11-22', '3 | 23.11.2026', '4 | 2026-11-24'],
        warnings: ['other-notation Day Data!B4'],
      },
      {
        query: 'date_order=dmy',
        columns: 'No bigint, Day date',
        rows: ['1 | 2026-11-21', '2 | 2026-11-22', '3 | 2026-11-23', '4 | 2026-11-24'],
      },
    ],
  },
  {
    name: 'mixed-types.xlsx',
    content: book({
      Data: [
        ['No', 'Value'],
        [1, 12],
        [2, 'twelve'],
        [3, day(46347)],
        [4, true],
      ],
    }),
    tries: [
      {
        columns: 'No bigint, Value text',
        rows: ['1 | 12', '2 | twelve', '3 | 2026-11-21', '4 | true'],
        warnings: ['mixed-column Value Data!B3'],
      },
    ],
  },
  {
    name: 'one-word-among-numbers.xlsx',
    content: sheetOf([
      ['No', 'Value'],
      [1, 12],
      [2, 13],
      [3, 'n/a'],
      [4, 15],
    ]),
    tries: [
      {
        columns: 'No bigint, Value text',
        rows: ['1 | 12', '2 | 13', '3 | n/a', '4 | 15'],
        warnings: ['mixed-column Value Sheet1!B4'],
      },
      {
        query: 'null_values=n/a',
        columns: 'No bigint, Value bigint',
        rows: ['1 | 12', '2 | 13', '3 | NULL', '4 | 15'],
      },
    ],
  },
  {
    name: 'error-cells.xlsx',
    content: sheetOf([
      ['No', 'Value'],
      [1, 12],
      [2, errorCell('#N/A')],
      [3, errorCell('#DIV/0!')],
    ]),
    tries: [
      { error: '422 invalid-data', problems: ['error-cell Value Sheet1!B3', 'error-cell Value Sheet1!B4'] },
      {
        query: 'cell_errors=null',
        columns: 'No bigint, Value bigint',
        rows: ['1 | 12', '2 | NULL', '3 | NULL'],
        warnings: ['cell-errors-as-null Value'],
      },
    ],
  },
  {
    name: 'formulas-without-values.xlsx',
    content: sheetOf([
      ['No', 'Double'],
      [1, formula('A2*2')],
      [2, formula('A3*2')],
    ]),
    tries: [
      {
        error: '422 invalid-data',
        problems: ['formula-without-value Double Sheet1!B2', 'formula-without-value Double Sheet1!B3'],
      },
      {
        query: 'cell_errors=null',
        columns: 'No bigint, Double text',
        rows: ['1 | NULL', '2 | NULL'],
        warnings: ['cell-errors-as-null Double'],
      },
    ],
  },
  {
    name: 'formats.xlsx',
    content: book({
      Data: [
        ['Zip', 'Share', 'Price', 'Day'],
        [styled(4, 1067), styled(2, 0.125), styled(3, 1234.5), day(46347)],
        [styled(4, 80331), styled(2, 1), styled(3, -99), day(46347.5)],
      ],
    }),
    tries: [
      {
        columns: 'Zip text, Share numeric, Price numeric, Day timestamp without time zone',
        rows: ['01067 | 0.125 | 1234.5 | 2026-11-21 00:00:00', '80331 | 1 | -99 | 2026-11-21 12:00:00'],
      },
    ],
  },
  {
    name: 'mac-dates.xlsx',
    content: book(
      {
        Data: [
          ['No', 'Day'],
          [1, day(44885)],
        ],
      },
      { is1904: true },
    ),
    tries: [{ columns: 'No bigint, Day date', rows: ['1 | 2026-11-21'] }],
  },
  {
    name: 'card-numbers.xlsx',
    content: sheetOf([['Card'], [4111111111111111], [5500000000000004]]),
    tries: [{ columns: 'Card bigint', rows: ['4111111111111111', '5500000000000004'] }],
  },
  {
    name: 'booleans.xlsx',
    content: sheetOf([
      ['a', 'b', 'c'],
      [true, 'Ja', 1],
      [false, 'Nein', 0],
    ]),
    tries: [{ columns: 'a boolean, b text, c bigint', rows: ['t | Ja | 1', 'f | Nein | 0'] }],
  },
];

const otherFormats: MessyFile[] = [
  {
    name: 'legacy.xls',
    content: legacy('biff8'),
    tries: [
      {
        columns: 'No bigint, Name text, Amount numeric, Paid boolean',
        rows: ['1 | Zoë | 1234.5 | t', '2 | 00042 | -0.1 | f'],
      },
    ],
  },
  {
    name: 'binary.xlsb',
    content: legacy('xlsb'),
    tries: [
      {
        columns: 'No bigint, Name text, Amount numeric, Paid boolean',
        rows: ['1 | Zoë | 1234.5 | t', '2 | 00042 | -0.1 | f'],
      },
    ],
  },
  {
    name: 'office.ods',
    content: legacy('ods'),
    tries: [
      {
        columns: 'No bigint, Name text, Amount numeric, Paid boolean',
        rows: ['1 | Zoë | 1234.5 | t', '2 | 00042 | -0.1 | f'],
      },
    ],
  },
  {
    name: 'really-xlsx.csv',
    content: sheetOf(regions),
    tries: [
      {
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
];

export const workbooks: MessyFile[] = [...sheets, ...headers, ...parts, ...cells, ...otherFormats];
