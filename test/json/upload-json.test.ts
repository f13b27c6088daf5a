/** Upload Table From Json, over HTTP: the accepted bodies, the resulting table, and every possible error. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { assertProblem, places } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { assertNoTable, rowsOf, tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE SCHEMA sales');
});
after(() => service.stop());

/** The name of a table that each upload of a test gets for itself. */
const nextTable = tableNames('t');

const upload = (name: string, body: unknown, query = ''): Promise<TestAnswer> =>
  service.post(`/table/${name}/upload/json${query}`, body);

/** Sends a body as text, because JSON.stringify cannot write it. */
const uploadText = (name: string, text: string, query = ''): Promise<TestAnswer> =>
  service.request('POST', `/table/${name}/upload/json${query}`, {
    body: text,
    headers: { 'content-type': 'application/json' },
  });

suite('an upload without a definition', () => {
  const body = {
    data: [
      { sku: '00042', name: 'Möhre', price: 1.1, stock: 3, active: true, added: '2026-11-21' },
      { sku: '00043', name: null, price: 20, stock: null, active: false, added: '2026-11-22', tags: ['a'] },
    ],
  };

  test('an upload without a definition creates a table that fits all rows', async () => {
    const name = nextTable();
    const answer = await upload(name, body);
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get('location'), `/api/v1/table/${name}?schema=public`);
    const column = (id: number, name: string, type: string) => ({
      id,
      name,
      type,
      is_nullable: true,
      default: null,
    });
    assert.deepEqual(answer.body.table, {
      name,
      schema: 'public',
      columns: [
        column(1, 'sku', 'text'),
        column(2, 'name', 'text'),
        column(3, 'price', 'numeric'),
        column(4, 'stock', 'bigint'),
        column(5, 'active', 'boolean'),
        column(6, 'added', 'date'),
        column(7, 'tags', 'jsonb'),
      ],
      constraints: { unique: [], primary_key: { name: '', columns: [] }, foreign_keys: [] },
    });
    const { duration_ms: durationMs, id: _, ...load } = answer.body.load;
    assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
    const counts = { rows: 2, skipped: 0, updated: 0, inserted: 2, changed: 0, unchanged: 0 };
    assert.deepEqual(load, { ...counts, format: 'json', warnings: [] });
    assert.deepEqual(
      await service.rows(`SELECT sku, name, price, stock, active, added::text, tags FROM ${name}`),
      [
        {
          sku: '00042',
          name: 'Möhre',
          price: '1.1',
          stock: '3',
          active: true,
          added: '2026-11-21',
          tags: null,
        },
        {
          sku: '00043',
          name: null,
          price: '20',
          stock: null,
          active: false,
          added: '2026-11-22',
          tags: ['a'],
        },
      ],
    );
  });

  test('the answer to an upload without a definition has a description that creates an equal table', async () => {
    const name = nextTable();
    const { table } = (await upload(name, body)).body;
    const again = await service.post(`/table/${name}?schema=sales`, { table });
    assert.equal(again.status, 201);
    assert.deepEqual(again.body.table, { ...table, schema: 'sales' });
    await service.rows(`DROP TABLE ${name}`);
    const withRows = await upload(name, { table, ...body });
    assert.deepEqual(withRows.body.table, table);
  });

  test('an upload without a definition creates the table in the schema of the query', async () => {
    const name = nextTable();
    const answer = await upload(name, body, '?schema=sales');
    assert.equal(answer.status, 201);
    assert.equal(answer.body.table.schema, 'sales');
    assert.equal((await rowsOf(service, `sales.${name}`)).length, 2);
    await assertNoTable(service, name);
  });

  for (const [title, nothing] of Object.entries({
    'an empty object': {},
    'data empty': { data: [] },
    'data null': { data: null },
    'table null': { table: null },
    'both null': { table: null, data: null },
    'rows without a key': { data: [{}, {}] },
  })) {
    test(`an upload without anything to load is refused: ${title}`, async () => {
      const name = nextTable();
      assertProblem(await upload(name, nothing), 422, 'nothing-to-load');
      await assertNoTable(service, name);
    });
  }

  test('an upload without a definition that has only rows with problems is refused with these problems', async () => {
    const name = nextTable();
    const data = [...new Array(150).fill([1]), {}];
    const { errors, error_count: count } = assertProblem(await upload(name, { data }), 422, 'invalid-data');
    assert.equal(count, 150);
    assert.equal(errors.length, 100);
    assert.deepEqual(
      [errors[0]!.pointer, errors[0]!.row, errors[0]!.value, errors[0]!.code],
      ['/data/0', 1, '[1]', 'row-not-an-object'],
    );
  });
});

suite('an upload with a definition', () => {
  const table = {
    columns: columns(
      ['id', 'bigserial', { is_nullable: false }],
      ['name', 'varchar(5)', { is_nullable: false }],
    ),
    constraints: {
      primary_key: { name: '', columns: ['id'] },
      unique: [{ name: '', columns: ['name'] }],
    },
  };
  const data = [{ name: 'a' }, { name: 'b' }];

  for (const [title, body] of Object.entries({
    'before the rows': { table, data },
    'after the rows': { data, table },
  })) {
    test(`${title} creates that table`, async () => {
      const name = nextTable();
      const answer = await upload(name, body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(answer.body.table.columns, [
        { id: 1, name: 'id', type: 'bigserial', is_nullable: false, default: null },
        { id: 2, name: 'name', type: 'character varying(5)', is_nullable: false, default: null },
      ]);
      assert.deepEqual(answer.body.table.constraints, {
        unique: [{ name: `${name}_name_key`, columns: ['name'] }],
        primary_key: { name: `${name}_pkey`, columns: ['id'] },
        foreign_keys: [],
      });
      assert.equal(answer.body.load.rows, 2);
      assert.deepEqual(await rowsOf(service, name), [
        { id: '1', name: 'a' },
        { id: '2', name: 'b' },
      ]);
      const created = await service.post(`/table/${name}?schema=sales`, { table: answer.body.table });
      assert.deepEqual(created.body.table, { ...answer.body.table, schema: 'sales' });
    });
  }

  for (const [title, body] of Object.entries({
    'without data': { table },
    'with data empty': { table, data: [] },
    'with data null': { table, data: null },
  })) {
    test(`${title} creates an empty table`, async () => {
      const name = nextTable();
      const answer = await upload(name, body);
      assert.equal(answer.status, 201);
      assert.equal(answer.body.load.rows, 0);
      assert.deepEqual(await rowsOf(service, name), []);
    });
  }

  test('an upload with a definition that is invalid gets the errors of Create Table, wherever it is in the body', async () => {
    for (const body of [
      { table: { columns: [{ name: 'a', type: 'nonesuch' }] }, data },
      { data, table: { columns: [{ name: 'a', type: 'nonesuch' }] } },
    ]) {
      const { errors } = assertProblem(await upload('wrong', body), 422, 'invalid-definition');
      assert.deepEqual(
        errors.map((error) => error.pointer),
        ['/table/columns/0/type'],
      );
    }
    await assertNoTable(service, 'wrong');
  });

  test('an upload with a definition whose table is not an object is refused', async () => {
    assertProblem(await upload('wrong', { table: [], data }), 422, 'invalid-definition');
    assertProblem(await upload('wrong', { table: 'x', data }), 422, 'invalid-definition');
  });
});

suite('a body that is almost JSON', () => {
  for (const [word, remedy] of Object.entries({
    NaN: 'null',
    nan: 'null',
    Infinity: 'null',
    '-Infinity': 'null',
    undefined: 'null',
    None: 'null',
    True: 'true',
    FALSE: 'false',
  })) {
    test(`${word} is refused, and the answer says to send ${remedy}`, async () => {
      for (const [text, place] of [
        [`{"data": [{"a": 1}, {"a": ${word}}]}`, 'row 2'],
        [`{"data": [{"a": 1}, {"a": [1, ${word}, 2]}]}`, 'row 2'],
      ] as const) {
        const { detail } = assertProblem(await uploadText('wrong', text), 400, 'invalid-json');
        assert.match(detail, /^Byte \d+ \(line 1, column \d+; /);
        assert.ok(detail.endsWith(`${place}): ${word} is not JSON; send ${remedy}.`), detail);
      }
    });
  }

  test('other words are refused with the position of their first wrong byte', async () => {
    for (const word of ['Nano', 'nul', 'truth', 'x', '-x', 'None1']) {
      const answer = await uploadText('wrong', `{"data": [{"a": ${word}}]}`);
      assert.match(assertProblem(answer, 400, 'invalid-json').detail, /: expected .*, found .*\.$/);
    }
  });

  test('other almost valid JSON is refused with its place and with what to send', async () => {
    const cases: [text: string, detail: string][] = [
      [
        '{"data": [{None: 1}]}',
        'Byte 11 (line 1, column 12; row 1): JSON has keys in double quotes; send "None".',
      ],
      [
        "{'data': []}",
        'Byte 1 (line 1, column 2): JSON has keys in double quotes, not in single quotes; send "…" (in Python, write it with json.dumps).',
      ],
      [
        '{"data": [\n  {"name":\n    \'x\'}]}',
        'Byte 26 (line 3, column 5; row 1): JSON has strings in double quotes, not in single quotes; send "…" (in Python, write it with json.dumps).',
      ],
      [
        '{"data": [{"ä": “x”}]}',
        'Byte 17 (line 1, column 17; row 1): a typographic quotation mark does not begin a JSON string; send "…".',
      ],
      [
        '{"data": [\n  {"a": 1,\n  },\n]}',
        'Byte 24 (line 3, column 3; row 1): JSON has no comma before }; remove the comma.',
      ],
      [
        '{"data": [{"a": [1, 2,]}]}',
        'Byte 22 (line 1, column 23; row 1): JSON has no comma before ]; remove the comma.',
      ],
      [
        '{"data": [{"a": 1},]}',
        'Byte 19 (line 1, column 20; row 2): JSON has no comma before ]; remove the comma.',
      ],
      ['{"data": [],}', 'Byte 12 (line 1, column 13): JSON has no comma before }; remove the comma.'],
      ['// rows\n{"data": []}', 'Byte 0 (line 1, column 1): JSON has no comments; remove the comment.'],
      [
        '{"data": [ /* none */ ]}',
        'Byte 11 (line 1, column 12; row 1): JSON has no comments; remove the comment.',
      ],
      [
        '{"data": [{"a": 1} # one\n]}',
        'Byte 19 (line 1, column 20; row 1): JSON has no comments; remove the comment.',
      ],
      ['{"data": []} // end', 'Byte 13 (line 1, column 14): JSON has no comments; remove the comment.'],
      [
        '{"data": [{"a": .5}]}',
        'Byte 16 (line 1, column 17; row 1): a JSON number has a digit before the point; send 0.5, not .5.',
      ],
      [
        '{"data": [{"a": +5}]}',
        'Byte 16 (line 1, column 17; row 1): a JSON number has no plus sign; leave it out.',
      ],
      [
        '{"data": [{"zip": 01067}]}',
        'Byte 19 (line 1, column 20; row 1): a JSON number does not begin with 0; send the digits as a string if the zeros matter.',
      ],
      [
        '{"data": [{"a": 0xFF}]}',
        'Byte 17 (line 1, column 18; row 1): JSON numbers are decimal; send the number in decimal digits, or as a string.',
      ],
      ['[{"a": 1_000}]', 'Byte 8 (line 1, column 9; row 1): a JSON number has no "_"; leave it out.'],
    ];
    for (const [text, expected] of cases) {
      const { detail } = assertProblem(await uploadText('wrong', text), 400, 'invalid-json');
      assert.ok(detail.startsWith(expected), `${text}\n${detail}\n${expected}`);
    }
  });

  test('UTF-16 is named when it is refused, with and without a byte order mark', async () => {
    const texts = ['{"data": [{"a": 1}]}', '[{"a": 1}]', '\n {"table": {}}'];
    const bodies = texts
      .flatMap((text) => [text, `\ufeff${text}`])
      .map((text) => Buffer.from(text, 'utf16le'));
    for (const body of [...bodies, ...bodies.map((body) => Buffer.from(body).swap16())]) {
      for (const path of ['/table/wrong/upload/json', '/table/wrong']) {
        const answer = await service.request('POST', path, {
          body,
          headers: { 'content-type': 'application/json' },
        });
        const { detail } = assertProblem(answer, 400, 'invalid-json');
        assert.equal(detail, 'The body is UTF-16; send UTF-8.');
      }
    }
    const binary = await service.request('POST', '/table/wrong/upload/json', {
      body: Buffer.from([0, 0, 0, 1]),
      headers: { 'content-type': 'application/json' },
    });
    assert.match(
      assertProblem(binary, 400, 'invalid-json').detail,
      /^Byte 0 .*: expected a value, found 0x00/,
    );
  });
});

suite('values', () => {
  test('numbers keep every digit', async () => {
    const name = nextTable();
    const table = { columns: columns(['n', 'numeric'], ['i', 'bigint'], ['d', 'double precision']) };
    const answer = await uploadText(
      name,
      `{"table": ${JSON.stringify(table)}, "data": [
        {"n": 12345678901234567890.12, "i": 9007199254740993, "d": 0.1},
        {"n": 1e30, "i": -9223372036854775808, "d": 1.7976931348623157e308},
        {"n": "0.10", "i": "7", "d": "-0"}]}`,
    );
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows(`SELECT n::text, i::text, d::text FROM ${name}`), [
      { n: '12345678901234567890.12', i: '9007199254740993', d: '0.1' },
      { n: '1000000000000000000000000000000', i: '-9223372036854775808', d: '1.7976931348623157e+308' },
      { n: '0.10', i: '7', d: '-0' },
    ]);
  });

  test('numbers keep every digit without a definition', async () => {
    const name = nextTable();
    const answer = await uploadText(
      name,
      '{"data":[{"n":12345678901234567890.12,"i":9007199254740993,"big":12345678901234567890}]}',
    );
    assert.equal(answer.status, 201);
    assert.deepEqual(await service.rows(`SELECT n::text, i::text, big::text FROM ${name}`), [
      { n: '12345678901234567890.12', i: '9007199254740993', big: '12345678901234567890' },
    ]);
  });

  test('values are stored in the types of their columns', async () => {
    const name = nextTable();
    const table = {
      columns: columns(
        ['t', 'text'],
        ['b', 'boolean'],
        ['j', 'jsonb'],
        ['a', 'integer[]'],
        ['u', 'uuid'],
        ['ts', 'timestamptz'],
        ['y', 'bytea'],
      ),
    };
    const row = {
      t: 'line\n"quote" \\ \u0001 🙂',
      b: true,
      j: { deep: [1, { x: null }] },
      a: [1, null, 3],
      u: '0192F7A8-0000-7000-8000-000000000001',
      ts: '2026-02-03T04:05:06+02:00',
      y: '\\xDEADBEEF',
    };
    const answer = await upload(name, { table, data: [row] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [found] = await rowsOf(service, name);
    assert.deepEqual(found, {
      ...row,
      u: row.u.toLowerCase(),
      ts: new Date('2026-02-03T02:05:06Z'),
      y: Buffer.from('deadbeef', 'hex'),
    });
  });

  test('the keys of a row may be in any order', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'integer'], ['b', 'text'], ['c', 'boolean']) };
    const data = [
      { a: 1, b: 'x', c: true },
      { c: false, b: 'y', a: 2 },
      { b: 'z', a: 3, c: true },
      { a: 4, c: false },
      { c: true, b: 'v' },
    ];
    assert.equal((await upload(name, { table, data })).status, 201);
    assert.deepEqual(await service.rows(`SELECT * FROM ${name} ORDER BY ctid`), [
      { a: 1, b: 'x', c: true },
      { a: 2, b: 'y', c: false },
      { a: 3, b: 'z', c: true },
      { a: 4, b: null, c: false },
      { a: null, b: 'v', c: true },
    ]);
  });

  test('column names are used exactly as written', async () => {
    const name = nextTable();
    const row = {
      'Ünï "q"': 1,
      select: 2,
      'a.b': 3,
      A: 4,
      a: 5,
      '': undefined,
      __proto__x: 6,
      constructor: 7,
    };
    const answer = await upload(name, { data: [row] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [found] = await service.rows(`SELECT to_jsonb(t) AS row FROM ${name} t`);
    assert.deepEqual(found!.row, JSON.parse(JSON.stringify(row)));
  });
});

suite('missing keys and null', () => {
  test('a missing key gets the constant default, and null is NULL', async () => {
    const name = nextTable();
    const table = {
      columns: columns(
        ['n', 'integer'],
        ['status', 'text', { default: 'pending' }],
        ['price', 'numeric(6,2)', { default: '1.5', is_nullable: false }],
        ['at', 'timestamptz', { default: 'now()' }],
      ),
    };
    const data = [
      { n: 1 },
      { n: 2, status: null, at: null },
      { n: 3, status: 'x', price: 2 },
      { price: 3, n: 4 },
    ];
    const answer = await upload(name, { table, data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const found = await service.rows(
      `SELECT n, status, price, at IS NOT NULL AND at = max(at) OVER () AS is_now FROM ${name} ORDER BY n`,
    );
    assert.deepEqual(found, [
      { n: 1, status: 'pending', price: '1.50', is_now: true },
      { n: 2, status: null, price: '1.50', is_now: false },
      { n: 3, status: 'x', price: '2.00', is_now: true },
      { n: 4, status: 'pending', price: '3.00', is_now: true },
    ]);
    assert.deepEqual(await service.rows(`SELECT count(DISTINCT at)::int AS moments FROM ${name}`), [
      { moments: 1 },
    ]);
  });

  test('volatile defaults are evaluated for each row, also if rows have different keys in turn', async () => {
    const name = nextTable();
    const table = {
      columns: columns(
        ['id', 'serial'],
        ['key', 'uuid', { default: 'gen_random_uuid()', is_nullable: false }],
        ['n', 'integer'],
      ),
      constraints: { primary_key: { name: '', columns: ['id'] }, unique: [{ name: '', columns: ['key'] }] },
    };
    const count = 3000;
    const data = Array.from({ length: count }, (_, n) =>
      n % 3 === 0
        ? { n }
        : n % 3 === 1
          ? { n, id: 100_000 + n }
          : { key: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`, n },
    );
    const answer = await upload(name, { table, data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, count);
    const [found] = await service.rows(`
      SELECT count(*)::int AS rows, count(DISTINCT n)::int AS numbers, count(DISTINCT key)::int AS keys,
        count(*) FILTER (WHERE id = 100000 + n)::int AS ids_given,
        count(*) FILTER (WHERE key::text LIKE '00000000-0000-0000-0000-%' AND right(key::text, 12)::int = n)::int AS keys_given,
        count(*) FILTER (WHERE id BETWEEN 1 AND 2000)::int AS ids_made
      FROM ${name}`);
    assert.deepEqual(found, {
      rows: 3000,
      numbers: 3000,
      keys: 3000,
      ids_given: 1000,
      keys_given: 1000,
      ids_made: 2000,
    });
  });

  test('generated numbers follow the order of the rows, also if rows have different keys', async () => {
    const name = nextTable();
    const table = { columns: columns(['id', 'serial'], ['n', 'integer'], ['a', 'text'], ['b', 'text']) };
    const count = 60_000;
    const data = Array.from({ length: count }, (_, n) => ({
      n,
      ...(n % 3 === 1 && { a: 'x'.repeat(50) }),
      ...(n > 40_000 && { b: 'y' }),
    }));
    const answer = await upload(name, { table, data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const [found] = await service.rows(
      `SELECT count(*)::int AS rows, count(*) FILTER (WHERE id = n + 1)::int AS in_order, count(a)::int AS a, count(b)::int AS b FROM ${name}`,
    );
    assert.deepEqual(found, { rows: count, in_order: count, a: count / 3, b: count - 40_001 });
  });

  test('generated numbers continue after the numbers that rows send', async () => {
    const name = '"Number ""it"""';
    const encoded = encodeURIComponent('Number "it"');
    const table = {
      columns: columns(['The id', 'bigserial'], ['low', 'serial'], ['n', 'integer']),
      constraints: { primary_key: { name: '', columns: ['The id'] } },
    };
    const data = [{ n: 1 }, { n: 2, 'The id': 41, low: -5 }, { n: 3, 'The id': 40, low: -6 }, { n: 4 }];
    assert.equal((await upload(encoded, { table, data })).status, 201);
    const more = await upload(encoded, { data: [{ n: 5 }] }, '?if_exists=append');
    assert.equal(more.status, 200, JSON.stringify(more.body));
    assert.deepEqual(await service.rows(`SELECT "The id"::int AS id, low, n FROM ${name} ORDER BY n`), [
      { id: 1, low: 1, n: 1 },
      { id: 41, low: -5, n: 2 },
      { id: 40, low: -6, n: 3 },
      { id: 2, low: 2, n: 4 },
      { id: 42, low: 3, n: 5 },
    ]);
  });

  test('rows with only ignored columns are loaded if other rows have columns of the table', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'text', { default: 'x' }]) };
    const answer = await upload(
      name,
      { table, data: [{ b: 1 }, { c: 2 }, {}, { a: 'y' }] },
      '?extra_columns=ignore',
    );
    assert.equal(answer.body.load.rows, 4);
    assert.deepEqual(await rowsOf(service, name), [{ a: 'x' }, { a: 'x' }, { a: 'x' }, { a: 'y' }]);
  });

  test('data without any column of the table is refused', async () => {
    const name = nextTable();
    await service.rows(`CREATE TABLE ${name} (a text); INSERT INTO ${name} VALUES ('old')`);
    const data = [{ A: 'x' }, { b: 1 }, {}];
    for (const mode of ['append', 'truncate', 'replace']) {
      const table = mode === 'replace' ? { columns: columns(['a', 'text']) } : undefined;
      const answer = await upload(name, { table, data }, `?if_exists=${mode}&extra_columns=ignore`);
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.deepEqual(errors, [
        {
          column: 'A',
          code: 'no-column-in-common',
          detail: 'The table has none of the columns of the data ("A", "b"); its columns are "a".',
        },
      ]);
    }
    assert.deepEqual(await rowsOf(service, name), [{ a: 'old' }]);
    const answer = await upload(name, { data: [{}, {}] }, '?if_exists=append&extra_columns=ignore');
    assert.equal(answer.body.load.rows, 2, 'rows without any column are meant so');
  });

  test('a missing key of a domain column gets the default of the domain', async () => {
    await service.rows("CREATE DOMAIN shade AS text DEFAULT 'grey'");
    const name = nextTable();
    const table = { columns: columns(['n', 'integer'], ['shade', 'shade']) };
    const answer = await upload(name, { table, data: [{ n: 1 }, { n: 2, shade: 'red' }, { n: 3 }] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(service, name), [
      { n: 1, shade: 'grey' },
      { n: 2, shade: 'red' },
      { n: 3, shade: 'grey' },
    ]);
  });

  test('rows without keys are loaded into a table with only volatile defaults', async () => {
    const name = nextTable();
    const table = { columns: columns(['id', 'serial']) };
    const answer = await upload(name, { table, data: [{}, {}] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(service, name), [{ id: 1 }, { id: 2 }]);
  });

  test('rows without any key get all defaults', async () => {
    const name = nextTable();
    const table = { columns: columns(['id', 'serial'], ['a', 'text', { default: 'x' }]) };
    const answer = await upload(name, { table, data: [{}, {}, { a: 'y' }, {}] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(
      await service.rows(`SELECT * FROM ${name} ORDER BY id`).then((rows) => rows.map((row) => row.id)),
      [1, 2, 3, 4],
    );
    assert.deepEqual(await service.rows(`SELECT a, count(*)::int FROM ${name} GROUP BY a ORDER BY a`), [
      { a: 'x', count: 3 },
      { a: 'y', count: 1 },
    ]);
  });
});

suite('if_exists', () => {
  const first = { data: [{ a: 1, b: 'one' }] };
  const second = { data: [{ b: 'two', a: 2 }] };
  const filled = async () => {
    const name = nextTable();
    assert.equal((await upload(name, first)).status, 201);
    return name;
  };

  for (const query of ['', '?if_exists=fail']) {
    test(`if_exists=fail (${query || 'by default'}) answers 409, and the rows are unchanged`, async () => {
      const name = await filled();
      assertProblem(await upload(name, second, query), 409, 'table-exists');
      assert.deepEqual(await rowsOf(service, name), [{ a: '1', b: 'one' }]);
    });
  }

  test('if_exists=append adds the rows', async () => {
    const name = await filled();
    const answer = await upload(name, second, '?if_exists=append');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('location'), null);
    assert.equal(answer.body.load.rows, 1);
    assert.deepEqual(answer.body.table, (await service.get(`/table/${name}`)).body.table);
    assert.deepEqual(await rowsOf(service, name), [
      { a: '1', b: 'one' },
      { a: '2', b: 'two' },
    ]);
  });

  test('truncate replaces the rows and keeps the table', async () => {
    const name = await filled();
    await service.rows(`CREATE VIEW ${name}_view AS SELECT * FROM ${name}`);
    const before = await service.rows('SELECT to_regclass($1)::oid AS oid', [name]);
    const answer = await upload(name, second, '?if_exists=truncate');
    assert.equal(answer.status, 200);
    assert.deepEqual(await rowsOf(service, `${name}_view`), [{ a: '2', b: 'two' }]);
    assert.deepEqual(await service.rows('SELECT to_regclass($1)::oid AS oid', [name]), before);
  });

  test('truncate without rows empties the table', async () => {
    const name = await filled();
    const { body: described } = await service.get(`/table/${name}`);
    const answer = await upload(name, { table: described.table, data: [] }, '?if_exists=truncate');
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, 0);
    assert.deepEqual(await rowsOf(service, name), []);
  });

  test('truncate with a problem keeps the old rows', async () => {
    const name = await filled();
    assertProblem(await upload(name, { data: [{ a: 'x' }] }, '?if_exists=truncate'), 422, 'invalid-data');
    assert.deepEqual(await rowsOf(service, name), [{ a: '1', b: 'one' }]);
  });

  test('if_exists=replace creates another table in the place of the old one', async () => {
    const name = await filled();
    const answer = await upload(name, { data: [{ c: true }] }, '?if_exists=replace');
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get('location'), `/api/v1/table/${name}?schema=public`);
    assert.deepEqual(
      answer.body.table.columns.map((column: { name: string }) => column.name),
      ['c'],
    );
    assert.deepEqual(await rowsOf(service, name), [{ c: true }]);
  });

  for (const value of ['append', 'truncate', 'replace']) {
    test(`${value} creates a table that does not exist`, async () => {
      const name = nextTable();
      const answer = await upload(name, first, `?if_exists=${value}`);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.equal(answer.headers.get('location'), `/api/v1/table/${name}?schema=public`);
      assert.deepEqual(await rowsOf(service, name), [{ a: '1', b: 'one' }]);
    });
  }

  for (const value of ['append', 'truncate']) {
    test(`${value} with the same definition loads, and with another definition is refused`, async () => {
      const name = await filled();
      const agreeing = { columns: columns(['a', 'bigint'], ['b', 'text']) };
      const answer = await upload(name, { table: agreeing, ...second }, `?if_exists=${value}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const other = { columns: columns(['a', 'date'], ['c', 'text']) };
      const { errors } = assertProblem(
        await upload(name, { table: other, data: [{}] }, `?if_exists=${value}`),
        422,
        'invalid-definition',
      );
      assert.deepEqual(
        errors.map((error) => error.pointer),
        ['/table/columns/0/type', '/table/columns/1/name'],
      );
      assert.equal((await rowsOf(service, name)).length, value === 'append' ? 2 : 1);
    });
  }

  test('the name of a view is refused', async () => {
    await service.rows('CREATE VIEW in_the_way AS SELECT 1 AS a');
    for (const value of ['fail', 'append', 'truncate', 'replace']) {
      assertProblem(await upload('in_the_way', first, `?if_exists=${value}`), 409, 'table-exists');
    }
  });

  test('a schema that does not exist is reported before any other error', async () => {
    for (const value of ['fail', 'append', 'replace']) {
      const answer = await upload('x', first, `?schema=nowhere&if_exists=${value}`);
      assertProblem(answer, 404, 'schema-not-found');
    }
  });
});

suite('extra_columns', () => {
  const table = { columns: columns(['a', 'integer']) };
  const data = [
    { a: 1, b: 'x' },
    { a: 2, c: 2.5, b: 'y' },
  ];

  test('extra_columns=fail names every extra column', async () => {
    const name = nextTable();
    for (const query of ['', '?extra_columns=fail']) {
      const { errors, error_count: count } = assertProblem(
        await upload(name, { table, data }, query),
        422,
        'invalid-data',
      );
      assert.deepEqual(
        errors.map(({ column, code, pointer }) => ({ column, code, pointer })),
        [
          { column: 'b', code: 'unknown-column', pointer: '/data/0/b' },
          { column: 'c', code: 'unknown-column', pointer: '/data/1/c' },
        ],
      );
      assert.equal(count, 2);
    }
    await assertNoTable(service, name);
  });

  test('extra_columns=ignore leaves extra columns out, with a warning', async () => {
    const name = nextTable();
    const answer = await upload(name, { table, data }, '?extra_columns=ignore');
    assert.equal(answer.status, 201);
    assert.deepEqual(await rowsOf(service, name), [{ a: 1 }, { a: 2 }]);
    assert.deepEqual(
      answer.body.load.warnings.map(({ code, column }: { code: string; column: string }) => [code, column]),
      [
        ['ignored-column', 'b'],
        ['ignored-column', 'c'],
      ],
    );
  });

  test('add creates extra columns in a new table', async () => {
    for (const body of [
      { table, data },
      { data, table },
    ]) {
      const name = nextTable();
      const answer = await upload(name, body, '?extra_columns=add');
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(
        answer.body.table.columns.map((column: { name: string; type: string }) => [column.name, column.type]),
        [
          ['a', 'integer'],
          ['b', 'text'],
          ['c', 'numeric'],
        ],
      );
      assert.deepEqual(await rowsOf(service, name), [
        { a: 1, b: 'x', c: null },
        { a: 2, b: 'y', c: '2.5' },
      ]);
    }
  });

  test('add creates extra columns in an existing table, and a refused upload leaves none', async () => {
    const name = nextTable();
    await upload(name, { table, data: [{ a: 0 }] });
    const query = '?if_exists=append&extra_columns=add';
    assertProblem(await upload(name, { data: [{ a: 'x', b: 1 }] }, query), 422, 'invalid-data');
    assert.deepEqual(await rowsOf(service, name), [{ a: 0 }]);
    const answer = await upload(name, { data }, query);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual(await rowsOf(service, name), [
      { a: 0, b: null, c: null },
      { a: 1, b: 'x', c: null },
      { a: 2, b: 'y', c: '2.5' },
    ]);
  });
});

suite('dry_run', () => {
  test('a dry run answers what would have happened and changes nothing', async () => {
    const name = nextTable();
    const answer = await upload(name, { data: [{ a: 1 }] }, '?dry_run=true');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('location'), null);
    assert.equal(answer.body.load.dry_run, true);
    assert.equal(answer.body.load.rows, 1);
    assert.equal(answer.body.table.name, name);
    assert.deepEqual(
      answer.body.table.columns.map((column: { name: string }) => column.name),
      ['a'],
    );
    await assertNoTable(service, name);
  });

  for (const value of ['append', 'truncate', 'replace']) {
    test(`a dry run does not change an existing table (${value})`, async () => {
      const name = nextTable();
      await upload(name, { data: [{ a: 1 }] });
      const answer = await upload(name, { data: [{ a: 2 }] }, `?dry_run=true&if_exists=${value}`);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.deepEqual(await rowsOf(service, name), [{ a: '1' }]);
    });
  }

  test('a dry run reports the problems', async () => {
    const table = { columns: columns(['a', 'integer']) };
    assertProblem(
      await upload(nextTable(), { table, data: [{ a: 'x' }] }, '?dry_run=true'),
      422,
      'invalid-data',
    );
  });
});

suite('problems in the data', () => {
  before(async () => {
    await service.rows('CREATE DOMAIN positive AS integer CHECK (value > 0)');
    await service.rows('CREATE TABLE countries (code text PRIMARY KEY)');
    await service.rows("INSERT INTO countries VALUES ('de'), ('fr')");
  });

  test('the problems of references to the same table consider the rows of the upload', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer'], ['parent', 'integer'], ['d', 'positive']),
      constraints: {
        primary_key: { name: '', columns: ['id'] },
        foreign_keys: [{ name: '', column: 'parent', reference_table: name, reference_column: 'id' }],
      },
    };
    const old = {
      table,
      data: [
        { id: 1, d: 1 },
        { id: 2, d: 1 },
      ],
    };
    assert.equal((await upload(name, old)).status, 201);
    const row = (id: number, parent: number | null, d = 1) => ({ id, parent, d });
    for (const [data, expected] of [
      [[row(11, 12), row(12, null), row(13, 1)], ['3 no-such-reference']],
      [[row(1, 2), row(2, null), row(3, null, -1)], ['3 check-violation']],
    ] as const) {
      const answer = await upload(name, { table, data }, '?if_exists=replace');
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.deepEqual(
        errors.map((error) => `${error.row} ${error.code}`),
        expected,
      );
    }
  });

  test('the problem of a missing value says how to send no value', async () => {
    const table = {
      columns: columns(['day', 'date'], ['state', 'text', { is_nullable: false, default: 'new' }]),
    };
    const answer = await upload(nextTable(), { table, data: [{ day: '', state: null }] });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors.map(({ column, value, detail }) => [column, value, detail]),
      [
        ['day', '', 'not a date: expected YYYY-MM-DD; if there is no value, send null or leave the key out'],
        ['state', undefined, 'a value is needed here; to get the default, leave the key out'],
      ],
    );
  });

  test('problems of conversion, NULL, length and range are in one answer, each with its place and value', async () => {
    const name = nextTable();
    const table = {
      columns: columns(
        ['id', 'smallint', { is_nullable: false }],
        ['name', 'varchar(3)'],
        ['day', 'date'],
        ['ok', 'boolean'],
        ['price', 'numeric(4,1)'],
        ['a/b~c', 'uuid'],
      ),
    };
    const data = [
      { id: 1, name: 'abc', day: '2026-01-31', ok: true, price: 1, 'a/b~c': null },
      { id: 'one', name: 'abcd', day: '31.01.2026', ok: 'maybe', price: 1000, 'a/b~c': 'x' },
      { id: null, name: 'a', day: '2026-02-30', ok: true, price: 'NaNa' },
      { name: 'b' },
      { id: 32768, ok: 'yes' },
      { id: 1.5, day: { y: 2026 } },
      5,
    ];
    const { errors, error_count: count } = assertProblem(
      await upload(name, { table, data }),
      422,
      'invalid-data',
    );
    const at = (row: number, column: string, code: string, value?: string) => ({
      pointer: `/data/${row - 1}/${column.replace('~', '~0').replace('/', '~1')}`,
      row,
      column,
      ...(value !== undefined && { value }),
      code,
    });
    assert.deepEqual(places(errors), [
      at(2, 'id', 'not-a-whole-number', 'one'),
      at(2, 'name', 'too-long', 'abcd'),
      at(2, 'day', 'not-a-date', '31.01.2026'),
      at(2, 'ok', 'not-a-boolean', 'maybe'),
      at(2, 'price', 'out-of-range', '1000'),
      at(2, 'a/b~c', 'not-a-uuid', 'x'),
      at(3, 'id', 'null-not-allowed'),
      at(3, 'day', 'no-such-date', '2026-02-30'),
      at(3, 'price', 'not-a-number', 'NaNa'),
      at(4, 'id', 'null-not-allowed'),
      at(5, 'id', 'out-of-range', '32768'),
      at(6, 'id', 'not-a-whole-number', '1.5'),
      at(6, 'day', 'nested-value', '{"y":2026}'),
      { pointer: '/data/6', row: 7, value: '5', code: 'row-not-an-object' },
    ]);
    assert.equal(count, 14);
    await assertNoTable(service, name);
  });

  test('a required column that no row has is one problem with the number of rows', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer'], ['email', 'text', { is_nullable: false }]),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    const data = Array.from({ length: 250 }, (_, id) => ({ id: id === 7 ? 'x' : id }));
    const { errors, error_count: count } = assertProblem(
      await upload(name, { table, data }),
      422,
      'invalid-data',
    );
    const missing = { column: 'email', code: 'null-not-allowed' };
    assert.deepEqual(errors, [
      {
        pointer: '/data/0',
        row: 1,
        ...missing,
        detail: 'a value is needed here, and the column is missing in all 250 rows',
      },
      { ...errors[1], pointer: '/data/7/id', row: 8, column: 'id' },
    ]);
    assert.equal(count, 2);
    await assertNoTable(service, name);
    const one = assertProblem(await upload(name, { table, data: [{ id: 1 }] }), 422, 'invalid-data');
    assert.equal(one.errors[0]!.detail, 'a value is needed here');
  });

  test('a required column that only a late row has is a problem of each row without it', async () => {
    const table = { columns: columns(['id', 'integer'], ['email', 'text', { is_nullable: false }]) };
    const data = Array.from({ length: 250 }, (_, id) => ({ id, ...(id === 200 && { email: 'e' }) }));
    const { errors, error_count: count } = assertProblem(
      await upload(nextTable(), { table, data }),
      422,
      'invalid-data',
    );
    assert.equal(count, 249);
    assert.equal(errors.length, 100);
    assert.deepEqual(
      errors.map(({ row, detail }) => [row, detail]),
      Array.from({ length: 100 }, (_, index) => [index + 1, 'a value is needed here']),
    );
  });

  test('a repeated key is a problem of its row', async () => {
    const name = nextTable();
    const answer = await uploadText(name, '{"data":[{"a":1},{"a":2,"b":3,"a":4}]}');
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(places(errors), [
      { pointer: '/data/1/a', row: 2, column: 'a', value: '4', code: 'repeated-key' },
    ]);
    await assertNoTable(service, name);
  });

  test('the problem of a key that occurs twice names both rows', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer'], ['a', 'text'], ['b', 'text']),
      constraints: {
        primary_key: { name: '', columns: ['id'] },
        unique: [{ name: 'pair', columns: ['a', 'b'] }],
      },
    };
    const data = [
      { id: 1, a: 'x', b: 'y' },
      { id: 2, a: 'x', b: 'z' },
      { id: 1, a: 'v', b: 'w' },
      { id: 3, b: 'z', a: 'x' },
      { id: 4, a: 'x', b: null },
      { id: 5, a: 'x', b: null },
    ];
    const { errors } = assertProblem(await upload(name, { table, data }), 422, 'invalid-data');
    assert.deepEqual(errors, [
      {
        pointer: '/data/2/id',
        row: 3,
        column: 'id',
        value: '1',
        code: 'not-unique',
        detail: 'must be unique: also in row 1',
      },
      {
        pointer: '/data/3/a',
        row: 4,
        column: 'a, b',
        value: 'x, z',
        code: 'not-unique',
        detail: 'must be unique: also in row 2',
      },
    ]);
    await assertNoTable(service, name);
  });

  test('keys that exist in the table and keys that occur twice are reported together', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer']),
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    await upload(name, { table, data: [{ id: 1 }, { id: 2 }] });
    const { errors } = assertProblem(
      await upload(name, { data: [{ id: 3 }, { id: 2 }, { id: 3 }] }, '?if_exists=append'),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors.map(({ row, value, code, detail }) => [row, value, code, detail]),
      [
        [2, '2', 'not-unique', 'must be unique: the table already has it'],
        [3, '3', 'not-unique', 'must be unique: also in row 1'],
      ],
    );
    assert.equal((await rowsOf(service, name)).length, 2);
  });

  const references = {
    columns: columns(['id', 'integer'], ['country', 'text']),
    constraints: {
      foreign_keys: [{ name: '', column: 'country', reference_table: 'countries', reference_column: 'code' }],
    },
  };
  const foreigners = [
    { id: 1, country: 'de' },
    { id: 2, country: 'xx' },
    { id: 3, country: null },
    { id: 4, country: 'yy' },
  ];
  for (const kind of ['a new table', 'a table that stands']) {
    test(`the problem of a reference without a match names the value and the row (${kind})`, async () => {
      const name = nextTable();
      if (kind !== 'a new table') await upload(name, { table: references });
      const answer = await upload(name, { table: references, data: foreigners }, '?if_exists=append');
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.deepEqual(places(errors), [
        { pointer: '/data/1/country', row: 2, column: 'country', value: 'xx', code: 'no-such-reference' },
        { pointer: '/data/3/country', row: 4, column: 'country', value: 'yy', code: 'no-such-reference' },
      ]);
      assert.match(errors[0]!.detail, /public\.countries \(code\)/);
    });
  }

  test('problems of cells and of keys are reported together', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['id', 'integer'], ['country', 'text'], ['day', 'date']),
      constraints: { ...references.constraints, primary_key: { name: '', columns: ['id'] } },
    };
    const data = [
      { id: 1, country: 'de', day: 'soon' },
      { id: 2, country: 'xx', day: null },
      { id: 2, country: 'fr', day: null },
    ];
    for (const query of ['', '?if_exists=append']) {
      if (query !== '') await upload(name, { table });
      const { errors } = assertProblem(await upload(name, { table, data }, query), 422, 'invalid-data');
      assert.deepEqual(
        errors.map(({ row, column, code }) => [row, column, code]),
        [
          [1, 'day', 'not-a-date'],
          [2, 'country', 'no-such-reference'],
          [3, 'id', 'not-unique'],
        ],
      );
    }
  });

  test('problems of CHECKs and domains are reported for a table that was created with SQL', async () => {
    await service.rows(`CREATE TABLE checked (
      a positive, low integer, high integer, tags positive[], CONSTRAINT in_order CHECK (low < high))`);
    const data = [
      { a: 1, low: 1, high: 2 },
      { a: -1, low: 1, high: 2 },
      { a: 2, low: 3, high: 2 },
      { a: null, low: null, high: 2 },
    ];
    const { errors } = assertProblem(
      await upload('checked', { data }, '?if_exists=append'),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors.map(({ row, column, value, code }) => [row, column, value, code]),
      [
        [2, 'a', '-1', 'check-violation'],
        [3, 'low, high', '3, 2', 'check-violation'],
      ],
    );
    assert.match(errors[1]!.detail, /"in_order"/);
    assert.deepEqual(await rowsOf(service, 'checked'), []);
  });

  test('problems of a domain are reported for a table with a definition', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'positive'], ['b', 'text']) };
    const { errors } = assertProblem(
      await upload(name, { table, data: [{ a: 1, b: 'x' }, { a: 0 }, { a: -2 }] }),
      422,
      'invalid-data',
    );
    assert.deepEqual(
      errors.map(({ row, column, value }) => [row, column, value]),
      [
        [2, 'a', '0'],
        [3, 'a', '-2'],
      ],
    );
    await assertNoTable(service, name);
  });

  test('a problem that a trigger raises has its message and the row', async () => {
    await service.rows('CREATE TABLE triggered (a integer)');
    await service.rows(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.a = 3 THEN RAISE EXCEPTION 'three is taken'; END IF; RETURN NEW; END $$`);
    await service.rows('CREATE TRIGGER t BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION refuse()');
    const answer = await upload('triggered', { data: [{ a: 1 }, { a: 2 }, { a: 3 }] }, '?if_exists=append');
    const { detail, errors } = assertProblem(answer, 422, 'invalid-data');
    assert.match(detail + JSON.stringify(errors), /three is taken/);
    assert.deepEqual(await rowsOf(service, 'triggered'), []);
  });

  test('beyond a hundred are counted, and a hundred are listed', async () => {
    const name = nextTable();
    const table = { columns: columns(['a', 'integer'], ['b', 'integer']) };
    const data = Array.from({ length: 1500 }, (_, n) => ({ a: n % 2 ? n : 'x', b: n % 3 ? n : true }));
    const {
      detail,
      errors,
      error_count: count,
    } = assertProblem(await upload(name, { table, data }), 422, 'invalid-data');
    assert.equal(errors.length, 100);
    assert.equal(count, 750 + 500);
    assert.match(detail, /1250/);
    assert.deepEqual(errors.at(-1)!.row, Math.max(...errors.map((error) => error.row!)));
    await assertNoTable(service, name);
  });

  test('beyond a hundred of one key are counted, too', async () => {
    const name = nextTable();
    const table = {
      columns: columns(['a', 'integer']),
      constraints: { primary_key: { name: '', columns: ['a'] } },
    };
    const data = Array.from({ length: 1000 }, (_, n) => ({ a: n % 10 }));
    const { errors, error_count: count } = assertProblem(
      await upload(name, { table, data }),
      422,
      'invalid-data',
    );
    assert.equal(errors.length, 100);
    assert.equal(count, 990);
  });

  test('a problem shows a long value in a shortened form', async () => {
    const table = { columns: columns(['a', 'integer']) };
    const answer = await upload(nextTable(), { table, data: [{ a: 'é'.repeat(100_000) }] });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(errors[0]!.value, `${'é'.repeat(99)}…`);
  });
});

suite('bodies that are not an upload', () => {
  const texts: [string, string, number, RegExp][] = [
    ['not JSON', '{"data": [{"a": 1}, {"a": nul}]}', 400, /Byte 29/],
    ['cut off', '{"data": [{"a": 1}', 400, /ends at byte 18/],
    ['empty', '', 400, /empty/],
    ['followed by text', '{"data": [{"a": 1}]} {}', 400, /Byte 21/],
    ['with a number that is none', '{"data": [{"a": 01}]}', 400, /Byte 17/],
    ['with bytes that are no UTF-8', '', 400, /Byte 15/],
  ];
  for (const [title, text, status, place] of texts) {
    test(`${title} is refused with ${status}`, async () => {
      const body = title.includes('UTF-8')
        ? Buffer.from('{"data":[{"a":"\xff"}]}', 'latin1')
        : Buffer.from(text);
      const answer = await service.request('POST', '/table/broken/upload/json', {
        body,
        headers: { 'content-type': 'application/json' },
      });
      const { detail } = assertProblem(answer, status, 'invalid-json');
      assert.match(detail, place);
      await assertNoTable(service, 'broken');
    });
  }

  const misfits: [string, unknown, string][] = [
    ['an unknown member', { rows: [{ a: 1 }] }, '/rows'],
    ['data no array', { data: { a: 1 } }, '/data'],
    ['a string', 'a', ''],
    ['null', null, ''],
  ];
  for (const [title, body, pointer] of misfits) {
    test(`${title} is refused with 422`, async () => {
      const { errors } = assertProblem(await upload('broken', body), 422, 'invalid-data');
      assert.deepEqual(
        errors.map((error) => error.pointer),
        [pointer],
      );
    });
  }

  test('a member that occurs twice is refused with 422', async () => {
    assertProblem(await uploadText('broken', '{"data":[{"a":1}],"data":[]}'), 422, 'invalid-data');
  });

  test('a problem after a hundred thousand rows rolls all of them back', async () => {
    const table = { columns: columns(['a', 'integer']) };
    const rows = '{"a":1},'.repeat(100_000);
    const answer = await uploadText('broken', `{"table":${JSON.stringify(table)},"data":[${rows}{"a":1}`);
    assertProblem(answer, 400, 'invalid-json');
    await assertNoTable(service, 'broken');
  });
});
