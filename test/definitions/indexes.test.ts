/** Indexes of definitions: they are made, come back, count as differences, and stay when the table is replaced. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { runStatement } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const own = columns(
  ['id', 'integer'],
  ['name', 'text'],
  ['tags', 'jsonb'],
  ['day', 'date'],
  ['n', 'numeric'],
);

/** Indexes as they are sent, and what PostgreSQL makes of them. */
const indexes = [
  { name: 'by name', columns: [{ column: 'name' }] },
  { name: 'pattern', columns: [{ column: 'name', operator_class: 'text_pattern_ops' }] },
  { name: 'newest', columns: [{ column: 'day', order: 'desc', nulls: 'last' }, { column: 'id' }] },
  { name: 'in tags', method: 'gin', columns: [{ column: 'tags', operator_class: 'jsonb_path_ops' }] },
  { name: 'hashed', method: 'hash', columns: [{ column: 'id' }] },
  { name: 'one a day', unique: true, columns: [{ column: 'day' }, { column: 'name' }], include: ['n'] },
  { name: 'nulls', columns: [{ column: 'n', nulls: 'first' }] },
  {
    name: 'of expressions',
    unique: true,
    columns: [
      { expression: 'lower(name)', operator_class: 'text_pattern_ops' },
      { expression: '(n + (1)::numeric)', order: 'desc' },
    ],
    where: '(n > (0)::numeric)',
  },
];
const texts = [
  'INDEX "by name" ON public.TABLE USING btree (name)',
  'INDEX hashed ON public.TABLE USING hash (id)',
  'INDEX "in tags" ON public.TABLE USING gin (tags jsonb_path_ops)',
  'INDEX newest ON public.TABLE USING btree (day DESC NULLS LAST, id)',
  'INDEX nulls ON public.TABLE USING btree (n NULLS FIRST)',
  'UNIQUE INDEX "of expressions" ON public.TABLE USING btree (lower(name) text_pattern_ops, ((n + (1)::numeric)) DESC) WHERE (n > (0)::numeric)',
  'UNIQUE INDEX "one a day" ON public.TABLE USING btree (day, name) INCLUDE (n)',
  'INDEX pattern ON public.TABLE USING btree (name text_pattern_ops)',
];
const rows = [{ id: 1, name: 'a', day: '2026-11-21', tags: [1] }];

async function textsOf(table: string): Promise<string[]> {
  const found = await service.rows(
    `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index JOIN pg_class c ON c.oid = indexrelid
     WHERE indrelid = '${table}'::regclass ORDER BY c.relname`,
  );
  return found.map(({ text }) => String(text).replace('CREATE ', '').replace(table, 'TABLE'));
}

for (const [way, path, body] of [
  ['Create Table', '/table/made', {}],
  ['an upload', '/table/made/upload/json', { data: rows }],
  ['a replacing upload', '/table/made/upload/json?if_exists=replace', { data: rows }],
] as const) {
  test(`${way} makes the indexes, and the answer can be sent again`, async () => {
    if (way !== 'a replacing upload') await service.rows('DROP TABLE IF EXISTS made');
    const answer = await service.post(path, { table: { columns: own, indexes }, ...body });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(answer.body.table.indexes, indexes);
    assert.deepEqual(answer.body.load?.warnings ?? [], []);
    assert.deepEqual(await textsOf('made'), texts);
    const again = await service.post('/table/made?if_not_exists=true', { table: answer.body.table });
    assert.deepEqual(again.body.differences, []);
  });
}

test('names of indexes are chosen as PostgreSQL chooses them', async () => {
  const unnamed = [
    { columns: [{ column: 'name' }, { column: 'day' }] },
    { columns: [{ column: 'name' }, { column: 'day' }], name: '' },
    { columns: [{ column: 'id' }], include: ['n'] },
  ];
  const { body } = await service.post('/table/unnamed', { table: { columns: own, indexes: unnamed } });
  await service.rows('CREATE TABLE peer (id int, name text, day date, n numeric)');
  for (const list of ['name, day', 'name, day', 'id) INCLUDE (n'])
    await service.rows(`CREATE INDEX ON peer (${list})`);
  const peers = (await textsOf('peer')).map((text) => text.split(' ')[1]!.replace('TABLE', 'unnamed'));
  assert.deepEqual(body.table.indexes.map(({ name }: { name: string }) => name).sort(), peers);
});

test('a unique index of a new table refuses rows by name, and on_conflict uses it', async () => {
  const table = {
    columns: own,
    indexes: [{ name: 'only', unique: true, columns: [{ column: 'name' }] }],
  };
  const data = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
    { id: 3, name: 'a' },
  ];
  const refused = await service.post('/table/only_names/upload/json', { table, data });
  assert.equal(refused.status, 422);
  assert.deepEqual(
    refused.body.errors.map(({ pointer, code, detail }: Record<string, string>) => [pointer, code, detail!]),
    [['/data/2/name', 'not-unique', 'must be unique: also in row 1']],
  );
  const left = await service.post('/table/only_names/upload/json?faulty_rows=leave_out', { table, data });
  assert.deepEqual([left.status, left.body.load.rows, left.body.load.rows_left_out], [201, 2, 1]);
  await service.rows('DROP TABLE only_names');
  const updated = await service.post('/table/only_names/upload/json?on_conflict=update&conflict_key=name', {
    table,
    data,
  });
  assert.equal(updated.status, 201, JSON.stringify(updated.body));
  assert.deepEqual(await service.rows('SELECT id, name FROM only_names ORDER BY id'), [
    { id: 2, name: 'b' },
    { id: 3, name: 'a' },
  ]);
});

suite('what is refused, with its place, before a row is read', () => {
  const cases: [string, object, string, string, RegExp][] = [
    [
      'an unknown column',
      { columns: [{ column: 'nmae' }] },
      'columns/0/column',
      'unknown-column',
      /Did you mean "name"/,
    ],
    [
      'an unknown column of include',
      { columns: [{ column: 'id' }], include: ['x'] },
      'include/0',
      'unknown-column',
      /./,
    ],
    ['no columns', { columns: [] }, 'columns', 'missing', /no columns/],
    [
      'a column and an expression',
      { columns: [{ column: 'id', expression: 'lower(name)' }] },
      'columns/0',
      'missing',
      /either a "column" or an "expression"/,
    ],
    ['a name as the list', { columns: 'name' }, 'columns', 'wrong-type', /\[\{"column"/],
    [
      'a type without an order',
      { columns: [{ column: 'tags' }], method: 'gist' },
      '',
      'invalid-index',
      /jsonb/,
    ],
    ['an unknown method', { columns: [{ column: 'id' }], method: 'btre' }, '', 'invalid-index', /btre/],
    [
      'a method that cannot be unique',
      { unique: true, columns: [{ column: 'id' }], method: 'hash' },
      '',
      'invalid-index',
      /unique/,
    ],
    [
      'a class of another type',
      { columns: [{ column: 'id', operator_class: 'text_ops' }] },
      '',
      'invalid-index',
      /text_ops/,
    ],
    [
      'a class that is text of SQL',
      { columns: [{ column: 'id', operator_class: 'int4_ops) WHERE (true' }] },
      'columns/0/operator_class',
      'unknown-operator-class',
      /no operator class/,
    ],
    [
      'the class of another role',
      { columns: [{ column: 'id', operator_class: 'own_ops' }] },
      'columns/0/operator_class',
      'unknown-operator-class',
      /no operator class/,
    ],
    [
      'an expression that PostgreSQL refuses',
      { columns: [{ expression: 'day::text' }] },
      '',
      'invalid-index',
      /IMMUTABLE/,
    ],
  ];
  before(async () => {
    const { adminUrl, url } = service.database;
    await runStatement(
      adminUrl ?? url,
      'CREATE OPERATOR CLASS public.own_ops FOR TYPE integer USING btree AS FUNCTION 1 btint4cmp(integer, integer)',
    );
  });
  for (const [what, index, place, code, detail] of cases) {
    test(what, async () => {
      for (const path of ['/table/refused', '/table/refused/upload/json']) {
        const { status, body } = await service.post(path, { table: { columns: own, indexes: [index] } });
        assert.equal(status, 422, JSON.stringify(body));
        const at = place === '' ? '/table/indexes/0' : `/table/indexes/0/${place}`;
        const found = body.errors.filter(({ pointer }: { pointer: string }) => pointer === at);
        assert.deepEqual(
          found.map((error: { code: string }) => error.code),
          [code],
          JSON.stringify(body.errors),
        );
        assert.match(found[0].detail, detail);
      }
      assert.deepEqual(await service.rows(`SELECT FROM pg_class WHERE relname = 'refused'`), []);
    });
  }
});

test('indexes that a definition cannot have are in others, and refuse a copy', async () => {
  await service.rows('CREATE TABLE special (id int, name text, n numeric)');
  await service.rows("CREATE FUNCTION own_lower(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'");
  for (const text of [
    'filled ON special (id) WITH (fillfactor = 50)',
    'collated ON special (name COLLATE "C")',
    'collated_too ON special (lower(name) COLLATE "C")',
    'of_function ON special (own_lower(name))',
    'where_function ON special (id) WHERE own_lower(name) IS NULL',
  ])
    await service.rows(`CREATE INDEX ${text}`);
  await service.rows('CREATE UNIQUE INDEX null_once ON special (id) NULLS NOT DISTINCT');
  await service.rows('CREATE INDEX plain ON special (id)');
  const { body } = await service.get('/table/special');
  assert.deepEqual(body.table.indexes, [{ name: 'plain', columns: [{ column: 'id' }] }]);
  assert.deepEqual(
    body.table.constraints.others.map(({ name }: { name: string }) => name),
    ['filled', 'collated', 'collated_too', 'of_function', 'where_function', 'null_once'],
  );
  const copy = await service.post('/table/special_copy', { table: body.table });
  assert.equal(copy.status, 422);
});

test('an index without a name is not taken for one that the definition names later', async () => {
  const on = { columns: [{ column: 'a' }] };
  await service.rows(
    'CREATE TABLE twice (a int); CREATE INDEX second ON twice (a); CREATE INDEX ON twice (a)',
  );
  const compare = async (...sent: object[]) => {
    const table = { columns: columns(['a', 'integer']), indexes: sent };
    return (await service.post('/table/twice?if_not_exists=true', { table })).body.differences;
  };
  assert.deepEqual(await compare(on, { ...on, name: 'second' }), []);
  assert.deepEqual(await compare({ ...on, name: 'third' }, { ...on, name: 'second' }), [
    'the index is named "twice_a_idx" in the table',
  ]);
  assert.deepEqual(await compare(on, on, on), ['the table has no index over "a"']);
});

test('a table whose name is part of SQL loses no index when its own description replaces it', async () => {
  for (const name of ['a USING b', ' ON ', 'a "ONLY" USING (x)']) {
    const table = {
      columns: columns(['a', 'integer']),
      indexes: [
        { name: '', columns: [{ column: 'a' }] },
        { name: '', unique: true, columns: [{ column: 'a', order: 'desc' }] },
      ],
    };
    const path = `/table/${encodeURIComponent(name)}`;
    const { body } = await service.post(path, { table });
    const replaced = await service.post(`${path}/upload/json?if_exists=replace`, {
      table: body.table,
      data: [{ a: 1 }],
    });
    assert.deepEqual(replaced.body.load?.warnings, [], JSON.stringify(replaced.body));
  }
});

test('replacing a table names the indexes that are lost, and only these', async () => {
  const table = { columns: own, indexes };
  await service.post('/table/losing', {
    table: { ...table, indexes: indexes.map((index) => ({ ...index, name: '' })) },
  });
  const fewer = indexes.slice(1).map((index) => ({ ...index, name: '' }));
  const { body } = await service.post('/table/losing/upload/json?if_exists=replace', {
    table: { ...table, indexes: fewer },
    data: rows,
  });
  assert.deepEqual(
    body.load.warnings.map(({ detail }: { detail: string }) => detail),
    ['Replacing the table removed index losing_name_idx.'],
  );
});

suite('indexes for which PostgreSQL would need too much memory', () => {
  test('a definition cannot have a column twice in an index, and no text in an index of the method spgist', async () => {
    const twice = {
      method: 'gin',
      columns: [{ column: 'tags' }, { column: 'tags', operator_class: 'jsonb_path_ops' }],
    };
    const tree = { method: 'spgist', columns: [{ column: 'name' }] };
    const answer = await service.post('/table/heavy', { table: { columns: own, indexes: [twice, tree] } });
    assert.deepEqual(
      answer.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
      [
        ['/table/indexes/0/columns/1/column', 'repeated-column'],
        ['/table/indexes/1/columns/0/column', 'type-not-indexable'],
      ],
    );
  });

  test('no definition makes an index with the operator class gist__int_ops, also where it is the default', async () => {
    await service.database.pool.query(
      `CREATE EXTENSION IF NOT EXISTS intarray; CREATE DOMAIN public.numbers AS int[];
       CREATE TABLE public.ranged (id int, a int[]); CREATE INDEX ON public.ranged USING gist (a)`,
    );
    const withArray = columns(['id', 'integer'], ['a', 'integer[]'], ['b', 'public.numbers']);
    const gist = (column: object) => ({ method: 'gist', columns: [column] });
    const costly = [
      gist({ column: 'a', operator_class: 'public.gist__int_ops' }),
      gist({ column: 'a' }),
      gist({ column: 'b' }),
      gist({ expression: 'a || 1' }),
    ];
    const possible = [
      gist({ column: 'a', operator_class: 'public.gist__intbig_ops' }),
      gist({ expression: 'int4range(id, id)' }),
      { method: 'gin', columns: [{ column: 'a' }] },
    ];
    const table = { columns: withArray, indexes: [...possible, ...costly] };
    for (const path of ['/table/ranges', '/table/ranges/upload/json']) {
      const answer = await service.post(
        path,
        path.endsWith('json') ? { table, data: [{ id: 1 }] } : { table },
      );
      assert.equal(answer.status, 422, JSON.stringify(answer.body));
      assert.deepEqual(
        answer.body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code]),
        [
          '3/columns/0/operator_class',
          '4/columns/0/column',
          '5/columns/0/column',
          '6/columns/0/expression',
        ].map((place) => [`/table/indexes/${place}`, 'type-not-indexable']),
      );
      assert.match(answer.body.errors[0].detail, /gist__intbig_ops/);
    }
    const made = await service.post('/table/ranges', { table: { columns: withArray, indexes: possible } });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const { body } = await service.get('/table/ranged');
    assert.deepEqual(body.table.indexes, undefined);
    assert.equal(body.table.constraints.others[0].name, 'ranged_a_idx');
    const altered = await service.request('PUT', '/table/ranges', {
      body: JSON.stringify({ table: { ...made.body.table, indexes: [gist({ column: 'a' })] } }),
      headers: { 'content-type': 'application/json' },
    });
    assert.equal(altered.body.errors?.[0].code, 'type-not-indexable', JSON.stringify(altered.body));
  });

  test('an existing table with such indexes is described without them, and gets no text of more than 256 KiB', async () => {
    await service.database.pool.query(
      `CREATE TABLE public.tree (a text, b varchar, c int4range); CREATE INDEX ON public.tree USING spgist (a);
       CREATE INDEX ON public.tree USING spgist (c); CREATE INDEX ON public.tree USING btree (b, b)`,
    );
    const { body } = await service.get('/table/tree');
    assert.deepEqual(body.table.indexes, [
      { name: 'tree_c_idx', method: 'spgist', columns: [{ column: 'c' }] },
    ]);
    assert.deepEqual(
      body.table.constraints.others.map(({ name }: { name: string }) => name),
      ['tree_a_idx', 'tree_b_b1_idx'],
    );
    const append = (data: object) =>
      service.post('/table/tree/upload/json?if_exists=append', { data: [data] });
    const long = 'x'.repeat(256 * 1024);
    for (const fits of [{ a: long }, { c: '[1,2)' }]) assert.equal((await append(fits)).status, 200);
    const refused = await append({ a: `${long}x` });
    assert.deepEqual(
      refused.body.errors.map(({ column, code }: { column: string; code: string }) => [column, code]),
      [['a', 'too-complex']],
    );
  });

  test('the elements of an array in an index of the method gin have a limit, which depends on their type', async () => {
    await service.database.pool.query('CREATE EXTENSION IF NOT EXISTS citext');
    const texts = (count: number) => `{${Array(count).fill('a').join(',')}}`;
    const limits: [type: string, count: number, makeValue: (count: number) => unknown][] = [
      ['int[]', 60_001, (count) => Array(count).fill(1)],
      ['text[]', 20_001, (count) => Array(count).fill('a')],
      ['jsonb[]', 5001, (count) => Array(count).fill(1)],
      ['public.citext[]', 5001, texts],
      ['jsonb', 25_052, (count) => Array(count).fill(1)],
    ];
    for (const [type, count, makeValue] of limits) {
      const table = {
        columns: columns(['a', type]),
        indexes: [{ method: 'gin', columns: [{ column: 'a' }] }],
      };
      await service.post('/table/keys/upload/json?if_exists=replace', { table, data: [{ a: makeValue(2) }] });
      const ways: [query: string, definition: object | undefined][] = [
        ['if_exists=replace', table],
        ['if_exists=append', undefined],
      ];
      for (const [query, definition] of ways) {
        const load = async (table: object | undefined, elements: number) =>
          service.post(`/table/keys/upload/json?dry_run=true&${query}`, {
            ...(table && { table }),
            data: [{ a: makeValue(elements) }],
          });
        const fits = await load(definition, count - 10);
        assert.equal(fits.status, 200, `${type} ${query} ${fits.body.errors?.[0].detail}`);
        const { body } = await load(definition, count + 2);
        assert.equal(body.errors?.[0].code, 'too-complex', `${type} ${query}`);
      }
    }
    const free = await service.post('/table/free/upload/json', {
      table: { columns: columns(['a', 'jsonb[]']) },
      data: [{ a: Array(10_000).fill(1) }],
    });
    assert.equal(free.status, 201);
  });
});

test('an access method of tables is refused by its name', async () => {
  const table = { columns: own, indexes: [{ method: 'heap', columns: [{ column: 'id' }] }] };
  const { body } = await service.post('/table/heaped', { table });
  assert.deepEqual(
    body.errors.map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]),
    [['/table/indexes/0/method', 'heap is an access method of tables, not of indexes']],
  );
});

test('an error about an index of a table that is replaced has no internal name', async () => {
  const table = {
    columns: columns(['a', 'text']),
    indexes: [{ name: 'replaced_idx', method: 'brin', columns: [{ column: 'a' }] }],
  };
  await service.post('/table/replaced', { table });
  const long = Array.from({ length: 20_000 }, (_, n) => Math.imul(n, 0x9e3779b1).toString(36)).join('');
  const { body } = await service.post('/table/replaced/upload/json?if_exists=replace', {
    table,
    data: [{ a: long }],
  });
  assert.match(body.errors[0].detail, /^index row size \d+ exceeds maximum \d+$/);
});

test('an index of a type with a default operator class of its own is made, and does not fail if_not_exists', async () => {
  await runStatement(
    service.database.adminUrl ?? service.database.url,
    `CREATE TYPE public.pair AS (a int); CREATE OPERATOR CLASS public.pair_ops DEFAULT FOR TYPE public.pair USING hash AS
       OPERATOR 1 = (record, record), FUNCTION 1 (public.pair, public.pair) pg_catalog.hash_record(record)`,
  );
  const table = {
    columns: columns(['p', 'pair']),
    indexes: [{ method: 'hash', columns: [{ column: 'p' }] }],
  };
  assert.equal((await service.post('/table/paired', { table })).status, 201);
  const { status, body } = await service.post('/table/paired?if_not_exists=true', { table });
  assert.equal(status, 200, JSON.stringify(body));
  assert.match(body.differences[0], /cannot be compared/);
});
