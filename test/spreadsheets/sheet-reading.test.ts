/** The facts about the sheet in the answer of an upload, and the handling of headers and cells that cannot be used directly. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as library from '@e965/xlsx';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileInspector } from '../support/uploads.ts';
import { type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook, buildZip, workbookParts } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('sheet_');
const path = (name: string, query = '') => `/table/${name}/upload/excel${query}`;
const warningsOf = (answer: TestAnswer, code: string): string[] =>
  answer.body.load.warnings
    .filter((warning: { code: string }) => warning.code === code)
    .map((warning: { detail: string }) => warning.detail);

const inspect = fileInspector(() => service);

const errorCell: CellSpec = { attributes: 't="e"', content: '<v>#REF!</v>' };
const orders: CellSpec[][] = [
  ['id', 'name'],
  [1, 'Ann'],
  [2, 'Bob'],
];
const withCover = (cover: CellSpec[][]): Buffer =>
  buildWorkbook({
    sheets: [
      { name: 'Cover', xml: sheetXml(cover) },
      { name: 'Orders', xml: sheetXml(orders) },
      { name: 'Header only', xml: sheetXml(orders.slice(0, 1)) },
      { name: 'Lists', xml: sheetXml(orders), state: 'hidden' },
    ],
  });

test('white space below a blank header has no value, whatever the order of the rows', async () => {
  const read = async (file: Buffer, query = ''): Promise<unknown> => {
    const name = nextTable();
    const answer = await service.upload(path(name, query), file);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const rows = await service.rows(`SELECT to_jsonb(t) AS row FROM ${name} t`);
    return rows.map(({ row }) => row).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  };
  const lines = ['1, ,3', '1,4,5', '2,\t,6', ' ,7,8'];
  for (const query of ['', '?header=false']) {
    const header = query === '' ? ['a,,c'] : [];
    const expected = await read(Buffer.from([...header, ...lines].join('\n')), query);
    for (const rows of [lines.toReversed(), [lines[1]!, lines[3]!, lines[0]!, lines[2]!]]) {
      assert.deepEqual(await read(Buffer.from([...header, ...rows].join('\n')), query), expected);
      const cells = [...header, ...rows].map((line) =>
        line
          .split(',')
          .map((text): CellSpec => (/^\d$/.test(text) ? Number(text) : text === '' ? null : text)),
      );
      if (query === '') assert.deepEqual(await read(sheetOf(cells), query), expected);
    }
    if (query !== '') continue;
    assert.deepEqual(
      (expected as Record<string, unknown>[]).map(({ column_B }) => column_B),
      [7, null, 4, null],
    );
  }
});

test('the answer says which cells were read', async () => {
  const rows = [['Title'], [], [null, 'a', 'b'], [null, 1, 2], [null, 3]];
  const answer = await service.upload(path(nextTable(), '?header_row=3'), sheetOf(rows, 'Data'));
  const { format, sheet, header_row, range } = answer.body.load;
  assert.deepEqual(
    { format, sheet, header_row, range },
    { format: 'xlsx', sheet: 'Data', header_row: 3, range: 'B3:C5' },
  );
  const csv = await service.upload(path(nextTable()), Buffer.from('a,b\n1,2\n'.replaceAll('\\\n', '\n')));
  assert.equal(csv.body.load.format, 'csv');
  assert.equal(csv.body.load.sheet, undefined);
  assert.deepEqual([csv.body.load.header_row, csv.body.load.range], [1, 'A1:B2']);
});

test('other visible sheets with rows give a warning, unless a sheet is chosen', async () => {
  const file = withCover([['Regional sales 2026'], ['by the sales team']]);
  const answer = await service.upload(path(nextTable()), file);
  assert.equal(answer.status, 201);
  assert.deepEqual(warningsOf(answer, 'other-sheets'), [
    'Sheet "Cover" was read, because it is the first visible one. Another sheet has rows too: "Orders" (2 rows, 2 columns). To read it, send sheet=Orders. To read the sheet with the largest table, send sheet=auto.',
  ]);
  const chosen = await service.upload(path(nextTable(), '?sheet=Cover'), file);
  assert.deepEqual(warningsOf(chosen, 'other-sheets'), []);
  const first = await service.upload(path(nextTable()), sheetOf(orders));
  assert.deepEqual(first.body.load.warnings, []);
});

for (const bookType of ['xlsx', 'xlsb', 'ods', 'xls'] as const) {
  test(`.${bookType}: the sizes of the other sheets are in the warning, as far as they were read`, async () => {
    const book = library.utils.book_new();
    const add = (name: string, rows: unknown[][]) =>
      library.utils.book_append_sheet(book, library.utils.aoa_to_sheet(rows), name);
    add('Cover', [['Report'], ['2026']]);
    add('Long', [['no', 'name'], ...Array.from({ length: 1200 }, (_, row) => [row, 'x'])]);
    add('My data', [
      ['a', 'b', 'c'],
      [1, null, 3],
    ]);
    const file = library.write(book, { type: 'buffer', bookType }) as Buffer;
    const answer = await service.upload(path(nextTable()), file);
    const [warning] = warningsOf(answer, 'other-sheets');
    const [, long, ...others] = /"Long" \((?:at least )?(\d+) rows, 2 columns\), ("My data" .*)$/.exec(
      warning!,
    )!;
    assert.ok(bookType === 'xls' ? Number(long) === 1200 : Number(long) >= 1000, warning);
    assert.equal(/at least/.test(warning!), bookType !== 'xls');
    assert.deepEqual(others, [
      '"My data" (1 row, 3 columns). To read one of them, send sheet=NAME. To read the sheet with the largest table, send sheet=auto.',
    ]);
  });
}

test('if a cover sheet is refused, the error names the other sheets', async () => {
  const name = nextTable();
  await service.upload(path(name), sheetOf(orders));
  const refused = await service.upload(path(name, '?if_exists=append'), withCover([['Sales'], ['2026']]));
  assertProblem(refused, 422, 'invalid-data');
  assert.match(
    refused.body.detail,
    /^Sheet "Cover": .* The other sheets are: "Orders", "Header only", "Lists"\. Choose one with `sheet`\.$/,
  );
  const empty = await service.upload(path(nextTable()), withCover([]));
  assertProblem(empty, 422, 'nothing-to-load');
  assert.match(empty.body.detail, /Choose another with `sheet`: "Orders"/);
});

test('a header cell with an error is a problem together with the problems of the rows', async () => {
  const file = sheetOf([
    ['id', errorCell],
    [1, 'x'],
    [errorCell, 'y'],
  ]);
  const name = nextTable();
  const answer = await service.upload(path(name), file);
  assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    answer.body.errors.map(({ cell, code, value }: Record<string, string>) => [cell, code, value]),
    [
      ['Sheet1!B1', 'error-cell', '#REF!'],
      ['Sheet1!A3', 'error-cell', '#REF!'],
    ],
  );
  assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
  const inspected = await inspect(file);
  assert.deepEqual(inspected.body.sheet.errors, answer.body.errors);
  assert.equal(inspected.body.sheet.error_count, 2);
  const asNull = await service.upload(path(name, '?cell_errors=null'), file);
  assert.equal(asNull.status, 201);
  assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [
    { id: '1', column_B: 'x' },
    { id: null, column_B: 'y' },
  ]);
});

test('inspection and upload treat a cell without a value in the same way', async () => {
  const file = sheetOf([['a'], [{ attributes: '', content: '<f>A1</f>' }]]);
  const uploaded = await service.upload(path(nextTable()), file);
  const inspected = await inspect(file);
  assert.equal(uploaded.body.errors[0].code, 'formula-without-value');
  assert.deepEqual(inspected.body.sheet.errors, uploaded.body.errors);
});

test('a number outside of the calendar is text in a text column, and NULL with cell_errors=null', async () => {
  const rows: CellSpec[][] = [
    ['day'],
    [{ attributes: 's="1"', content: '<v>0</v>' }],
    [{ attributes: 's="1"', content: '<v>44197</v>' }],
  ];
  const file = buildWorkbook({ formats: ['yyyy-mm-dd'], sheets: [{ name: 'Data', xml: sheetXml(rows) }] });
  const refused = await service.upload(path(nextTable()), file);
  assertProblem(refused, 422, 'invalid-data');
  assert.match(refused.body.errors[0].detail, /cell_errors=null/);
  const asNull = nextTable();
  assert.equal((await service.upload(path(asNull, '?cell_errors=null'), file)).status, 201);
  assert.deepEqual(await service.rows(`SELECT day::text FROM ${asNull}`), [
    { day: null },
    { day: '2021-01-01' },
  ]);
  const asText = nextTable();
  await service.rows(`CREATE TABLE ${asText} (day text)`);
  assert.equal((await service.upload(path(asText, '?if_exists=append'), file)).status, 200);
  assert.deepEqual(await service.rows(`SELECT day FROM ${asText}`), [{ day: '0' }, { day: '2021-01-01' }]);
});

test('a negative duration is loaded as a negative interval and never as a time of day', async () => {
  const rows: CellSpec[][] = [['span'], [{ attributes: 's="1"', content: '<v>-1.0625</v>' }]];
  const file = buildWorkbook({
    formats: ['[h]:mm'],
    is1904: true,
    sheets: [{ name: 'Data', xml: sheetXml(rows) }],
  });
  const name = nextTable();
  const answer = await service.upload(path(name), file);
  assert.equal(answer.body.table.columns[0].type, 'interval');
  assert.deepEqual(await service.rows(`SELECT span = interval '-25:30' AS is_right FROM ${name}`), [
    { is_right: true },
  ]);
  for (const type of ['text', 'time']) {
    const into = nextTable();
    await service.rows(`CREATE TABLE ${into} (span ${type})`);
    const loaded = await service.upload(path(into, '?if_exists=append'), file);
    if (type === 'time') assert.equal(loaded.body.errors[0].code, 'out-of-range');
    else assert.deepEqual(await service.rows(`SELECT span FROM ${into}`), [{ span: 'P-1DT-1H-30M' }]);
  }
});

test('a header that is too long is shortened with a warning, and a definition must use the shortened name', async () => {
  const long = 'Wie zufrieden sind Sie mit der Erreichbarkeit unseres Kundendienstes?';
  const file = sheetOf([
    ['id', long],
    [1, 'sehr'],
  ]);
  const short = long.slice(0, 63).trimEnd();
  const answer = await service.upload(path(nextTable()), file);
  assert.equal(answer.status, 201);
  assert.equal(answer.body.table.columns[1].name, short);
  assert.equal(answer.body.load.warnings[0].code, 'shortened-header');
  const columns = [
    { name: 'id', type: 'bigint' },
    { name: short, type: 'varchar(9)' },
  ];
  const defined = await service.upload(path(nextTable()), file, { table: { columns } });
  assert.equal(defined.status, 201);
  const csv = await service.upload(path(nextTable()), Buffer.from(`id,${long}\n1,sehr\n`));
  assert.equal(csv.body.table.columns[1].name, short);
});

test('no suggestion is made for a misspelled column name of one letter', async () => {
  const name = nextTable();
  await service.rows(`CREATE TABLE ${name} (d text)`);
  const answer = await service.upload(path(name, '?if_exists=append'), sheetOf([[1], ['x']]));
  assert.equal(answer.body.errors[0].code, 'unknown-column');
  assert.doesNotMatch(answer.body.errors[0].detail, /Did you mean/);
});

const mergedSheet = (rows: unknown[][], merged: string): Buffer => {
  const sheet = library.utils.aoa_to_sheet(rows);
  sheet['!merges'] = [library.utils.decode_range(merged)];
  return library.write(
    { SheetNames: ['Data'], Sheets: { Data: sheet } },
    { type: 'buffer', bookType: 'xlsx' },
  );
};

test('values covered by merged cells affect neither the types nor the rows', async () => {
  const rows = [
    ['id', 'amount'],
    [1, 10],
    [2, 'beneath'],
    [3, 30],
  ];
  const name = nextTable();
  const answer = await service.upload(path(name), mergedSheet(rows, 'B2:B3'));
  assert.equal(answer.status, 201);
  assert.equal(answer.body.table.columns[1].type, 'bigint');
  assert.deepEqual(await service.rows(`SELECT id::int, amount::int FROM "${name}" ORDER BY id`), [
    { id: 1, amount: 10 },
    { id: 2, amount: null },
    { id: 3, amount: 30 },
  ]);
  const columns = [
    { name: 'id', type: 'integer' },
    { name: 'amount', type: 'integer', default: '7' },
  ];
  const defined = nextTable();
  const second = await service.upload(path(defined), mergedSheet(rows, 'B2:B3'), { table: { columns } });
  assert.equal(second.status, 201);
  const withDefault = await service.rows(`SELECT amount FROM "${defined}" ORDER BY id`);
  assert.deepEqual(withDefault, [{ amount: 10 }, { amount: 7 }, { amount: 30 }]);
});

/** Returns formulas as XlsxWriter writes them: they were never calculated. */
const uncalculated = (rows: CellSpec[][], calcPr: string): Buffer => {
  const parts = workbookParts({ sheets: [{ name: 'Data', xml: sheetXml(rows) }] });
  const workbook = String(parts['xl/workbook.xml']).replace('</workbook>', `${calcPr}</workbook>`);
  const entries = Object.entries({ ...parts, 'xl/workbook.xml': workbook });
  return buildZip(entries.map(([name, data]) => ({ name, data })));
};
const formula = (result: string, attributes = ''): CellSpec => ({
  attributes,
  content: `<f>B1 &amp; C1</f><v>${result}</v>`,
});
const formulaRows: CellSpec[][] = [
  ['id', 'total', 'share', 'rest', 'zero'],
  [1, formula('0'), formula('0'), { attributes: '', content: '<f/><v> 0 </v>' }, 0],
  [2, formula('0'), formula('0.5'), null, 0],
  [3, formula('0'), formula('0'), 7, 0],
];

test('columns with formulas that were never calculated give a warning if the workbook asks to be calculated', async () => {
  const file = uncalculated(formulaRows, '<calcPr calcId="124519" fullCalcOnLoad="1"/>');
  const answer = await service.upload(path(nextTable()), file);
  assert.equal(answer.status, 201);
  assert.deepEqual(warningsOf(answer, 'uncalculated-formulas'), [
    'All formulas in the columns "total", "rest" have the result 0, and the workbook was probably never calculated. Open it in a spreadsheet program, save it and send it again.',
  ]);
  const one = await service.upload(path(nextTable(), '?range=A:B'), file);
  assert.match(warningsOf(one, 'uncalculated-formulas')[0]!, /^All formulas in the column "total" have /);
  for (const calcPr of ['', '<calcPr calcId="191029"/>', '<calcPr fullCalcOnLoad="0"/>']) {
    const calculated = await service.upload(path(nextTable()), uncalculated(formulaRows, calcPr));
    assert.deepEqual(warningsOf(calculated, 'uncalculated-formulas'), []);
  }
});

test('a column of formulas with a text, a boolean or another number as a result gives no warning', async () => {
  const rows: CellSpec[][] = [
    ['text', 'flag', 'number'],
    [formula('0', 't="str"'), formula('0', 't="b"'), formula('0')],
    [formula('0', 't="str"'), formula('0', 't="b"'), formula('1E1')],
  ];
  const answer = await service.upload(
    path(nextTable()),
    uncalculated(rows, '<calcPr fullCalcOnLoad="true"/>'),
  );
  assert.equal(answer.status, 201);
  assert.deepEqual(warningsOf(answer, 'uncalculated-formulas'), []);
});

test('a refused upload has the warnings of its sheet, and the one about a wrong header comes first', async () => {
  const name = nextTable();
  await service.rows(`CREATE TABLE ${name} (id int, name text, city text)`);
  const rows = [['Members'], [], ['id', 'name', 'city'], [1, 'Ann', 'Bonn'], [2, 'Bob', 'Ulm']];
  const file = buildWorkbook({
    sheets: [
      { name: 'Data', xml: sheetXml(rows) },
      { name: 'More', xml: sheetXml(orders) },
    ],
  });
  const answer = await service.upload(path(name, '?if_exists=append'), file);
  const { errors, warnings } = assertProblem(answer, 422, 'invalid-data');
  assert.ok(errors.every(({ code }) => code === 'unknown-column'));
  assert.deepEqual(
    warnings.map(({ code, column }) => [code, column]),
    [
      ['header-row', undefined],
      ['other-sheets', undefined],
      ['blank-header', 'column_B'],
      ['blank-header', 'column_C'],
    ],
  );
  assert.match(warnings[0]!.detail, /Row 3 looks like the header: send header_row=3/);
  const fixed = await service.upload(path(name, '?if_exists=append&header_row=3&sheet=1'), file);
  assert.deepEqual(fixed.body.load.warnings, []);
  const plain = await service.upload(path(name, '?if_exists=append'), sheetOf([['nam'], ['x']]));
  assert.equal('warnings' in plain.body, false);
});

test('warnings about columns are in the order of the columns', async () => {
  const rows = [
    ['a', null, null, 'a', null],
    [1, null, null, 1, 'x'],
    [1, null, 2, 1, 'x'],
    [1, 3, 2, 1, 'x'],
  ];
  const answer = await service.upload(path(nextTable()), sheetOf(rows));
  assert.deepEqual(
    answer.body.load.warnings.map(({ column }: { column: string }) => column),
    ['column_B', 'column_C', 'a_2', 'column_E'],
  );
});

test('an inspection without a sheet names the other sheets that have rows', async () => {
  const file = withCover([['Regional sales 2026'], ['by the sales team']]);
  const answer = await inspect(file);
  assert.deepEqual(answer.body.sheet.warnings, [
    {
      code: 'other-sheets',
      detail:
        'Sheet "Cover" was read, because it is the first visible one. Another sheet has rows too: "Orders" (2 rows, 2 columns). To read it, send sheet=Orders. To read the sheet with the largest table, send sheet=auto.',
      choices: [{ parameters: { sheet: 'Orders' } }],
    },
  ]);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'a.xlsx');
  const chosen = await service.request('POST', '/api/v1/inspect/excel?sheet=Cover', { body: form });
  assert.deepEqual(chosen.body.sheet.warnings, []);
});

test('cells that became NULL with cell_errors=null give one warning for each column', async () => {
  const rows: CellSpec[][] = [
    ['a', 'b'],
    [1, errorCell],
    [errorCell, 2],
    [3, errorCell],
  ];
  const answer = await service.upload(path(nextTable(), '?cell_errors=null'), sheetOf(rows, 'Data'));
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'cell-errors-as-null',
      column: 'a',
      detail:
        'The cell Data!A3 of the column "a" has no valid value and was read as NULL (cell_errors=null).',
    },
    {
      code: 'cell-errors-as-null',
      column: 'b',
      detail:
        '2 cells of the column "b" have no valid value and were read as NULL (cell_errors=null). The first is Data!B2.',
    },
  ]);
});

test('values covered by merged cells give a warning with their number and the first area', async () => {
  const rows = [
    ['id', 'amount', 'note'],
    [1, 10, 'x'],
    [2, 'beneath', 'y'],
    [3, 30, 'z'],
  ];
  const answer = await service.upload(path(nextTable()), mergedSheet(rows, 'B2:C3'));
  assert.deepEqual(answer.body.load.warnings, [
    {
      code: 'merged-cells',
      detail:
        '3 values beneath merged cells were left out. The first is in Data!C2, in the merged cells B2:C3. Only the top-left cell of merged cells has a value; to load the others, unmerge them.',
    },
  ]);
  const empty = [['id', 'amount'], [1, 10], [2], [3, 30]];
  const silent = await service.upload(path(nextTable()), mergedSheet(empty, 'B2:B3'));
  assert.deepEqual(silent.body.load.warnings, []);
});
