/** What `header_row=auto` and `sheet=auto` take, what an inspection proposes, and what an upload without them warns of. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as library from '@e965/xlsx';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileInspector } from '../support/uploads.ts';
import { bookOf, type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('proposal_');
const upload = (file: Buffer, query = '', table = nextTable()): Promise<TestAnswer> =>
  service.upload(`/table/${table}/upload/excel${query}`, file);
const inspect = fileInspector(() => service);
const codesOf = (answer: TestAnswer): string[] =>
  answer.body.load.warnings.map(({ code }: { code: string }) => code);
const detailOf = (answer: TestAnswer, code: string): string | undefined =>
  answer.body.load.warnings.find((warning: { code: string }) => warning.code === code)?.detail;

const orders: CellSpec[][] = [
  ['no', 'customer', 'amount'],
  ['A-1', 'Ann', 10.5],
  ['A-2', 'Bob', 7],
  ['A-3', 'Cid', 8.25],
];
const report: CellSpec[][] = [['Sales report'], ['all regions'], [], ...orders, [], ['Amounts in EUR']];
test('header_row=auto loads the table below a title without the notes, and says so', async () => {
  const name = nextTable();
  const answer = await upload(sheetOf(report, 'Report'), '?header_row=auto', name);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { rows, header_row, range, warnings } = answer.body.load;
  assert.deepEqual({ rows, header_row, range }, { rows: 3, header_row: 4, range: 'A4:C7' });
  assert.deepEqual(warnings, [
    {
      code: 'proposal-taken',
      detail:
        'Row 4 was read as the header of the table in A4:C7 (header_row=auto). Row 4 has texts in all 3 columns, and numbers are beneath it. Rows 1 and 2 above it have one cell with a value each. Row 9 below a blank row is not like the rows of the table, and is not in the range. Not read: rows 1 and 2; row 9.',
    },
  ]);
  assert.deepEqual(await service.rows(`SELECT sum(amount)::text AS sum FROM ${name}`), [{ sum: '25.75' }]);
});

test('header_row=auto reads a plain table as without it', async () => {
  const strip = ({ body: { table, load } }: TestAnswer) => {
    const { name: _, ...shape } = table;
    const { duration_ms: __, id: ___, ...loaded } = load;
    return { shape, loaded };
  };
  const files = [
    sheetOf(orders),
    Buffer.from('no;customer;amount\n1;Ann;5\n2;Bob\n3;Cid;6;x\n'),
    sheetOf([...orders, [], ['A-4', 'Dan', 1]]),
    sheetOf([['name'], ['Ann'], ['Bob'], ['Cid']]),
  ];
  for (const file of files) {
    const plain = strip(await upload(file));
    const proposed = strip(await upload(file, '?header_row=auto'));
    const [taken, ...others] = proposed.loaded.warnings;
    assert.equal(taken.code, 'proposal-taken');
    assert.deepEqual({ ...proposed, loaded: { ...proposed.loaded, warnings: others } }, plain);
  }
});

test('header_row=auto loads the columns of the table and not those of another one beside it', async () => {
  const regions: CellSpec[][] = [
    ['region', 'sales'],
    ['North', 1],
    ['South', 2],
  ];
  const rows = orders.map((row, index) => [null, ...row, null, ...(regions[index] ?? [])]);
  const answer = await upload(sheetOf([['Title'], ...rows]), '?header_row=auto');
  assert.equal(answer.body.load.range, 'B2:D5');
  assert.deepEqual(
    answer.body.table.columns.map(({ name }: { name: string }) => name),
    ['no', 'customer', 'amount'],
  );
  assert.match(
    detailOf(answer, 'proposal-taken')!,
    /Not read: row 1; F2:G4, which looks like another table\.$/,
  );
});

test('header_row=auto reads rows of values without a header, and says so', async () => {
  const values = orders.slice(1);
  const answer = await upload(sheetOf([['Sales'], ...values, [], ['Amounts in EUR']]), '?header_row=auto');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.body.load.header_row, undefined);
  assert.equal(answer.body.load.range, 'A2:C4');
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'proposal-taken',
      detail:
        'The values in A2:C4 were read without a header (header_row=auto). No row has different texts in most columns and values beneath it. Not read: row 1; row 6. If row 2 is the header, send header_row=2.',
      choices: [{ parameters: { header_row: '2' } }],
    },
  ]);
});

test('header_row=auto joins a row of units to the names, and the columns keep their types', async () => {
  const rows: CellSpec[][] = [
    ['Item', 'Weight', 'Share'],
    [null, 'kg', '%'],
    ['Bolt', 1, 2.5],
    ['Nut', 3, 4.5],
  ];
  const { body } = await upload(sheetOf(rows), '?header_row=auto');
  assert.deepEqual(
    body.table.columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
    ['Item text', 'Weight kg bigint', 'Share % numeric'],
  );
  assert.match(
    body.load.warnings[0].detail,
    /^Rows 1 and 2 were joined for each column, and read as the header/,
  );
  const code = await upload(sheetOf([rows[0]!, ['X', 'kg', 3], ...rows.slice(2)]), '?header_row=auto');
  assert.deepEqual([code.body.load.header_row, code.body.load.rows], [1, 3]);
});

test('the rows of a header are joined, and problems name the rows of the sheet', async () => {
  const rows: CellSpec[][] = [
    ['Report'],
    ['Region', '2025', null, '2026', null],
    [],
    [null, 'Q1', 'Q2', 'Q1', 'Q2'],
    ['North', 11, 25, 3, 4],
    ['South', 5, { attributes: 't="e"', content: '<v>#N/A</v>' }, 7, 8],
  ];
  const names = ({ body }: TestAnswer) => body.table.columns.map(({ name }: { name: string }) => name);
  const query = '?header_row=2&header_rows=3&cell_errors=null';
  const answer = await upload(sheetOf(rows), query);
  assert.deepEqual(names(answer), ['Region', '2025 Q1', '2025 Q2', '2026 Q1', '2026 Q2']);
  const { header_row, header_rows, range } = answer.body.load;
  assert.deepEqual({ header_row, header_rows, range }, { header_row: 2, header_rows: 3, range: 'A2:E6' });
  const short = await upload(sheetOf(rows), `${query}&column_names=snake_case`);
  assert.equal(names(short)[1], '2025_q1');
  const refused = await upload(sheetOf(rows), '?range=A2:E6&header_rows=3');
  assertProblem(refused, 422, 'invalid-data');
  assert.deepEqual([refused.body.errors[0].cell, refused.body.errors[0].row], ['Sheet1!C6', 2]);
  const { body } = await inspect(sheetOf(rows), '?header_row=auto&cell_errors=null');
  assert.deepEqual([body.proposal.header_row, body.proposal.header_rows], [2, 3]);
  assert.deepEqual([body.sheet.header_row, body.sheet.header_rows], [2, 3]);
});

test('a total directly below the table is loaded, and a warning names it', async () => {
  const total = ['Total', null, 25.75];
  const answer = await upload(sheetOf([['Title'], ...orders, total]), '?header_row=auto');
  assert.equal(answer.body.load.rows, 4);
  assert.equal(
    detailOf(answer, 'total-row'),
    'Row 6 begins with "Total" and looks like a total; it was read as a row. To leave it out, send range=A2:C5.',
  );
  const without = await upload(sheetOf([['Title'], ...orders, total]), '?range=A2:C5');
  assert.deepEqual([without.body.load.rows, codesOf(without)], [3, []]);
});

test('sheet=auto takes the sheet with the largest table', async () => {
  const file = bookOf({
    Cover: [['Regional sales 2026'], ['by the sales team']],
    Lists: [
      ['code', 'name'],
      [1, 'x'],
    ],
    Orders: report,
  });
  const sheet = await upload(file, '?sheet=auto');
  assert.equal(sheet.body.load.sheet, 'Orders');
  assert.equal(sheet.body.load.header_row, 1);
  assert.deepEqual(codesOf(sheet).slice(0, 2), ['proposal-taken', 'header-row']);
  assert.equal(
    detailOf(sheet, 'proposal-taken'),
    'Sheet "Orders" was read (sheet=auto). Its table is the largest; another sheet has a table too: "Lists".',
  );
  const both = await upload(file, '?sheet=auto&header_row=auto');
  assert.equal(both.body.load.range, 'A4:C7');
  assert.deepEqual(codesOf(both), ['proposal-taken', 'proposal-taken']);
  const inspected = await inspect(file, '?sheet=auto&header_row=auto');
  assert.deepEqual(inspected.body.sheet.header, ['no', 'customer', 'amount']);
});

test('a sheet that is named auto can still be chosen by its name', async () => {
  const file = bookOf({ Orders: orders, Auto: [['x'], [1]] });
  const answer = await upload(file, '?sheet=auto');
  assert.equal(answer.body.load.sheet, 'Auto');
  assert.deepEqual(codesOf(answer), []);
});

test('nothing that looks like a table is an error with the remedy', async () => {
  const numbers = sheetOf([
    [1, 2],
    [3, 4],
  ]);
  const cover = sheetOf([['Regional sales'], [], ['by the sales team']]);
  const header = await upload(cover, '?header_row=auto');
  assertProblem(header, 422, 'invalid-parameter');
  assert.equal(header.body.errors[0].parameter, 'header_row');
  assert.match(
    header.body.detail,
    /^Sheet "Sheet1" has no row that looks like a header .* header_row=4, or header=false/,
  );
  const sheet = await upload(bookOf({ A: [[1, 2]], B: [] }), '?sheet=auto');
  assertProblem(sheet, 422, 'invalid-parameter');
  assert.match(sheet.body.detail, /Send the name of a sheet: "A", "B"\.$/);
  for (const query of [
    'header_row=auto&header=false',
    'header_row=auto&header_rows=2',
    'header=false&header_rows=2',
    'header_rows=0',
    'header_rows=21',
  ]) {
    assertProblem(await upload(numbers, `?${query}`), 422, 'invalid-parameter');
  }
  const word = await upload(numbers, '?header_row=first');
  assertProblem(word, 422, 'invalid-parameter');
  assert.match(word.body.detail, /must be a whole number, 1 or more, or auto\.$/);
});

test('proposals are taken in text files and in every format of workbooks', async () => {
  const csv = Buffer.from('Sales report\n\nno,customer,amount\n1,Ann,10.5\n2,Bob,7\n\nAmounts in EUR\n');
  const text = await upload(csv, '?header_row=auto&sheet=auto');
  assert.equal(text.status, 201, JSON.stringify(text.body));
  assert.deepEqual([text.body.load.range, text.body.load.rows], ['A3:C5', 2]);
  const book = library.utils.book_new();
  const cells = (rows: CellSpec[][]) => library.utils.aoa_to_sheet(rows as unknown[][]);
  library.utils.book_append_sheet(book, cells([['Cover'], ['2026']]), 'Cover');
  library.utils.book_append_sheet(book, cells(report), 'Orders');
  for (const bookType of ['biff8', 'xlsb', 'ods'] as const) {
    const file = Buffer.from(library.write(book, { type: 'buffer', bookType }));
    const answer = await upload(file, '?header_row=auto&sheet=auto');
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual([answer.body.load.sheet, answer.body.load.range], ['Orders', 'A4:C7'], bookType);
  }
});

test('merged titles and headers do not hide the header', async () => {
  const rows = [['Sales report'], ['Order', null, 'Money'], ...orders];
  const file = bookOf({ Data: rows }, {}, ['A1:C1', 'A2:B2']);
  const answer = await upload(file, '?header_row=auto');
  assert.deepEqual([answer.body.load.range, answer.body.load.rows], ['A3:C6', 3]);
});

test('an inspection proposes a table for the file and for each sheet', async () => {
  const file = bookOf({
    Cover: [['Regional sales 2026'], ['by the sales team']],
    Orders: [
      ...report.slice(0, 7),
      ['Total', null, 25.75],
      [],
      ['region', 'sales'],
      ['North', 1],
      ['South', 2],
    ],
  });
  const { body } = await inspect(file);
  const ofOrders = {
    header_row: 4,
    range: 'A4:C8',
    reasons: [
      'Row 4 has texts in all 3 columns, and numbers are beneath it.',
      'Rows 1 and 2 above it have one cell with a value each.',
      'Row 8 begins with "Total" and looks like a total. It is in the range.',
    ],
    other_tables: [{ header_row: 10, range: 'A10:B12' }],
  };
  assert.deepEqual(body.proposal, {
    ...ofOrders,
    sheet: 'Orders',
    reasons: ['No sheet but "Orders" has a table.', ...ofOrders.reasons],
  });
  assert.deepEqual(
    body.sheets.map(({ proposal }: { proposal: object }) => proposal),
    [
      { reasons: ['No row has different texts in most columns and values beneath it.'], other_tables: [] },
      ofOrders,
    ],
  );
  const ofText = await inspect(Buffer.from('a,b\n1,2\n'));
  assert.deepEqual(ofText.body.proposal, ofText.body.sheets[0].proposal);
  assert.equal(ofText.body.proposal.range, 'A1:B2');
});

test('without auto, rows and columns that do not look like the table are warnings', async () => {
  const plain = await upload(sheetOf(orders));
  assert.deepEqual(codesOf(plain), []);
  const total = await upload(sheetOf([...orders, ['Total', null, 25.75]]));
  assert.deepEqual([total.body.load.rows, codesOf(total)], [4, ['total-row']]);
  const notes = await upload(sheetOf([...orders, [], ['Amounts in EUR'], ['Source: sales']]));
  assert.equal(notes.body.load.rows, 5);
  assert.equal(
    detailOf(notes, 'rows-below'),
    'Rows 6 and 7 follow a blank row, are not like the rows of the table, and were read as rows. To leave them out, send footer=skip, or range=A1:C4.',
  );
  const beside = await upload(sheetOf(orders.map((row) => [...row, null, ...row])));
  assert.equal(
    detailOf(beside, 'other-table'),
    'E1:G4 looks like another table; it was read together with the table in A1:C4. To load only one table, send its range, as in range=A1:C4.',
  );
  const below = await upload(sheetOf([...orders, [], ['region', 'sales'], ['North', 1], ['South', 2]]));
  assert.match(detailOf(below, 'other-table')!, /^A6:B8 looks like another table; /);
});

test('a long table with a total far below is warned of, and one with such words in many rows is not', async () => {
  const many = Array.from({ length: 300 }, (_, index): CellSpec[] => [`A-${index}`, 'Ann', index]);
  const long = await upload(
    sheetOf([...orders.slice(0, 1), ...many, ['Grand total', null, 9], [], ['A note']]),
  );
  assert.match(detailOf(long, 'total-row')!, /^Row 302 begins with "Grand total"/);
  assert.match(
    detailOf(long, 'rows-below')!,
    /^Row 304 follows a blank row, .* send footer=skip, or range=A1:C302\.$/,
  );
  const totals = many.map(([, name, amount], index): CellSpec[] => [
    index % 2 ? 'Total' : 'Part',
    name!,
    amount!,
  ]);
  const words = await upload(sheetOf([...orders.slice(0, 1), ...totals]));
  assert.deepEqual(codesOf(words), []);
});

test('the warning about rows below a table names a blank row, and footer=skip, only if there is one', async () => {
  const lines = ['Name,Qty,Day,', 'Ann,1,2026-01-01,', 'Bob,2,2026-01-02,', 'Cid,3,2026-01-03,'];
  const beside = await upload(Buffer.from([...lines, ',,,new'].join('\n')));
  assert.equal(
    detailOf(beside, 'rows-below'),
    'Row 5 is below the table, is not like its rows, and was read as a row. To leave it out, send range=A1:D4.',
  );
  const gap = await upload(sheetOf([...orders, [], ['A-4', 'Dan', 3], [], ['Amounts in EUR']]));
  assert.equal(
    detailOf(gap, 'rows-below'),
    'Row 8 follows a blank row, is not like the rows of the table, and was read as a row. To leave it out, send range=A1:C6.',
  );
  const skipped = await upload(sheetOf([...orders, [], ['Amounts in EUR']]), '?footer=skip');
  assert.deepEqual(codesOf(skipped), ['footer-rows']);
});

test('many rows that header_row=auto leaves out below the table are a warning with a choice that reads them', async () => {
  const row = (name: string) => (_: unknown, index: number) => `${name}${index},${name},${index}`;
  const lines = (name: string, count: number) => Array.from({ length: count }, row(name));
  const file = (below: string[]) =>
    Buffer.from(['no,name,amount', ...lines('A', 30), '', ...below].join('\n'));
  const notRead = async (below: string[]) =>
    (await upload(file(below), '?header_row=auto')).body.load.warnings.filter(
      ({ code }: { code: string }) => code === 'rows-not-read',
    );
  const below = ['B,Budget,300z', ...lines('B', 12)];
  const [warning, ...others] = await notRead(below);
  assert.deepEqual(others, []);
  assert.match(warning.detail, /^13 rows below the table, from row 33 on, .* send header_row=1\.$/);
  assert.deepEqual(warning.choices, [{ parameters: { header_row: '1' } }]);
  const all = await upload(file(below), '?header_row=1');
  assert.equal(all.body.load.rows, 43);
  assert.deepEqual(await notRead(['no,other,sum', ...lines('B', 3), 'Source: a register']), []);
  assert.deepEqual(await notRead(Array.from({ length: 20 }, (_, index) => `Note ${index}`)), []);
  // A further page of the same table has its own request.
  assert.deepEqual(await notRead(['Page 2', 'no,name,amount', ...lines('B', 12)]), []);
});
