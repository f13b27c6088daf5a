/** `hidden` and `footer`: which rows and columns of a sheet are left out, in every format that has them, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as library from '@e965/xlsx';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { warningsOf } from '../support/uploads.ts';
import { type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { insertRecords, wordRecord } from '../support/xls-records.ts';
import { buildXlsb, cell, record, uint32, wideString } from '../support/xlsb-builder.ts';
import { buildWorkbook, buildZip } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('part_');

/** Loads the file and returns the answer, with the rows of the table as objects whose values are texts. */
async function load(file: Buffer, query = ''): Promise<TestAnswer & { loaded: Record<string, string>[] }> {
  const name = nextTable();
  const answer = await service.upload(`/table/${name}/upload/excel?${query}`, file);
  const rows =
    answer.status === 201
      ? await service.rows(`SELECT row_to_json(t)::jsonb AS r FROM public."${name}" t`)
      : [];
  return { ...answer, loaded: rows.map(({ r }) => r as Record<string, string>) };
}

const namesOf = ({ body }: TestAnswer): string[] =>
  body.table.columns.map(({ name }: { name: string }) => name);

const rows: CellSpec[][] = [
  ['id', 'secret', 'name'],
  ['1', 's1', 'Ann'],
  ['2', 's2', 'Bob'],
  ['3', 's3', 'Cid'],
  ['4', 's4', 'Dan'],
];

function hideRows(xml: string, ...hidden: [row: number, attributes: string][]): string {
  return hidden.reduce(
    (text, [row, attributes]) => text.replace(`<row r="${row}"`, `<row r="${row}" ${attributes}`),
    xml,
  );
}

const worksheet = (cols: string, data: string): string =>
  `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView/></sheetViews><cols>${cols}</cols><sheetData>${data}</sheetData></worksheet>`;

function hiddenXlsx(): Buffer {
  const data = hideRows(
    sheetXml(rows),
    [3, 'spans="1:3" hidden="1" ht="0" customHeight="1"'],
    // The scanner reads attributes in single quotes in its general way.
    [4, "ht='15' x14ac:dyDescent='0.25' hidden='true'"],
    [5, 'hidden="0"'],
  );
  const cols = '<col min="1" max="1" width="9"/><col min="2" max="2" width="0" hidden="1" customWidth="1"/>';
  return buildWorkbook({
    sheets: [{ name: 'My data', xml: worksheet(`${cols}<col min="4" max="16384" hidden="1"/>`, data) }],
  });
}

function hiddenXlsb(): Buffer {
  const text = (column: number, value: string): Buffer => cell(6, column, 0, wideString(value));
  const header = (row: number, isHidden: boolean): Buffer =>
    record(0, uint32(row - 1, 0), Buffer.from([0, 0, 0, isHidden ? 0x10 : 0, 0]), uint32(0));
  const column = (first: number, last: number, flags: number): Buffer =>
    record(60, uint32(first, last, 2304, 0), Buffer.from([flags, 0]));
  const data = rows.flatMap((cells, index) => [
    header(index + 1, index === 2 || index === 3),
    ...cells.map((value, at) => text(at, String(value))),
  ]);
  return buildXlsb({
    rows: [],
    wholeSheet: Buffer.concat([
      record(129),
      record(390),
      column(0, 0, 0),
      column(1, 1, 1),
      column(3, 16_383, 1),
      record(391),
      record(145),
      ...data,
      record(146),
      record(130),
    ]),
  });
}

const odsType = 'application/vnd.oasis.opendocument.spreadsheet';

function odsOf(table: string): Buffer {
  return buildZip([
    { name: 'mimetype', data: odsType, isStored: true },
    {
      name: 'content.xml',
      data: `<office:document-content><office:body><office:spreadsheet><table:table table:name="My data">${table}</table:table></office:spreadsheet></office:body></office:document-content>`,
    },
    {
      name: 'META-INF/manifest.xml',
      data: `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="${odsType}"/></manifest:manifest>`,
    },
  ]);
}

function hiddenOds(): Buffer {
  const columns =
    '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/><table:table-column table:visibility="collapse" table:number-columns-repeated="16381"/>';
  const visibility = [
    '',
    '',
    'table:visibility="collapse"',
    'table:visibility="filter"',
    'table:visibility="visible"',
  ];
  const data = rows.map(
    (cells, index) =>
      `<table:table-row ${visibility[index]}>${cells
        .map(
          (text) =>
            `<table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell>`,
        )
        .join('')}</table:table-row>`,
  );
  return odsOf(columns + data.join(''));
}

function hiddenXls(): Buffer {
  const sheet = library.utils.aoa_to_sheet(rows as string[][]);
  const file = library.write(
    { SheetNames: ['My data'], Sheets: { 'My data': sheet } },
    { type: 'buffer', bookType: 'biff8' },
  ) as Buffer;
  // The records ColInfo and Row come before the first cell, which is a record Label or LabelSst.
  const hidden = Buffer.concat([
    wordRecord(0x7d, 1, 1, 2304, 15, 1, 0),
    wordRecord(0x7d, 3, 255, 2304, 15, 1, 0),
    wordRecord(0x208, 2, 0, 3, 255, 0, 0, 0x20, 15),
    wordRecord(0x208, 3, 0, 3, 255, 0, 0, 0x20, 15),
    wordRecord(0x208, 4, 0, 3, 255, 0, 0, 0, 15),
  ]);
  return insertRecords(file, [0x204, 0xfd], hidden);
}

const hiddenFiles: [format: string, file: () => Buffer][] = [
  ['xlsx', hiddenXlsx],
  ['xlsb', hiddenXlsb],
  ['ods', hiddenOds],
  ['xls', hiddenXls],
];

for (const [format, file] of hiddenFiles) {
  test(`.${format}: hidden rows and columns are read with a warning, or left out`, async () => {
    const read = await load(file());
    assert.equal(read.status, 201, JSON.stringify(read.body));
    assert.equal(read.body.load.format, format);
    assert.deepEqual(
      read.loaded.map(({ id }) => id),
      ['1', '2', '3', '4'],
    );
    assert.deepEqual(warningsOf(read), [
      'hidden-rows: 2 rows are hidden and were read like all others. The first is row 3. To leave out hidden rows and columns, send hidden=skip.',
      'hidden-columns: Column B is hidden and was read like all others. To leave out hidden rows and columns, send hidden=skip.',
    ]);
    const skipped = await load(file(), 'hidden=skip');
    assert.deepEqual(namesOf(skipped), ['id', 'name']);
    assert.deepEqual(skipped.loaded, [
      { id: '1', name: 'Ann' },
      { id: '4', name: 'Dan' },
    ]);
    assert.deepEqual(warningsOf(skipped), [
      'hidden-rows: 2 rows are hidden and were left out (hidden=skip). The first is row 3.',
      'hidden-columns: Column B is hidden and was left out (hidden=skip).',
    ]);
    assert.equal(skipped.body.load.range, 'A1:C5');
  });
}

test('the name of a group reaches the other columns of its group if its first column is hidden', async () => {
  const groups: CellSpec[][] = [
    ['id', '2019', '', '2020', ''],
    ['', 'male', 'female', 'male', 'female'],
    ['1', '2', '3', '4', '5'],
  ];
  for (const merged of [
    '',
    '<mergeCells count="2"><mergeCell ref="B1:C1"/><mergeCell ref="D1:E1"/></mergeCells>',
  ]) {
    const xml = worksheet(
      '<col min="2" max="2" hidden="1"/><col min="5" max="5" hidden="1"/>',
      sheetXml(groups),
    );
    const file = buildWorkbook({
      sheets: [{ name: 'Data', xml: xml.replace('</sheetData>', `</sheetData>${merged}`) }],
    });
    const answer = await load(file, 'header_rows=2&hidden=skip');
    assert.deepEqual(namesOf(answer), ['id', '2019 female', '2020 male']);
    assert.match(JSON.stringify(warningsOf(answer)), /hidden \(B, E\) and were left out/);
    assert.deepEqual(namesOf(await load(file, 'header_rows=2')).slice(1, 3), ['2019 male', '2019 female']);
  }
});

test('a hidden column is left out if the rows of the header above its name are blank', async () => {
  const rows: CellSpec[][] = [[], ['id', 'secret', 'v'], ['1', '2', '3']];
  const cols = '<col min="2" max="2" hidden="1"/>';
  const file = buildWorkbook({ sheets: [{ name: 'Data', xml: worksheet(cols, sheetXml(rows)) }] });
  for (const query of ['header_row=1&header_rows=2', 'range=A1:C9&header_rows=2']) {
    assert.deepEqual(namesOf(await load(file, `${query}&hidden=skip`)), ['id', 'v'], query);
    assert.deepEqual(namesOf(await load(file, query)), ['id', 'secret', 'v'], query);
  }
});

test('hidden columns without a header are left out of a sheet without a header, too', async () => {
  const answer = await load(hiddenXlsx(), 'hidden=skip&header=false');
  assert.deepEqual(namesOf(answer), ['column_A', 'column_C']);
  assert.equal(answer.loaded.length, 3);
});

test('a hidden row above the header is not the header, unless it was chosen', async () => {
  const xml = hideRows(
    sheetXml([
      ['Old', 'Names'],
      ['id', 'name'],
      [1, 'Ann'],
    ]),
    [1, 'hidden="1"'],
  );
  const file = buildWorkbook({ sheets: [{ name: 'S', xml }] });
  assert.deepEqual(namesOf(await load(file)), ['Old', 'Names']);
  assert.deepEqual(namesOf(await load(file, 'hidden=skip')), ['id', 'name']);
  assert.deepEqual(namesOf(await load(file, 'hidden=skip&header_row=1')), ['Old', 'Names']);
  assert.deepEqual(namesOf(await load(file, 'hidden=skip&table_range=S!A1:B3')), ['Old', 'Names']);
});

test('hidden parts without a value are no warning', async () => {
  const data = hideRows(sheetXml([['id', null, 'name'], [1, null, 'Ann'], [], [2, null, 'Bob']]), [
    3,
    'hidden="1"',
  ]);
  const xml = worksheet('<col min="2" max="2" hidden="1"/>', data);
  const file = buildWorkbook({ sheets: [{ name: 'S', xml }] });
  assert.deepEqual(warningsOf(await load(file)), []);
  assert.deepEqual(warningsOf(await load(file, 'hidden=skip')), []);
});

test('problems of hidden rows and columns that are left out do not refuse an upload', async () => {
  const error: CellSpec = { attributes: 't="e"', content: '<v>#N/A</v>' };
  const data = hideRows(
    sheetXml([
      ['id', error],
      [1, error],
      [error, 5],
    ]),
    [3, 'hidden="1"'],
  );
  const xml = worksheet('<col min="2" max="2" hidden="1"/>', data);
  const file = buildWorkbook({ sheets: [{ name: 'S', xml }] });
  assertProblem(await load(file), 422, 'invalid-data');
  const skipped = await load(file, 'hidden=skip');
  assert.equal(skipped.status, 201, JSON.stringify(skipped.body));
  assert.deepEqual(namesOf(skipped), ['id']);
});

test('a sheet whose rows are all hidden is refused, and a warning says why', async () => {
  const data = hideRows(sheetXml([['id'], [1], [2]]), [2, 'hidden="1"'], [3, 'hidden="1"']);
  const answer = await load(buildWorkbook({ sheets: [{ name: 'S', xml: data }] }), 'hidden=skip');
  const { warnings } = assertProblem(answer, 422, 'nothing-to-load');
  assert.ok(warnings.some(({ code, detail }) => code === 'hidden-rows' && /^2 rows are hidden/.test(detail)));
});

const report: CellSpec[][] = [
  ['Spring report'],
  [],
  ['id', 'name'],
  [],
  [1, 'Ann'],
  [2, 'Bob'],
  ['  ', '\u00a0'],
  [null, 'Total', 3],
  [],
  ['printed by Ann'],
];

test('footer=skip leaves out the rows after the first empty row below the data', async () => {
  const answer = await load(sheetOf(report), 'header_row=3&footer=skip');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(namesOf(answer), ['id', 'name'], 'the footer makes no column');
  assert.deepEqual(
    answer.loaded.map(({ name }) => name),
    ['Ann', 'Bob'],
  );
  assert.equal(answer.body.load.range, 'A3:B6');
  assert.deepEqual(
    warningsOf(answer).filter((warning) => warning.startsWith('footer')),
    ['footer-rows: 2 rows follow an empty row and were left out (footer=skip). The first is row 8.'],
  );
  const read = await load(sheetOf(report), 'header_row=3');
  assert.equal(read.loaded.length, 4);
});

test('rows without an empty row between them have no footer', async () => {
  const answer = await load(sheetOf(rows), 'footer=skip');
  assert.equal(answer.loaded.length, 4);
  assert.deepEqual(warningsOf(answer), []);
});

test('only the cells of the range decide whether a row is empty', async () => {
  const beside: CellSpec[][] = [['id', 'note'], [1], [null, 'beside'], [2], [3]];
  const whole = await load(sheetOf(beside), 'footer=skip');
  assert.equal(whole.loaded.length, 4);
  const part = await load(sheetOf(beside), 'footer=skip&range=A:A');
  assert.equal(part.loaded.length, 1);
  assert.match(warningsOf(part).join(), /^footer-rows: 2 rows follow/);
});

test('a hidden row that is left out is not an empty row', async () => {
  const data = hideRows(sheetXml(rows), [3, 'hidden="1"']);
  const answer = await load(buildWorkbook({ sheets: [{ name: 'S', xml: data }] }), 'footer=skip&hidden=skip');
  assert.deepEqual(
    answer.loaded.map(({ id }) => id),
    ['1', '3', '4'],
  );
});

test('footer=skip reads a text file up to its first empty line', async () => {
  const text = '# made by hand\nid,name\n1,Ann\n# more\n2,Bob\n,\nTotal: 2\n\nnotes,that,go,on\n';
  const answer = await load(Buffer.from(text), 'footer=skip&comment=%23');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(
    answer.loaded.map(({ name }) => name),
    ['Ann', 'Bob'],
    'a comment is not an empty line',
  );
  assert.deepEqual(
    warningsOf(answer),
    ['footer-rows: 2 rows follow an empty row and were left out (footer=skip). The first is row 7.'],
    'the fields of the footer are not counted',
  );
});

test('the rows of a footer do not count against the limit of rows', async () => {
  const limited = await startTestService({ MAX_ROWS: '2' });
  try {
    const refused = await limited.upload('/table/t/upload/excel?header_row=3', sheetOf(report));
    assertProblem(refused, 413, 'limit-exceeded');
    const answer = await limited.upload('/table/t/upload/excel?header_row=3&footer=skip', sheetOf(report));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
  } finally {
    await limited.stop();
  }
});

test('an inspection takes hidden and footer like an upload', async () => {
  const { status, body } = await service.upload(
    '/api/v1/inspect/excel?hidden=skip&footer=skip',
    hiddenXlsx(),
  );
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.sheet.header, ['id', 'name']);
  assert.equal(body.sheets[0].rows, 2);
});
