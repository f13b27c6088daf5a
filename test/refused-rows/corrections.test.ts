/** `patch`: corrections of cells that come with an upload, in a form and in a JSON body. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type CellSpec, sheetOf } from '../support/workbook.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());
beforeEach(() => service.rows('DROP TABLE IF EXISTS amounts'));

const path = '/table/amounts/upload';
const content = () => service.rows('SELECT * FROM amounts');

/** Sends a form with a file and the corrections. */
function send(file: string | Buffer, patch: unknown, query = '', headers = {}): Promise<TestAnswer> {
  const body = new FormData();
  body.append('patch', typeof patch === 'string' ? patch : JSON.stringify(patch));
  body.append('file', new Blob([file as string]), 'amounts.csv');
  return service.request('POST', `${path}/excel${query}`, { body, headers });
}

const text = 'Preface\n\nNo,Amount,Day\n1,"1x",2026-01-01\n\n2,2.5,2026-01-32\n3,,\n';
const rows: CellSpec[][] = [
  ['Preface', null, null],
  [],
  ['No', 'Amount', 'Day'],
  [1, '1x', '2026-01-01'],
  [],
  [2, 2.5, '2026-01-32'],
  [3, { attributes: 't="e"', content: '<v>#N/A</v>' }, null],
];
const corrections = [
  { row: 1, column: 'amount', value: '1.5' },
  { cell: 'C6', value: '2026-01-31' },
  { row: 4, column: 'Amount', value: 5 },
];
const withDigits = JSON.stringify(corrections).replace('5}', '12345678901234567890.25}');

suite('a correction counts as the value of the file', () => {
  const files = { 'a text file': text, 'a workbook': sheetOf(rows) };
  for (const [kind, file] of Object.entries(files)) {
    test(`in ${kind}: the types are inferred from it, every digit is kept, and the answer lists it`, async () => {
      const { status, body } = await send(file, withDigits, '?header_row=3');
      assert.equal(status, 201, JSON.stringify(body));
      assert.deepEqual(
        (await service.rows('SELECT "No"::int, "Amount"::text, "Day"::text FROM amounts')).map((row) =>
          Object.values(row),
        ),
        [
          [1, '1.5', '2026-01-01'],
          [2, '2.5', '2026-01-31'],
          [3, '12345678901234567890.25', null],
        ],
      );
      assert.deepEqual(
        body.table.columns.map(({ type }: { type: string }) => type),
        ['bigint', 'numeric', 'date'],
      );
      const listed = body.load.corrected.map(({ cell, row, column, from, to }: Record<string, unknown>) => [
        String(cell).replace('Sheet1!', ''),
        row,
        column,
        from,
        to,
      ]);
      assert.deepEqual(listed, [
        ['B4', 1, 'Amount', '1x', '1.5'],
        ['C6', 3, 'Day', '2026-01-32', '2026-01-31'],
        ['B7', 4, 'Amount', kind === 'a workbook' ? '#N/A' : null, '12345678901234567890.25'],
      ]);
      assert.equal(body.load.corrected_count, 3);
    });
  }

  test('in JSON rows, before the definition or after it, also in a load in one pass', async () => {
    const data = Array.from({ length: 30_000 }, (_, index) => ({
      no: index,
      amount: index === 20_000 ? 'x' : index,
    }));
    const patch = [{ row: 20_001, column: 'amount', value: 7 }];
    const { status, body } = await service.post(`${path}/json`, { patch, data });
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(
      await service.rows('SELECT sum(amount)::text AS sum, pg_typeof(sum(amount)) AS type FROM amounts'),
      [{ sum: String((29_999 * 30_000) / 2 - 20_000 + 7), type: 'numeric' }],
    );
    assert.deepEqual(body.load.corrected, [
      { pointer: '/data/20000/amount', row: 20_001, column: 'amount', from: 'x', to: '7' },
    ]);
  });

  test('in a small append to a known table, with null, true and a key that the row does not have', async () => {
    await service.rows('CREATE TABLE amounts (no int, is_paid boolean, amount int)');
    const append = (patch: unknown) =>
      service.post(`${path}/json?if_exists=append`, { patch, data: [{ no: 1, amount: 'x' }] });
    for (let round = 0; round < 3; round += 1) {
      const { status, body } = await append([
        { row: 1, column: 'is_paid', value: true },
        { row: 1, column: 'amount', value: null },
      ]);
      // The column comes only with a value of the data.
      assert.equal(status, 422, JSON.stringify(body));
      assert.equal(body.errors[0].code, 'no-such-cell');
    }
    const { status } = await append([{ row: 1, column: 'amount', value: null }]);
    assert.equal(status, 200);
    assert.deepEqual(await content(), [{ no: 1, is_paid: null, amount: null }]);
  });

  test('in a row of JSON before the first one that has the key, for a new table and for an existing one', async () => {
    const data = [{ no: 1 }, { no: 2, day: '2026-01-02', amount: 5 }, { amount: 6, no: 3 }];
    const patch = [
      { row: 1, column: 'amount', value: 4 },
      { row: 1, column: 'day', value: '2026-01-01' },
      { row: 3, column: 'day', value: '2026-01-03' },
    ];
    const expected = [
      { no: 1, amount: 4, day: '2026-01-01' },
      { no: 2, amount: 5, day: '2026-01-02' },
      { no: 3, amount: 6, day: '2026-01-03' },
    ];
    const stored = 'SELECT no::int, amount::int, day::text FROM amounts ORDER BY no';
    for (const mode of ['fail', 'replace', 'truncate']) {
      const { status, body } = await service.post(`${path}/json?if_exists=${mode}`, { patch, data });
      assert.ok(status < 300, JSON.stringify(body));
      assert.deepEqual(await service.rows(stored), expected, mode);
      assert.deepEqual(
        body.load.corrected.map((one: Record<string, unknown>) => [one.pointer, one.from, one.to]),
        [
          ['/data/0/amount', null, '4'],
          ['/data/0/day', null, '2026-01-01'],
          ['/data/2/day', null, '2026-01-03'],
        ],
      );
    }
    const refused = await service.post(`${path}/json?if_exists=append`, {
      patch: [...patch, { row: 1, column: 'nope', value: 1 }],
      data,
    });
    assert.deepEqual([refused.status, refused.body.errors.length], [422, 1]);
    assert.equal((await service.rows(stored)).length, 3);
  });

  const fields: [query: string, value: string, to: string | null, stored: string][] = [
    ['', '', null, 'standard'],
    ['&empty_cells=null', '', null, '(null)'],
    ['&trim=true', '', null, 'standard'],
    ['', '="00042"', '00042', '00042'],
    ['', '="a""b"', 'a"b', 'a"b'],
    ['', '=""', null, 'standard'],
    ['', '="a"b"', '="a"b"', '="a"b"'],
    ['&quoted=exact', '', '', ''],
    ['&quoted=exact', '="00042"', '="00042"', '="00042"'],
  ];
  for (const [query, value, to, stored] of fields)
    test(`a text is read as a field of a text file: ${JSON.stringify(value)} with "${query}"`, async () => {
      await service.rows("CREATE TABLE amounts (a int, t text DEFAULT 'standard')");
      const patch = [{ row: 1, column: 't', value }];
      const { status, body } = await send('a,t\n1,x\n', patch, `?if_exists=append${query}`);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(body.load.corrected[0].to, to);
      assert.deepEqual(await service.rows("SELECT coalesce(t, '(null)') AS t FROM amounts"), [{ t: stored }]);
    });

  test('a text of JSON remains a text', async () => {
    const patch = [{ row: 1, column: 'a', value: '007' }];
    const { body } = await service.post(`${path}/json`, { patch, data: [{ a: 'x' }] });
    assert.equal(body.table.columns[0].type, 'text');
    assert.deepEqual(await content(), [{ a: '007' }]);
  });

  test('rows that are left out are judged with it', async () => {
    await service.rows('CREATE TABLE amounts ("No" int PRIMARY KEY, "Amount" numeric, "Day" date)');
    const query = '?header_row=3&if_exists=append&faulty_rows=leave_out&on_conflict=update';
    const { body } = await send(text, [{ row: 3, column: 'Day', value: '2026-02-01' }], query);
    assert.deepEqual(
      [body.load.rows, body.load.rows_left_out, body.load.corrected_count],
      [2, 1, 1],
      JSON.stringify(body),
    );
  });
});

suite('a correction that cannot be made is refused, and nothing is loaded', () => {
  const cases: [name: string, patch: unknown, code: string, pointer: string | undefined][] = [
    [
      'a row that is not there',
      [
        { row: 1, column: 'No', value: 1 },
        { row: 9, column: 'No', value: 1 },
      ],
      'no-such-cell',
      '/1',
    ],
    ['a blank row', [{ row: 2, column: 'No', value: 1 }], 'no-such-cell', '/0'],
    ['a column that is not there', [{ row: 1, column: 'Nope', value: 1 }], 'no-such-cell', '/0'],
    ['the header', [{ cell: 'A3', value: 'Number' }], 'no-such-cell', '/0'],
    ['another sheet', [{ cell: 'Other!A4', value: 1 }], 'no-such-cell', '/0'],
    ['a cell of another column', [{ cell: 'A4', column: 'Amount', value: 1 }], 'no-such-cell', '/0/column'],
    [
      'a cell twice',
      [
        { cell: 'A4', value: 1 },
        { row: 1, column: 'No', value: 2 },
      ],
      'repeated-cell',
      '/1',
    ],
    ['no list', { row: 1 }, 'invalid-parameter', undefined],
    ['no JSON', '[', 'invalid-parameter', undefined],
    ['no object', [1], 'wrong-type', '/0'],
    ['row and cell', [{ row: 1, cell: 'A1', column: 'No', value: 1 }], 'wrong-type', '/0'],
    ['row 0', [{ row: 0, column: 'No', value: 1 }], 'wrong-type', '/0/row'],
    ['row 1.5', [{ row: 1.5, column: 'No', value: 1 }], 'wrong-type', '/0/row'],
    ['a range', [{ cell: 'A1:B2', value: 1 }], 'wrong-type', '/0/cell'],
    ['no value', [{ row: 1, column: 'No' }], 'wrong-type', '/0/value'],
    ['an object', [{ row: 1, column: 'No', value: {} }], 'wrong-type', '/0/value'],
    [
      'an object like ours',
      [{ row: 1, column: 'No', value: { number: '1); --' } }],
      'wrong-type',
      '/0/value',
    ],
    ['half a character', '[{"row": 1, "column": "No", "value": "\\ud800"}]', 'wrong-type', '/0/value'],
    ['a key twice', '[{"row": 1, "column": "No", "value": 1, "value": 2}]', 'invalid-parameter', undefined],
    ['an unknown member', [{ row: 1, column: 'No', value: 1, old: 2 }], 'unknown-key', '/0'],
  ];
  for (const [name, patch, code, pointer] of cases) {
    test(name, async () => {
      const { status, body } = await send(text, patch, '?header_row=3&all_text=true');
      assert.equal(status, 422, JSON.stringify(body));
      const [error] = body.errors;
      assert.deepEqual(
        [body.code, error.parameter, error.code, error.pointer],
        ['invalid-parameter', 'patch', code, pointer],
      );
      assert.deepEqual(await service.rows("SELECT FROM pg_class WHERE relname = 'amounts'"), []);
    });
  }

  test('too many, and too long', async () => {
    const many = Array.from({ length: 10_001 }, (_, index) => ({ row: index + 1, column: 'a', value: 1 }));
    assert.equal((await send('a\n1\n', many)).status, 413);
    assert.equal(
      (await send('a\n1\n', [{ row: 1, column: 'a', value: 'x'.repeat(1024 * 1024) }])).status,
      413,
    );
    const data = [{ a: 1 }];
    assert.equal((await service.post(`${path}/json`, { patch: many, data })).status, 413);
  });

  test('in JSON: an address, a place after the rows, and an array of rows alone has none', async () => {
    const cell = await service.post(`${path}/json`, { patch: [{ cell: 'A1', value: 1 }], data: [{ a: 1 }] });
    assert.deepEqual([cell.status, cell.body.errors[0].code], [422, 'no-such-cell']);
    const late = await service.post(`${path}/json`, { data: [{ a: 1 }], patch: [] });
    assert.deepEqual([late.status, late.body.errors[0].pointer], [422, '/patch']);
  });

  test('an inspection takes no corrections', async () => {
    const body = new FormData();
    body.append('patch', '[]');
    body.append('file', new Blob(['a\n1\n']), 'a.csv');
    const { status } = await service.request('POST', '/api/v1/inspect/excel', { body });
    assert.equal(status, 422);
  });
});

test('a correction of a repeated key replaces all of its values', async () => {
  const body = '{"patch":[{"row":1,"column":"a","value":5}],"data":[{"a":1,"a":2},{"a":3}]}';
  const headers = { 'content-type': 'application/json' };
  const { body: answer } = await service.request('POST', `${path}/json`, { body, headers });
  const corrected = [{ pointer: '/data/0/a', row: 1, column: 'a', from: '1', to: '5' }];
  assert.deepEqual([answer.load?.corrected, answer.load?.corrected_count], [corrected, 1]);
  assert.deepEqual(await content(), [{ a: '5' }, { a: '3' }]);
});

test('other corrections are another request for an idempotency key', async () => {
  const headers = { 'idempotency-key': 'corrections' };
  const one = [{ row: 1, column: 'a', value: '2' }];
  assert.equal((await send('a\n1\n', one, '', headers)).status, 201);
  const again = await send('a\n1\n', one, '', headers);
  assert.deepEqual([again.status, again.headers.get('idempotency-replayed')], [201, 'true']);
  const other = await send('a\n1\n', [{ row: 1, column: 'a', value: '3' }], '', headers);
  assert.deepEqual([other.status, other.body.code], [422, 'idempotency-key-reused']);
});

test('an asynchronous load makes the corrections later', async () => {
  const accepted = await send('a\nx\n', [{ row: 1, column: 'a', value: '2' }], '', {
    prefer: 'respond-async',
  });
  assert.equal(accepted.status, 202);
  let load: TestAnswer['body'];
  await until('the end of the load', async () => {
    load = (await service.get(`/api/v1/loads/${accepted.body.id}`)).body;
    return load.ended_at !== null;
  });
  assert.deepEqual(load.answer.body.load.corrected, [
    { cell: 'A2', row: 1, column: 'a', from: 'x', to: '2' },
  ]);
  assert.deepEqual(await content(), [{ a: '2' }]);
});
