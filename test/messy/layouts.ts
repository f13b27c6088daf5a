/** Messy layouts: covers, titles, totals, notes, grouped headers, tables side by side, and files without a header. */
import { bookOf, type CellSpec, sheetOf } from '../support/workbook.ts';
import { lines, type MessyFile } from './messy-file.ts';

const regions: CellSpec[][] = [
  ['Order', 'Region', 'Amount'],
  ['A-1', 'North', 120.5],
  ['A-2', 'South', 80],
  ['A-3', 'East', 7],
];

const groupedHeaders: CellSpec[][] = [
  ['Region', '2025', null, '2026', null],
  [null, 'Q1', 'Q2', 'Q1', 'Q2'],
  ['North', 1, 2, 3, 4],
  ['South', 5, 6, 7, 8],
];
const groups = ['A1:A2', 'B1:C1', 'D1:E1'];

const statistics: CellSpec[][] = [
  ['Table 12. Farms by kind'],
  [],
  ['See notes.'],
  [],
  ['Kind', 'Number of farms', null, 'Acreage (1,000)', 'Value'],
  [],
  [null, 2000, 2007, null, 'per'],
  [null, null, null, null, 'acre'],
  [],
  ['Dairy', 25, 26, '(NA)', 7],
  ['North:'],
  ['Cattle', 31, 33, 4, 8],
  ['Hogs', '(NA)', 5, 6, '(X)'],
  [],
  ['Source: survey.'],
];

const inTextFiles: MessyFile[] = [
  {
    name: 'title-and-total.csv',
    content: lines(
      'Sales report 2026,,',
      ',,',
      'order,region,amount',
      'A-1,North,120.5',
      'A-2,South,80',
      'A-3,East,7',
      'Total,,207.5',
    ),
    tries: [
      {
        columns: 'Sales report 2026 text, column_B text, column_C text',
        rows: [
          'order | region | amount',
          'A-1 | North | 120.5',
          'A-2 | South | 80',
          'A-3 | East | 7',
          'Total | NULL | 207.5',
        ],
        warnings: [
          'header-row',
          'blank-header column_B',
          'blank-header column_C',
          'total-row',
          'mixed-column column_C C3',
        ],
      },
      {
        query: 'range=A3:C6',
        columns: 'order text, region text, amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
  {
    name: 'two-header-rows.csv',
    content: lines('sensor,temperature', ',°C', 'a1,20.5', 'a2,19', 'a3,18.5'),
    tries: [
      {
        columns: 'sensor text, temperature text',
        rows: ['NULL | °C', 'a1 | 20.5', 'a2 | 19', 'a3 | 18.5'],
        warnings: ['header-row', 'mixed-column temperature B2'],
      },
      {
        query: 'header_rows=2',
        columns: 'sensor text, temperature °C numeric',
        rows: ['a1 | 20.5', 'a2 | 19', 'a3 | 18.5'],
      },
    ],
  },
  {
    name: 'grouped-headers.csv',
    content: lines('region,2025,,2026,', ',Q1,Q2,Q1,Q2', 'North,1,2,3,4', 'South,5,6,7,8'),
    tries: [
      {
        query: 'header_row=auto',
        columns: 'region text, 2025 Q1 bigint, 2025 Q2 bigint, 2026 Q1 bigint, 2026 Q2 bigint',
        rows: ['North | 1 | 2 | 3 | 4', 'South | 5 | 6 | 7 | 8'],
        warnings: ['proposal-taken A1'],
      },
    ],
  },
  {
    name: 'author-above-the-header.csv',
    content: lines('author,Ann,', 'region,amount,amount', 'North,1,2', 'South,5,6', 'East,7,8'),
    tries: [
      {
        query: 'header_row=auto',
        columns: 'region text, amount bigint, amount_2 bigint',
        rows: ['North | 1 | 2', 'South | 5 | 6', 'East | 7 | 8'],
        warnings: ['proposal-taken A2', 'repeated-header amount_2'],
      },
    ],
  },
  {
    name: 'words-in-the-first-row.csv',
    content: lines('id,name,n,m', 'A,x,unknown,unknown', 'B,y,5,5', 'C,z,6,6'),
    tries: [
      {
        query: 'header_row=auto',
        columns: 'id text, name text, n text, m text',
        rows: ['A | x | unknown | unknown', 'B | y | 5 | 5', 'C | z | 6 | 6'],
        warnings: ['proposal-taken A1', 'other-notation n', 'other-notation m'],
      },
    ],
  },
  {
    name: 'title-above-values.csv',
    content: lines('Measured on Monday,,', '1,Ann,2026-11-21', '2,Bob,2026-11-22', '3,Cy,2026-11-23'),
    tries: [
      {
        query: 'header_row=auto',
        columns: 'column_A bigint, column_B text, column_C date',
        rows: ['1 | Ann | 2026-11-21', '2 | Bob | 2026-11-22', '3 | Cy | 2026-11-23'],
        warnings: ['proposal-taken A2'],
      },
    ],
  },
  {
    name: 'no-header.csv',
    content: lines('1,Ann,2026-11-21', '2,Bob,2026-11-22', '3,Cy,2026-11-23'),
    tries: [
      {
        columns: '1 bigint, Ann text, 2026-11-21 date',
        rows: ['2 | Bob | 2026-11-22', '3 | Cy | 2026-11-23'],
        warnings: ['header-row'],
      },
      {
        query: 'header=false',
        columns: 'column_A bigint, column_B text, column_C date',
        rows: ['1 | Ann | 2026-11-21', '2 | Bob | 2026-11-22', '3 | Cy | 2026-11-23'],
      },
    ],
  },
  {
    name: 'comments.csv',
    content: lines('# exported by the laboratory', '# 2026-11-21', 'id,value', '1,2.5', '# paused', '2,3.5'),
    tries: [
      {
        columns: '# exported by the laboratory text, column_B text',
        rows: ['# 2026-11-21 | NULL', 'id | value', '1 | 2.5', '# paused | NULL', '2 | 3.5'],
        warnings: ['header-row', 'long-rows', 'blank-header column_B'],
      },
      { query: 'comment=%23', columns: 'id bigint, value numeric', rows: ['1 | 2.5', '2 | 3.5'] },
    ],
  },
  {
    name: 'total-row.csv',
    content: lines('order,amount', '1001,120.5', '1002,80', '1003,7', 'Total,207.5'),
    tries: [
      {
        columns: 'order text, amount numeric',
        rows: ['1001 | 120.5', '1002 | 80', '1003 | 7', 'Total | 207.5'],
        warnings: ['total-row', 'mixed-column order A5'],
      },
      {
        query: 'range=A1:B4',
        columns: 'order bigint, amount numeric',
        rows: ['1001 | 120.5', '1002 | 80', '1003 | 7'],
      },
    ],
  },
];

const inWorkbooks: MessyFile[] = [
  {
    name: 'cover-sheet.xlsx',
    content: bookOf({ Cover: [['Regional sales 2026'], ['Author: Ann']], 'Sales Data': regions }),
    tries: [
      { columns: 'Regional sales 2026 text', rows: ['Author: Ann'], warnings: ['other-sheets'] },
      {
        query: 'sheet=Sales%20Data',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
      {
        query: 'sheet=auto',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: ['proposal-taken'],
      },
    ],
  },
  {
    name: 'empty-first-sheet.xlsx',
    content: bookOf({ Sheet1: [], Data: regions }),
    tries: [
      { error: '422 nothing-to-load', warnings: ['no-rows'] },
      {
        query: 'sheet=Data',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
  {
    name: 'two-data-sheets.xlsx',
    content: bookOf({ '2025': regions, '2026': regions }),
    tries: [
      {
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: ['other-sheets'],
      },
      {
        query: 'sheet=2026',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
  {
    name: 'no-rows.xlsx',
    content: bookOf({ Data: [['Order', 'Region']] }),
    tries: [{ error: '422 nothing-to-load', warnings: ['no-rows'] }],
  },
  {
    name: 'nothing.xlsx',
    content: bookOf({ Data: [] }),
    tries: [{ error: '422 nothing-to-load', warnings: ['no-rows'] }],
  },
  {
    name: 'title-and-total.xlsx',
    content: sheetOf([['Sales report 2026'], ['as of 31 October'], [], ...regions, ['Total', null, 207.5]]),
    tries: [
      {
        columns: 'Sales report 2026 text, column_B text, column_C text',
        rows: [
          'as of 31 October | NULL | NULL',
          'Order | Region | Amount',
          'A-1 | North | 120.5',
          'A-2 | South | 80',
          'A-3 | East | 7',
          'Total | NULL | 207.5',
        ],
        warnings: [
          'header-row',
          'blank-header column_B',
          'blank-header column_C',
          'total-row',
          'mixed-column column_C Sheet1!C4',
        ],
      },
      {
        query: 'range=A4:C7',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
  {
    name: 'wide-title.xlsx',
    content: bookOf({ Report: [['Sales report 2026', null, null], ...regions] }, {}, ['A1:C1']),
    tries: [
      {
        columns: 'Sales report 2026 text, column_B text, column_C text',
        rows: ['Order | Region | Amount', 'A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: [
          'header-row',
          'blank-header column_B',
          'blank-header column_C',
          'mixed-column column_C Report!C2',
        ],
      },
      {
        query: 'header_row=auto',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
        warnings: ['proposal-taken A2'],
      },
    ],
  },
  {
    name: 'grouped-headers.xlsx',
    content: bookOf({ Plan: groupedHeaders }, {}, groups),
    tries: [
      {
        columns: 'Region text, 2025 text, column_C text, 2026 text, column_E text',
        rows: ['NULL | Q1 | Q2 | Q1 | Q2', 'North | 1 | 2 | 3 | 4', 'South | 5 | 6 | 7 | 8'],
        warnings: ['header-row', 'blank-header column_C', 'blank-header column_E'],
      },
      {
        query: 'header_rows=2',
        columns: 'Region text, 2025 Q1 bigint, 2025 Q2 bigint, 2026 Q1 bigint, 2026 Q2 bigint',
        rows: ['North | 1 | 2 | 3 | 4', 'South | 5 | 6 | 7 | 8'],
      },
    ],
  },
  {
    name: 'statistical-table.xlsx',
    content: sheetOf(statistics),
    tries: [
      {
        columns: 'Table 12. Farms by kind text, column_B text, column_C bigint, column_D text, column_E text',
        rows: [
          'See notes. | NULL | NULL | NULL | NULL',
          'Kind | Number of farms | NULL | Acreage (1,000) | Value',
          'NULL | 2000 | 2007 | NULL | per',
          'NULL | NULL | NULL | NULL | acre',
          'Dairy | 25 | 26 | (NA) | 7',
          'North: | NULL | NULL | NULL | NULL',
          'Cattle | 31 | 33 | 4 | 8',
          'Hogs | (NA) | 5 | 6 | (X)',
          'Source: survey. | NULL | NULL | NULL | NULL',
        ],
        warnings: [
          'header-row',
          'blank-header column_B',
          'blank-header column_C',
          'blank-header column_D',
          'blank-header column_E',
        ],
      },
      {
        query: 'header_row=5&header_rows=4',
        columns:
          'Kind text, Number of farms 2000 text, Number of farms 2007 bigint, Acreage (1,000) text, Value per acre text',
        rows: [
          'Dairy | 25 | 26 | (NA) | 7',
          'North: | NULL | NULL | NULL | NULL',
          'Cattle | 31 | 33 | 4 | 8',
          'Hogs | (NA) | 5 | 6 | (X)',
          'Source: survey. | NULL | NULL | NULL | NULL',
        ],
        warnings: [
          'rows-below',
          'mixed-column Number of farms 2000 Sheet1!B13',
          'mixed-column Value per acre Sheet1!E13',
        ],
      },
    ],
  },
  {
    name: 'grouped-headers-found.xlsx',
    content: bookOf({ Plan: groupedHeaders }, {}, groups),
    tries: [
      {
        query: 'header_row=auto',
        columns: 'Region text, 2025 Q1 bigint, 2025 Q2 bigint, 2026 Q1 bigint, 2026 Q2 bigint',
        rows: ['North | 1 | 2 | 3 | 4', 'South | 5 | 6 | 7 | 8'],
        warnings: ['proposal-taken A1'],
      },
    ],
  },
  {
    name: 'side-by-side.xlsx',
    content: sheetOf([
      ['Room', 'Seats', null, 'Person', 'Phone'],
      ['R1', 12, null, 'Ann', '0351'],
      ['R2', 40, null, 'Bob', '0352'],
      ['R3', 8, null, null, null],
    ]),
    tries: [
      {
        columns: 'Room text, Seats bigint, Person text, Phone text',
        rows: ['R1 | 12 | Ann | 0351', 'R2 | 40 | Bob | 0352', 'R3 | 8 | NULL | NULL'],
        warnings: ['other-table A1'],
      },
      { query: 'range=D1:E4', columns: 'Person text, Phone text', rows: ['Ann | 0351', 'Bob | 0352'] },
    ],
  },
  {
    name: 'left-of-two.xlsx',
    content: sheetOf([
      ['Room', 'Seats', null, 'Person', 'Phone'],
      ['R1', 12, null, 'Ann', '0351'],
      ['R2', 40, null, 'Bob', '0352'],
      ['R3', 8, null, null, null],
    ]),
    tries: [
      {
        columns: 'Room text, Seats bigint, Person text, Phone text',
        rows: ['R1 | 12 | Ann | 0351', 'R2 | 40 | Bob | 0352', 'R3 | 8 | NULL | NULL'],
        warnings: ['other-table A1'],
      },
      { query: 'range=A1:B4', columns: 'Room text, Seats bigint', rows: ['R1 | 12', 'R2 | 40', 'R3 | 8'] },
    ],
  },
  {
    name: 'notes-below.xlsx',
    content: sheetOf([...regions, ['Total', null, 207.5], [], ['Source: ERP, unaudited']]),
    tries: [
      {
        columns: 'Order text, Region text, Amount numeric',
        rows: [
          'A-1 | North | 120.5',
          'A-2 | South | 80',
          'A-3 | East | 7',
          'Total | NULL | 207.5',
          'Source: ERP, unaudited | NULL | NULL',
        ],
        warnings: ['total-row', 'rows-below'],
      },
      {
        query: 'range=A1:C4',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7'],
      },
    ],
  },
  {
    name: 'notes-left-out.xlsx',
    content: sheetOf([...regions, ['Total', null, 207.5], [], ['Source: ERP, unaudited']]),
    tries: [
      {
        query: 'footer=skip',
        columns: 'Order text, Region text, Amount numeric',
        rows: ['A-1 | North | 120.5', 'A-2 | South | 80', 'A-3 | East | 7', 'Total | NULL | 207.5'],
        warnings: ['total-row', 'footer-rows'],
      },
    ],
  },
  {
    name: 'units-row.xlsx',
    content: sheetOf([
      ['Sensor', 'Value'],
      [null, '°C'],
      ['a1', 20.5],
      ['a2', 19],
      ['a3', 18.5],
      ['a4', 18],
    ]),
    tries: [
      {
        columns: 'Sensor text, Value text',
        rows: ['NULL | °C', 'a1 | 20.5', 'a2 | 19', 'a3 | 18.5', 'a4 | 18'],
        warnings: ['header-row', 'mixed-column Value Sheet1!B2'],
      },
      {
        query: 'header_rows=2',
        columns: 'Sensor text, Value °C numeric',
        rows: ['a1 | 20.5', 'a2 | 19', 'a3 | 18.5', 'a4 | 18'],
      },
    ],
  },
];

export const layouts: MessyFile[] = [...inTextFiles, ...inWorkbooks];
