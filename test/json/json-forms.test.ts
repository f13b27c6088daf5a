/** The forms of JSON rows: lines, only an array, and an array inside another document. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('t');

const send = (
  name: string,
  type: string,
  body: string | Buffer | ReadableStream,
  query = '',
): Promise<TestAnswer> =>
  service.request('POST', `/table/${name}/upload/json${query}`, { body, headers: { 'content-type': type } });
const sendLines = (name: string, body: string, query = '') => send(name, 'application/x-ndjson', body, query);
const sendJson = (name: string, body: string, query = '') => send(name, 'application/json', body, query);

const at = (pointer: string) => `?rows_at=${encodeURIComponent(pointer)}`;

test('JSON has every content type whose syntax is JSON', async () => {
  const types = [
    'text/json',
    'application/geo+json',
    'application/vnd.api+json',
    'application/hal+json; charset=UTF-8',
  ];
  for (const type of types) {
    const name = nextTable();
    assert.equal((await send(name, type, '{"items":[{"a":1}]}', at('/items'))).status, 201, type);
    const { status, body } = await send(name, type, '[{"a":2}]', '?if_exists=append');
    assert.deepEqual([status, body.load?.format], [200, 'json'], type);
  }
  for (const type of [
    'application/jsonx',
    'application/x+jsonp',
    'application/xml',
    'application/geo+json; charset=utf-16',
  ])
    assertProblem(await send('refused', type, '[{"a":1}]'), 415, 'unsupported-media-type');
});

test('a file of JSON that is packed is unpacked, also without Content-Encoding', async () => {
  for (const pack of [gzipSync, zstdCompressSync]) {
    const name = nextTable();
    const made = await send(name, 'application/x-ndjson', pack(Buffer.from('{"a":1}\n{"a":2}\n')));
    assert.equal(made.body.load?.rows, 2, JSON.stringify(made.body));
    const added = await send(name, 'application/json', pack(Buffer.from('[{"a":3}]')), '?if_exists=append');
    assert.equal(added.body.load?.rows, 1, JSON.stringify(added.body));
    const cut = await send('cut', 'application/json', pack(Buffer.from('[{"a":3}]')).subarray(0, -4));
    assertProblem(cut, 400, 'invalid-content-encoding');
    assert.match(
      cut.body.detail,
      /begins like a file that is packed with (gzip|zstd), and its .* is cut off/,
    );
  }
  const bomb = await send('bomb', 'application/x-ndjson', gzipSync(Buffer.alloc(20_000_000, '\n')));
  assert.match(bomb.body.detail, /The body unpacks to too many times its size.*MAX_UNPACK_RATIO/);
});

suite('one object as a row', () => {
  const event = '{"id":"evt_1","event":{"sku":"00042","price":1.5,"tags":["new"]}}';

  test('an object at the pointer, or the whole document, is one row', async () => {
    const name = nextTable();
    const made = await sendJson(name, event, at('/event'));
    assert.deepEqual([made.status, made.body.load.rows], [201, 1], JSON.stringify(made.body));
    const again = await sendJson(
      name,
      '{"sku":"00043","price":2,"tags":null}',
      '?rows_at=&if_exists=append&on_conflict=fail',
    );
    assert.deepEqual([again.status, again.body.load.rows], [200, 1], JSON.stringify(again.body));
    assert.deepEqual(await service.rows(`SELECT sku, price::text, tags FROM ${name} ORDER BY sku`), [
      { sku: '00042', price: '1.5', tags: ['new'] },
      { sku: '00043', price: '2', tags: null },
    ]);
  });

  test('a row that is read twice, because its table may refuse it, is the same row', async () => {
    const name = nextTable();
    await service.rows(
      `CREATE TABLE ${name} (sku text PRIMARY KEY, price numeric CHECK (price < 2), tags jsonb)`,
    );
    const query = `${at('/event')}&if_exists=append`;
    assert.equal((await sendJson(name, event, query)).status, 200);
    const refused = await sendJson(name, event, query);
    assert.equal(refused.body.errors[0].code, 'not-unique', JSON.stringify(refused.body));
    assert.equal(refused.body.errors[0].pointer, '/event/sku');
    const dear = await sendJson(name, event.replace('1.5', '"x"'), query);
    assert.equal(dear.body.errors[0].pointer, '/event/price');
    const filled = await sendJson(
      name,
      '{"sku":"1","price":1}',
      '?rows_at=&if_exists=append&extra_columns=add',
    );
    assert.equal(filled.status, 200, JSON.stringify(filled.body));
  });

  test('an object that may hold rows or columns is refused with the remedy', async () => {
    for (const body of ['{"a":{"x":1},"b":{"x":2}}', '{"columns":["a"],"index":[0],"data":[[1]]}'])
      assert.match((await sendJson('refused', body, '?rows_at=')).body.detail, /Put the rows into an array/);
  });

  test('an object without rows_at names rows_at as the way to send one row', async () => {
    assert.match((await sendJson('refused', '{"a":1}')).body.detail, /If the body is one row, send rows_at=/);
  });

  test('the inspection shows one row', async () => {
    const answer = await service.request('POST', `${service.url}/api/v1/inspect/json?rows_at=/event`, {
      body: event,
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.data.row_count, 1, JSON.stringify(answer.body));
  });
});

suite('one row on each line', () => {
  test('a body with one row on each line is loaded with inferred types, into a new table and an existing one', async () => {
    for (const type of [
      'application/x-ndjson',
      'application/jsonl',
      'application/ndjson',
      'application/jsonlines',
      'application/x-jsonlines',
      'Application/X-NDJSON; charset=utf-8',
    ]) {
      const name = nextTable();
      const made = await send(
        name,
        type,
        '\uFEFF{"id":1,"at":"2026-11-21"}\r\n\r\n  \n{"id":2,"tags":["a"]}',
      );
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.deepEqual(
        made.body.table.columns.map((column: { name: string; type: string }) => [column.name, column.type]),
        [
          ['id', 'bigint'],
          ['at', 'date'],
          ['tags', 'jsonb'],
        ],
      );
      assert.equal(made.body.load.format, 'ndjson');
      const added = await send(name, type, '{"id":3}\n', '?if_exists=append');
      assert.equal(added.status, 200);
      assert.deepEqual(await service.rows(`SELECT id, tags FROM ${name} ORDER BY id`), [
        { id: '1', tags: null },
        { id: '2', tags: ['a'] },
        { id: '3', tags: null },
      ]);
    }
  });

  test('a body with one row on each line has the line of every problem, also after blank lines, if streamed or kept', async () => {
    const name = nextTable();
    const table = {
      columns: [
        { name: 'id', type: 'int' },
        { name: 'n', type: 'int' },
      ],
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    assert.equal((await service.post(`/table/${name}`, { table })).status, 201);
    const body = '{"id":1}\n\n{"id":2,"n":"x"}\n[1]\n\n\n{"id":3,"id":4}\n';
    for (const query of ['?if_exists=append', '?if_exists=append&extra_columns=add', '?if_exists=truncate']) {
      const problem = assertProblem(await sendLines(name, body, query), 422, 'invalid-data');
      assert.deepEqual(
        problem.errors!.map(({ line, row, column, code, pointer }) => [line, row, column, code, pointer]),
        [
          [3, 3, 'n', 'not-a-whole-number', undefined],
          [4, 4, undefined, 'row-not-an-object', undefined],
          [7, 7, 'id', 'repeated-key', undefined],
        ],
        query,
      );
    }
    const twice = await sendLines(name, '{"id":1}\n\n\n{"id":1}', '?if_exists=append');
    const [problem] = assertProblem(twice, 422, 'invalid-data').errors!;
    assert.deepEqual([problem!.code, problem!.line], ['not-unique', 4]);
  });

  test('a line that is not JSON is named with byte, line and column', async () => {
    const broken = await sendLines(nextTable(), '{"id":1}\n{"id":NaN}\n');
    assert.equal(
      assertProblem(broken, 400, 'invalid-json').detail,
      'Byte 15 (line 2, column 7): NaN is not JSON; send null.',
    );
    const pretty = await sendLines(nextTable(), '{\n  "id": 1\n}\n');
    assert.match(assertProblem(pretty, 400, 'invalid-json').detail, /line 1, column 2.*whole line.*jq/);
  });

  test('a body with one row on each line may not have a definition or rows_at, and may not be empty', async () => {
    const pointer = await sendLines(nextTable(), '{"id":1}', at('/items'));
    const [problem] = assertProblem(pointer, 422, 'invalid-parameter').errors!;
    assert.equal(problem!.parameter, 'rows_at');
    for (const empty of ['', '\n\n'])
      assertProblem(await sendLines(nextTable(), empty), 422, 'nothing-to-load');
    // A line is always a row, whatever its keys are.
    const name = nextTable();
    const loaded = await sendLines(name, '{"table":{"columns":[]},"data":[]}\n');
    assert.deepEqual(
      loaded.body.table.columns.map((column: { name: string }) => column.name),
      ['table', 'data'],
    );
  });

  test('a body with one row on each line is refused in another charset', async () => {
    const answer = await send(nextTable(), 'application/x-ndjson; charset=latin1', '{"id":1}');
    assertProblem(answer, 415, 'unsupported-media-type');
  });
});

test('the body may be the array of rows itself, and pointers begin there', async () => {
  const name = nextTable();
  const loaded = await sendJson(name, ' [ {"id":1}, {"id":2} ] ');
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  assert.equal(loaded.body.load.format, 'json');
  assert.equal(loaded.body.load.rows, 2);
  const refused = await sendJson(name, '[{"id":1},{"id":"x"},3]', '?if_exists=append');
  assert.deepEqual(
    assertProblem(refused, 422, 'invalid-data').errors!.map(({ pointer }) => pointer),
    ['/1/id', '/2'],
  );
  assertProblem(await sendJson(nextTable(), '[]'), 422, 'nothing-to-load');
  assertProblem(await sendJson(nextTable(), '[{"id":1}'), 400, 'invalid-json');
});

suite('rows_at', () => {
  const answer = {
    status: 'ok',
    table: 'orders',
    response: {
      total: 2,
      'a/b~c': {
        items: [
          { id: 1, price: 1.5 },
          { id: 2, price: 2 },
        ],
      },
      next: [{ id: 9 }],
    },
    data: [{ not: 'these' }],
  };
  const path = '/response/a~1b~0c/items';

  test('rows_at loads an array inside a larger document', async () => {
    const name = nextTable();
    const made = await sendJson(name, JSON.stringify(answer), at(path));
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.load.format, 'json');
    assert.deepEqual(await service.rows(`SELECT * FROM ${name} ORDER BY id`), [
      { id: '1', price: '1.5' },
      { id: '2', price: '2' },
    ]);
    const again = await sendJson(
      name,
      JSON.stringify(answer, null, 2),
      `${at('/response/next')}&if_exists=append`,
    );
    assert.equal(again.body.load.rows, 1);
  });

  test('problems have pointers into the document', async () => {
    const name = nextTable();
    assert.equal((await sendJson(name, JSON.stringify(answer), at(path))).status, 201);
    const wrong = JSON.stringify(answer).replace('"price":2', '"price":"x"');
    for (const query of ['&if_exists=append', '&if_exists=truncate']) {
      const [problem] = assertProblem(await sendJson(name, wrong, at(path) + query), 422, 'invalid-data')
        .errors!;
      assert.deepEqual([problem!.pointer, problem!.row], [`${path}/1/price`, 2]);
    }
  });

  test('rows_at accepts a definition before or after the rows', async () => {
    const table = { columns: [{ name: 'id', type: 'smallint' }] };
    for (const body of [
      { table, answer: { rows: [{ id: 1 }] } },
      { answer: { rows: [{ id: 1 }] }, table },
      { x: [{ id: 'no' }], answer: { more: { table: 1 }, rows: [{ id: 1 }], y: {} }, table },
    ]) {
      const made = await sendJson(nextTable(), JSON.stringify(body), at('/answer/rows'));
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.equal(made.body.table.columns[0].type, 'smallint');
    }
  });

  test('an empty pointer is the whole document', async () => {
    assert.equal((await sendJson(nextTable(), '[{"id":1}]', '?rows_at=')).status, 201);
    assertProblem(await sendJson(nextTable(), '{"data":[{"id":1}]}', '?rows_at='), 422, 'invalid-parameter');
  });

  test('rows_at refuses a missing place, a value that is not an array, and an invalid pointer, and says what is there', async () => {
    const cases: [string, RegExp][] = [
      ['/response/items', /The value at \/response is an object with the members "total", "a\/b~c", "next"/],
      ['/status', /The value at \/status is a string/],
      ['/response/total/x', /The value at \/response\/total is a number/],
      ['/data/items', /is an array; its elements have numbers, as in \/data\/0/],
      ['response.items', /not a JSON Pointer: .* begins with "\/"/],
      ['$.response', /not a JSON Pointer/],
      ['/a~b', /~0 \(for "~"\)/],
    ];
    for (const [pointer, detail] of cases) {
      const name = nextTable();
      const refused = await sendJson(name, JSON.stringify(answer), at(pointer));
      const problem = assertProblem(refused, 422, 'invalid-parameter');
      assert.match(problem.detail, detail);
      assert.equal(problem.errors![0]!.parameter, 'rows_at');
      assert.deepEqual(await service.rows('SELECT to_regclass($1) AS found', [name]), [{ found: null }]);
    }
  });

  test('rows_at is named in the error for a document that needs it', async () => {
    const refused = await sendJson(nextTable(), JSON.stringify({ items: [{ id: 1 }] }));
    assert.match(assertProblem(refused, 422, 'invalid-data').detail, /\?rows_at=\/items/);
  });

  test('rows_at ignores a large document around the rows, which is neither kept nor limited', async () => {
    const name = nextTable();
    const filler = JSON.stringify(Array.from({ length: 1000 }, (_, n) => ({ n, text: 'x'.repeat(1000) })));
    const pieces = ['{"before":['];
    for (let n = 0; n < 8; n++) pieces.push(filler, ',');
    pieces.push('0],"rows":[{"id":1},{"id":"two"}],"after":', filler, '}');
    const loaded = await sendJson(name, pieces.join(''), at('/rows'));
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    assert.deepEqual(await service.rows(`SELECT id FROM ${name}`), [{ id: '1' }, { id: 'two' }]);
  });
});
