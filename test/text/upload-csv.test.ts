/** Delimited text files in Upload Table From Excel, over HTTP: types from text, definitions, and problems with their places. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { tableNames } from '../support/tables.ts';
import { fileUploader } from '../support/uploads.ts';

const maxRows = sized(60_000, 300_000);
let service: TestService;

before(async () => {
  service = await startTestService({ MAX_CELL_BYTES: '2000', MAX_ROWS: String(maxRows) });
});
after(() => service.stop());

const nextTable = tableNames('csv_');

const upload = fileUploader(() => service);

const typesOf = (answer: TestAnswer): Record<string, string> =>
  Object.fromEntries(answer.body.table.columns.map(({ name, type }: Record<string, string>) => [name, type]));

const definition = (...columns: [name: string, type: string, more?: object][]) => ({
  table: { columns: columns.map(([name, type, more]) => ({ name, type, ...more })) },
});

suite('without a definition', () => {
  test('types are inferred from all rows, and every text can be read back', async () => {
    const name = nextTable();
    const answer = await upload(
      name,
      [
        'id,zip,price,mixed,loud,ok,day,at,big,exponent,blank',
        '1,01234,1.50,1.50,TRUE,true,2024-02-29,2024-02-29T10:11:12Z,12345678901234567890,1e5,',
        '2,99999,-20,007,FALSE,false,2024-03-01,2024-03-01T00:00:00+02:00,-1,2,""',
        '3,00501,,true,x,,,,,,',
      ].join('\r\n'),
    );
    assert.equal(answer.status, 201);
    assert.deepEqual(typesOf(answer), {
      id: 'bigint',
      zip: 'text',
      price: 'numeric',
      mixed: 'text',
      loud: 'text',
      ok: 'boolean',
      day: 'date',
      at: 'timestamp with time zone',
      big: 'numeric',
      exponent: 'text',
      blank: 'text',
    });
    const { duration_ms: _, id: __, ...load } = answer.body.load;
    const exponent = {
      code: 'other-notation',
      column: 'exponent',
      detail:
        'Column "exponent" became text. Every value looks like numbers, some of them with an exponent, the first is "1e5" in J2. To read them, send a definition in which this column has the type numeric, and extra_columns=add.',
      choices: [{ parameters: { extra_columns: 'add' }, type: 'numeric' }],
    };
    const mixed = {
      code: 'mixed-column',
      column: 'mixed',
      detail:
        'Column "mixed" became text because of "007" in D3; every value above it is a number (numeric). As a number it would lose its leading zero.',
    };
    assert.deepEqual(load, {
      rows: 3,
      skipped: 0,
      updated: 0,
      inserted: 3,
      changed: 0,
      unchanged: 0,
      format: 'csv',
      delimiter: ',',
      encoding: 'utf-8',
      header_row: 1,
      range: 'A1:K4',
      warnings: [mixed, exponent],
    });
    const rows = await service.rows(
      `SELECT id::text, zip, price::text, mixed, loud, ok, day::text, big::text, exponent, blank FROM ${name} ORDER BY id`,
    );
    assert.deepEqual(rows.map(Object.values), [
      ['1', '01234', '1.50', '1.50', 'TRUE', true, '2024-02-29', '12345678901234567890', '1e5', null],
      ['2', '99999', '-20', '007', 'FALSE', false, '2024-03-01', '-1', '2', null],
      ['3', '00501', null, 'true', 'x', null, null, null, null, null],
    ]);
  });

  test('a file with one letter that is not UTF-8 is refused, and the place is named', async () => {
    const file = Buffer.concat([Buffer.from('a\nMüller\nKøge\n'), Buffer.from('café\n', 'latin1')]);
    for (const mark of ['', '\ufeff']) {
      const answer = await upload(nextTable(), Buffer.concat([Buffer.from(mark), file]));
      assert.match(
        assertProblem(answer, 400, 'invalid-file').detail,
        /not UTF-8.* in line 4|^Line 4 .* not UTF-8/,
      );
    }
  });

  test('an unusual delimiter or encoding gives a warning', async () => {
    const name = nextTable();
    const answer = await upload(
      name,
      Buffer.from('Stra\xdfe;Betrag\r\nGro\xdfe Gasse;1,50\r\n\x80;2,50\r\n', 'latin1'),
      '?column_names=snake_case',
    );
    assert.equal(answer.status, 201);
    assert.deepEqual(typesOf(answer), { straße: 'text', betrag: 'text' });
    assert.deepEqual(
      answer.body.load.warnings.map(({ code }: { code: string }) => code),
      ['delimiter', 'encoding', 'other-notation'],
    );
    assert.deepEqual(await service.rows(`SELECT * FROM ${name} ORDER BY betrag`), [
      { straße: 'Große Gasse', betrag: '1,50' },
      { straße: '€', betrag: '2,50' },
    ]);
  });

  test('UTF-16 is read as Excel saves it', async () => {
    const name = nextTable();
    const answer = await upload(name, Buffer.from('\ufeffa\tb\r\n漢\t1\r\n', 'utf16le'));
    assert.equal(answer.status, 201);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ a: '漢', b: '1' }]);
  });

  test('header row and range apply', async () => {
    const name = nextTable();
    const answer = await upload(name, 'Title\n\nx,a,b\nx,1,2\nx,3,4\n', '?header_row=3&range=B:C');
    assert.equal(answer.status, 201);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name} ORDER BY a`), [
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
  });
});

suite('with a definition', () => {
  test('every text is read as the type of its column', async () => {
    const name = nextTable();
    const table = definition(
      ['id', 'integer'],
      ['ok', 'boolean'],
      ['code', 'varchar(10)'],
      ['amount', 'numeric(10,2)'],
      ['ratio', 'double precision'],
      ['day', 'date'],
      ['note', 'text', { default: 'none' }],
    );
    const answer = await upload(
      name,
      ' ID ,Ok,code,amount,ratio,day,note\n1,TRUE,1.50,1e2,.5,2024-02-29,true\n007,no,00,"3",1e-3,"Feb 1, 2024",\n',
      '',
      table,
    );
    // A date whose meaning depends on settings is refused with its place.
    assertProblem(answer, 422, 'invalid-data');
    assert.equal(answer.body.errors[0].cell, 'F3');
    const mended = await upload(
      name,
      ' ID ,Ok,code,amount,ratio,day,note\n1,TRUE,1.50,1e2,.5,2024-02-29,true\n007,no,00,"3",1e-3,2024-02-01,\n',
      '',
      table,
    );
    assert.equal(mended.status, 201, JSON.stringify(mended.body));
    assert.deepEqual(
      await service.rows(`SELECT id, ok, code, amount, ratio, day::text, note FROM ${name} ORDER BY id`),
      [
        { id: 1, ok: true, code: '1.50', amount: '100.00', ratio: 0.5, day: '2024-02-29', note: 'true' },
        { id: 7, ok: false, code: '00', amount: '3.00', ratio: 0.001, day: '2024-02-01', note: 'none' },
      ],
    );
  });

  test('rows are added to an existing table, and its keys apply', async () => {
    const name = nextTable();
    const table = {
      table: {
        columns: [
          { name: 'id', type: 'integer' },
          { name: 'name', type: 'text' },
        ],
        constraints: { primary_key: { name: '', columns: ['id'] } },
      },
    };
    assert.equal((await upload(name, 'id,name\n1,a\n', '', table)).status, 201);
    const added = await upload(name, 'name;id\nb;2\n\nc;3\n', '?if_exists=append');
    assert.equal(added.status, 200);
    assert.equal(added.body.load.rows, 2);
    const twice = await upload(name, 'id,name\n4,d\n2,e\n', '?if_exists=append');
    assertProblem(twice, 422, 'invalid-data');
    assert.equal(twice.body.errors[0].row, 2);
    assert.equal(twice.body.errors[0].cell, 'A3');
    const updated = await upload(name, 'id,name\n4,d\n2,e\n', '?if_exists=append&on_conflict=update');
    assert.equal(updated.body.load.updated, 1);
    assert.deepEqual(await service.rows(`SELECT id, name FROM ${name} ORDER BY id`), [
      { id: 1, name: 'a' },
      { id: 2, name: 'e' },
      { id: 3, name: 'c' },
      { id: 4, name: 'd' },
    ]);
  });

  test('every problem has its row, its column and its cell', async () => {
    const name = nextTable();
    const text = 'id,price\n1,2.5\n\n"x\n",1.234\n3,"say "five""\n4,\n';
    const table = definition(['id', 'integer'], ['price', 'numeric', { is_nullable: false }]);
    const answer = await upload(name, text, '?quotes=strict', table);
    assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      answer.body.errors.map(({ row, column, cell, sheet, code, value }: Record<string, unknown>) => [
        row,
        column,
        cell,
        sheet,
        code,
        value,
      ]),
      [
        [3, 'id', 'A4', undefined, 'not-a-whole-number', 'x\n'],
        [4, 'price', 'B5', undefined, 'text-behind-quote', 'say "five""'],
        [5, 'price', 'B6', undefined, 'null-not-allowed', undefined],
      ],
    );
    assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
  });

  test('a title instead of the header does not make empty rows', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (id integer, n text)`);
    const csv = 'Monthly report,,\n\nid,n\n1,x\n';
    const { detail } = assertProblem(
      await upload(name, csv, '?if_exists=append&extra_columns=ignore'),
      422,
      'invalid-data',
    );
    assert.match(
      detail,
      /^The table has none .* \("Monthly report", "column_B"\); .* another row, send `header_row`\.$/,
    );
    const answer = await upload(name, csv, '?if_exists=append&extra_columns=ignore&header_row=3');
    assert.equal(answer.body.load.rows, 1);
  });

  test('a row with more fields than the header is refused with a warning that has both numbers', async () => {
    const answer = await upload(
      nextTable(),
      'name,city\nAnn,Bonn\nBob,Rome, Italy\n',
      '',
      definition(['name', 'text'], ['city', 'text']),
    );
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual([errors[0]!.cell, errors[0]!.code], ['C3', 'unknown-column']);
    const [warning] = answer.body.warnings.filter(({ code }: { code: string }) => code === 'long-rows');
    assert.match(
      warning.detail,
      /^Row 3 has 3 fields, the header has 2\. .* double quotes, or name the quotation mark/,
    );
  });

  test('a NUL is a problem of its cell', async () => {
    const name = nextTable();
    const answer = await upload(name, `a,b\n${'some text,1\n'.repeat(6000)}x\0y,2\n`);
    assertProblem(answer, 422, 'invalid-data');
    assert.equal(answer.body.errors[0].code, 'nul-character');
    assert.equal(answer.body.errors[0].cell, 'A6002');
  });
});

const refused: [title: string, text: string, query: string, status: number, code: string, detail: RegExp][] =
  [
    ['a quote that is never closed', 'a,b\n1,"2\n3\n', '', 400, 'invalid-file', /record 2, column B/],
    ['a sheet', 'a\n1\n', '?sheet=Data', 422, 'invalid-parameter', /no sheets/],
    ['NUL characters', 'a,b\n1\0,2\n', '', 422, 'unsupported-file', /NUL byte in line 2 \(byte 5\)/],
    [
      'a long cell',
      `a\n${'x'.repeat(2001)}\n`,
      '',
      413,
      'limit-exceeded',
      /record 2, column A .* 2,000 bytes/,
    ],
    ['many rows', `a\n${'1\n'.repeat(maxRows + 1)}`, '', 413, 'limit-exceeded', /00,000 rows|60,000 rows/],
    ['nothing but line ends', '\n\n\n', '', 422, 'nothing-to-load', /row/],
  ];

for (const [title, text, query, status, code, detail] of refused) {
  test(`${title} is refused`, async () => {
    const answer = await upload(nextTable(), text, query);
    assertProblem(answer, status, code as Parameters<typeof assertProblem>[2]);
    assert.match(answer.body.detail, detail);
  });
}

const manyRows = sized(50_000, 200_000);

test(`${manyRows} rows are loaded`, async () => {
  const name = nextTable();
  const ids = (manyRows * (manyRows + 1)) / 2;
  const lines = ['id,name,price,day'];
  for (let id = 1; id <= manyRows; id++) lines.push(`${id},"Name, ""${id}""",${id}.25,2024-02-29`);
  const answer = await upload(name, lines.join('\r\n'));
  assert.equal(answer.status, 201);
  assert.equal(answer.body.load.rows, manyRows);
  assert.deepEqual(
    await service.rows(`
      SELECT count(*)::int AS rows, sum(id)::text AS ids, sum(price)::text AS prices,
             count(*) FILTER (WHERE name = format('Name, "%s"', id) AND day = '2024-02-29')::int AS right
      FROM ${name}`),
    [{ rows: manyRows, ids: String(ids), prices: (ids + manyRows / 4).toFixed(2), right: manyRows }],
  );
});

test('inspecting shows a single sheet', async () => {
  const answer = await service.upload('/api/v1/inspect/excel', Buffer.from('a;b\n1;x\n2;\n'));
  assert.equal(answer.status, 200);
  const { proposal } = answer.body;
  assert.equal(proposal.range, 'A1:B3');
  assert.deepEqual(answer.body.sheets, [{ name: '', visibility: 'visible', rows: 2, columns: 2, proposal }]);
  const { definition: inferred, rows, warnings } = answer.body.sheet;
  assert.deepEqual(inferred.columns, [
    { name: 'a', type: 'bigint' },
    { name: 'b', type: 'text' },
  ]);
  assert.deepEqual(rows, [
    ['1', 'x'],
    ['2', null],
  ]);
  assert.equal(warnings[0].code, 'delimiter');
});

test('with a definition a text is read as the type of its column', async () => {
  await service.database.pool.query("CREATE TYPE answer AS ENUM ('true', 'false', '42')");
  const columns = [
    { name: 'd', type: 'date' },
    { name: 't', type: 'time' },
    { name: 'b', type: 'bytea' },
    { name: 'e', type: 'answer' },
    { name: 'j', type: 'jsonb' },
    { name: 'n', type: 'integer' },
    { name: 's', type: 'text' },
  ];
  const csv = Buffer.from(
    'd,t,b,e,j,n,s\n2024-01-01,12:30,\\x31,true,"{""a"":1}",42.0,1.50\n,,,42,[1],7,TRUE\n,,,,plain,,\n',
  );
  const answer = await service.upload('/table/typed/upload/excel', csv, { table: { columns } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.deepEqual(
    await service.rows("SELECT d::text, t::text, encode(b, 'escape') AS b, e::text, j, n, s FROM typed"),
    [
      { d: '2024-01-01', t: '12:30:00', b: '1', e: 'true', j: { a: 1 }, n: 42, s: '1.50' },
      { d: null, t: null, b: null, e: '42', j: [1], n: 7, s: 'TRUE' },
      { d: null, t: null, b: null, e: null, j: 'plain', n: null, s: null },
    ],
  );
});

test('a negative zero is a number and loses only its sign', async () => {
  for (const [zero, type, stored] of [
    ['-0', 'bigint', '0'],
    ['-0.00', 'numeric', '0.00'],
  ] as const) {
    const { status, body } = await upload('negative_zero', `a\n${zero}\n-1\n`, '?if_exists=replace');
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.table.columns[0].type, type);
    assert.deepEqual(await service.rows('SELECT a::text FROM negative_zero'), [{ a: stored }, { a: '-1' }]);
  }
});
