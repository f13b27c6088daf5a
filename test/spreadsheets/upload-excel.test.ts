/** Upload Table From Excel, over HTTP: the parts of the body, the choice of cells, and possible errors. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { CFB } from '@e965/xlsx';
import { columns, typesOf } from '../support/columns.ts';
import { assertProblem, places } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { assertNoTable, rowsOf, tableNames } from '../support/tables.ts';
import { type CellSpec, sheetOf, sheetXml } from '../support/workbook.ts';
import { buildWorkbook, buildZip, workbookParts } from '../support/xlsx-builder.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE SCHEMA sales');
});
after(() => service.stop());

const nextTable = tableNames('x');
const path = (name: string, query = '') => `/table/${name}/upload/excel${query}`;

/** Sends the parts in order. A text is sent as a field, a buffer as a file. */
function send(name: string, parts: [string, string | Buffer][], query = ''): Promise<TestAnswer> {
  const form = new FormData();
  for (const [part, content] of parts) {
    if (typeof content === 'string') form.append(part, content);
    else form.append(part, new Blob([new Uint8Array(content)]), 'a.xlsx');
  }
  return service.request('POST', path(name, query), { body: form });
}

/** Returns a cell with a number and a style, which is the index in the workbook's formats, from 1. */
const styled = (value: number | string, style: number): CellSpec => ({
  attributes: `s="${style}"`,
  content: `<v>${value}</v>`,
});
const errorCell = (value: string): CellSpec => ({ attributes: 't="e"', content: `<v>${value}</v>` });

const plain = sheetOf([
  ['Sku', 'Name', 'Stock'],
  ['00042', 'Möhre', 3],
  ['00043', null, 4],
]);

suite('a workbook without a definition', () => {
  const formats = [14, 22, 'h:mm', '[h]:mm', '00000', '0%', '#,##0.00 "€"'];
  const workbook = buildWorkbook({
    formats,
    sheets: [
      {
        name: 'Orders',
        xml: sheetXml([
          ['code', 'zip', 'big', 'price', 'share', 'day', 'at', 'time', 'span', 'ok', 'note', 'mixed'],
          [
            '00042',
            styled(1234, 5),
            styled('9007199254740993', 0),
            styled(1.5, 7),
            styled(0.25, 6),
            styled(46082, 1),
            styled(46082.5, 2),
            styled(0.25, 3),
            styled(1.5, 4),
            true,
            'ä <&> 🙂',
            1,
          ],
          [
            '7',
            styled(99999, 5),
            null,
            styled('1.1000000000000001', 7),
            null,
            null,
            null,
            null,
            null,
            false,
            null,
            'x',
          ],
        ]),
      },
    ],
  });

  test('a workbook without a definition creates a table with the types of its cells', async () => {
    const name = nextTable();
    const answer = await service.upload(path(name), workbook);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.headers.get('location'), `/api/v1/table/${name}?schema=public`);
    assert.deepEqual(typesOf(answer), [
      'code text',
      'zip text',
      'big bigint',
      'price numeric',
      'share numeric',
      'day date',
      'at timestamp without time zone',
      'time time without time zone',
      'span interval',
      'ok boolean',
      'note text',
      'mixed text',
    ]);
    const { duration_ms: durationMs, id: _, ...load } = answer.body.load;
    assert.ok(Number.isInteger(durationMs));
    const mixed = {
      code: 'mixed-column',
      column: 'mixed',
      detail:
        'Column "mixed" became text because of "x" in Orders!L3; every value above it is a whole number (bigint).',
      choices: [{ parameters: { extra_columns: 'add' }, type: 'bigint' }],
    };
    assert.deepEqual(load, {
      rows: 2,
      skipped: 0,
      updated: 0,
      inserted: 2,
      changed: 0,
      unchanged: 0,
      format: 'xlsx',
      sheet: 'Orders',
      header_row: 1,
      range: 'A1:L3',
      warnings: [mixed],
    });
    const [first, second] = await service.rows(`
      SELECT code, zip, big::text, price::text, share::text, day::text, at::text, time::text, extract(epoch FROM span)::int AS span, ok, note, mixed FROM ${name}`);
    assert.deepEqual(first, {
      code: '00042',
      zip: '01234',
      big: '9007199254740993',
      price: '1.5',
      share: '0.25',
      day: '2026-03-01',
      at: '2026-03-01 12:00:00',
      time: '06:00:00',
      span: 36 * 3600,
      ok: true,
      note: 'ä <&> 🙂',
      mixed: '1',
    });
    assert.equal(second!.price, '1.1');
    assert.equal(second!.zip, '99999');
  });

  test('the answer to a workbook without a definition has a description that creates an equal table', async () => {
    const name = nextTable();
    const { table } = (await service.upload(path(name), workbook)).body;
    const again = await service.post(`/table/${name}?schema=sales`, { table });
    assert.equal(again.status, 201);
    assert.deepEqual(again.body.table, { ...table, schema: 'sales' });
    await service.rows(`DROP TABLE ${name}`);
    const withRows = await service.upload(path(name), workbook, { table });
    assert.equal(withRows.status, 201, JSON.stringify(withRows.body));
    assert.deepEqual(withRows.body.table, table);
    assert.equal(withRows.body.load.rows, 2);
  });

  test('a workbook without a definition creates the table in the schema of the query', async () => {
    const name = nextTable();
    const answer = await service.upload(path(name, '?schema=sales'), plain);
    assert.equal(answer.body.table.schema, 'sales');
    assert.equal((await rowsOf(service, `sales.${name}`)).length, 2);
  });

  test('a workbook without a definition and without rows is refused, with and without a header', async () => {
    assertProblem(await service.upload(path(nextTable()), sheetOf([['a', 'b']])), 422, 'nothing-to-load');
    assertProblem(await service.upload(path(nextTable()), sheetOf([])), 422, 'nothing-to-load');
  });

  const sheets = {
    Empty: sheetXml([]),
    Header: sheetXml([['a', 'b', 'c', 'd']]),
    Blank: sheetXml([['  '], [null]]),
    Rows: sheetXml([['a'], [1], [2]]),
  };
  const book = buildWorkbook({ sheets: Object.entries(sheets).map(([name, xml]) => ({ name, xml })) });
  const nothing: [query: string, detail: RegExp][] = [
    ['', /Sheet "Empty" is empty. Choose another with `sheet`: "Header", "Blank", "Rows"\.$/],
    ['?sheet=Blank', /Sheet "Blank" has no cell with a value. Choose another with `sheet`: "Empty", /],
    [
      '?sheet=Rows&header_row=9',
      /Sheet "Rows" has no value in row 9, the `header_row`, .* last row is row 3\.$/,
    ],
    ['?sheet=Rows&range=C1:D9', /Sheet "Rows" has no cell with a value in the `range`/],
    ['?sheet=Rows&range=C:D', /Sheet "Rows" has no cell with a value in the `range`/],
    ['?sheet=Header', /Sheet "Header" has no row with a value below its header/],
  ];
  for (const [query, detail] of nothing) {
    test(`a workbook without a definition and without anything to load is refused with what was found: ${query}`, async () => {
      const { detail: found } = assertProblem(
        await service.upload(path(nextTable(), query), book),
        422,
        'nothing-to-load',
      );
      assert.match(found, detail);
      const csv = await service.upload(path(nextTable()), Buffer.from('\n\n'));
      assert.match(csv.body.detail, /The file has no cell with a value\.$/);
    });
  }

  test('a workbook with a definition and only a header creates the table with a warning', async () => {
    const table = { columns: ['a', 'b', 'c', 'd'].map((name) => ({ name, type: 'text' })) };
    for (const query of ['?sheet=Header', '?sheet=Header&if_exists=append']) {
      const { body } = await service.upload(`/table/headed/upload/excel${query}`, book, { table });
      assert.deepEqual(body.load.warnings, [
        {
          code: 'no-rows',
          detail:
            'Sheet "Header" has no row with a value below its header, which is row 1 ("a", "b", "c", …).',
        },
      ]);
    }
  });
});

suite('the example workbook', () => {
  test('the example workbook is loaded without changes', async () => {
    const file = readFileSync(new URL('../../examples/orders.xlsx', import.meta.url));
    const answer = await service.upload(path('orders'), file);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [{ count }] = (await service.rows('SELECT count(*)::int FROM orders')) as [{ count: number }];
    assert.equal(answer.body.load.rows, count);
    assert.ok(count >= 100);
    assert.ok(answer.body.table.columns.length >= 6);
    assert.ok(new Set(answer.body.table.columns.map((column: { type: string }) => column.type)).size >= 5);
  });
});

suite('a workbook with a definition', () => {
  const table = {
    columns: columns(
      ['id', 'serial'],
      ['name', 'varchar(10)', { default: 'none', is_nullable: false }],
      ['sku', 'text', { is_nullable: false }],
      ['stock', 'smallint'],
    ),
    constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['sku'] }] },
  };
  const definition = JSON.stringify({ table });
  const workbook = sheetOf([
    [' SKU ', 'Stock', 'name'],
    ['00042', 3, 'Möhre'],
    ['00043', null, 'Rübe'],
  ]);

  const orders: [string, [string, string | Buffer][]][] = [
    [
      'before the file',
      [
        ['body', definition],
        ['file', workbook],
      ],
    ],
    [
      'after the file',
      [
        ['file', workbook],
        ['body', definition],
      ],
    ],
    [
      'as a file itself',
      [
        ['body', Buffer.from(definition)],
        ['file', workbook],
      ],
    ],
  ];
  for (const [title, parts] of orders) {
    test(`${title} creates that table, and headers match ignoring case and outer space`, async () => {
      const name = nextTable();
      const answer = await send(name, parts);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.table.columns, [
        { id: 1, name: 'id', type: 'serial', is_nullable: false, default: null },
        {
          id: 2,
          name: 'name',
          type: 'character varying(10)',
          is_nullable: false,
          default: "'none'::character varying",
        },
        { id: 3, name: 'sku', type: 'text', is_nullable: false, default: null },
        { id: 4, name: 'stock', type: 'smallint', is_nullable: true, default: null },
      ]);
      assert.deepEqual(answer.body.table.constraints, {
        unique: [{ name: `${name}_sku_key`, columns: ['sku'] }],
        primary_key: { name: `${name}_pkey`, columns: ['id'] },
        foreign_keys: [],
      });
      assert.deepEqual(await rowsOf(service, name), [
        { id: 1, name: 'Möhre', sku: '00042', stock: 3 },
        { id: 2, name: 'Rübe', sku: '00043', stock: null },
      ]);
    });
  }

  for (const [title, body] of Object.entries({
    'an empty body part': '',
    'a body without a table': '{}',
    'a table that is null': '{"table":null}',
  })) {
    test(`${title} is treated as missing`, async () => {
      const answer = await send(nextTable(), [
        ['body', body],
        ['file', plain],
      ]);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(typesOf(answer), ['Sku text', 'Name text', 'Stock bigint']);
    });
  }

  test('an exact header has priority over one that differs in case', async () => {
    const name = nextTable();
    const both = { columns: columns(['a', 'integer'], ['A', 'integer']) };
    const answer = await service.upload(
      path(name),
      sheetOf([
        ['A', 'a'],
        [1, 2],
      ]),
      { table: both },
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(service, name), [{ a: 2, A: 1 }]);
  });

  test('two headers for one column are refused', async () => {
    const name = nextTable();
    const answer = await service.upload(
      path(name),
      sheetOf([
        ['Sku', 'SKU'],
        ['1', '2'],
      ]),
      { table: { columns: columns(['sku', 'text']) } },
    );
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ code, cell }) => [code, cell]),
      [['repeated-column', 'Sheet1!B1']],
    );
    await assertNoTable(service, name);
  });

  test('a header without a column is named with its cell, and is ignored or added on request', async () => {
    const table = { columns: columns(['sku', 'text'], ['name', 'text']) };
    const name = nextTable();
    const { errors } = assertProblem(await service.upload(path(name), plain, { table }), 422, 'invalid-data');
    assert.deepEqual(places(errors), [
      { sheet: 'Sheet1', cell: 'Sheet1!C1', column: 'Stock', code: 'unknown-column' },
    ]);
    const ignored = await service.upload(path(name, '?extra_columns=ignore'), plain, { table });
    assert.equal(ignored.status, 201, JSON.stringify(ignored.body));
    assert.deepEqual(
      ignored.body.load.warnings.map(({ column }: { column: string }) => column),
      ['Stock'],
    );
    const added = await service.upload(path(nextTable(), '?extra_columns=add'), plain, { table });
    assert.deepEqual(typesOf(added), ['sku text', 'name text', 'Stock bigint']);
  });

  test('a workbook with a definition that is invalid gets the errors of Create Table', async () => {
    const answer = await service.upload(path('wrong'), plain, {
      table: { columns: columns(['a', 'nonesuch']) },
    });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.equal(errors[0]!.pointer, '/table/columns/0/type');
    assertProblem(
      await send('wrong', [
        ['body', '{"table": '],
        ['file', plain],
      ]),
      400,
      'invalid-json',
    );
    assertProblem(
      await send('wrong', [
        ['body', '{"table": {}, "data": []}'],
        ['file', plain],
      ]),
      422,
      'invalid-definition',
    );
    await assertNoTable(service, 'wrong');
  });
});

suite('the parts of the body', () => {
  const cases: [string, [string, string | Buffer][], string, string][] = [
    ['no file', [['body', '{}']], 'missing-part', 'file'],
    [
      'an unknown part',
      [
        ['file', plain],
        ['table', '{}'],
      ],
      'unknown-part',
      'table',
    ],
    [
      'a part named like a query parameter',
      [
        ['file', plain],
        ['sheet', 'Data'],
      ],
      'unknown-part',
      'sheet',
    ],
    [
      'two files',
      [
        ['file', plain],
        ['file', plain],
      ],
      'repeated-part',
      'file',
    ],
    [
      'two bodies',
      [
        ['body', '{}'],
        ['body', '{}'],
        ['file', plain],
      ],
      'repeated-part',
      'body',
    ],
    ['the file as text', [['file', 'Sku,Name']], 'not-a-file', 'file'],
  ];
  for (const [title, parts, code, part] of cases) {
    test(`${title} is refused with 422 that names the part`, async () => {
      const name = nextTable();
      const { errors } = assertProblem(await send(name, parts), 422, 'invalid-parameter');
      assert.deepEqual(
        errors.map((error) => [error.code, error.parameter]),
        [[code, part]],
      );
      await assertNoTable(service, name);
    });
  }
});

suite('the file', () => {
  const parts = workbookParts({ sheets: [{ name: 'A', xml: sheetXml([['a'], [1]]) }] });
  const zipOf = (changed: Record<string, string | Buffer>) =>
    buildZip(Object.entries({ ...parts, ...changed }).map(([name, data]) => ({ name, data })));
  const whole = zipOf({});
  const container = CFB.utils.cfb_new();
  for (const stream of ['/EncryptionInfo', '/EncryptedPackage'])
    CFB.utils.cfb_add(container, stream, randomBytes(5000));
  const encrypted = CFB.write(container, { type: 'buffer' }) as Buffer;

  const broken: [string, Buffer][] = [
    ['cut in half', whole.subarray(0, whole.length >> 1)],
    [
      'with a sheet that ends early',
      zipOf({ 'xl/worksheets/sheet1.xml': '<?xml version="1.0"?><worksheet><sheetData><row' }),
    ],
    ['with a workbook part that is no XML', zipOf({ 'xl/workbook.xml': 'nonsense' })],
    [
      'whose bytes are not what their checksum says',
      buildZip(Object.entries(parts).map(([name, data]) => ({ name, data, stated: { crc: 1 } }))),
    ],
  ];
  for (const [title, file] of broken) {
    test(`${title} is refused with 400`, async () => {
      const name = nextTable();
      assertProblem(await service.upload(path(name), file), 400, 'invalid-file');
      await assertNoTable(service, name);
    });
  }

  const unsupported: [string, Buffer][] = [
    [
      'a document of another kind',
      buildZip([
        { name: '[Content_Types].xml', data: '<a/>' },
        { name: 'word/document.xml', data: '<a/>' },
      ]),
    ],
    ['a PDF', Buffer.from('%PDF-1.7\n')],
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['an encrypted workbook', encrypted],
    [
      'without any sheet',
      zipOf({ 'xl/workbook.xml': '<?xml version="1.0"?><workbook><sheets/></workbook>' }),
    ],
  ];
  for (const [title, file] of unsupported) {
    test(`${title} is refused with 422 and the reason`, async () => {
      const name = nextTable();
      const { detail } = assertProblem(await service.upload(path(name), file), 422, 'unsupported-file');
      if (title.includes('encrypted')) assert.match(detail, /encrypt|password/);
      await assertNoTable(service, name);
    });
  }

  test('an empty file is refused', async () => {
    const answer = await service.upload(path(nextTable()), Buffer.alloc(0));
    assert.ok([400, 422].includes(answer.status), JSON.stringify(answer.body));
    assertProblem(answer, answer.status, answer.body.code);
  });
});

suite('the parameters that choose cells', () => {
  const workbook = buildWorkbook({
    sheets: [
      { name: 'Hidden', xml: sheetXml([['h'], [0]]), state: 'hidden' },
      { name: 'First', xml: sheetXml([[], [null, 'Title'], [], ['a', 'b', 'c'], [1, 2, 3], [4, 5, 6]]) },
      {
        name: 'Zweite Tabelle',
        xml: sheetXml([
          ['Order No', 'Ship-To City'],
          ['1', 'Bonn'],
        ]),
      },
    ],
  });
  const cases: [string, string, object[]][] = [
    [
      'a header row',
      '?header_row=4',
      [
        { a: '1', b: '2', c: '3' },
        { a: '4', b: '5', c: '6' },
      ],
    ],
    ['a range', '?range=B4:C5', [{ b: '2', c: '3' }]],
    ['a sheet by name', '?sheet=Zweite%20Tabelle', [{ 'Order No': '1', 'Ship-To City': 'Bonn' }]],
    ['a sheet by number', '?sheet=3', [{ 'Order No': '1', 'Ship-To City': 'Bonn' }]],
    ['a hidden sheet by name', '?sheet=Hidden', [{ h: '0' }]],
    ['names in snake case', '?sheet=3&column_names=snake_case', [{ order_no: '1', ship_to_city: 'Bonn' }]],
  ];
  for (const [title, query, expected] of cases) {
    test(title, async () => {
      const name = nextTable();
      const answer = await service.upload(path(name, query), workbook);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(await rowsOf(service, name), expected);
    });
  }
  for (const [title, query] of Object.entries({
    'a sheet that is not there': '?sheet=Fourth',
    'a sheet number that is not there': '?sheet=9',
    'a range that is none': '?range=hello',
  })) {
    test(`${title} is refused with 422`, async () => {
      const { detail, errors } = assertProblem(
        await service.upload(path(nextTable(), query), workbook),
        422,
        'invalid-parameter',
      );
      assert.deepEqual([`?${errors[0]!.parameter}=${errors[0]!.value}`, errors.length], [query, 1]);
      if (query.includes('Fourth')) assert.match(detail, /First/, 'the sheets are named');
    });
  }

  test('blank and repeated headers get names, with warnings', async () => {
    const name = nextTable();
    const answer = await service.upload(
      path(name),
      sheetOf([
        ['a', null, 'a'],
        [1, 2, 3],
      ]),
    );
    assert.deepEqual(typesOf(answer), ['a bigint', 'column_B bigint', 'a_2 bigint']);
    assert.deepEqual(await rowsOf(service, name), [{ a: '1', column_B: '2', a_2: '3' }]);
    assert.equal(answer.body.load.warnings.length, 2);
    for (const warning of answer.body.load.warnings) assert.match(warning.detail, /column_B|a_2/);
  });

  test('rows without any value are left out', async () => {
    const name = nextTable();
    const answer = await service.upload(
      path(name),
      sheetOf([['a', 'b'], [1, 2], [], [null, null], [3, null]]),
    );
    assert.equal(answer.body.load.rows, 2);
    assert.deepEqual(await rowsOf(service, name), [
      { a: '1', b: '2' },
      { a: '3', b: null },
    ]);
  });
});

suite('problems in the cells', () => {
  test('a required column that the sheet lacks is one problem, with the number of rows', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} ("Sku" text, "Name" text, "Stock" int, email text NOT NULL)`);
    const { errors, error_count: count } = assertProblem(
      await service.upload(path(name, '?if_exists=append'), plain),
      422,
      'invalid-data',
    );
    assert.deepEqual(errors, [
      {
        sheet: 'Sheet1',
        cell: 'Sheet1!2:2',
        row: 1,
        column: 'email',
        code: 'null-not-allowed',
        detail: 'a value is needed here, and the column is missing in all 2 rows',
      },
    ]);
    assert.equal(count, 1);
  });

  test('all problems of cells are in one answer, each with sheet, cell, row, column and value', async () => {
    const name = nextTable();
    const table = {
      columns: columns(
        ['id', 'integer', { is_nullable: false }],
        ['name', 'varchar(3)'],
        ['day', 'date'],
        ['price', 'numeric(4,1)'],
      ),
    };
    const file = buildWorkbook({
      formats: [14],
      sheets: [
        {
          name: "Q1 'raw'",
          xml: sheetXml([
            ['id', 'name', 'day', 'price'],
            [1, 'abc', styled(46082, 1), 1.5],
            ['one', 'abcd', 'soon', 1000],
            [],
            [null, 'x', errorCell('#N/A'), errorCell('#DIV/0!')],
            [2.5, 'y', { attributes: '', content: '<f>NOW()</f>' }, 'free'],
            [true, false, '2026-03-01', 1],
          ]),
        },
      ],
    });
    const { errors, error_count: count } = assertProblem(
      await service.upload(path(name), file, { table }),
      422,
      'invalid-data',
    );
    const at = (cell: string, row: number, column: string, code: string, value?: string) => ({
      sheet: "Q1 'raw'",
      cell: `'Q1 ''raw'''!${cell}`,
      row,
      column,
      ...(value !== undefined && { value }),
      code,
    });
    assert.deepEqual(places(errors), [
      at('A3', 2, 'id', 'not-a-whole-number', 'one'),
      at('B3', 2, 'name', 'too-long', 'abcd'),
      at('C3', 2, 'day', 'not-a-date', 'soon'),
      at('D3', 2, 'price', 'out-of-range', '1000'),
      at('C5', 4, 'day', 'error-cell', '#N/A'),
      at('D5', 4, 'price', 'error-cell', '#DIV/0!'),
      at('A5', 4, 'id', 'null-not-allowed'),
      at('A6', 5, 'id', 'not-a-whole-number', '2.5'),
      at('C6', 5, 'day', 'formula-without-value'),
      at('D6', 5, 'price', 'not-a-number', 'free'),
      at('A7', 6, 'id', 'not-a-whole-number', 'TRUE'),
      at('B7', 6, 'name', 'too-long', 'FALSE'),
    ]);
    assert.equal(count, 12);
    await assertNoTable(service, name);
  });

  test('texts that are JSON objects or arrays are stored as such in jsonb', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'jsonb'], ['b', 'json']) };
    const rows = [
      ['a', 'b'],
      ['{"x": [1]}', '[1, 2]'],
      ['{bad', '7'],
      ['x', null],
    ];
    const answer = await service.upload(path(name), sheetOf(rows), { table });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows(`SELECT a::text, b::text FROM ${name}`), [
      { a: '{"x": [1]}', b: '[1, 2]' },
      { a: '"{bad"', b: '"7"' },
      { a: '"x"', b: null },
    ]);
  });

  test('problems in the cells show dates and times, and say which number format a number needs to be one', async () => {
    const table = { columns: columns(['a', 'date'], ['b', 'boolean']) };
    const file = buildWorkbook({
      formats: [14],
      sheets: [
        {
          name: 'S',
          xml: sheetXml([
            ['a', 'b'],
            [46082, styled(46082, 1)],
          ]),
        },
      ],
    });
    const answer = await service.upload(path(nextTable()), file, { table });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ cell, value, detail }) => [cell, value, detail]),
      [
        ['S!A2', '46082', 'not a date: expected YYYY-MM-DD; the cell needs a date or time format'],
        ['S!B2', '2026-03-01', 'a date or a time cannot go into boolean'],
      ],
    );
  });

  test('the problem of a text in a date column says how to make the cell a date', async () => {
    const table = { columns: columns(['a', 'date']) };
    const file = buildWorkbook({ sheets: [{ name: 'S', xml: sheetXml([['a'], ['07.01.2026']]) }] });
    const answer = await service.upload(path(nextTable()), file, { table });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(
      errors[0]!.detail,
      'not a date: expected YYYY-MM-DD; the cell holds text: make it a date or time in Excel, or write the text in this form; send date_order=dmy or date_order=mdy to read it',
    );
  });

  test('error cells are no problems with cell_errors=null', async () => {
    const name = nextTable();
    const file = sheetOf([
      ['a', 'b'],
      [1, errorCell('#N/A')],
      [2, { attributes: '', content: '<f>NOW()</f>' }],
    ]);
    assertProblem(await service.upload(path(name), file), 422, 'invalid-data');
    await assertNoTable(service, name);
    const answer = await service.upload(path(name, '?cell_errors=null'), file);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(service, name), [
      { a: '1', b: null },
      { a: '2', b: null },
    ]);
  });

  test('the problem of a repeated key names both rows and the cell', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer']),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    const answer = await service.upload(path(name), sheetOf([['id'], [1], [2], [1]], 'Orders'), { table });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(errors, [
      {
        sheet: 'Orders',
        cell: 'Orders!A4',
        row: 3,
        column: 'id',
        value: '1',
        code: 'not-unique',
        detail: 'must be unique: also in Orders!A2',
      },
    ]);
  });

  test('problems in the cells beyond a hundred are counted', async () => {
    const rows: CellSpec[][] = [['a'], ...Array.from({ length: 250 }, () => ['x'])];
    const answer = await service.upload(path(nextTable()), sheetOf(rows), {
      table: { columns: columns(['a', 'integer']) },
    });
    const { errors, error_count: count } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(errors.length, 100);
    assert.equal(count, 250);
  });
});

suite('if_exists', () => {
  const first = sheetOf([['a'], [1]]);
  const second = sheetOf([['A'], [2]]);

  for (const [query, status, rows] of [
    ['', 409, ['1']],
    ['?if_exists=append', 200, ['1', '2']],
    ['?if_exists=truncate', 200, ['2']],
    ['?if_exists=replace', 201, ['2']],
    ['?if_exists=append&dry_run=true', 200, ['1']],
  ] as const) {
    test(query || 'by default', async () => {
      const name = nextTable();
      assert.equal((await service.upload(path(name), first)).status, 201);
      const answer = await service.upload(path(name, query), second);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.equal(answer.headers.has('location'), status === 201);
      assert.deepEqual(
        (await rowsOf(service, name)).map((row) => Object.values(row)[0]),
        rows,
      );
    });
  }

  test('append with the same definition loads, and with another definition is refused', async () => {
    const name = nextTable();
    await service.upload(path(name), first);
    const query = '?if_exists=append';
    assert.equal(
      (await service.upload(path(name, query), second, { table: { columns: columns(['a', 'bigint']) } }))
        .status,
      200,
    );
    const answer = await service.upload(path(name, query), second, {
      table: { columns: columns(['a', 'text']) },
    });
    assertProblem(answer, 422, 'invalid-definition');
    assert.equal((await rowsOf(service, name)).length, 2);
  });
});
