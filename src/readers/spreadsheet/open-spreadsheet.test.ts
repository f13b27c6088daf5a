import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '../../../test/support/growth.ts';
import { type RecordedRows, recordRows } from '../../../test/support/recorded-cells.ts';
import { spreadsheetLimits } from '../../../test/support/spreadsheet-limits.ts';
import {
  buildWorkbook,
  buildZip,
  memoryFile,
  type WorkbookSpec,
  workbookParts,
} from '../../../test/support/xlsx-builder.ts';
import { ERROR_CELL, FORMULA_WITHOUT_VALUE } from '../../core/cells/cell-kind.ts';
import { withSecondReading } from '../../core/cells/row-source.ts';
import { AppError, type ErrorCode } from '../../core/errors.ts';
import { openSpreadsheet } from './open-spreadsheet.ts';
import type { SheetSource } from './sheet-source.ts';
import type { SpreadsheetOptions } from './spreadsheet-options.ts';

const limits = spreadsheetLimits({ maxRatio: 200, maxRows: 10_000 });

type Options = Partial<SpreadsheetOptions>;

function open(bytes: Buffer, options: Options = {}): Promise<SheetSource> {
  return openSpreadsheet(
    memoryFile(bytes),
    { columnNames: 'exact', cellErrors: 'problem', ...options },
    limits,
  );
}

async function pass(source: SheetSource): Promise<RecordedRows> {
  return withSecondReading(async () => {
    const sink = recordRows();
    await source.read(sink, new AbortController().signal);
    return sink;
  });
}

async function read(bytes: Buffer, options: Options = {}): Promise<RecordedRows & { source: SheetSource }> {
  const source = await open(bytes, options);
  return { ...(await pass(source)), source };
}

/** Returns a sheet of rows of cells: numbers unchanged, texts inline, `undefined` for no cell, XML unchanged. */
function sheetOf(rows: (string | number | undefined)[][], firstRow = 1): string {
  return rows
    .map((cells, index) => {
      const row = firstRow + index;
      const written = cells.map((value, column) => {
        const ref = `${String.fromCharCode(65 + column)}${row}`;
        if (value === undefined) return '';
        if (typeof value === 'number') return `<c r="${ref}"><v>${value}</v></c>`;
        if (value.startsWith('<c ')) return value.replace('<c ', `<c r="${ref}" `);
        return `<c r="${ref}" t="inlineStr"><is><t xml:space="preserve">${value}</t></is></c>`;
      });
      return `<row r="${row}">${written.join('')}</row>`;
    })
    .join('');
}

const workbookOf = (rows: (string | number | undefined)[][], more: Partial<WorkbookSpec> = {}): Buffer =>
  buildWorkbook({ sheets: [{ name: 'Data', xml: sheetOf(rows) }], ...more });

const plainRows = ({ rows }: RecordedRows): [number, Record<string, string>][] =>
  rows.map(({ row, cells }) => [row, { ...cells }]);

const fails = (code: ErrorCode, detail: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error));
  assert.equal(error.code, code, error.detail);
  assert.match(error.detail, detail);
  return true;
};

test('a sheet gives its header, its rows and their places', async () => {
  const result = await read(workbookOf([['id', ' name '], [1, 'Ann'], [], [3, undefined]]));
  assert.deepEqual(result.columns, ['id', 'name']);
  assert.deepEqual(plainRows(result), [
    [1, { id: 'number 1', name: 'string Ann' }],
    [3, { id: 'number 3' }],
  ]);
  assert.deepEqual(result.source.locate(3, 1, 'name'), { sheet: 'Data', cell: 'Data!B4' });
  assert.deepEqual(result.source.locate(3, -1, ''), { sheet: 'Data', cell: 'Data!4:4' });
  assert.deepEqual(result.source.warnings, []);
  assert.equal(result.source.nameMatching, 'loose');
});

test('a second pass gives the same rows, and warnings only once', async () => {
  const source = await open(
    workbookOf([
      ['a', 'a', ''],
      [1, 2, 3],
    ]),
  );
  const first = await pass(source);
  const second = await pass(source);
  assert.deepEqual(plainRows(second), plainRows(first));
  assert.deepEqual(second.columns, ['a', 'a_2', 'column_C']);
  assert.deepEqual(
    source.warnings.map(({ code, column }) => [code, column]),
    [
      ['repeated-header', 'a_2'],
      ['blank-header', 'column_C'],
    ],
  );
});

test('the header is the first row that has a text; headers may be values', async () => {
  const rows = [
    [],
    [' '],
    ['<c s="1"><v>44197</v></c>', 12, '<c t="b"><v>1</v></c>', '<c s="2"><v>0.5</v></c>'],
    [1],
  ];
  const result = await read(workbookOf(rows, { formats: [14, 21] }));
  assert.deepEqual(result.columns, ['2021-01-01', '12', 'TRUE', '12:00:00']);
  assert.deepEqual(plainRows(result), [[1, { '2021-01-01': 'number 1' }]]);
  assert.equal(result.source.locate(1, 0, '').cell, 'Data!A4');
});

test('columns with neither header nor data are left out', async () => {
  const result = await read(
    workbookOf([
      ['a', undefined, 'c', '  '],
      [1, undefined, 3, '<c s="1"/>'],
    ]),
  );
  assert.deepEqual(result.columns, ['a', 'c']);
  assert.deepEqual(plainRows(result), [[1, { a: 'number 1', c: 'number 3' }]]);
  assert.equal(result.source.locate(1, 1, 'c').cell, 'Data!C2');
});

test('a header without rows still names its columns', async () => {
  assert.deepEqual((await read(workbookOf([['a', 'b']]))).columns, ['a', 'b']);
  assert.deepEqual((await read(workbookOf([['a', 'b']]), { headerRow: 1 })).columns, ['a', 'b']);
  assert.deepEqual((await read(workbookOf([]))).columns, []);
});

test('the requested header row is used', async () => {
  const rows = [
    ['Report', 'of May'],
    ['id', 'n'],
    [1, 2],
  ];
  const result = await read(workbookOf(rows), { headerRow: 2 });
  assert.deepEqual(result.columns, ['id', 'n']);
  assert.deepEqual(plainRows(result), [[1, { id: 'number 1', n: 'number 2' }]]);
  const blank = await read(workbookOf([['x'], [], [1, 2]]), { headerRow: 2 });
  assert.deepEqual(blank.columns, ['column_A', 'column_B']);
  assert.equal(blank.source.locate(1, 1, '').cell, 'Data!B3');
});

test('only the requested range is read', async () => {
  const rows = [
    ['no', 'no', 'no', 'no'],
    ['no', 'x', 'y', 'no'],
    [0, 1, 2, 0],
    [0, 3, 4, 0],
    [0, 5, 6, 0],
  ];
  const result = await read(workbookOf(rows), { range: 'B2:C4' });
  assert.deepEqual(result.columns, ['x', 'y']);
  assert.deepEqual(plainRows(result), [
    [1, { x: 'number 1', y: 'number 2' }],
    [2, { x: 'number 3', y: 'number 4' }],
  ]);
  assert.equal(result.source.locate(2, 1, 'y').cell, 'Data!C4');
  assert.deepEqual((await read(workbookOf(rows), { range: 'B:C' })).columns, ['no', 'no_2']);
  assert.deepEqual((await read(workbookOf(rows), { range: 'B:C', headerRow: 2 })).columns, ['x', 'y']);
  const invalid = fails('invalid-parameter', /range/);
  await assert.rejects(open(workbookOf(rows), { range: 'F3:B1' }), invalid);
  await assert.rejects(open(workbookOf(rows), { range: 'B3:C9', headerRow: 1 }), invalid);
});

test('column_names=snake_case changes the names', async () => {
  const result = await read(
    workbookOf([
      ['Order ID', 'orderId', ''],
      [1, 2, 3],
    ]),
    { columnNames: 'snake_case' },
  );
  assert.deepEqual(result.columns, ['order_id', 'order_id_2', 'column_c']);
});

test('error cells are problems, or NULL on request', async () => {
  const rows = [
    ['a', 'b', 'c'],
    ['<c t="e"><v>#N/A</v></c>', '<c ><f>A1</f></c>', '<c t="s"><v>9</v></c>'],
  ];
  assert.deepEqual(plainRows(await read(workbookOf(rows))), [
    [1, { a: 'fault ERROR_CELL #N/A', b: 'fault FORMULA_WITHOUT_VALUE', c: 'fault UNREADABLE_CELL 9' }],
  ]);
  assert.deepEqual(plainRows(await read(workbookOf(rows), { cellErrors: 'null' })), [
    [1, { a: 'null', b: 'null', c: 'fault UNREADABLE_CELL 9' }],
  ]);
  const noDate = workbookOf([['day'], ['<c s="1"><v>0</v></c>']], { formats: [14] });
  assert.deepEqual(plainRows(await read(noDate)), [[1, { day: 'fault SERIAL_OUT_OF_RANGE 0' }]]);
  assert.deepEqual(plainRows(await read(noDate, { cellErrors: 'null' })), [[1, { day: 'null' }]]);
});

test('a header cell with an error is a problem, or blank if errors are NULL', async () => {
  const rows = [
    ['a', '<c t="e"><v>#REF!</v></c>', '<c ><f>A1</f></c>', 'd'],
    [1, 2, 3, 4],
  ];
  const { source, columns } = await read(workbookOf(rows));
  assert.deepEqual(source.headerFaults, [
    { fault: ERROR_CELL, value: '#REF!', place: { sheet: 'Data', cell: 'Data!B1' } },
    { fault: FORMULA_WITHOUT_VALUE, value: '', place: { sheet: 'Data', cell: 'Data!C1' } },
  ]);
  assert.deepEqual(columns, ['a', '#REF!', 'd', 'column_C']);
  const asNull = await read(workbookOf(rows), { cellErrors: 'null' });
  assert.deepEqual(asNull.source.headerFaults, []);
  assert.deepEqual(asNull.columns, ['a', 'd', 'column_B', 'column_C']);
});

test('a negative time is a negative duration, in both date systems', async () => {
  const cell = (style: number, value: string): string => `<c s="${style}"><v>${value}</v></c>`;
  const rows = [
    ['long', 'time', 'more', 'zero', 'day'],
    [cell(1, '-0.0625'), cell(2, '-0.5'), cell(1, '-1.25'), cell(1, '-0'), cell(3, '-1')],
  ];
  for (const is1904 of [false, true]) {
    const result = await read(workbookOf(rows, { formats: ['[h]:mm', 'h:mm', 'yyyy-mm-dd'], is1904 }));
    assert.deepEqual(plainRows(result), [
      [
        1,
        {
          long: 'negative interval 0d 01:30:00',
          time: 'negative interval 0d 12:00:00',
          more: 'negative interval 1d 06:00:00',
          zero: 'interval 0d 00:00:00',
          day: 'fault SERIAL_OUT_OF_RANGE -1',
        },
      ],
    ]);
  }
});

test('cells with only white space make no row and no column', async () => {
  const blank = '\u00a0 \u3000\u2003\u200b\ufeff\u0085';
  const { source, columns, ...result } = await read(
    workbookOf([
      [' ', blank],
      ['a', 'b', ' '],
      [' ', blank, ' '],
      [' ', 1, ' '],
      [2, ' ', 3],
      [undefined, ' '],
    ]),
  );
  assert.deepEqual(columns, ['a', 'b', 'column_C']);
  assert.deepEqual(plainRows({ ...result, columns }), [
    [2, { a: 'string  ', b: 'number 1' }],
    [3, { a: 'number 2', b: 'string  ', column_C: 'number 3' }],
  ]);
  assert.deepEqual(
    source.warnings.map(({ code, detail }) => [code, detail]),
    [
      ['blank-header', 'Column C has values under a blank header; it is named "column_C".'],
      ['blank-rows', '2 rows hold only white space and were left out. The first is row 3.'],
    ],
  );
});

test('a title above the header gives a warning with the row that looks like the header', async () => {
  const warnings = async (rows: (string | number | undefined)[][], options: Options = {}) =>
    (await read(workbookOf(rows), options)).source.warnings.filter(({ code }) => code === 'header-row');
  const data = [
    ['id', 'name', 'day'],
    [1, 'Ann', 5],
    [2, 'Bob', 6],
  ];
  assert.deepEqual(await warnings([['Quarterly report'], [], ['Made by', 2026], ...data]), [
    {
      code: 'header-row',
      detail:
        'Row 1 was read as the header, and it has only one cell with a value. Row 4 looks like the header: send header_row=4 or header_row=auto.',
      choices: [{ parameters: { header_row: '4' } }],
    },
  ]);
  assert.deepEqual(await warnings(data), []);
  assert.deepEqual(await warnings([['id', 'name'], ...data.slice(1)]), []);
  assert.deepEqual(await warnings([['Quarterly report'], ...data.slice(1)]), []);
  assert.deepEqual(await warnings([['Quarterly report'], ...data], { headerRow: 1 }), []);
});

test('no row is suggested as the header if it has a text twice or is one of several header rows', async () => {
  const hints = async (rows: (string | number | undefined)[][]) =>
    (await read(workbookOf(rows))).source.warnings
      .filter(({ code }) => code === 'header-row')
      .map(({ detail }) => /header_row=\d+/.exec(detail)?.[0]);
  const numbers = [1, 2, 3, 4];
  assert.deepEqual(await hints([['Report'], ['Week 1', 'Week 2', 'Week 1', 'Week 2'], numbers]), []);
  const severalRows = [['Report'], ['Cost', 'Before', 'Price'], ['per', 'tax', 'at', 'end']];
  assert.deepEqual(await hints([...severalRows, numbers]), ['header_row=3']);
  assert.deepEqual(await hints([...severalRows.slice(0, 2), ['per', 'tax', 'tax', 'end'], numbers]), []);
  const texts = [['Report'], ['city', 'country'], ['Oslo', 'Norway'], ['Lima', 'Peru']];
  assert.deepEqual(await hints(texts), ['header_row=2']);
});

test('the source describes what was read', async () => {
  const rows = [['Title'], [], [undefined, 'a', 'b'], [undefined, 1, 2], [undefined, 3], [' ']];
  const { source } = await read(workbookOf(rows), { headerRow: 3 });
  assert.deepEqual(source.reading, { format: 'xlsx', sheet: 'Data', headerRow: 3, range: 'B3:C5' });
  const empty = await read(workbookOf([]));
  assert.deepEqual(empty.source.reading, { format: 'xlsx', sheet: 'Data' });
});

test('values have the types of their number formats', async () => {
  const cell = (style: number, value: string): string => `<c s="${style}"><v>${value}</v></c>`;
  const rows = [
    ['date', 'both', 'time', 'long', 'zip', 'percent'],
    [cell(1, '61'), cell(2, '44197'), cell(3, '0.5'), cell(4, '1.25'), cell(5, '123'), cell(6, '0.15')],
  ];
  const formats = [14, 'yyyy-mm-dd hh:mm', 'h:mm', '[h]:mm', '00000', '0%'];
  const expected = {
    date: 'date 1900-03-01',
    both: 'timestamp 2021-01-01 00:00:00',
    time: 'time 12:00:00',
    long: 'interval 1d 06:00:00',
    zip: 'string 00123',
    percent: 'number 0.15',
  };
  assert.deepEqual(plainRows(await read(workbookOf(rows, { formats }))), [[1, expected]]);
  const in1904 = await read(workbookOf(rows, { formats, is1904: true }));
  assert.deepEqual(plainRows(in1904), [
    [1, { ...expected, date: 'date 1904-03-02', both: 'timestamp 2025-01-02 00:00:00' }],
  ]);
});

test('strict workbooks and shared strings are read, with any header name', async () => {
  const bytes = buildWorkbook({
    isStrict: true,
    sharedStrings: '<si><t>__proto__</t></si><si><r><t>a</t></r><r><t>b</t></r></si>',
    sheets: [{ name: '__proto__', xml: '<row><c t="s"><v>0</v></c></row><row><c t="s"><v>1</v></c></row>' }],
  });
  const result = await read(bytes);
  assert.deepEqual(result.columns, ['__proto__']);
  assert.deepEqual(Object.entries(result.rows[0]!.cells), [['__proto__', 'string ab']]);
  assert.equal(result.source.sheet, '__proto__');
});

test('a sheet part in UTF-16 is read', async () => {
  const xml = `\ufeff<?xml version="1.0" encoding="UTF-16"?><worksheet><sheetData>${sheetOf([['é'], ['漢字']])}</sheetData></worksheet>`;
  const result = await read(buildWorkbook({ sheets: [{ name: 'S', xml: Buffer.from(xml, 'utf16le') }] }));
  assert.deepEqual(plainRows(result), [[1, { é: 'string 漢字' }]]);
});

test('two sheets with the same name are refused, whatever its case', async () => {
  const sheets = [
    { name: 'Data', xml: sheetOf([['a'], [1]]) },
    { name: 'dATA', xml: sheetOf([['a'], [2]]) },
  ];
  await assert.rejects(
    open(buildWorkbook({ sheets })),
    fails('invalid-file', /two sheets have the name "dATA"/),
  );
});

test('a cell or a row that is in a sheet twice is refused, also in the header', async () => {
  const refused: [rows: string, detail: RegExp][] = [
    [
      `${sheetOf([['a']])}<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>`,
      /^The sheet has the cell A2 twice\./,
    ],
    [
      `<row r="1"><c r="B1"><v>1</v></c><c r="B1"><v>2</v></c></row>${sheetOf([[5]], 2)}`,
      /^The sheet has the cell B1 twice\./,
    ],
    [`${sheetOf([['a']])}${sheetOf([[5]], 2)}${sheetOf([[6]], 2)}`, /^The sheet has row 2 twice\./],
    [
      `${sheetOf([['a']])}${sheetOf([[5]], 90_000)}${sheetOf([[6]], 3)}${sheetOf([[7]], 90_000)}`,
      /^The sheet has row 90000 twice\./,
    ],
    [
      `${sheetOf([['a']])}<row r="2"><c r="A2"><v>5</v><v>6</v></c></row>`,
      /is not valid: two values in the cell A2\./,
    ],
    [
      `${sheetOf([['a']])}<row r="2"><c r="A2" t="inlineStr"><is><t>5</t></is><is><t>6</t></is></c></row>`,
      /is not valid: two texts in the cell A2\./,
    ],
  ];
  for (const [xml, detail] of refused) {
    await assert.rejects(
      read(buildWorkbook({ sheets: [{ name: 'S', xml }] })),
      fails('invalid-file', detail),
    );
  }
});

test('the condition of a section decides whether a number is a date or has its zeros and separators', async () => {
  const cell = (style: number, value: string): string => `<c s="${style}"><v>${value}</v></c>`;
  const rows = [
    ['a', 'b', 'c'],
    [cell(1, '50'), cell(2, '5551234'), cell(3, '5')],
    [cell(1, '44197'), cell(2, '2025551234'), cell(3, '1234567')],
    [cell(1, '-3'), cell(2, '12'), cell(3, '1.5')],
  ];
  const formatCodes = ['[>100]yyyy;0', '[<=9999999]000-0000;000-000-0000', '000,000'];
  const result = await read(workbookOf(rows, { formats: formatCodes }));
  assert.deepEqual(plainRows(result), [
    [1, { a: 'number 50', b: 'string 555-1234', c: 'number 5' }],
    [2, { a: 'date 2021-01-01', b: 'string 202-555-1234', c: 'number 1234567' }],
    [3, { a: 'number -3', b: 'string 000-0012', c: 'number 1.5' }],
  ]);
});

test('a number whose style is missing in the file is a problem, and the style 0 always exists', async () => {
  const rows = [
    ['a', 'b', 'c'],
    [1, '<c s="0"><v>2</v></c>', '<c s="9"><v>44197</v></c>'],
  ];
  const cells = { a: 'number 1', b: 'number 2', c: 'fault UNREADABLE_CELL 44197' };
  const stylesName = 'xl/styles.xml';
  const parts = workbookParts({ sheets: [{ name: 'Data', xml: sheetOf(rows) }] });
  const { [stylesName]: styles, ...withoutStyles } = parts;
  for (const variant of [
    parts,
    { ...parts, [stylesName]: '<styleSheet><cellXfs/></styleSheet>' },
    withoutStyles,
  ]) {
    const bytes = buildZip(Object.entries(variant).map(([name, data]) => ({ name, data })));
    assert.deepEqual(plainRows(await read(bytes)), [[1, cells]]);
  }
  assert.ok(styles);
});

test('a workbook with more number formats than any program writes is refused', async () => {
  const parts = workbookParts({ sheets: [{ name: 'Data', xml: sheetOf([['a'], [1]]) }] });
  const stylesOf = (codes: string[]) => {
    const all = codes.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code}"/>`);
    return `<styleSheet><numFmts>${all.join('')}</numFmts><cellXfs><xf numFmtId="0"/></cellXfs></styleSheet>`;
  };
  const readWith = (codes: string[]) => {
    const entries = Object.entries({ ...parts, 'xl/styles.xml': stylesOf(codes) });
    return read(buildZip(entries.map(([name, data]) => ({ name, data }))));
  };
  assert.equal((await readWith(Array(10_000).fill('0.00'))).rows.length, 1);
  await assert.rejects(
    readWith(Array(10_001).fill('0.00')),
    fails('limit-exceeded', /too many number formats/),
  );
  await assert.rejects(readWith(Array(600).fill('0'.repeat(1000))), fails('limit-exceeded', /too long/));
});

test('rows out of order keep their numbers, and a header after the rows is refused', async () => {
  const late = `${sheetOf([['a']])}${sheetOf([[5]], 5)}${sheetOf([[3]], 3)}`;
  const result = await read(buildWorkbook({ sheets: [{ name: 'S', xml: late }] }));
  assert.deepEqual(
    result.rows.map(({ row }) => row),
    [4, 2],
  );
  const xml = sheetOf([[5]], 5) + sheetOf([['a']]);
  const bytes = buildWorkbook({ sheets: [{ name: 'S', xml }] });
  await assert.rejects(read(bytes), fails('invalid-file', /out of order/));
  await assert.rejects(read(bytes, { headerRow: 1 }), fails('invalid-file', /out of order/));
});

const threeSheets = buildWorkbook({
  sheets: [
    { name: 'Chart', xml: '<?xml version="1.0"?><chartsheet/>', type: 'chartsheet' },
    { name: 'Secret', xml: sheetOf([['s']]), state: 'veryHidden' },
    { name: 'Open', xml: sheetOf([['o']]) },
    { name: '2', xml: sheetOf([['two']]) },
  ],
});

test('a sheet is chosen by name or by number', async () => {
  const columnsOf = async (sheet?: string): Promise<string[]> =>
    (await read(threeSheets, sheet === undefined ? {} : { sheet })).columns;
  assert.deepEqual(await columnsOf(), ['o']);
  assert.deepEqual(await columnsOf('Secret'), ['s']);
  assert.deepEqual(await columnsOf('open'), ['o']);
  assert.deepEqual(await columnsOf('2'), ['two']);
  assert.deepEqual(await columnsOf('3'), ['o']);
  for (const sheet of ['None', '0', '5', '']) {
    await assert.rejects(columnsOf(sheet), fails('invalid-parameter', /"Chart", "Secret", "Open", "2"/));
  }
  await assert.rejects(columnsOf('1'), fails('invalid-parameter', /"Chart" has no cells/));
  const { sheets } = await open(threeSheets);
  assert.deepEqual(sheets[1], { name: 'Secret', visibility: 'veryHidden', hasCells: true });
  assert.deepEqual(sheets[0], { name: 'Chart', visibility: 'visible', hasCells: false });
});

const data: WorkbookSpec = { sheets: [{ name: 'S', xml: sheetOf([['a'], [1]]) }], sharedStrings: '' };

function withPart(name: string, content: string | undefined): Buffer {
  const parts = workbookParts(data);
  if (content === undefined) delete parts[name];
  else parts[name] = content;
  return buildZip(Object.entries(parts).map(([part, bytes]) => ({ name: part, data: bytes })));
}

const relationshipsOf = (content: string): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${content}</Relationships>`;
const types = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

test('incomplete workbooks are refused', async () => {
  await assert.rejects(open(withPart('_rels/.rels', undefined)), fails('unsupported-file', /another kind/));
  await assert.rejects(
    open(withPart('xl/workbook.xml', undefined)),
    fails('invalid-file', /xl\/workbook.xml/),
  );
  await assert.rejects(
    open(withPart('xl/worksheets/sheet1.xml', undefined)),
    fails('invalid-file', /part of sheet "S"/),
  );
  await assert.rejects(
    open(withPart('xl/_rels/workbook.xml.rels', undefined)),
    fails('invalid-file', /part of sheet/),
  );
  await assert.rejects(
    open(withPart('xl/workbook.xml', '<workbook')),
    fails('invalid-file', /not well-formed/),
  );
  const noSheets =
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheets/></workbook>';
  await assert.rejects(
    open(withPart('xl/workbook.xml', noSheets)),
    fails('unsupported-file', /no worksheet/),
  );
  const styles = await read(withPart('xl/styles.xml', undefined));
  assert.deepEqual(plainRows(styles), [[1, { a: 'number 1' }]]);
});

test('hostile parts are refused', async () => {
  const dtd = '<!DOCTYPE w [<!ENTITY a "aaaa">]><workbook>&a;</workbook>';
  await assert.rejects(open(withPart('xl/workbook.xml', dtd)), fails('invalid-file', /document type/));
  const strings = await open(
    withPart('xl/sharedStrings.xml', '<!DOCTYPE s SYSTEM "file:///etc/passwd"><sst/>'),
  );
  await assert.rejects(pass(strings), fails('invalid-file', /document type/));
  const outside = `<Relationship Id="rId1" Type="${types}/worksheet" TargetMode="External" Target="http://x.test/s.xml"/>`;
  const external = withPart('xl/_rels/workbook.xml.rels', relationshipsOf(outside));
  await assert.rejects(open(external), fails('invalid-file', /does not contain the part of sheet/));
  const cycle = `<Relationship Id="rId1" Type="${types}/worksheet" Target="../../../xl/./workbook.xml"/>`;
  const cyclic = await open(withPart('xl/_rels/workbook.xml.rels', relationshipsOf(cycle)));
  await assert.rejects(pass(cyclic), fails('invalid-file', /not a worksheet/));
});

test('rows and columns over the limit are refused', async () => {
  const rows = `${sheetOf([['a']])}${'<row><c><v>1</v></c></row>'.repeat(10_001)}`;
  const many = buildWorkbook({ sheets: [{ name: 'S', xml: rows }] });
  await assert.rejects(read(many), fails('limit-exceeded', /10,000 rows/));
  const wide = `<row>${'<c s="0"><v>1</v></c>'.repeat(51)}</row>`;
  await assert.rejects(
    read(buildWorkbook({ sheets: [{ name: 'S', xml: wide }] })),
    fails('limit-exceeded', /50 columns/),
  );
});

test('a cell over the limit is refused, however it is written', async () => {
  const long = 'x'.repeat(100_001);
  const cells = [
    `<c t="str"><v>${long}</v></c>`,
    `<c t="inlineStr"><is><t>${long}</t></is></c>`,
    `<c><v>${'1'.repeat(100_001)}</v></c>`,
  ];
  for (const cell of cells) {
    for (const xml of [`<row r="1">${cell.replace('<c', '<c r="A1"')}</row>`, `<row>${cell}</row>`]) {
      await assert.rejects(
        read(buildWorkbook({ sheets: [{ name: 'S', xml: `${sheetOf([['a']])}${xml}` }] })),
        fails('limit-exceeded', /100,000 bytes/),
      );
    }
  }
});

test('the bytes of shared strings are limited, in a row and in all, counted for each cell that names them', async () => {
  const sharedStrings = `<si><t>${'x'.repeat(90_000)}</t></si>`;
  const book = (rows: string): Buffer =>
    buildWorkbook({ sharedStrings, sheets: [{ name: 'S', xml: sheetOf([['a']]) + rows }] });
  const cell = '<c t="s"><v>0</v></c>';
  assert.equal((await read(book(`<row>${cell}</row>`.repeat(700)))).rows.length, 700);
  await assert.rejects(
    read(book(`<row>${cell}</row>`.repeat(800))),
    fails('limit-exceeded', /^The cells have too many bytes for a file of this size, up to row 7\d\d: /),
  );
  await assert.rejects(
    read(book(`<row>${cell.repeat(5)}</row>`)),
    fails('limit-exceeded', /^Row 2 is too long: the limit is 400,000 bytes/),
  );
});

test('one sum limits the values of all sheets, and another pass over a sheet is not counted again', async () => {
  const sharedStrings = `<si><t>${'x'.repeat(90_000)}</t></si>`;
  const xml = sheetOf([['a']]) + '<row><c t="s"><v>0</v></c></row>'.repeat(500);
  const source = await open(
    buildWorkbook({
      sharedStrings,
      sheets: [
        { name: 'S', xml },
        { name: 'T', xml },
      ],
    }),
  );
  for (let passes = 0; passes < 3; passes++) assert.equal((await pass(source)).rows.length, 500);
  await assert.rejects(pass(source.openSheet('T')!), fails('limit-exceeded', /too many bytes for a file/));
});

test('numbers count with the zeros that their format pads them with', async () => {
  const rows = '<row><c s="1"><v>7</v></c></row>'.repeat(9000);
  const book = (columns: number): Buffer =>
    buildWorkbook({
      formats: ['0'.repeat(1000)],
      sheets: [
        {
          name: 'S',
          xml:
            sheetOf([['a']]) +
            rows.replaceAll('</row>', `${'<c s="1"><v>7</v></c>'.repeat(columns - 1)}</row>`),
        },
      ],
    });
  assert.equal((await read(book(7))).rows.length, 9000);
  await assert.rejects(read(book(8)), fails('limit-exceeded', /too many bytes for a file of this size/));
});

test('the time for styled rows without a value grows linearly with their number', async () => {
  const empty = '<row r="2" s="1" customFormat="1"><c r="A2" s="1"/></row>';
  await assertLinear(async (size) => {
    const xml = `${sheetOf([['a']])}${empty.repeat(size)}`;
    const result = await read(buildWorkbook({ sheets: [{ name: 'S', xml }] }));
    assert.equal(result.rows.length, 0);
  }, 10_000);
});

test('other files are refused with their kind', async () => {
  const files: [bytes: Buffer, detail: RegExp][] = [
    [Buffer.alloc(0), /empty/],
    [Buffer.from('<html><table>'), /a web page/],
    [Buffer.from('%PDF-1.7'), /a PDF/],
    [Buffer.from('<?xml version="1.0"?><Workbook/>'), /an XML file/],
    [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), /an image/],
    [Buffer.from([0xff, 0xd8, 0xff, 0xe0]), /an image/],
    [Buffer.from('BZh91AY&SY'), /archive. Unpack it/],
    [Buffer.from('{\\rtf1 x}'), /RTF/],
    [Buffer.from('SQLite format 3\0'), /SQLite/],
    [Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]), /not recognized/],
    ...[
      '{"data": []}',
      '[{"a": 1}]',
      '\ufeff\n[\n  {"a": 1}]',
      '{"a":1}\n{"a":2}\n',
      '[[1,2]]',
      '[]',
      '{}',
    ].map((json): [Buffer, RegExp] => [Buffer.from(json), /is JSON. Send it to \/upload\/json/]),
    [
      withPart(
        '_rels/.rels',
        relationshipsOf(
          `<Relationship Id="r" Type="${types}/officeDocument" Target="xl/worksheets/sheet1.xml"/>`,
        ),
      ),
      /another kind/,
    ],
  ];
  for (const [bytes, detail] of files) await assert.rejects(open(bytes), fails('unsupported-file', detail));
});

test('a Numbers document is refused with its kind', async () => {
  for (const part of ['Index/Document.iwa', 'Index.zip']) {
    const file = buildZip([{ name: part, data: 'x' }]);
    await assert.rejects(
      open(file),
      fails('unsupported-file', /^The file is a Numbers document \(\.numbers\)/),
    );
  }
});

test('text that begins like a file of another kind is text', async () => {
  for (const header of ['PAR1,PAR2', 'BZh,x', 'Rar!,x']) {
    const { columns } = await read(Buffer.from(`${header}\n1,2\n`));
    assert.deepEqual(columns, header.split(','));
  }
  for (const header of ['[id],[name]', '{id};{name}']) {
    const [first] = (await read(Buffer.from(`${header}\n1,2\n`))).columns;
    assert.match(first!, /^[[{]id[\]}]/);
  }
});

test('whole numbers stay whole, however they are written', async () => {
  const rows = [
    '<c s="0"><v>1.0</v></c>',
    '<c s="0"><v>72.0</v></c>',
    '<c s="0"><v>1.2345678E7</v></c>',
    '<c s="1"><v>501.0</v></c>',
  ];
  const result = await read(
    workbookOf(
      rows.map((cell) => [cell]),
      { formats: ['00000'] },
    ),
  );
  assert.deepEqual(result.columns, ['1']);
  assert.deepEqual(
    result.rows.map(({ cells }) => cells['1']),
    ['number 72', 'number 12345678', 'string 00501'],
  );
});

test('a pass ends with the reason of its signal', async () => {
  const source = await open(workbookOf([['a'], ...Array.from({ length: 9000 }, () => ['text'])]));
  const stopped = AbortSignal.abort(new Error('cancelled'));
  await assert.rejects(source.read(recordRows(), stopped), /cancelled/);
  const controller = new AbortController();
  const sink = { ...recordRows(), drain: () => Promise.resolve(controller.abort(new Error('left'))) };
  await assert.rejects(source.read(sink, controller.signal), /left/);
});

test('the source waits for the sink', async () => {
  const source = await open(workbookOf([['a'], ...Array.from({ length: 9000 }, () => ['text'])]));
  let isWaiting = false;
  const sink = recordRows();
  const beginRow = sink.beginRow;
  sink.beginRow = (row) => {
    assert.equal(isWaiting, false);
    beginRow(row);
  };
  sink.drain = async () => {
    isWaiting = true;
    await new Promise((resolve) => setTimeout(resolve, 5));
    isWaiting = false;
  };
  await source.read(sink, new AbortController().signal);
  assert.equal(sink.rows.length, 9000);
});
