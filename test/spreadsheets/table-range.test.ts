/** `table_range`: Excel tables, defined names and ranges with their sheet, in every format that has names, over HTTP. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as library from '@e965/xlsx';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';
import { fileInspector, warningsOf } from '../support/uploads.ts';
import { type CellSpec, sheetXml } from '../support/workbook.ts';
import { byteRecord, insertRecords, wordRecord } from '../support/xls-records.ts';
import { buildXlsb, cell, record, rowHeader, uint16, uint32, wideString } from '../support/xlsb-builder.ts';
import { buildWorkbook, buildZip, workbookParts } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('range_');

/** Loads the file and returns the answer, with the rows of the table as arrays. */
async function load(file: Buffer, query: string): Promise<TestAnswer & { loaded: unknown[][] }> {
  const name = nextTable();
  const answer = await service.upload(`/table/${name}/upload/excel?${query}`, file);
  const isLoaded = answer.status === 201;
  const rows = isLoaded ? await service.rows(`SELECT * FROM public."${name}"`) : [];
  return { ...answer, loaded: rows.map((row) => Object.values(row).map(String)) };
}

const inspect = fileInspector(() => service);

function tableXml(name: string, ref: string, attributes = '', columns: string[] = []): string {
  const cells = columns.map((column, index) => `<tableColumn id="${index + 1}" name="${column}"/>`).join('');
  return `<table id="1" name="T" displayName="${name}" ref="${ref}" ${attributes}><tableColumns>${cells}</tableColumns></table>`;
}

const definedName = (name: string, text: string, attributes = ''): string =>
  `<definedName name="${name}" ${attributes}>${text}</definedName>`;

/** A title, a table of two rows with a total beside notes, and a list on another sheet. */
const salesRows: CellSpec[][] = [
  ['Sales in spring', null, null, 'Notes'],
  [],
  [null, 'No', 'Amount', 'checked by Ann'],
  [null, 1, 10],
  [null, 2, 20],
  [null, 'Total', 30],
];
const cityRows: CellSpec[][] = [
  ['City', 'Country'],
  ['Lyon', 'France'],
  ['Graz', 'Austria'],
];

function salesBook(definedNames = '', tables: string[] = []): Buffer {
  return buildWorkbook({
    sheets: [
      { name: 'Cover', xml: sheetXml([['Report']]) },
      { name: 'Sales Data', xml: sheetXml(salesRows), tables },
      { name: 'Lists', xml: sheetXml(cityRows) },
    ],
    definedNames,
  });
}

const ordersTable = tableXml('Orders', 'B3:C6', 'totalsRowCount="1"', ['No', 'Amount']);

test('an Excel table is loaded by its name in any case, without its totals row', async () => {
  const answer = await load(salesBook('', [ordersTable]), 'table_range=oRDERS');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  const { sheet, header_row, range } = answer.body.load;
  assert.deepEqual([sheet, header_row, range], ['Sales Data', 3, 'B3:C5']);
  assert.deepEqual(answer.loaded, [
    ['1', '10'],
    ['2', '20'],
  ]);
  assert.deepEqual(warningsOf(answer), [
    'totals-row: Row 6 was left out, because it is the totals row of the table "Orders".',
  ]);
});

test('a table without a header row has its first row as values', async () => {
  const table = tableXml('Orders', 'B4:C5', 'headerRowCount="0"', ['Column1', 'Column2']);
  const answer = await load(salesBook('', [table]), 'table_range=Orders');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(
    answer.body.table.columns.map(({ name }: { name: string }) => name),
    ['column_B', 'column_C'],
  );
  assert.equal(answer.loaded.length, 2);
  const refused = await load(salesBook('', [table]), 'table_range=Orders&header_row=4');
  assert.match(assertProblem(refused, 422, 'invalid-parameter').detail, /"Orders" has no header row/);
});

test('a defined name is loaded from its sheet', async () => {
  const names = definedName('Cities', 'Lists!$A$1:$B$3') + definedName('Numbers', "'Sales Data'!$B$3:$B$5");
  const cities = await load(salesBook(names), 'table_range=Cities');
  assert.deepEqual(cities.loaded, [
    ['Lyon', 'France'],
    ['Graz', 'Austria'],
  ]);
  assert.deepEqual(
    warningsOf(cities),
    [],
    'no warning about other sheets, because the name chooses the sheet',
  );
  const numbers = await load(salesBook(names), 'table_range=Numbers');
  assert.equal(numbers.body.load.range, 'B3:B5');
  assert.deepEqual(numbers.loaded, [['1'], ['2']]);
});

test('a range may be written with its sheet, or alone', async () => {
  const quoted = await load(salesBook(), `table_range=${encodeURIComponent("'Sales Data'!$B$3:C5")}`);
  assert.deepEqual([quoted.body.load.sheet, quoted.body.load.range], ['Sales Data', 'B3:C5']);
  const columns = await load(salesBook(), 'table_range=lists!B:B');
  assert.deepEqual(columns.loaded, [['France'], ['Austria']]);
  const alone = await load(salesBook(), 'table_range=A1:A3&sheet=Lists');
  assert.deepEqual(alone.loaded, [['Lyon'], ['Graz']]);
  const unknown = await load(salesBook(), 'table_range=Prices!A1:B2');
  assert.match(
    assertProblem(unknown, 422, 'invalid-parameter').detail,
    /no table or name "Prices!A1:B2"|no sheet "Prices"/,
  );
});

test('a name that two sheets have of their own needs the sheet', async () => {
  const names =
    definedName('Block', 'Lists!$A$1:$A$3', 'localSheetId="2"') +
    definedName('Block', "'Sales Data'!$B$3:$B$5", 'localSheetId="1"');
  const ambiguous = await load(salesBook(names), 'table_range=Block');
  assert.match(
    assertProblem(ambiguous, 422, 'invalid-parameter').detail,
    /2 sheets have a name "Block" of their own: "Lists", "Sales Data"\. Choose one with `sheet`\./,
  );
  const chosen = await load(salesBook(names), 'table_range=Block&sheet=lists');
  assert.deepEqual(chosen.loaded, [['Lyon'], ['Graz']]);
  const prefixed = await load(salesBook(names), `table_range=${encodeURIComponent("'Sales Data'!Block")}`);
  assert.deepEqual(prefixed.loaded, [['1'], ['2']]);
});

const others: [reference: string, described: RegExp][] = [
  ['0.19', /it refers to the constant 0\.19\./],
  ['"EUR"', /it refers to the constant "EUR"\./],
  ['#REF!', /it refers to cells that were deleted \(#REF!\)\./],
  ['Lists!#REF!', /it refers to cells that were deleted \(Lists!#REF!\)\./],
  ['Lists!$A$1:$A$2,Lists!$B$3', /it refers to several areas \(Lists!\$A\$1:\$A\$2,Lists!\$B\$3\)\./],
  ['OFFSET(Lists!$A$1,0,0,3,2)', /it refers to a formula \(OFFSET\(Lists!\$A\$1,0,0,3,2\)\)\./],
  ['Lists:Cover!$A$1:$B$2', /it refers to cells of several sheets \(Lists:Cover!\$A\$1:\$B\$2\)\./],
  ['[1]Prices!$A$1:$B$2', /it refers to cells of another workbook \(\[1\]Prices!\$A\$1:\$B\$2\)\./],
  ['Gone!$A$1:$B$2', /it refers to cells of the sheet "Gone", which the workbook does not have\./],
  ['Lists!$A$0:$B$2', /it refers to a formula/],
  ['Lists!$A$1:$B$9999999', /it refers to a formula/],
];

test('a name of something else than one range is refused with what it refers to', async () => {
  const names = others
    .map(([text], index) => definedName(`N${index}_`, text.replaceAll('"', '&quot;')))
    .join('');
  const file = salesBook(names);
  for (const [index, [, described]] of others.entries()) {
    const answer = await load(file, `table_range=N${index}_`);
    const { detail, errors } = assertProblem(answer, 422, 'invalid-parameter');
    assert.match(detail, described);
    assert.deepEqual([errors[0]?.parameter, errors[0]?.value], ['table_range', `N${index}_`]);
  }
  assert.deepEqual((await inspect(file)).body.names, []);
});

test('an unknown name is refused with the names that there are', async () => {
  const file = salesBook(definedName('Cities', 'Lists!$A$1:$B$3') + definedName('Rate', '0.19'), [
    ordersTable,
  ]);
  assert.match(
    assertProblem(await load(file, 'table_range=Order'), 422, 'invalid-parameter').detail,
    /no table or name "Order"\. It has: "Orders" \("Sales Data", B3:C5\), "Cities" \("Lists", A1:B3\)\.$/,
  );
  assert.match(
    assertProblem(await load(salesBook(), 'table_range=Orders'), 422, 'invalid-parameter').detail,
    /no tables and no names, so "Orders" does not exist\. For a range of cells send `range`\./,
  );
});

test('a sheet, a range and a text file contradict a name', async () => {
  const file = salesBook('', [ordersTable]);
  const refusals: [Buffer, query: string, detail: RegExp][] = [
    [file, 'table_range=Orders&sheet=Lists', /"Orders" is in the sheet "Sales Data", not in "Lists"/],
    [file, 'table_range=Orders&range=A1:B2', /leave `range` out/],
    [file, 'table_range=Orders&header_row=9', /Header row 9 is outside of the range/],
    [Buffer.from('a,b\n1,2\n'), 'table_range=Orders', /The format of the file has no names for cells/],
  ];
  for (const [sent, query, detail] of refusals) {
    assert.match(assertProblem(await load(sent, query), 422, 'invalid-parameter').detail, detail);
  }
  const agreeing = await load(file, 'table_range=Orders&sheet=Sales%20Data');
  assert.equal(agreeing.status, 201);
});

test('what a file states about a table is checked', async () => {
  const stated: [xml: string, status: number, detail: RegExp][] = [
    [
      tableXml('T', 'B3:C6', 'totalsRowCount="4000000"'),
      422,
      /more header and totals rows than its range B3:C6 has/,
    ],
    [tableXml('T', 'B3:C9999999'), 422, /refers to a formula \('Sales Data'!B3:C9999999\)/],
    [tableXml('T', ''), 422, /refers to a formula/],
    [tableXml('T', 'A1048576:XFD1048576'), 422, /no cell with a value|no row|nothing/],
  ];
  for (const [xml, status, detail] of stated) {
    const answer = await load(salesBook('', [xml]), 'table_range=T');
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.detail, detail);
  }
});

test('an inspection lists tables and names with their sheet, range and header', async () => {
  const names =
    definedName('Cities', 'Lists!$A$1:$B$3') +
    definedName('_xlnm.Print_Area', 'Lists!$A:$B', 'localSheetId="2"') +
    definedName('_xlnm._FilterDatabase', 'Lists!$A$1:$B$3', 'localSheetId="2"') +
    definedName('Secret', 'Lists!$A$1', 'hidden="1"') +
    definedName('Rate', '0.19');
  const { status, body } = await inspect(salesBook(names, [ordersTable]));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.names, [
    { name: 'Orders', kind: 'table', sheet: 'Sales Data', range: 'B3:C5', header: ['No', 'Amount'] },
    { name: 'Cities', kind: 'name', sheet: 'Lists', range: 'A1:B3', header: ['City', 'Country'] },
    {
      name: 'Print_Area',
      kind: 'name',
      scope: 'Lists',
      sheet: 'Lists',
      range: 'A:B',
      header: ['City', 'Country'],
    },
  ]);
  assert.equal(body.name_count, 3);
});

test('an inspection searches headers only at the beginning of sheets, and for 50 names', async () => {
  const long: CellSpec[][] = Array.from({ length: 30 }, () => ['x'.repeat(50_000)]);
  const names = Array.from({ length: 60 }, (_, index) => definedName(`N${index}_`, 'Lists!$A$1:$B$3')).join(
    '',
  );
  const file = buildWorkbook({
    sheets: [
      { name: 'Lists', xml: sheetXml(cityRows) },
      { name: 'Long', xml: sheetXml([...long, ['City'], ['Lyon']]) },
    ],
    definedNames: definedName('Deep', 'Long!$A$31:$A$32') + names,
  });
  const { body } = await inspect(file);
  const headers = body.names.map(({ header }: { header?: string[] }) => header?.[0]);
  assert.deepEqual(headers, [
    undefined,
    ...Array.from({ length: 60 }, (_, index) => (index < 49 ? 'City' : undefined)),
  ]);
  assert.deepEqual((await load(file, 'table_range=Deep')).loaded, [['Lyon']]);
});

test('an inspection of a table shows its rows, and the sizes of all sheets', async () => {
  const { body } = await inspect(salesBook('', [ordersTable]), '?table_range=Orders');
  assert.equal(body.sheet.name, 'Sales Data');
  assert.deepEqual(body.sheet.header, ['No', 'Amount']);
  assert.deepEqual(body.sheet.rows, [
    ['1', '10'],
    ['2', '20'],
  ]);
  assert.deepEqual(
    body.sheets.map(({ name, rows }: { name: string; rows: number }) => [name, rows]),
    [
      ['Cover', 0],
      ['Sales Data', 2],
      ['Lists', 2],
    ],
  );
});

test('a table part that cannot be read hides no rows from an inspection', async () => {
  const file = salesBook('', ['<table displayName="T" ref="B3:C6"><tableColumns></table>']);
  const { status, body } = await inspect(file, '?sheet=Lists');
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.names, body.name_count, body.sheets[2].rows], [[], 0, 2]);
  assert.deepEqual(
    body.sheet.warnings.map(({ code }: { code: string }) => code),
    ['unreadable-names'],
  );
  assertProblem(await load(file, 'table_range=T'), 400, 'invalid-file');
  assert.equal((await load(file, 'sheet=Lists')).status, 201);
});

test('sheets that share one table part have it once', async () => {
  const parts = workbookParts({
    sheets: ['A', 'B'].map((name) => ({ name, xml: sheetXml(cityRows), tables: [tableXml('T', 'A1:B3')] })),
  });
  parts['xl/worksheets/_rels/sheet2.xml.rels'] = parts['xl/worksheets/_rels/sheet1.xml.rels']!;
  const file = buildZip(Object.entries(parts).map(([name, data]) => ({ name, data })));
  assert.deepEqual(
    (await inspect(file)).body.names.map(({ name, sheet }: Record<string, string>) => [name, sheet]),
    [['T', 'A']],
  );
});

/** The records of names in a workbook of one sheet, `Data`. */
const xlsbName = (name: string, formula: Buffer, localSheet = 0xffff_ffff): Buffer =>
  record(
    39,
    uint32(0),
    Buffer.alloc(1),
    uint32(localSheet),
    wideString(name),
    uint32(formula.length),
    formula,
    uint32(0),
    uint32(0xffff_ffff),
  );
const area3d = (link: number, ...[firstRow, lastRow, firstColumn, lastColumn]: number[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x3b]),
    uint16(link),
    uint32(firstRow!, lastRow!),
    uint16(firstColumn!, lastColumn!),
  ]);

function xlsbBook(names: Buffer[]): Buffer {
  const nullString = uint32(0xffff_ffff);
  const columns = ['No', 'Amount'].map((caption, index) =>
    record(
      347,
      uint32(index + 1, 0, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff, 0),
      nullString,
      wideString(caption),
    ),
  );
  const relationships = (type: string, target: string): Buffer =>
    Buffer.from(
      `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/></Relationships>`,
    );
  const text = (column: number, value: string): Buffer => cell(6, column, 0, wideString(value));
  const number = (column: number, value: number): Buffer => cell(2, column, 0, uint32((value << 2) | 2));
  return buildXlsb({
    rows: [
      rowHeader(1),
      text(0, 'Title'),
      rowHeader(3),
      text(1, 'No'),
      text(2, 'Amount'),
      rowHeader(4),
      number(1, 1),
      number(2, 10),
      rowHeader(5),
      number(1, 2),
      number(2, 20),
      rowHeader(6),
      text(1, 'Total'),
      number(2, 30),
    ],
    parts: {
      'xl/workbook.bin': Buffer.concat([
        record(131),
        record(153, uint32(0, 0), wideString('')),
        record(156, uint32(0, 1), wideString('rId1'), wideString('Data')),
        record(353),
        record(357),
        record(362, uint32(2), uint32(0, 0, 0), uint32(0, 0xffff_ffff, 0xffff_ffff)),
        record(354),
        ...names,
        record(132),
      ]),
      'xl/worksheets/_rels/sheet1.bin.rels': relationships('table', '../tables/table1.bin'),
      'xl/tables/table1.bin': Buffer.concat([
        record(
          343,
          uint32(2, 5, 1, 2, 0, 1, 1, 1, 0),
          uint32(...Array.from({ length: 6 }, () => 0xffff_ffff), 0),
          wideString('Table1'),
          wideString('Orders'),
          nullString,
        ),
        ...columns,
        record(344),
      ]),
    },
  });
}

test('names and tables of an .xlsb workbook are loaded as those of an .xlsx workbook', async () => {
  const file = xlsbBook([
    xlsbName('Block', area3d(0, 2, 4, 1, 2)),
    xlsbName('Columns', area3d(0, 0, 1_048_575, 1, 2)),
    xlsbName('Own', area3d(0, 3, 4, 1, 1), 0),
    xlsbName('Lost', area3d(1, 2, 4, 1, 2)),
    xlsbName('Rate', Buffer.from([0x1e, 19, 0])),
    xlsbName('Bad', Buffer.concat([Buffer.from([0x3d]), uint16(0), Buffer.alloc(12)])),
  ]);
  const { body } = await inspect(file);
  assert.deepEqual(body.names, [
    { name: 'Orders', kind: 'table', sheet: 'Data', range: 'B3:C5', header: ['No', 'Amount'] },
    { name: 'Block', kind: 'name', sheet: 'Data', range: 'B3:C5', header: ['No', 'Amount'] },
    { name: 'Columns', kind: 'name', sheet: 'Data', range: 'B:C', header: ['No', 'Amount'] },
    { name: 'Own', kind: 'name', scope: 'Data', sheet: 'Data', range: 'B4:B5', header: ['1'] },
  ]);
  const table = await load(file, 'table_range=orders');
  assert.deepEqual(table.loaded, [
    ['1', '10'],
    ['2', '20'],
  ]);
  assert.match(warningsOf(table).join(), /totals-row/);
  assert.equal((await load(file, 'table_range=BLOCK')).body.load.range, 'B3:C5');
  assert.match((await load(file, 'table_range=Rate')).body.detail, /the constant 19/);
  assert.match((await load(file, 'table_range=Bad')).body.detail, /deleted \(#REF!\)/);
  assert.match((await load(file, 'table_range=Lost')).body.detail, /a formula/);
});

test('a name of an .xlsb workbook that is cut off is refused', async () => {
  const cut = record(39, uint32(0), Buffer.alloc(1), uint32(0xffff_ffff), wideString('Cut'));
  assertProblem(await load(xlsbBook([cut]), 'table_range=Orders'), 400, 'invalid-file');
});

/** A record Lbl of .xls with the formula `area`. */
const xlsName = (name: string, localSheet: number, area: Buffer): Buffer =>
  byteRecord(
    0x18,
    uint16(0),
    Buffer.from([0, name.length]),
    uint16(area.length, 0, localSheet),
    Buffer.alloc(5),
    Buffer.from(name, 'latin1'),
    area,
  );
const xlsArea = (...words: number[]): Buffer => Buffer.concat([Buffer.from([0x3b]), uint16(...words)]);

function xlsBook(names: Buffer[]): Buffer {
  const file = library.write(
    {
      SheetNames: ['Cover', 'City List'],
      Sheets: {
        Cover: library.utils.aoa_to_sheet([['Report'], ['spring']]),
        'City List': library.utils.aoa_to_sheet(cityRows as string[][]),
      },
    },
    { type: 'buffer', bookType: 'biff8' },
  ) as Buffer;
  const links = [wordRecord(0x1ae, 2, 0x0401), wordRecord(0x17, 1, 0, 1, 1)];
  // Before the end of the records of the workbook.
  return insertRecords(file, [0x0a], Buffer.concat([...links, ...names]));
}

test('names of an .xls workbook are loaded, also from a sheet that is not the first', async () => {
  const file = xlsBook([
    xlsName('Cities', 0, xlsArea(0, 0, 2, 0, 1)),
    xlsName('Own', 2, xlsArea(0, 0, 2, 1, 1)),
    xlsName('Columns', 0, xlsArea(0, 0, 65_535, 0, 1)),
    xlsName('Rate', 0, Buffer.from([0x1e, 19, 0])),
  ]);
  const { body } = await inspect(file);
  assert.deepEqual(body.names, [
    { name: 'Cities', kind: 'name', sheet: 'City List', range: 'A1:B3', header: ['City', 'Country'] },
    {
      name: 'Own',
      kind: 'name',
      scope: 'City List',
      sheet: 'City List',
      range: 'B1:B3',
      header: ['Country'],
    },
    { name: 'Columns', kind: 'name', sheet: 'City List', range: 'A:B', header: ['City', 'Country'] },
  ]);
  const answer = await load(file, 'table_range=cities');
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual([answer.body.load.format, answer.body.load.sheet], ['xls', 'City List']);
  assert.deepEqual(answer.loaded, [
    ['Lyon', 'France'],
    ['Graz', 'Austria'],
  ]);
  assert.deepEqual((await load(file, 'table_range=own')).loaded, [['France'], ['Austria']]);
  assert.match((await load(file, 'table_range=Rate')).body.detail, /the constant 19/);
  const unknown = assertProblem(await load(file, 'table_range=Towns'), 422, 'invalid-parameter');
  assert.match(unknown.detail, /It has: "Cities" \("City List", A1:B3\)/);
});

const odsTable = (name: string, rows: string[][], names = ''): string =>
  `<table:table table:name="${name}">${rows
    .map(
      (cells) =>
        `<table:table-row>${cells
          .map((text) =>
            text === ''
              ? '<table:table-cell/>'
              : `<table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell>`,
          )
          .join('')}</table:table-row>`,
    )
    .join('')}${names}</table:table>`;

function odsBook(body: string): Buffer {
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  return buildZip([
    { name: 'mimetype', data: type, isStored: true },
    {
      name: 'content.xml',
      data: `<office:document-content><office:body><office:spreadsheet>${body}</office:spreadsheet></office:body></office:document-content>`,
    },
    {
      name: 'META-INF/manifest.xml',
      data: `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/></manifest:manifest>`,
    },
  ]);
}

test('named ranges and database ranges of OpenDocument are loaded', async () => {
  const rows = [
    ['Title', '', ''],
    ['', 'City', 'Country'],
    ['', 'Lyon', 'France'],
    ['', 'Graz', 'Austria'],
  ];
  const own =
    '<table:named-expressions><table:named-range table:name="Own" table:cell-range-address="$\'City List\'.$C$2:.$C$4"/></table:named-expressions>';
  const file = odsBook(
    odsTable('Cover', [['Report']]) +
      odsTable('City List', rows, own) +
      `<table:named-expressions><table:named-range table:name="Cities" table:cell-range-address="$'City List'.$B$2:.$C$4"/>` +
      `<table:named-range table:name="Columns" table:cell-range-address="$'City List'.$B$1:.$C$1048576"/>` +
      `<table:named-expression table:name="Rate" table:expression="of:=0.19"/></table:named-expressions>` +
      `<table:database-ranges><table:database-range table:name="Base" table:target-range-address="'City List'.B3:'City List'.C4" table:contains-header="false"/>` +
      `<table:database-range table:name="__Anonymous_Sheet_DB__0" table:target-range-address="'City List'.B3:'City List'.C4"/></table:database-ranges>`,
  );
  const { body } = await inspect(file);
  assert.deepEqual(body.names, [
    {
      name: 'Own',
      kind: 'name',
      scope: 'City List',
      sheet: 'City List',
      range: 'C2:C4',
      header: ['Country'],
    },
    { name: 'Cities', kind: 'name', sheet: 'City List', range: 'B2:C4', header: ['City', 'Country'] },
    { name: 'Columns', kind: 'name', sheet: 'City List', range: 'B:C', header: ['City', 'Country'] },
    { name: 'Base', kind: 'table', sheet: 'City List', range: 'B3:C4', header: [] },
  ]);
  assert.deepEqual((await load(file, 'table_range=CITIES')).loaded, [
    ['Lyon', 'France'],
    ['Graz', 'Austria'],
  ]);
  assert.equal((await load(file, 'table_range=Columns')).body.load.range, 'B2:C4');
  const base = await load(file, 'table_range=Base');
  assert.deepEqual([base.loaded.length, base.body.load.header_row], [2, undefined]);
  assert.match((await load(file, 'table_range=Rate')).body.detail, /the constant 0\.19/);
});

test('a name tells the place of a problem as its sheet has it', async () => {
  const file = salesBook('', [ordersTable]);
  const table = {
    columns: [
      { name: 'No', type: 'bigint' },
      { name: 'Amount', type: 'boolean' },
    ],
  };
  const answer = await service.upload(`/table/${nextTable()}/upload/excel?table_range=Orders`, file, {
    table,
  });
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.deepEqual(
    errors.map(({ cell, row }) => [cell, row]),
    [
      ["'Sales Data'!C4", 1],
      ["'Sales Data'!C5", 2],
    ],
  );
});
