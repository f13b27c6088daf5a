/** Values whose parts PostgreSQL sorts while it reads them, in the order that takes its sort the most comparisons. It cannot be interrupted meanwhile. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { killerOrder } from '../support/killer-order.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.database.pool.query(`CREATE EXTENSION hstore;
    CREATE TYPE document AS (a int, b jsonb);
    CREATE TYPE span AS RANGE (subtype = text, multirange_type_name = spans);
    CREATE DOMAIN settings AS jsonb;
    CREATE TABLE searched (a jsonb); CREATE INDEX ON searched USING gin (a)`);
});
after(() => service.stop());

function load(type: string, value: unknown, query = 'dry_run=true'): Promise<TestAnswer> {
  const body = { table: { columns: [{ name: 'a', type }] }, data: [{ a: value }] };
  return service.post(`/table/sorted/upload/json?${query}`, body);
}

const { order } = killerOrder(50_000);
const key = (rank: number) => `k${String(rank).padStart(6, '0')}`;
const objectOf = (ranks: number[]) => Object.fromEntries(ranks.map((rank) => [key(rank), 1]));
const range = (rank: number) => `[${2 * rank},${2 * rank + 1})`;
const { order: few } = killerOrder(30_000);
const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;

const hostile: [name: string, type: string, value: () => unknown][] = [
  ['keys of an object', 'jsonb', () => objectOf(order)],
  ['keys of an object within arrays', 'jsonb', () => [[{ a: [objectOf(order)] }]]],
  ['keys of a domain', 'settings', () => objectOf(order)],
  ['keys of several objects', 'jsonb', () => Array(5).fill(objectOf(few))],
  ['keys of an element', 'jsonb[]', () => [objectOf(order)]],
  ['keys in the text of an array', 'jsonb[]', () => `{${quoted(JSON.stringify(objectOf(order)))}}`],
  ['keys of a field', 'document', () => `(1,"${JSON.stringify(objectOf(order)).replaceAll('"', '""')}")`],
  ['keys of hstore', 'hstore', () => order.map((rank) => `${key(rank)}=>1`).join()],
  ['keys of hstore with quotes within them', 'hstore', () => order.map((rank) => `a"${rank}=>1`).join()],
  ['keys of elements of hstore', 'hstore[]', () => [order.map((rank) => `${key(rank)}=>1`).join()]],
  ['words', 'tsvector', () => order.map(key).join(' ')],
  ['words between ideographic spaces', 'tsvector', () => order.map(key).join('\u3000')],
  ['words after quotes', 'tsvector', () => order.map((rank) => `'${key(rank)}'`).join('')],
  ['words with a weight', 'tsvector', () => order.map((rank) => `${key(rank)}:1A`).join(' ')],
  [
    'positions',
    'tsvector',
    () => `a:${Array.from({ length: 400_000 }, (_, n) => 1 + ((n * 7919) % 16_383))}`,
  ],
  ['ranges', 'int4multirange', () => `{${few.map(range)}}`],
  ['ranges of an own type', 'spans', () => `{${few.map((rank) => `[${key(rank)},${key(rank)}a)`)}}`],
  ['ranges of elements', 'int4multirange[]', () => [`{${few.map(range)}}`]],
];

suite('hostile orders', () => {
  for (const [name, type, value] of hostile) {
    test(`${name} are refused before PostgreSQL sorts them`, async () => {
      const { errors } = assertProblem(await load(type, value()), 422, 'invalid-data');
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['too-complex'],
      );
    });
  }

  test('escapes in JSON do not hide the parts of elements', async () => {
    for (const [type, text] of [
      ['int4multirange[]', `{${few.map(range)}}`],
      ['hstore[]', order.map((rank) => `${key(rank)}=>1`).join()],
      ['tsvector[]', order.map(key).join(' ')],
    ] as const) {
      const escaped = JSON.stringify([text]).replaceAll(',', '\\u002c').replaceAll(' ', '\\u0020');
      const body = `{"table":{"columns":[{"name":"a","type":"${type}"}]},"data":[{"a":${escaped}}]}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await service.request('POST', '/table/sorted/upload/json?dry_run=true', {
        body,
        headers,
      });
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.equal(errors[0]!.code, 'too-complex');
    }
  });

  test('a text file does not hide the keys of an array of jsonb', async () => {
    await service.database.pool.query('CREATE TABLE lists (a jsonb[])');
    const array = `{${quoted(JSON.stringify(objectOf(order)))}}`;
    const csv = Buffer.from(`a\n"${array.replaceAll('"', '""')}"\n`);
    const answer = await service.upload('/table/lists/upload/excel?if_exists=append', csv);
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(errors[0]!.code, 'too-complex');
  });

  test('many values in an index of the method gin are refused', async () => {
    const data = [{ a: order.map(key) }];
    const answer = await service.post('/table/searched/upload/json?if_exists=append', { data });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.equal(errors[0]!.code, 'too-complex');
  });

  test('a default is refused like a value', async () => {
    const column = { name: 'a', type: 'jsonb', default: JSON.stringify(objectOf(order)) };
    const answer = await service.post('/table/defaults', { table: { columns: [column] } });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['defaults-too-long'],
    );
  });
});

suite('expressions of a table', () => {
  const words = killerOrder(200).order.map(key).join(' ');
  const text = Array(1200).fill(words).join(' ');
  const tables: [name: string, type: string, generated: string, ofType: string, value: () => unknown][] = [
    ['to_tsvector', 'text', "to_tsvector('simple', a)", 'tsvector', () => text],
    ['to_tsvector of varchar', 'varchar(10000000)', "to_tsvector('simple', a)", 'tsvector', () => text],
    ['to_tsvector of jsonb', 'jsonb', "to_tsvector('simple', a)", 'tsvector', () => text],
    [
      'to_tsvector of characters that separate',
      'text',
      "to_tsvector('simple', a)",
      'tsvector',
      () => text.replaceAll(' ', '\u2190'),
    ],
    ['array_to_tsvector', 'text[]', 'array_to_tsvector(a)', 'tsvector', () => text.split(' ')],
    ['json as jsonb', 'json', 'a', 'jsonb', () => objectOf(order)],
  ];
  for (const [name, type, expression, ofType, value] of tables) {
    test(`${name}: hostile values are refused, also by the existing table`, async () => {
      const columns = [
        { name: 'a', type },
        { name: 'b', type: ofType, generated: expression },
      ];
      const path = '/table/expressed/upload/json?if_exists=';
      for (const [ifExists, a] of [
        ['replace', value()],
        ['replace', null],
        ['append', value()],
      ] as const) {
        const body = { ...(ifExists === 'replace' && { table: { columns } }), data: [{ a }] };
        const answer = await service.post(path + ifExists, body);
        if (a === null) assert.ok(answer.status < 300, JSON.stringify(answer.body));
        else assert.equal(assertProblem(answer, 422, 'invalid-data').errors[0]!.code, 'too-complex');
      }
    });
  }

  test('a text has fewer words if many expressions divide it', async () => {
    const a = 'abc '.repeat(100_000);
    const expression = "length(to_tsvector('simple', a)) >= 0";
    for (const [checks, created, appended] of [
      [1, 201, 200],
      [8, 422, 422],
    ] as const) {
      const table = {
        columns: [{ name: 'a', type: 'text' }],
        constraints: { checks: Array(checks).fill({ name: '', expression }) },
      };
      const path = '/table/divided/upload/json?if_exists=';
      const first = await service.post(`${path}replace`, { table, data: [{ a }] });
      assert.equal(first.status === 200 ? 201 : first.status, created, JSON.stringify(first.body));
      if (created === 422) await service.post(`${path}replace`, { table, data: [] });
      const second = await service.post(`${path}append`, { data: [{ a }] });
      assert.equal(second.status, appended, JSON.stringify(second.body));
    }
  });

  test('a text is no long list in an index of the method gin', async () => {
    const columns = [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text[]', generated: "string_to_array(a, 'x')" },
    ];
    const table = { columns, indexes: [{ name: '', method: 'gin', columns: [{ column: 'b' }] }] };
    const path = '/table/listed/upload/json?if_exists=';
    const [short, long] = [100_000, 200_000].map((count) => [{ a: '1x'.repeat(count) }]);
    const refused = async (answer: Promise<TestAnswer>) =>
      assert.equal(assertProblem(await answer, 422, 'invalid-data').errors[0]!.code, 'too-complex');
    await refused(service.post(`${path}fail`, { table, data: long }));
    assert.equal((await service.post(`${path}fail`, { table, data: short })).status, 201);
    await refused(service.post(`${path}append`, { data: long }));
  });

  test('a long text is refused for an index of trigrams', async () => {
    await service.database.pool.query('CREATE EXTENSION pg_trgm');
    const indexes = [{ method: 'gin', columns: [{ column: 'a', operator_class: 'gin_trgm_ops' }] }];
    const table = { columns: [{ name: 'a', type: 'text' }], indexes };
    const path = '/table/similar/upload/json?if_exists=';
    const [short, long] = [300, 400].map((count) => [{ a: 'abc '.repeat(256 * count) }]);
    for (const [query, body, status] of [
      ['fail', { table, data: long }, 422],
      ['fail', { table, data: short }, 201],
      ['append', { data: long }, 422],
      ['append', { data: short }, 200],
    ] as const) {
      const answer = await service.post(path + query, body);
      assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 500));
    }
  });

  test('a long text is refused for an expression that compares trigrams', async () => {
    for (const check of ["similarity(a, 'b') < 2", "a % 'b' OR a IS NOT NULL"]) {
      const table = {
        columns: [{ name: 'a', type: 'text' }],
        constraints: { checks: [{ expression: check }] },
      };
      const path = '/table/compared/upload/json?if_exists=';
      const [short, long] = [300, 400].map((count) => [{ a: 'x'.repeat(1024 * count) }]);
      for (const [query, body, status] of [
        ['replace', { table, data: long }, 422],
        ['replace', { table, data: short }, 201],
        ['append', { data: long }, 422],
      ] as const) {
        const answer = await service.post(path + query, body);
        assert.equal(answer.status, status, JSON.stringify(answer.body).slice(0, 500));
      }
    }
  });

  test('a domain over an array counts in an index of the method gin', async () => {
    await service.database.pool.query(
      'CREATE DOMAIN tags AS int[]; CREATE TABLE tagged (a tags); CREATE INDEX ON tagged USING gin (a)',
    );
    const answer = await service.post('/table/tagged/upload/json?if_exists=append', {
      data: [{ a: Array(70_000).fill(1) }],
    });
    assert.equal(assertProblem(answer, 422, 'invalid-data').errors[0]!.code, 'too-complex');
  });
});

suite('constraints and indexes that only PostgreSQL can make', () => {
  const append = (table: string, data: object[]) =>
    service.post(`/table/${table}/upload/json?if_exists=append`, { data });
  const refused = async (answer: Promise<TestAnswer>) =>
    assert.equal(assertProblem(await answer, 422, 'invalid-data').errors[0]!.code, 'too-complex');

  test('polygons that an exclusion constraint compares have about 1,000 points', async () => {
    await service.database.pool.query(`CREATE TABLE areas (id int, p polygon, EXCLUDE USING gist (p WITH &&));
      CREATE TABLE traced (p text, EXCLUDE USING gist ((p::polygon) WITH ~=));
      CREATE TABLE free (p polygon, b box, EXCLUDE USING gist (b WITH &&))`);
    // The bounding boxes of the strips overlap, but the strips do not.
    const strip = (points: number, height: number) =>
      `(${Array.from({ length: points }, (_, x) => `(${x},${x + height + (x % 2)})`)})`;
    for (const [table, status] of [
      ['areas', 422],
      ['traced', 422],
      ['free', 200],
    ] as const) {
      const long = append(table, [{ p: strip(2000, 0) }, { p: strip(2000, 500) }]);
      if (status === 422) await refused(long);
      else assert.equal((await long).status, 200, table);
      const short = await append(table, [{ p: strip(900, 0) }, { p: strip(900, 500) }]);
      assert.equal(short.status, 200, `${table}: ${JSON.stringify(short.body)}`);
    }
  });

  test('arrays that functions of intarray sort have at most 60,000 elements', async () => {
    await service.database.pool.query(`CREATE EXTENSION intarray;
      CREATE TABLE held (a int[], EXCLUDE USING gist (a gist__intbig_ops WITH &&));
      CREATE TABLE spread (a int[]); CREATE INDEX ON spread USING gist (a);
      CREATE TABLE signed (a int[]); CREATE INDEX ON signed USING gist (a gist__intbig_ops)`);
    for (const table of ['held', 'spread']) {
      await refused(append(table, [{ a: killerOrder(70_000).order }]));
      assert.equal((await append(table, [{ a: [1, 2] }])).status, 200);
    }
    const { status } = await append('signed', [{ a: killerOrder(70_000).order }]);
    assert.equal(status, 200);
  });

  test('the text that an expression repeats counts as often as it is repeated', async () => {
    await service.database.pool.query(`CREATE TABLE repeated (a text); CREATE UNIQUE INDEX ON repeated (md5(repeat(a, 3000)));
      CREATE TABLE checked (a text CHECK (length(repeat(a, 3000)) > 0)); CREATE TABLE doubled (a text CHECK (length(repeat(a, 2)) > 0))`);
    const long = [{ a: 'x'.repeat(300_000) }];
    for (const table of ['repeated', 'checked']) {
      await refused(append(table, long));
      assert.equal((await append(table, [{ a: 'x'.repeat(30_000) }])).status, 200, table);
    }
    assert.equal((await append('doubled', long)).status, 200);
  });
});

suite('ordinary values', () => {
  const shuffled = order.slice(0, 20_000);
  const sorted = [...order].sort((a, b) => a - b);
  for (const [name, type, value] of [
    ['an object with 20,000 keys', 'jsonb', () => objectOf(shuffled)],
    ['an object with many sorted keys', 'jsonb', () => objectOf(sorted)],
    [
      'many objects',
      'jsonb',
      () => Array.from({ length: 50_000 }, (_, a) => ({ id: a, name: 'b', size: 1 })),
    ],
    ['a long text of JSON', 'jsonb', () => ({ text: 'a: 1, "b": 2, '.repeat(50_000) })],
    ['many keys that are not sorted', 'json', () => objectOf(order)],
    ['hstore', 'hstore', () => shuffled.map((rank) => `${key(rank)}=>1`).join()],
    ['words', 'tsvector', () => shuffled.map((rank) => `'${key(rank)}':1,2`).join(' ')],
    ['ranges', 'int4multirange', () => `{${shuffled.slice(0, 5000).map(range)}}`],
  ] as const) {
    test(`${name} are loaded`, async () => {
      const answer = await load(type, value());
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
    });
  }

  test('what PostgreSQL writes can be loaded again', async () => {
    const { rows } = await service.database.pool.query('SELECT $1::jsonb::text AS a', [
      JSON.stringify(objectOf(order.toReversed())),
    ]);
    assert.equal((await load('jsonb', JSON.parse(rows[0].a))).status, 200);
  });
});
