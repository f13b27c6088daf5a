/** `flatten=true` over HTTP: the columns that nested objects give, and what is refused. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { assertNoTable, rowsOf, tableNames } from '../support/tables.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const nextTable = tableNames('flat');

const load = (table: string, body: object, query = ''): Promise<TestAnswer> =>
  service.post(`/table/${table}/upload/json?flatten=true${query}`, body);

const columnsOf = ({ body }: TestAnswer): Record<string, string> =>
  Object.fromEntries(
    body.table.columns.map(({ name, type }: { name: string; type: string }) => [name, type]),
  );
const problemsOf = ({ body }: TestAnswer) =>
  body.errors.map(({ pointer, column, code }: Record<string, string>) => [pointer, column, code]);

const data = [
  { id: 1, address: null, tags: ['a'] },
  { id: 2, address: { city: 'Köln', geo: { lat: 50.94, lon: 6.96 } }, tags: [] },
  { id: 3, address: { city: null }, empty: {} },
];

suite('without a definition', () => {
  test('members of nested objects are columns with inferred types, and arrays are jsonb', async () => {
    const table = nextTable();
    const answer = await load(table, { data });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(columnsOf(answer), {
      id: 'bigint',
      tags: 'jsonb',
      address_city: 'text',
      address_geo_lat: 'numeric',
      address_geo_lon: 'numeric',
    });
    assert.deepEqual(await rowsOf(service, table), [
      { id: '1', tags: ['a'], address_city: null, address_geo_lat: null, address_geo_lon: null },
      { id: '2', tags: [], address_city: 'Köln', address_geo_lat: '50.94', address_geo_lon: '6.96' },
      { id: '3', tags: null, address_city: null, address_geo_lat: null, address_geo_lon: null },
    ]);
    // The same request can be repeated.
    assert.equal((await load(table, { data }, '&if_exists=append')).status, 200);
    assert.equal((await load(table, { data: data.toReversed() }, '&if_exists=truncate')).status, 200);
  });

  test('rows are loaded once, wherever keys come that are always null', async () => {
    const count = 30_000;
    const filler = 'x'.repeat(50);
    for (const nullFrom of [0, count - 1_000]) {
      for (const keys of [
        (n: number) => ({ n, o: { filler }, z: null }),
        (n: number) => ({ z: null, n, o: { filler } }),
      ]) {
        const rows = Array.from({ length: count }, (_, n) => (n < nullFrom ? { n, o: { filler } } : keys(n)));
        const table = nextTable();
        const { body } = await load(table, rows);
        assert.equal(body.load.rows, count);
        const found = await service.rows(
          `SELECT count(*)::int AS rows, count(DISTINCT n)::int AS different, count(z)::int AS z, count(o_filler)::int AS o FROM ${table}`,
        );
        assert.deepEqual(found, [{ rows: count, different: count, z: 0, o: count }]);
      }
    }
  });

  test('a key that is always null is a column at its place', async () => {
    for (const count of [2, 40_000]) {
      const rows = Array.from({ length: count }, (_, n) => ({
        a: null,
        o: { b: null, c: n },
        d: null,
        e: n ? 'x' : null,
      }));
      const answer = await load(nextTable(), rows);
      assert.deepEqual(
        [answer.body.load?.rows, Object.keys(columnsOf(answer))],
        [count, ['a', 'o_b', 'o_c', 'd', 'e']],
      );
    }
  });

  test('another separator, new names, and keys see the flattened names', async () => {
    const table = nextTable();
    const query =
      '&flatten_separator=.&rename=address.city:town&primary_key=id,address.geo.lat&extra_columns=add';
    const answer = await load(table, { data: data.slice(1, 2) }, query);
    assert.deepEqual(
      [columnsOf(answer), answer.body.table.constraints.primary_key.columns],
      [
        {
          id: 'bigint',
          town: 'text',
          'address.geo.lat': 'numeric',
          'address.geo.lon': 'numeric',
          tags: 'jsonb',
        },
        ['id', 'address.geo.lat'],
      ],
    );
  });

  test('many rows keep their values, whatever their order', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) =>
      n % 3 === 0
        ? { n, o: null }
        : { n, o: { [n % 2 ? 'a' : 'b']: { x: n, y: `t${n}` } }, late: n > 15_000 ? n : null },
    );
    const table = nextTable();
    assert.equal((await load(table, rows)).body.load.rows, rows.length);
    const sums = await service.rows(
      `SELECT count(o_a_x)::int AS a, count(o_b_x)::int AS b, sum(coalesce(o_a_x, o_b_x) - n)::int AS differ,
         count(*) FILTER (WHERE coalesce(o_a_y, o_b_y) <> 't' || n)::int AS wrong, count(late)::int AS late FROM ${table}`,
    );
    const of = (test: (n: number) => boolean) => rows.filter((_, n) => n % 3 !== 0 && test(n)).length;
    assert.deepEqual(sums, [
      {
        a: of((n) => n % 2 === 1),
        b: of((n) => n % 2 === 0),
        differ: 0,
        wrong: 0,
        late: of((n) => n > 15_000),
      },
    ]);
  });

  test('a key whose values are of several kinds gives the same columns, whatever the order of the rows', async () => {
    const rows = Array.from({ length: 9_000 }, (_, n) => ({
      n,
      m: [[n], { x: n }, n % 2 ? null : n][Math.floor(n / 3_000)],
    }));
    for (const sent of [rows, rows.toReversed()]) {
      const table = nextTable();
      const columns = columnsOf(await load(table, sent));
      assert.deepEqual(Object.keys(columns).toSorted(), ['m', 'm_x', 'n']);
      assert.deepEqual([columns.m, columns.m_x], ['text', 'bigint']);
      const wrong = await service.rows(
        `SELECT count(*)::int AS count FROM ${table} WHERE
           CASE WHEN n < 3000 THEN m <> '[' || n || ']' WHEN n < 6000 THEN m IS NOT NULL OR m_x <> n
           ELSE m IS DISTINCT FROM CASE WHEN n % 2 = 0 THEN n::text END END`,
      );
      assert.deepEqual(wrong, [{ count: 0 }]);
    }
  });

  test('the inspection shows the flattened columns', async () => {
    const { body } = await service.post('/api/v1/inspect/json?flatten=true', { data });
    assert.deepEqual(body.data.header, ['id', 'tags', 'address_city', 'address_geo_lat', 'address_geo_lon']);
    assert.deepEqual(body.data.rows[1], ['2', '[]', 'Köln', '50.94', '6.96']);
  });

  test('a key of a prototype is a name like others', async () => {
    const table = nextTable();
    const body = '[{"__proto__":{"constructor":1},"toString":{"\\u00e9\\"":true}}]';
    const answer = await service.request('POST', `/table/${table}/upload/json?flatten=true`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual(columnsOf(answer), { __proto___constructor: 'bigint', 'toString_é"': 'boolean' });
  });
});

suite('with a definition or an existing table', () => {
  const columns = [
    { name: 'id', type: 'integer' },
    { name: 'address_city', type: 'varchar(10)', default: 'Bonn' },
    { name: 'payload', type: 'jsonb' },
    { name: 'tags', type: 'text[]' },
  ];

  test('members match its columns, objects go into its json columns, and arrays become arrays', async () => {
    const table = nextTable();
    const rows = [
      { id: 1, address: { city: 'Köln' }, payload: { a: { b: 1 } }, tags: ['x', 'y'] },
      { id: 2, address: {}, payload: null },
    ];
    const answer = await load(table, { table: { columns }, data: rows });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const expected = [
      { id: 1, address_city: 'Köln', payload: { a: { b: 1 } }, tags: ['x', 'y'] },
      { id: 2, address_city: 'Bonn', payload: null, tags: null },
    ];
    assert.deepEqual(await rowsOf(service, table), expected);
    for (const query of ['&if_exists=truncate', '&if_exists=truncate&extra_columns=add']) {
      assert.equal((await load(table, rows, query)).status, 200);
      assert.deepEqual(await rowsOf(service, table), expected);
    }
    // A small append to a known table, twice, and new names.
    for (const _ of [1, 2])
      assert.equal((await load(table, rows.slice(0, 1), '&if_exists=append')).status, 200);
    const renamed = [{ id: 9, p: { q: 1 } }];
    assert.equal((await load(table, renamed, '&if_exists=append&rename=p:payload')).status, 200);
    const found = await service.rows(`SELECT payload FROM ${table} WHERE id = 9`);
    assert.deepEqual(found, [{ payload: { q: 1 } }]);
  });

  test('missing columns are inferred beside a json column that the definition names', async () => {
    const table = nextTable();
    const body = {
      table: { columns: columns.slice(0, 3) },
      data: [{ id: 1, payload: { a: 1 }, x: { y: 1 } }],
    };
    const answer = await load(table, body, '&extra_columns=add');
    assert.deepEqual(Object.keys(columnsOf(answer)), ['id', 'address_city', 'payload', 'x_y']);
  });

  test('problems have the pointer of the member', async () => {
    const table = nextTable();
    const rows = [{ id: 1 }, { id: 2, address: { city: 'far too long a name' }, 'a/b': { '~': 1 } }];
    const answer = await load(table, { table: { columns }, data: rows });
    assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(problemsOf(answer), [
      ['/data/1/address/city', 'address_city', 'too-long'],
      ['/data/1/a~1b/~0', 'a/b_~', 'unknown-column'],
    ]);
    await assertNoTable(service, table);
  });

  test('null in place of an object leaves the columns of an updated row unchanged, with a warning', async () => {
    const table = nextTable();
    const rows = [
      { id: 1, o: { a: 1 } },
      { id: 2, o: { a: 2 } },
    ];
    await load(table, rows, '&primary_key=id');
    const update = [
      { id: 1, o: null },
      { id: 2, o: { a: 3 } },
    ];
    const { body } = await load(table, update, '&if_exists=append&on_conflict=update');
    assert.deepEqual(
      body.load.warnings.map(({ code, column }: Record<string, string>) => [code, column]),
      [['null-object', 'o']],
    );
    const found = await service.rows(`SELECT o_a::int AS a FROM ${table} ORDER BY id`);
    assert.deepEqual(found, [{ a: 1 }, { a: 3 }]);
  });

  test('null in a scalar column clears it, also before its first value', async () => {
    const table = nextTable();
    await load(
      table,
      [
        { id: 1, a: 5 },
        { id: 2, a: 6 },
      ],
      '&primary_key=id',
    );
    const update = [
      { id: 1, a: null },
      { id: 2, a: 7 },
    ];
    assert.equal((await load(table, update, '&if_exists=append&on_conflict=update')).body.load.updated, 2);
    const found = await service.rows(`SELECT a::int AS a FROM ${table} ORDER BY id`);
    assert.deepEqual(found, [{ a: null }, { a: 7 }]);
  });
});

suite('what is refused', () => {
  test('two keys with one name, also in different rows, and repeated keys', async () => {
    const table = nextTable();
    const text = '[{"a":{"b":1}},{"a_b":2},{"a":{"b":3,"b":4}},{"a":{"c":{}},"a":1},{"a":{"c":{},"c":{}}}]';
    const answer = await service.request('POST', `/table/${table}/upload/json?flatten=true`, {
      body: text,
      headers: { 'content-type': 'application/json' },
    });
    assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(problemsOf(answer), [
      ['/1/a_b', 'a_b', 'repeated-column'],
      ['/2/a/b', 'a_b', 'repeated-key'],
      ['/3', undefined, 'repeated-key'],
      ['/4', undefined, 'repeated-key'],
    ]);
    const leftOut = await load(table, { data: [{ a: { b: 1 } }, { a_b: 2 }] }, '&faulty_rows=leave_out');
    assert.deepEqual([leftOut.body.load?.rows, leftOut.body.load?.rows_left_out], [1, 1]);
  });

  test('names that PostgreSQL does not have', async () => {
    const answer = await load('refused', { data: [{ ['x'.repeat(40)]: { ['y'.repeat(30)]: 1 } }] });
    assert.equal(answer.body.errors[0].code, 'invalid-name');
  });

  test('a separator without flatten, and one that is none', async () => {
    for (const query of [
      'flatten_separator=.',
      'flatten=true&flatten_separator=',
      'flatten=true&flatten_separator=123456789',
    ])
      assertProblem(
        await service.post(`/table/refused/upload/json?${query}`, { data }),
        422,
        'invalid-parameter',
      );
  });
});
