import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spreadsheetLimits } from '../../../../test/support/spreadsheet-limits.ts';
import { bookOf, type CellSpec, sheetOf } from '../../../../test/support/workbook.ts';
import { memoryFile } from '../../../../test/support/xlsx-builder.ts';
import { openSpreadsheet } from '../open-spreadsheet.ts';
import type { SpreadsheetOptions } from '../spreadsheet-options.ts';
import { NUMBER_LIKE } from './cell-class.ts';
import { proposeTable, type SheetProposal } from './propose-table.ts';
import { SheetOutline, wholeOutline } from './sheet-outline.ts';

const limits = spreadsheetLimits();

async function proposeIn(file: Buffer, options: Partial<SpreadsheetOptions> = {}): Promise<SheetProposal> {
  const source = await openSpreadsheet(
    memoryFile(file),
    { columnNames: 'exact', cellErrors: 'problem', ...options },
    limits,
  );
  return source.propose(new AbortController().signal);
}

const propose = (rows: CellSpec[][]): Promise<SheetProposal> => proposeIn(sheetOf(rows));
const csv = (lines: string[]): Promise<SheetProposal> => proposeIn(Buffer.from(lines.join('\n')));
const tablesOf = ({ table, otherTables }: SheetProposal): (string | undefined)[] => [
  table?.range,
  ...otherTables.map(({ range }) => range),
];

const orders: CellSpec[][] = [
  ['Order', 'Customer', 'Amount', 'Paid'],
  ['A-1', 'Ann', 10.5, true],
  ['A-2', 'Bob', 7, false],
  ['A-3', 'Cid', 8.25, true],
];
const indent = (rows: CellSpec[][], columns: number): CellSpec[][] =>
  rows.map((row) => [...new Array<null>(columns).fill(null), ...row]);

test('a plain table is proposed as a whole, and nothing is left out', async () => {
  const { table, reasons, otherTables } = await propose(orders);
  assert.equal(table?.headerRow, 1);
  assert.equal(table.range, 'A1:D4');
  assert.deepEqual(table.leftOut, []);
  assert.deepEqual([table.opened.firstColumn, table.opened.lastColumn], [1, 16_384]);
  assert.equal(table.opened.lastRow, Number.MAX_SAFE_INTEGER);
  assert.deepEqual(reasons, ['Row 1 has texts in all 4 columns, and numbers are beneath it.']);
  assert.deepEqual(otherTables, []);
});

test('a further part of the table, below another line of the header, is named with the request that loads it', async () => {
  const page = ['Order,Amount', 'A-1,10.5', 'A-2,7'];
  const other = ['Place,Amount', 'A-1,10.5', 'A-2,7'];
  const pages = await csv(['Report', '', ...page, '', 'Report', '', ...page, 'A-3,8']);
  assert.deepEqual(pages.table?.leftOut, [
    'rows 1 and 7',
    'A3:B5, a table with the same header (to load it, too, send range=A3:B5 and if_exists=append)',
  ]);
  const { table } = await csv(['Report', '', ...other, '', 'Report', '', ...page, 'A-3,8']);
  assert.deepEqual(table?.leftOut, ['rows 1 and 7', 'A3:B5, which looks like another table']);
});

test('title rows are above the header', async () => {
  for (const titles of [
    [['Quarterly report']],
    [['Quarterly report'], ['all regions'], []],
    [['Quarterly report'], ['made on', 46_000], []],
    [[], ['Quarterly report'], [], []],
    indent([['Quarterly report'], []], 2),
  ]) {
    const { table, reasons } = await propose([...titles, ...orders]);
    const header = titles.length + 1;
    assert.equal(table?.headerRow, header);
    assert.equal(table.range, `A${header}:D${header + 3}`);
    assert.match(reasons[1]!, /above it ha(s|ve) (one cell|at most 2 cells) with a value/);
    assert.equal(table.leftOut.length, 1);
  }
});

test('a title whose words are in several cells is not the header', async () => {
  const table: CellSpec[][] = [
    ['Order', 'Customer', 'Pieces', 'Amount', 'Weight', 'Paid'],
    ['A-1', 'Ann', 1, 10.5, 7, true],
    ['A-2', 'Bob', 2, 7, 8, false],
  ];
  const title: CellSpec[][] = [
    ['Hello'],
    ['All', 'these', 'are', null, 'our', 'orders'],
    ['of', 'one', 'week'],
  ];
  const found = await propose([...title, ...table]);
  assert.equal(found.table?.range, 'A4:F6');
  const gap = await propose([table[0]!.with(3, null), ['North'], ...table.slice(1)]);
  assert.equal(gap.table?.headerRow, 1);
});

test('notes after a blank row are not in the range', async () => {
  const { table, reasons } = await propose([...orders, [], ['All amounts in EUR'], ['Source: sales'], []]);
  assert.equal(table?.range, 'A1:D4');
  assert.deepEqual(table.leftOut, ['rows 6 and 7']);
  assert.deepEqual(reasons.slice(1), [
    'Rows 6 and 7 below a blank row are not like the rows of the table, and are not in the range.',
  ]);
});

test('a total is in the range only if it follows without a blank row, and is named in both cases', async () => {
  const total: CellSpec[] = ['Total', null, 25.75];
  const directly = await propose([...orders, total]);
  assert.equal(directly.table?.range, 'A1:D5');
  assert.deepEqual(directly.reasons.slice(1), [
    'Row 5 begins with "Total" and looks like a total. It is in the range.',
  ]);
  for (const word of ['Total', 'Grand Total:', 'Summe', 'Gesamtsumme (EUR)', 'Total général', '合計']) {
    const apart = await propose([...orders, [], [word, null, 25.75]]);
    assert.equal(apart.table?.range, 'A1:D4', word);
    assert.deepEqual(apart.table.leftOut, ['row 6']);
  }
  const noTotals = await propose([...orders, ['Totally new', 'Dan', 1, true]]);
  assert.equal(noTotals.reasons.length, 1);
});

test('blank rows within a table do not end it', async () => {
  const { table } = await propose([...orders, [], ['A-4', 'Dan', 3, false], [], ['A-5', 'Eve', 4]]);
  assert.equal(table?.range, 'A1:D8');
  const numbered = [['no', ...orders[0]!], ...orders.slice(1).map((row, index) => [index + 1, ...row])];
  const sparse = await propose([...numbered, [], [4, null, null, 8], [], ['Note', 'x'], []]);
  assert.equal(sparse.table?.range, 'A1:E6');
  const afterHeader = await propose([orders[0]!, [], ...orders.slice(1)]);
  assert.equal(afterHeader.table?.range, 'A1:D5');
});

test('blank columns between years, where only some years have notes beside them, do not end the table', async () => {
  const years: CellSpec[][] = [
    ['TIME', '2001', null, '2002', null, '2003', null, '2004'],
    ['GEO', null],
    ['North', 1.5, null, 2.5, null, 2, 'd', 3, 'd'],
    ['South', ':', null, 3.5, null, 4, null, 5, 'd'],
    ['East', 1, null, 2, null, 3, 'p', ':'],
    ['West', 1, null, 2, null, 3, null, 4],
  ];
  const { table } = await propose([['Data of', 'the office'], [], ...years, [], ['d', 'differs']]);
  assert.equal(table?.range, 'A3:I8');
});

test('tables side by side are told apart', async () => {
  const right: CellSpec[][] = [
    ['Region', 'Sales'],
    ['North', 100],
    ['South', 200],
  ];
  const rows = orders.map((row, index) => [...row, null, ...(right[index] ?? [])]);
  assert.deepEqual(tablesOf(await propose(rows)), ['A1:D4', 'F1:G3']);
  const lower = [['Report'], ...rows.map((row, index) => [...row.slice(0, 5), ...(right[index - 1] ?? [])])];
  assert.deepEqual(tablesOf(await propose(lower)), ['A2:D5', 'F3:G5']);
  const same = orders.map((row) => [...row, null, ...row]);
  assert.deepEqual(tablesOf(await propose(same)), ['A1:D4', 'F1:I4']);
});

test('a blank column within a table does not divide it', async () => {
  const rows = orders.map(([order, customer, amount, paid]) => [
    order!,
    customer!,
    null,
    amount!,
    null,
    paid!,
  ]);
  assert.deepEqual(tablesOf(await propose(rows)), ['A1:F4']);
  const marks = orders.map(([order, customer], index) => [
    order!,
    customer!,
    null,
    index === 0 ? 'done' : 'x',
    index === 0 ? 'open' : null,
    null,
    index === 0 ? 'Amount' : 7,
  ]);
  assert.deepEqual(tablesOf(await propose(marks)), ['A1:G4']);
  const roles = ['Role', 'Law', 'Sales', 'Tax'];
  const noted = orders.map((row, index) => [...row, null, roles[index]!, index === 0 ? 'Note' : null]);
  assert.deepEqual(tablesOf(await propose(noted)), ['A1:G4']);
  const staff = noted.map((row, index) => [...row.slice(0, 6), index === 0 ? 'Staff' : index]);
  assert.deepEqual(tablesOf(await propose(staff)), ['A1:D4', 'F1:G4']);
});

test('tables one below the other are told apart by their headers', async () => {
  const other: CellSpec[][] = [
    ['Region', 'Sales'],
    ['North', 100],
    ['South', 200],
  ];
  assert.deepEqual(tablesOf(await propose([...orders, [], ...other])), ['A1:D4', 'A6:B8']);
  assert.deepEqual(tablesOf(await propose([...orders, [], ...orders])), ['A1:D4', 'A6:D9']);
});

test('the header row next to the values is proposed if there are several', async () => {
  const groups = await propose([['Order', null, 'Money', null], ...orders]);
  assert.equal(groups.table?.headerRow, 2);
  assert.match(groups.reasons[2]!, /^Row 1 may be a part of the header; only row 2, next to the values/);
  const full = await propose([
    ['Plan', 'Year one', 'Year two'],
    ['Item', 'EUR', 'USD'],
    ['Rent', 1, 2],
    ['Food', 3, 4],
  ]);
  assert.equal(full.table?.headerRow, 2);
});

test('a word among the numbers of the first row is not a second header', async () => {
  const { table } = await propose([
    ['Order', 'Customer', 'City', 'Amount'],
    ['A-1', 'Ann', 'Bonn', 'unknown'],
    ['A-2', 'Bob', 'Ulm', 7],
    ['A-3', 'Cid', 'Kiel', 8],
  ]);
  assert.equal(table?.headerRow, 1);
});

test('a table may begin at any cell', async () => {
  const rows = [[], [], [], [], ...indent(orders, 2)];
  const { table } = await propose(rows);
  assert.equal(table?.range, 'C5:F8');
  assert.deepEqual(table.leftOut, []);
});

test('years and other numbers in order may be headers', async () => {
  const header = async (first: CellSpec[]): Promise<number | undefined> => {
    const body: CellSpec[][] = [
      ['Norway', 5.1, 6.25, 7.5],
      ['Sweden', 2.5, 3.75, 4],
    ];
    return (await propose([['Growth'], [], first, ...body])).table?.headerRow;
  };
  assert.equal(await header(['Country', 2021, 2022, 2023]), 3);
  assert.equal(await header(['Country', '2023', '2022', '2021']), 3);
  assert.equal(await header([null, 2021, 2022, 2023]), 3);
  assert.equal(await header(['Country', 1, 2, 3]), 3);
  assert.equal(await header(['Country', '0-4', '5-9', '10–14']), 3);
  assert.equal(await header(['Country', '01/2026', '02/2026', '03/2026']), 3);
  assert.equal(await header(['Country', 17, 3, 99]), undefined);
  assert.equal(await header([1, 2, 3, 4]), undefined);
});

test('rows above the header may have as many numbers as half of the columns', async () => {
  const { table } = await propose([
    [null, null, 'column', 4],
    [null, null, 3, 4],
    ['Order', 'Customer', 'Amount', 'Units'],
    ['A-1', 'Ann', 10.5, 3],
    ['A-2', 'Bob', 7, 2],
  ]);
  assert.equal(table?.headerRow, 3);
});

test('rows without a header have no proposal', async () => {
  const { table, reasons } = await propose(orders.slice(1));
  assert.equal(table, undefined);
  assert.deepEqual(reasons, ['No row has different texts in most columns and values beneath it.']);
  const withWord = [...orders.slice(1), ['A-4', 'Dan', 'free', 'no'], ['A-5', 'Eve', 1, true]];
  assert.equal((await propose(withWord)).table, undefined);
});

test('an empty sheet and a cover have no proposal', async () => {
  assert.deepEqual((await propose([])).reasons, ['The sheet has no cell with a value.']);
  assert.equal((await propose([['Regional sales 2026'], [], ['by the sales team']])).table, undefined);
  assert.equal((await propose([['Regional sales 2026'], ['by the sales team'], ['May']])).table, undefined);
});

test('one column is a table', async () => {
  assert.equal((await propose([['Amount'], [1], [2]])).table?.range, 'A1:A3');
  assert.equal((await propose([['Name'], ['Ann'], ['Bob'], ['Cid']])).table?.range, 'A1:A4');
});

test('a table of texts begins at the first row that fills its columns', async () => {
  const { table, reasons } = await propose([
    ['Members'],
    ['name', 'city', 'country'],
    ['Ann', 'Oslo', 'Norway'],
    ['Bob', 'Lima'],
  ]);
  assert.equal(table?.headerRow, 2);
  assert.match(reasons[0]!, /first row that fills them; .* do not confirm the header\.$/);
});

test('text files are treated as sheets', async () => {
  const { table } = await csv([
    'Umsatz 2026;;',
    ';;',
    'Nr;Tag;Betrag',
    '1;21.11.2026;1.234,50',
    '2;22.11.2026;7,25',
    ';;',
    'Stand: heute;;',
  ]);
  assert.equal(table?.range, 'A3:C5');
  assert.deepEqual(table.leftOut, ['row 1', 'row 7']);
});

test('the range limits where a table is searched', async () => {
  const rows = [['Report'], ...orders.map((row) => [...row, null, 'x', 'y'])];
  const { table } = await proposeIn(sheetOf(rows), { range: 'B1:C9' });
  assert.equal(table?.range, 'B2:C5');
});

test('a sheet with thousands of columns or blank rows takes little processor time', () => {
  const outlineOf = (rows: number, columns: number, gap: number): SheetOutline => {
    const outline = new SheetOutline(wholeOutline, 0, 16_383);
    for (let row = 1; row <= rows; row++) {
      if (!outline.beginRow(gap * row)) outline.firstOther(0);
      else {
        for (let column = 0; column < columns; column++) {
          outline.other(2 * column, NUMBER_LIKE, column + row);
        }
      }
      outline.endRow();
    }
    return outline;
  };
  for (const outline of [outlineOf(2000, 8192, 1), outlineOf(3000, 500, 2), outlineOf(20_000, 3, 2)]) {
    const start = process.cpuUsage();
    proposeTable(outline);
    const { user, system } = process.cpuUsage(start);
    // Without bounds it would take minutes.
    assert.ok(user + system < 5_000_000);
  }
});

test('a table of many rows ends at its last row', async () => {
  const many = Array.from({ length: 6000 }, (_, index): CellSpec[] => [`A-${index}`, 'Ann', index, true]);
  const rows = [['Title'], ...orders.slice(0, 1), ...many, ['Total', null, 9], [], ['Note']];
  const { table, reasons } = await propose(rows);
  assert.equal(table?.range, 'A2:D6003');
  assert.match(reasons.join(' '), /Row 6003 begins with "Total"/);
  assert.deepEqual(table.leftOut, ['row 1', 'row 6005']);
});

test('a text that is repeated in one column is not a header', async () => {
  const cities = new Array<string>(30).fill(';;Berlin');
  const { table, reasons } = await csv(['Id;Name;City', ...cities]);
  assert.equal(table?.headerRow, 1);
  assert.match(reasons[0]!, /^Row 1 has texts in all 3 columns and is the first row that fills them;/);
  assert.equal((await csv(['Berlin', ...new Array<string>(30).fill('Berlin')])).table, undefined);
});

test('a table goes on after more blank rows than are kept', async () => {
  const rows = orders.slice(0, 1);
  for (let index = 0; index < 500; index++) rows.push([], [`A-${index}`, 'Ann', index, true]);
  const whole = await propose([...rows, ['Total', null, 9]]);
  assert.equal(whole.table?.range, 'A1:D1002');
  assert.deepEqual(whole.table.leftOut, []);
  assert.match(whole.reasons.join(' '), /Row 1002 begins with "Total"/);
});

test('values beneath merged cells are not in the outline', async () => {
  const rows: CellSpec[][] = [['Report', 'Order', 'Amount', 'Paid'], ...orders];
  const { table } = await proposeIn(bookOf({ Data: rows }, {}, ['A1:D1']));
  assert.equal(table?.headerRow, 2);
});

test('notes are not the table of a sheet whose larger part has no header', async () => {
  const notes = ['Source: survey', 'See the table before', 'Z Less than half', 'Not for sale'].map((note) => [
    note,
  ]);
  const block = Array.from({ length: 12 }, (_, row): CellSpec[] => [
    1990 + row,
    row,
    2 * row,
    3 * row,
    row + 4,
  ]);
  // The header has names for only some of the columns.
  const noTable = await propose([['Hogs'], [], ['Year', 'Number'], [], ...block, [], ...notes]);
  assert.equal(noTable.table, undefined, JSON.stringify(noTable));
  assert.match(noTable.reasons[0]!, /^Most cells are in A\d+:E16, and no row there has different texts/);
  assert.deepEqual(noTable.otherTables, []);
  // Notes in two columns are not a table either.
  const pairs = notes.map(([note], index) => [`note ${index}`, note!]);
  const wide = await propose([...block, [], [], ...pairs]);
  assert.equal(wide.table, undefined, JSON.stringify(wide));
  // A list of texts with a title of several cells stays a table.
  const list = Array.from({ length: 12 }, (_, row): CellSpec[] => [`name ${row}`]);
  const { table } = await propose([['made', 'on', 'Monday'], [], ['Name'], ...list]);
  assert.equal(table?.range, 'A3:A15');
});

test('a header that is spread over several rows is proposed with all of its rows', async () => {
  const body: CellSpec[][] = [
    ['Dairy', '(NA)', 26, 4, 7],
    ['North:'],
    ['Cattle', 31, 33, 4, 8],
    ['Hogs', 4, 5, '(X)', 9],
    [],
    ['Crops', 2, 5, 6, 1],
  ];
  const header: CellSpec[][] = [
    ['Kind', 'Number of farms', null, 'Area', 'Value'],
    [],
    [null, 2000, 2007, null, 'per'],
    [null, null, null, null, 'acre'],
  ];
  const rows = [
    ['Table 12'],
    [],
    ['See notes'],
    [],
    ...header,
    [],
    ...body,
    [],
    ['Source: survey'],
    ['of 2007'],
  ];
  const { table, reasons } = await propose(rows);
  assert.deepEqual([table?.headerRow, table?.headerRows, table?.range], [5, 4, 'A5:E15']);
  assert.deepEqual(table?.leftOut, ['rows 1 and 3', 'rows 17 and 18']);
  assert.equal(
    reasons[0],
    'Rows 5 to 8 together have texts in all 5 columns, and numbers or dates are beneath them.',
  );
  // The first row has no value.
  const marked = await propose([...header, [], ['Dairy', '(NA)', '(NA)', '(D)', '(X)'], ...body]);
  assert.deepEqual([marked.table?.headerRow, marked.table?.headerRows], [1, 4]);
});

test('rows above a header are a part of it only if its names need them', async () => {
  const headerOf = async (...rows: CellSpec[][]): Promise<unknown> => {
    const { table } = await propose([...rows, ['N', 1, 2], ['S', 3, 4], ['W', 5, 6]]);
    return table && [table.headerRow, table.headerRows];
  };
  assert.deepEqual(await headerOf([null, '2025', '2026'], ['Region', 'Sum', 'Sum']), [1, 2]);
  assert.deepEqual(await headerOf(['Region', '2025', null], [null, 'Q1', 'Q2']), [1, 2]);
  assert.deepEqual(await headerOf([null, 'Sales', null], ['Region', 'Q1', 'Q2']), [2, 1]);
  assert.deepEqual(await headerOf(['Report', 46_000], ['Region', 'Sum', 'Sum']), [2, 1]);
  assert.deepEqual(await headerOf([46_000, 'draft', 'final'], ['Region', 'Sum', 'Sum']), [2, 1]);
  assert.deepEqual(await headerOf(['Region', 'Q1', 'Q2'], ['E', 'unknown', 'unknown']), [1, 1]);
});

test('a row of units below the names is a part of the header, and no row that may be data is one', async () => {
  const headerOf = async (...lines: string[]): Promise<unknown> => {
    const { table } = await csv(lines);
    return table && [table.headerRow, table.headerRows];
  };
  const values = ['A,1,20.5', 'B,2,21', 'C,4,19'];
  assert.deepEqual(await headerOf('Item,Weight,Heat', ',kg,°C', ...values), [1, 2]);
  assert.deepEqual(await headerOf('Item,Weight,Heat', '-,[kg],%', ...values), [1, 2]);
  assert.deepEqual(await headerOf('Item,Weight,Heat', 'Unit,KG,deg C', ...values), [1, 2]);
  assert.deepEqual(await headerOf('Cost report', 'Item,Cost,Share', ',(in 1000),%', ...values), [2, 2]);
  assert.deepEqual(await headerOf('Time,Speed', 's,m/s', '1,2.5', '2,3', '3,3.5'), [1, 2]);
  // A text among the values, a word that is no unit, and units below a title.
  assert.deepEqual(await headerOf('Time,Level', 's,m', '1,2', '2,m', '3,4', '4,1'), [2, 1]);
  assert.deepEqual(await headerOf('Speed,Grade', 'fast,good', '1,2', '2,3', '3,4'), [2, 1]);
  const spectrum = Array.from({ length: 25 }, (_, index) => `${400 + index},0.${index}`);
  assert.deepEqual(await headerOf('Run 7,by Ann,in May', 'cm-1,A', ...spectrum), [2, 1]);
});

test('rows of marks for missing values belong to the table', async () => {
  const rows = ['Name,Sum,Rate', 'A,1,2.5', 'B,2,3.5', 'C,3,4.5', 'D,NA,n/a'];
  assert.deepEqual(tablesOf(await csv(rows)), ['A1:C5']);
  assert.deepEqual(tablesOf(await csv([...rows.slice(0, 4), '', 'Source: Nanette,NA and others'])), [
    'A1:C4',
  ]);
});

test('a table below a header of several rows is another table', async () => {
  const rows: CellSpec[][] = [
    ['Region', '2025', null],
    [null, 'Q1', 'Q2'],
    ...['N', 'S', 'W', 'E'].map((name, index) => [name, index, 7]),
    [],
    ['Item', 'Price', 'Weight'],
    ['Bolt', 1, 2],
    ['Nut', 3, 4],
  ];
  assert.deepEqual(tablesOf(await propose(rows)), ['A1:C6', 'A8:C10']);
});

test('values without a header are found below titles, and not below names', async () => {
  const values = orders.slice(1);
  const found = async (rows: CellSpec[][]): Promise<string | undefined> =>
    (await propose(rows)).withoutHeader?.range;
  assert.equal(await found(values), 'A1:D3');
  assert.equal(await found([['Orders'], [], ...values, [], ['Note']]), 'A3:D5');
  assert.equal(await found([[5], [7], [9]]), 'A1:A3');
  assert.equal(await found([['1e+05'], ['2.50E-3'], ['7e1']]), 'A1:A3');
  assert.equal(await found([['12Ea'], ['1e'], ['7 e1'], ['8e+']]), undefined);
  assert.equal(
    await found([
      [2001, 'Ann'],
      [2002, 'Bob'],
      [2003, 'Cid'],
    ]),
    'A1:B3',
  );
  assert.equal(
    await found([['Order', 'Customer'], [], ...values.map((row) => [...row, ...row, ...row])]),
    undefined,
  );
  assert.equal(await found([['Regional sales'], [], ['by the sales team']]), undefined);
  const values3 = [
    ['N', 1, 2],
    ['S', 3, 4],
    ['W', 5, 6],
  ];
  assert.equal(await found([['Report', 46_000, 'final'], ['Region', 'Sum', 'Sum'], ...values3]), undefined);
  assert.equal(await found([...values3, ['E', 'unknown', 7]]), 'A1:C4');
});

test('rows of two columns with one number are rows of the table at its begin and its end', async () => {
  const { table } = await csv(['meter;water', ';34888', '259;66712', '124;', '528;5', '815;', ';56315']);
  assert.equal(table?.range, 'A1:B7');
  assert.deepEqual([table.headerRow, table.headerRows], [1, 1]);
  assert.deepEqual(table.leftOut, []);
});

test('rows after a blank line that are like those of the table belong to it, although one of them is like a header', async () => {
  const plan = (from: number) =>
    [1, 2, 3].flatMap((step) => [
      `A${from + step},Grants ${from + step},${300_468_000 + from + step},`,
      `,,${300_489_000 + from + step},`,
      `A${from + step}0,Projects ${from + step},,`,
    ]);
  const codes = ['A70,Other grants,,', 'A71,Guests,,', 'B7,Older grants,300368560z,', ',,300389460z,'];
  const { table, otherTables } = await csv(['No,Name,Budget,', ...plan(10), ',,,', ...codes, ...plan(80)]);
  assert.equal(table?.range, 'A1:C24');
  assert.deepEqual(table.leftOut, []);
  assert.deepEqual(otherTables, []);
  // A title above the header shows that the rows are another table.
  const titled = await csv(['No,Name,Budget', ...plan(10), ',,,', 'Older,,', 'No,Grant,Sum', ...plan(80)]);
  assert.deepEqual(tablesOf(titled), ['A1:C10', 'A13:C22']);
});
