/** `GET /api/v1/loads/{id}/faulty-rows`: the rows with problems come back as a file, which loads after it was repaired. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import * as library from '@e965/xlsx';
import { keptRowLimits } from '../../src/engine/loading/faulty-rows/wanted-rows.ts';
import { assertShortSteps, measureSteps } from '../support/event-loop.ts';
import { assertProblem } from '../support/problem.ts';
import { randomNumbers } from '../support/random-numbers.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { startThreadClient } from '../support/thread-client.ts';
import { until } from '../support/until.ts';
import { bookOf } from '../support/workbook.ts';
import { unzip } from '../support/workbook-mutants.ts';
import { buildZip } from '../support/xlsx-builder.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const idOf = ({ headers }: TestAnswer): string => headers.get('load-id')!;

/** Returns the file of a load, as bytes. */
async function fileOf(id: string, query = '', options: { token?: string; accept?: string } = {}) {
  const url = new URL(`/api/v1/loads/${id}/faulty-rows${query}`, service.url);
  const headers = {
    authorization: `Bearer ${options.token ?? (await service.token())}`,
    ...(options.accept && { accept: options.accept }),
  };
  const answer = await fetch(url, { headers });
  return {
    status: answer.status,
    headers: answer.headers,
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

async function textOf(id: string, query = ''): Promise<string> {
  const { status, bytes } = await fileOf(id, query);
  assert.equal(status, 200, bytes.toString());
  return bytes.toString();
}

async function create(name: string, columns: object[], more: object = {}): Promise<void> {
  const { status, body } = await service.post(`/table/${name}`, { table: { columns, ...more } });
  assert.equal(status, 201, JSON.stringify(body));
}

const append = (name: string, file: Buffer | string, query = '') =>
  service.upload(`/table/${name}/upload/excel?if_exists=append${query}`, Buffer.from(file));
const leaveOut = '&faulty_rows=leave_out';

/** Replaces texts in the sheet of a workbook. */
function edit(file: Buffer, ...changes: [RegExp | string, string][]): Buffer {
  const parts = unzip(file).map(([name, data]) => {
    let text = data.toString();
    if (name.includes('worksheets/'))
      for (const [from, to] of changes) {
        assert.notEqual(text.replace(from, to), text, `${from} in ${text}`);
        text = text.replace(from, to);
      }
    return { name, data: Buffer.from(text) };
  });
  return buildZip(parts);
}

test('the rows of a CSV come back as they were sent, with all columns and the reasons, and load when they are repaired', async () => {
  await create('prices', [
    { name: 'code', type: 'text' },
    { name: 'price', type: 'numeric(10,2)' },
    { name: 'day', type: 'date' },
  ]);
  const csv = 'code;price;extra;day\n007;1,5;a;2024-01-01\n008;x;"b;""c""\nd";2024-13-01\n009;2,5;;\n';
  const query = '&decimal_sign=,&extra_columns=ignore';
  const loaded = await append('prices', csv, query + leaveOut);
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
  assert.equal(loaded.body.load.faulty_rows, 1);
  const { headers, bytes } = await fileOf(idOf(loaded));
  assert.match(headers.get('content-disposition')!, /filename="prices-faulty-rows\.csv"/);
  assert.match(headers.get('content-type')!, /^text\/csv/);
  assert.equal(headers.get('faulty-rows-complete'), 'true');
  const text = bytes.toString();
  assert.match(
    text,
    /^code;price;extra;day;"_problem"\n008;x;"b;""c""\nd";2024-13-01;"price: not a number.*; day: there is no such day.*"\n$/s,
  );
  const repaired = text.replace(';x;', ';3,5;').replace('2024-13-01', '2024-12-01');
  const again = await append('prices', repaired, query);
  assert.equal(again.status, 200, JSON.stringify(again.body));
  assert.deepEqual(await service.rows('SELECT code, price::text, day::text FROM prices ORDER BY code'), [
    { code: '007', price: '1.50', day: '2024-01-01' },
    { code: '008', price: '3.50', day: '2024-12-01' },
    { code: '009', price: '2.50', day: null },
  ]);
  const view = await service.get(`/api/v1/loads/${idOf(loaded)}`);
  assert.equal(view.body.faulty_rows, 1);
});

test('the rows of a workbook come back with their dates and numbers, and the cells with problems are filled', async () => {
  await create('orders', [
    { name: 'id', type: 'integer' },
    { name: 'amount', type: 'numeric' },
    { name: 'day', type: 'date' },
    { name: 'ok', type: 'boolean' },
    { name: 'note', type: 'text' },
  ]);
  const date = (serial: number) => ({ attributes: 's="1"', content: `<v>${serial}</v>` });
  const book = bookOf(
    {
      Data: [
        ['id', 'amount', 'day', 'ok', 'note'],
        [1, 0.1, date(45351), true, 'fine'],
        ['two', 0.30000000000000004, date(45352), false, '00017'],
        [3, { attributes: 't="e"', content: '<v>#N/A</v>' }, date(45353), true, ' =1+1 '],
        [4, 12345.678, date(45354), null, null],
      ],
    },
    { formats: ['yyyy-mm-dd'] },
  );
  const loaded = await append('orders', book, leaveOut);
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
  const { bytes, headers } = await fileOf(idOf(loaded));
  assert.match(headers.get('content-disposition')!, /orders-faulty-rows\.xlsx/);
  const xml = unzip(bytes)
    .find(([name]) => name.includes('worksheets/'))![1]
    .toString();
  assert.match(xml, /<c r="A2" s="4" t="inlineStr"><is><t>two<\/t>/);
  assert.match(xml, /<c r="B3" s="4" t="e"><v>#N\/A<\/v>/);
  assert.match(xml, /<c r="F2" t="inlineStr"><is><t>id: /);
  const repaired = edit(
    bytes,
    ['<c r="A2" s="4" t="inlineStr"><is><t>two</t></is></c>', '<c r="A2" s="4"><v>2</v></c>'],
    ['<c r="B3" s="4" t="e"><v>#N/A</v></c>', '<c r="B3" s="4"><v>5</v></c>'],
  );
  const again = await append('orders', repaired);
  assert.equal(again.status, 200, JSON.stringify(again.body));
  assert.deepEqual(await service.rows('SELECT id, amount::text, ok, note FROM orders ORDER BY id'), [
    { id: 1, amount: '0.1', ok: true, note: 'fine' },
    { id: 2, amount: '0.3', ok: false, note: '00017' },
    { id: 3, amount: '5', ok: true, note: ' =1+1 ' },
    { id: 4, amount: '12345.678', ok: null, note: null },
  ]);
});

for (const bookType of ['biff8', 'ods'] as const) {
  test(`the rows of a ${bookType} file that violate constraints come back as a workbook, after a refusal, too`, async () => {
    const name = `kept_${bookType}`;
    await create(`${name}_ref`, [{ name: 'code', type: 'text' }], {
      constraints: { primary_key: { columns: ['code'] } },
    });
    await service.rows(`INSERT INTO ${name}_ref VALUES ('a')`);
    await create(name, [
      { name: 'id', type: 'integer' },
      { name: 'ref', type: 'text' },
      { name: 'n', type: 'integer' },
    ]);
    await service.rows(
      `ALTER TABLE ${name} ADD PRIMARY KEY (id), ADD FOREIGN KEY (ref) REFERENCES ${name}_ref, ADD CHECK (n > 0)`,
    );
    const rows = [
      ['id', 'ref', 'n'],
      [1, 'a', 1],
      [1, 'a', 2],
      [2, 'b', 3],
      [3, 'a', -1],
      [4, 'a', 4],
    ];
    const sheet = library.utils.aoa_to_sheet(rows);
    const file = library.write({ SheetNames: ['S'], Sheets: { S: sheet } }, { type: 'buffer', bookType });
    const refused = await append(name, file);
    assertProblem(refused, 422, 'invalid-data');
    const loaded = await append(name, file, leaveOut);
    assert.equal(loaded.body.load.rows_left_out, 3, JSON.stringify(loaded.body));
    const read = async (id: string) => {
      const { status, bytes } = await fileOf(id);
      assert.equal(status, 200, bytes.toString());
      const book = library.read(bytes);
      return book.Sheets[book.SheetNames[0]!]!;
    };
    for (const id of [idOf(refused), idOf(loaded)]) {
      const found = library.utils.sheet_to_json<string[]>(await read(id), { header: 1 });
      assert.deepEqual(
        found.map((cells) => cells.slice(0, 3)),
        [rows[0], ...rows.slice(2, 5)],
      );
      assert.match(found[1]![3]!, /^id: must be unique/);
      assert.match(found[2]![3]!, /^ref: /);
      assert.match(found[3]![3]!, /^n: /);
    }
    const kept = await read(idOf(loaded));
    library.utils.sheet_add_aoa(
      kept,
      [
        [5, 'a', 1],
        [6, 'a', 1],
        [7, 'a', 1],
      ],
      { origin: 'A2' },
    );
    const repaired = library.write(
      { SheetNames: ['S'], Sheets: { S: kept } },
      { type: 'buffer', bookType: 'xlsx' },
    );
    const again = await append(name, repaired);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual(
      again.body.load.warnings.map(({ code }: { code: string }) => code),
      ['ignored-column'],
    );
    const [count] = await service.rows(`SELECT count(*)::int AS all FROM ${name}`);
    assert.equal(count!.all, 5);
  });
}

suite('JSON', () => {
  const table = {
    columns: [
      { name: 'n', type: 'integer' },
      { name: 'j', type: 'jsonb' },
      { name: 'x', type: 'numeric' },
      { name: 't', type: 'text' },
    ],
  };
  const lines = [
    '{"n":1,"j":{"a":[1, 2]},"x":1.0}',
    '{"n":"x","x":12345678901234567890.12300,"j":{"b": "c\\nd"},"t":""}',
    '{"t":null,"n":2.5}',
    '{"n":true,"t":"007","j":[1e+40]}',
    '[1]',
  ];
  const refuse = async (name: string, query = '', prefer = '', sent = lines) => {
    await create(name, table.columns);
    return service.request('POST', `/table/${name}/upload/json?if_exists=append${query}`, {
      headers: { 'content-type': 'application/x-ndjson', ...(prefer && { prefer }) },
      body: sent.join('\n'),
    });
  };

  test('the objects come back with their exact numbers, with NULL and missing members as they were', async () => {
    const refused = await refuse('objects');
    assertProblem(refused, 422, 'invalid-data');
    const text = await textOf(idOf(refused));
    const found = text.trimEnd().split('\n');
    assert.equal(found.length, 4);
    const parts = found.map((line) => /^(.*?),?"_problem":"(.*)"}$/.exec(line)!);
    assert.deepEqual(
      parts.map(([, before]) => before),
      [
        '{"n":"x","x":12345678901234567890.12300,"j":{"b": "c\\nd"},"t":""',
        '{"t":null,"n":2.5',
        '{"n":true,"t":"007","j":[1e+40]',
        '{',
      ],
    );
    assert.match(parts[2]![2]!, /^n: not a whole/);
    assert.match(parts[3]![2]!, /^a row must be an object.*: \[1\]$/);
    const repaired = text
      .replace('"x",', '5,')
      .replace('2.5', '6')
      .replace('true', '7')
      .replace(/\n\{"_.*\n$/, '\n');
    const again = await service.request('POST', '/table/objects/upload/json?if_exists=append', {
      headers: { 'content-type': 'application/x-ndjson' },
      body: repaired,
    });
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual(await service.rows('SELECT n, x::text, t FROM objects ORDER BY n'), [
      { n: 5, x: '12345678901234567890.12300', t: '' },
      { n: 6, x: null, t: null },
      { n: 7, x: null, t: '007' },
    ]);
  });

  test('an asynchronous load and a dry run have the file, as CSV and as a workbook, too', async () => {
    const answer = await refuse('later', leaveOut, 'respond-async');
    assert.equal(answer.status, 202);
    await until(
      'the load to end',
      async () => (await service.get(`/api/v1/loads/${idOf(answer)}`)).body.ended_at !== null,
    );
    const csv = await textOf(idOf(answer), '?format=csv');
    assert.match(csv, /^n,j,x,t,"_problem"\n"x","\{""b"": ""c\\nd""\}",12345678901234567890.12300,"","n: /);
    const byAccept = await fileOf(idOf(answer), '', { accept: 'text/csv' });
    assert.equal(byAccept.bytes.toString(), csv);
    const noBook = await service.get(`/api/v1/loads/${idOf(answer)}/faulty-rows?format=xlsx`);
    assert.match(
      assertProblem(noBook, 422, 'invalid-parameter').detail,
      /workbook cannot give back row 2, column "t": the empty text .* Send format=csv or ndjson\./,
    );
    const sent = lines.map((line) => line.replace('"t":""', '"t":"e"'));
    const held = await refuse('held', '', '', sent);
    const xml = unzip((await fileOf(idOf(held), '?format=xlsx')).bytes)
      .find(([name]) => name.includes('sheet1'))![1]
      .toString();
    assert.match(xml, /<c r="C2" t="inlineStr"><is><t>12345678901234567890.12300</);
    assert.match(xml, /<c r="A4" s="4" t="b"><v>1</);
    const checked = await refuse('checked', `${leaveOut}&dry_run=true`);
    assert.equal(checked.body.load.faulty_rows, 4, JSON.stringify(checked.body));
    assert.equal((await textOf(idOf(checked))).split('\n').length, 5);
  });

  test('rows with on_conflict, and flattened rows, come back as the objects that were sent', async () => {
    await create(
      'keyed',
      [
        { name: 'id', type: 'integer' },
        { name: 'a_b', type: 'integer' },
      ],
      { constraints: { primary_key: { columns: ['id'] } } },
    );
    const upload = (rows: object[], query: string) =>
      service.post(`/table/keyed/upload/json?if_exists=append&on_conflict=update&flatten=true${query}`, {
        data: rows,
      });
    const loaded = await upload(
      [
        { id: 1, a: { b: 1 } },
        { id: 2, a: { b: 'x' } },
      ],
      leaveOut,
    );
    assert.equal(loaded.body.load?.faulty_rows, 1, JSON.stringify(loaded.body));
    const text = await textOf(idOf(loaded));
    assert.match(text, /^\{"id":2,"a":\{"b":"x"\},"_problem":"a_b: /);
    const again = await upload([JSON.parse(text.replace('"x"', '2'))], '');
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.deepEqual(await service.rows('SELECT * FROM keyed ORDER BY id'), [
      { id: 1, a_b: 1 },
      { id: 2, a_b: 2 },
    ]);
  });

  test('rows that are streamed into a new table come back if the body is short', async () => {
    const refused = await service.post('/table/streamed/upload/json', {
      table: { columns: [{ name: 'n', type: 'integer' }] },
      data: [{ n: 1 }, { n: 'x' }],
    });
    assertProblem(refused, 422, 'invalid-data');
    assert.match(await textOf(idOf(refused)), /^\{"n":"x","_problem":"n: /);
    const body = JSON.stringify({
      table: { columns: [{ name: 'n', type: 'integer' }] },
      data: [{ n: 'x' }, ...Array.from({ length: 200_000 }, () => ({ n: 1 }))],
    });
    const longer = await service.request('POST', '/table/streamed/upload/json', {
      headers: { 'content-type': 'application/json' },
      body,
    });
    assert.match(
      assertProblem(await service.get(`/api/v1/loads/${idOf(longer)}/faulty-rows`), 404, 'no-faulty-rows')
        .detail,
      /dry_run=true/,
    );
  });
});

test('the file has the corrections that came with the upload', async () => {
  await create('corrected', [
    { name: 'n', type: 'integer' },
    { name: 'm', type: 'integer' },
  ]);
  const answer = await service.post('/table/corrected/upload/json?if_exists=append', {
    patch: [{ row: 2, column: 'n', value: '5' }],
    data: [
      { n: 1, m: 1 },
      { n: 'x', m: 'y' },
    ],
  });
  assertProblem(answer, 422, 'invalid-data');
  assert.match(await textOf(idOf(answer)), /^\{"n":"5","m":"y","_problem":"m: [^"]*"\}\n$/);
});

suite('_problem', () => {
  test('a new table without a definition does not get the column', async () => {
    const csv = 'a,b,"_problem"\n1,2,"a: x"\n';
    const answer = await service.upload('/table/fresh/upload/excel', Buffer.from(csv));
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(
      answer.body.table.columns.map(({ name }: { name: string }) => name),
      ['a', 'b'],
    );
    assert.deepEqual(
      answer.body.load.warnings.map(({ code, column }: { code: string; column: string }) => [code, column]),
      [['ignored-column', '_problem']],
    );
    const added = await append('fresh', 'a,b,c,_problem\n1,2,3,x\n', '&extra_columns=add');
    assert.deepEqual(
      added.body.table.columns.map(({ name }: { name: string }) => name),
      ['a', 'b', 'c'],
      JSON.stringify(added.body),
    );
    const json = await service.post('/table/fresh/upload/json?if_exists=append', {
      data: [{ a: 1, _problem: 'x' }],
    });
    assert.equal(json.status, 200);
    const natural = await service.upload(
      '/table/fresh2/upload/excel?values=natural',
      Buffer.from('d,_problem\n17-Jan-94,1\n'),
    );
    assert.equal(natural.status, 201, JSON.stringify(natural.body));
  });

  test('a table that has the column gets its values, and its file has them, too', async () => {
    await create('owner', [
      { name: 'n', type: 'integer' },
      { name: '_problem', type: 'text' },
    ]);
    const loaded = await append('owner', 'n,_problem\n1,own\nx,mine\n', leaveOut);
    assert.deepEqual(await service.rows('SELECT * FROM owner'), [{ n: 1, _problem: 'own' }]);
    assert.equal(await textOf(idOf(loaded)), 'n,_problem\nx,mine\n');
  });

  test('rows that are sent again and are still faulty have only the new reasons', async () => {
    await create('twice', [{ name: 'n', type: 'integer' }]);
    const first = await append('twice', 'n\nx\n');
    const second = await append('twice', await textOf(idOf(first)));
    assert.equal(await textOf(idOf(second)), await textOf(idOf(first)));
  });
});

suite('loads without a file', () => {
  const detailOf = async (id: string) =>
    assertProblem(await service.get(`/api/v1/loads/${id}/faulty-rows`), 404, 'no-faulty-rows').detail;

  test('a load without problems, and one with problems of the whole upload', async () => {
    await create('whole', [{ name: 'n', type: 'integer' }]);
    assert.match(await detailOf(idOf(await append('whole', 'n\n1\n'))), /No row/);
    assert.match(await detailOf(idOf(await append('whole', 'n,m\n1,2\n'))), /whole upload/);
  });

  test('only the uploader gets the file, and not a token that may see all loads', async () => {
    const id = idOf(await append('whole', 'n\nx\n'));
    assert.equal((await fileOf(id)).status, 200);
    const other = await service.token({ subject: 'somebody' });
    assertProblem(
      await service.get(`/api/v1/loads/${id}/faulty-rows`, { token: other }),
      404,
      'load-not-found',
    );
    assert.equal((await service.get(`/api/v1/loads/${id}`, { token: other })).body.faulty_rows, 1);
  });
});

test('a share of the rows may be left out', async () => {
  await create('shared', [{ name: 'n', type: 'integer' }]);
  const csv = `n\n${'1\n'.repeat(198)}x\ny\n`;
  const share = (percent: string) => append('shared', csv, `${leaveOut}&max_faulty_rows=${percent}%25`);
  assert.match(assertProblem(await share('0.9'), 422, 'invalid-data').detail, /max_faulty_rows=0.9% allows/);
  assert.equal((await share('1')).body.load?.rows_left_out, 2);
  assertProblem(await append('shared', csv, `${leaveOut}&max_faulty_rows=1%25%25`), 422, 'invalid-parameter');
});

suite('what comes back is what was sent', () => {
  const pieces = [
    '',
    ' ',
    'a',
    '"',
    '""',
    ',',
    ';',
    '\n',
    '\r\n',
    "'",
    '\\',
    '=1+1',
    '="7"',
    '007',
    '1e5',
    '#',
    'ä😀',
    '\t',
    '<&>',
    '_x0041_',
    'NULL',
    '-1',
    '@',
  ];
  const random = randomNumbers(7);
  const text = (): string | null =>
    random(8) === 0 ? null : Array.from({ length: random(4) }, () => pieces[random(pieces.length)]!).join('');
  const rows = Array.from({ length: 300 }, (_, id) => ({ id, a: text(), b: text(), c: text() }));
  const names = ['id', 'a', 'b', 'c'] as const;
  const read = (table: string) => service.rows(`SELECT id, a, b, c FROM ${table} ORDER BY id`);
  /** Makes a table that takes no row of the file before it is repaired, and one that takes each. */
  const tables = async (name: string) => {
    const texts = ['a', 'b', 'c'].map((column) => ({ name: column, type: 'text' }));
    await create(name, [{ name: 'id', type: 'integer' }, { name: 'n', type: 'integer' }, ...texts]);
    await create(`${name}_ref`, [{ name: 'id', type: 'integer' }, { name: 'n', type: 'text' }, ...texts]);
  };

  for (const [mode, delimiter] of [
    ['any', ','],
    ['any', ';'],
    ['text', ','],
    ['exact', '\t'],
  ] as const) {
    test(`as CSV with quoted=${mode} and ${JSON.stringify(delimiter)}`, async () => {
      const name = `csv_${mode}_${delimiter.charCodeAt(0)}`;
      await tables(name);
      const field = (value: string | null) => {
        if (value === null) return '';
        return random(2) === 0 || value === '' || /[",;\n\r\t#]|^\s|\s$/.test(value)
          ? `"${value.replaceAll('"', '""')}"`
          : value;
      };
      const lines = rows.map(({ id, a, b, c }) =>
        [String(id), 'bad', field(a), field(b), field(c)].join(delimiter),
      );
      const csv = `${['id', 'n', 'a', 'b', 'c'].join(delimiter)}\n${lines.join('\n')}\n`;
      const query = `&quoted=${mode}`;
      assert.equal((await append(`${name}_ref`, csv, query)).status, 200);
      const refused = await append(name, csv, query);
      assertProblem(refused, 422, 'invalid-data');
      const repaired = (await textOf(idOf(refused))).replaceAll(
        `${delimiter}bad${delimiter}`,
        `${delimiter}1${delimiter}`,
      );
      const again = await append(name, repaired, query);
      assert.equal(again.body.load?.rows, rows.length, JSON.stringify(again.body));
      assert.deepEqual(await read(name), await read(`${name}_ref`));
    });
  }

  test('as NDJSON, as CSV with quoted=exact, and as a workbook, of JSON', async () => {
    await tables('json_rows');
    const data = rows.map((row) => ({ ...row, n: 'bad' }));
    assert.equal(
      (await service.post('/table/json_rows_ref/upload/json?if_exists=append', { data })).status,
      200,
    );
    const refused = await service.post('/table/json_rows/upload/json?if_exists=append', { data });
    const expected = await read('json_rows_ref');
    assert.deepEqual(
      expected,
      rows.map((row) => Object.fromEntries(names.map((one) => [one, row[one]]))),
    );
    const lines = (await textOf(idOf(refused))).replaceAll('"n":"bad"', '"n":1');
    const csv = (await textOf(idOf(refused), '?format=csv')).replaceAll(',"bad",', ',1,');
    // A cell of a workbook has no empty text.
    assert.equal((await fileOf(idOf(refused), '?format=xlsx')).status, 422);
    const ofBook = rows.filter((row) => names.every((one) => row[one] !== ''));
    const refusedBook = await service.post('/table/json_rows/upload/json?if_exists=append', {
      data: data.filter(({ id }) => ofBook.some((row) => row.id === id)),
    });
    const { bytes } = await fileOf(idOf(refusedBook), '?format=xlsx');
    const book = edit(bytes, [/<is><t>bad<\/t><\/is>/g, '<is><t>1</t></is>']);
    const asLines = () =>
      service.request('POST', '/table/json_rows/upload/json?if_exists=append', {
        headers: { 'content-type': 'application/x-ndjson' },
        body: lines,
      });
    for (const send of [
      asLines,
      () => append('json_rows', csv, '&quoted=exact'),
      () => append('json_rows', book),
    ]) {
      const again = await send();
      const sent = again.body.load?.format === 'xlsx' ? ofBook : rows;
      assert.equal(again.body.load?.rows, sent.length, JSON.stringify(again.body));
      const same = sent.map((row) => Object.fromEntries(names.map((one) => [one, row[one]])));
      assert.deepEqual(await read('json_rows'), same, again.body.load.format);
      await service.rows('TRUNCATE json_rows');
    }
  });
});

test('NDJSON of a text file has NULL for its empty cells if the request said so', async () => {
  await create('cleared', [
    { name: 'k', type: 'int' },
    { name: 'n', type: 'int' },
    { name: 't', type: 'text', default: 'none' },
  ]);
  await service.rows("ALTER TABLE cleared ADD PRIMARY KEY (k); INSERT INTO cleared VALUES (1, 1, 'old')");
  const query = '&on_conflict=update&empty_cells=null';
  const refused = await append('cleared', 'k,n,t\n1,x,\n', query);
  const lines = (await textOf(idOf(refused), '?format=ndjson')).replace('"x"', '2');
  const again = await service.request(
    'POST',
    '/table/cleared/upload/json?if_exists=append&on_conflict=update',
    {
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines,
    },
  );
  assert.equal(again.status, 200, JSON.stringify(again.body));
  assert.deepEqual(await service.rows('SELECT * FROM cleared'), [{ k: 1, n: 2, t: null }]);
});

test('NDJSON is refused for a text file and a table with JSON, whose values would become strings', async () => {
  for (const type of ['json', 'jsonb', 'own_json']) {
    const name = `with_${type}`;
    await service.rows(`CREATE DOMAIN own_${type} AS jsonb; CREATE TABLE ${name} (n int, j ${type})`);
    const refused = await append(name, 'n,j\nx,"{""a"":1}"\n');
    const { status, bytes } = await fileOf(idOf(refused), '?format=ndjson');
    assert.deepEqual([status, JSON.parse(bytes.toString()).code], [422, 'invalid-parameter']);
    const csv = await textOf(idOf(refused), '?format=csv');
    assert.equal((await append(name, csv.replace('x', '1'))).status, 200);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name}`), [{ n: 1, j: { a: 1 } }]);
  }
  await service.rows('CREATE TABLE from_json (n int, j jsonb)');
  const data = [{ n: 'x', j: { a: 1 } }];
  const refused = await service.post('/table/from_json/upload/json?if_exists=append', { data });
  assert.match(await textOf(idOf(refused), '?format=ndjson'), /"j":\{"a":1\}/);
});

suite('hostile rows', () => {
  test('the OpenAPI document has the limits of the service', async () => {
    const { body } = await service.get('/openapi.json');
    const { description } = body.paths['/api/v1/loads/{id}/faulty-rows'].get;
    const limits = `${keptRowLimits.rows.toLocaleString('en-US')} rows and ${keptRowLimits.bytes / 1024 ** 2} MiB`;
    assert.ok(description.includes(limits), description);
  });

  test('of very many faulty rows the first are stored, and the file says that it is incomplete', async () => {
    await create('many', [{ name: 'n', type: 'integer' }]);
    const refused = await append('many', `n,t\n${'x,abc\n'.repeat(100_500)}`, '&extra_columns=ignore');
    const { bytes, headers } = await fileOf(idOf(refused));
    assert.equal(headers.get('faulty-rows-complete'), 'false');
    assert.match(headers.get('content-disposition')!, /many-faulty-rows-incomplete\.csv/);
    assert.equal(bytes.toString().trimEnd().split('\n').length, keptRowLimits.rows + 1);
    const book = await fileOf(idOf(refused), '?format=xlsx');
    assert.match(
      unzip(book.bytes)
        .find(([name]) => name === 'xl/workbook.xml')![1]
        .toString(),
      /name="10000 faulty rows of more"/,
    );
  });

  test('keeping many rows and writing their file takes no long step', async () => {
    await create('steps', [{ name: 'n', type: 'integer' }]);
    const client = startThreadClient();
    const authorization = `Bearer ${await service.token()}`;
    const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
      client.send({
        url: new URL(path, service.url).href,
        method,
        headers: { authorization, ...headers },
        ...(body !== undefined && { body }),
      });
    const upload = (rows: number) => {
      const csv = `n,t\n${`x,${'abc'.repeat(70)}\n`.repeat(rows)}`;
      const part = 'Content-Disposition: form-data; name="file"; filename="a.csv"';
      const path = '/api/v1/table/steps/upload/excel?if_exists=append&extra_columns=ignore';
      const headers = { 'content-type': 'multipart/form-data; boundary=b' };
      return send('POST', path, headers, `--b\r\n${part}\r\n\r\n${csv}\r\n--b--\r\n`);
    };
    const filesOfLast = async (check: (work: () => Promise<unknown>) => Promise<unknown>) => {
      const { body } = await service.get('/api/v1/loads?limit=1');
      const path = `/api/v1/loads/${body.loads[0].id}/faulty-rows?format=`;
      for (const format of ['csv', 'ndjson', 'xlsx'])
        await check(async () => assert.equal((await send('GET', path + format)).status, 200));
    };
    try {
      // What is slow the first time is done before.
      assert.equal((await upload(10)).status, 422);
      await filesOfLast((work) => work());
      assertShortSteps(await measureSteps(() => upload(keptRowLimits.rows)));
      await filesOfLast(async (work) => assertShortSteps(await measureSteps(work)));
    } finally {
      await client.end();
    }
  });

  test('long rows are stored up to a sum, and a row that is too long is left out', async () => {
    await create('long', [
      { name: 'n', type: 'integer' },
      { name: 't', type: 'text' },
    ]);
    const line = (n: number, length: number) =>
      JSON.stringify({ n: `x${n}`, t: `"\n${'é'.repeat(length / 2)}` });
    const lines = [line(0, 5_000_000), ...Array.from({ length: 20 }, (_, n) => line(n + 1, 1_000_000))];
    const refused = await service.request('POST', '/table/long/upload/json?if_exists=append&dry_run=true', {
      headers: { 'content-type': 'application/x-ndjson' },
      body: lines.join('\n'),
    });
    assertProblem(refused, 422, 'invalid-data');
    const { bytes, headers } = await fileOf(idOf(refused));
    assert.equal(headers.get('faulty-rows-complete'), 'false');
    const found = bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one));
    assert.deepEqual(
      found.map(({ n }) => n),
      Array.from({ length: 4 }, (_, n) => `x${n + 1}`),
    );
    assert.equal(found[3].t, JSON.parse(lines[4]!).t);
    assertProblem(
      await service.get(`/api/v1/loads/${idOf(refused)}/faulty-rows?format=xlsx`),
      413,
      'limit-exceeded',
    );
  });
});
