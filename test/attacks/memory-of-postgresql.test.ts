/** Definitions, tables and values that are short, and for which PostgreSQL would need much memory. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { sized } from '../support/sized.ts';

const mib = 2 ** 20;
let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
  await service.database.pool.query(`
    CREATE TYPE wide AS (a char(10485760));
    CREATE TYPE wide_twice AS (a wide, b wide);
    CREATE DOMAIN wide_domain AS wide;
    CREATE TYPE digits AS (a numeric(1000,1000));
    CREATE TYPE pair AS (a numeric, b text);
    CREATE TYPE searches AS (a tsquery);
    CREATE TYPE documents AS (a jsonb, b xml);
    CREATE TYPE paths AS (a jsonpath);
    CREATE TYPE whole_numbers AS (a int[]);
    CREATE DOMAIN amounts AS numeric[];`);
});
after(async () => {
  await service?.stop('SIGTERM');
});

/**
 * Sends the request, and checks the memory that it takes of the service and of PostgreSQL. V8 may still hold what earlier requests needed, so
 * only what the service takes in addition counts.
 */
async function send(work: () => Promise<TestAnswer>, maxBackendMib = 100): Promise<TestAnswer> {
  service.resetPeakMemory();
  const before = service.peakMemoryBytes() ?? 0;
  const { result, backendBytes = 0 } = await withBackendMemory(service.database, work);
  const grown = (service.peakMemoryBytes() ?? 0) - before;
  assert.ok(backendBytes < maxBackendMib * mib, `a backend held ${backendBytes / mib} MiB`);
  assert.ok(grown < 200 * mib, `the process took ${grown / mib} MiB more than ${before / mib} MiB`);
  return result;
}

const listOf = (count: number, text: string) => Array(count).fill(text).join();
const operators = (count: number) => Array(count).fill('a').join('&');
/** A condition of `jsonpath` with so many long numbers. */
const conditions = (count: number) => Array(count).fill('@ == 1e131071').join(' || ');
const numbers = `{${listOf(4500, '1e131071')}}`;

interface Column {
  type: string;
  default?: string;
}

const tooLong: [name: string, column: Column, count: number, code: string][] = [
  ['an array of long numbers', { type: 'numeric[]', default: numbers }, 1, 'defaults-too-long'],
  ['a domain over such an array', { type: 'amounts', default: numbers }, 1, 'defaults-too-long'],
  ['1,600 long numbers', { type: 'numeric', default: '1e131071' }, 1600, 'defaults-too-long'],
  [
    '1,600 long numbers with a cast',
    { type: 'text', default: "'1e131071'::numeric" },
    1600,
    'defaults-too-long',
  ],
  ['long numbers in calls', { type: 'json', default: 'json_build_array(1e131071)' }, 40, 'defaults-too-long'],
  [
    'long numbers in JSON',
    { type: 'jsonb', default: `[${listOf(100, '1e131071')}]` },
    1,
    'defaults-too-long',
  ],
  ['long numbers in fields', { type: 'pair', default: '(1e131071,)' }, 40, 'defaults-too-long'],
  ['long numbers in ranges', { type: 'numrange', default: '[1,1e131071]' }, 40, 'defaults-too-long'],
  ['numbers in a jsonpath', { type: 'jsonpath', default: `$ ? (${conditions(50)})` }, 1, 'defaults-too-long'],
  ['numbers with underscores', { type: 'numeric', default: '1e1_31071' }, 40, 'defaults-too-long'],
  ['numbers with escapes', { type: 'pair', default: '(1\\e131071,)' }, 40, 'defaults-too-long'],
  ['numbers with quotes', { type: 'pair', default: '(1"e"131071,)' }, 40, 'defaults-too-long'],
  ['a long tsquery', { type: 'tsquery', default: operators(9000) }, 1, 'defaults-too-long'],
  [
    'a long tsquery in a field',
    { type: 'searches', default: `(${operators(9000)})` },
    1,
    'defaults-too-long',
  ],
  [
    'a long tsquery with a cast',
    { type: 'text', default: `'${operators(9000)}'::tsquery` },
    1,
    'defaults-too-long',
  ],
  ['elements tsvector', { type: 'tsvector[]', default: `{${listOf(200_000, 'a')}}` }, 1, 'defaults-too-long'],
  ['a padded field', { type: 'wide', default: '(x)' }, 1, 'defaults-too-long'],
  ['fractions of fields', { type: 'digits[]', default: `{${listOf(5000, '(0)')}}` }, 1, 'defaults-too-long'],
  ['40 padded fields', { type: 'wide', default: '(x)' }, 40, 'row-too-long'],
  ['padded fields of fields', { type: 'wide_twice' }, 1, 'row-too-long'],
  ['padded fields of domains', { type: 'wide_domain', default: '(x)' }, 10, 'row-too-long'],
  ['padded fields in an array', { type: 'wide[]', default: `{${listOf(20, '(x)')}}` }, 1, 'row-too-long'],
  ['casts to a padded field', { type: 'text', default: "'(x)'::wide" }, 10, 'row-too-long'],
];

suite('the defaults of a definition', () => {
  for (const [name, column, count, code] of tooLong) {
    test(`${name} are refused before PostgreSQL reads them`, async () => {
      const columns = Array.from({ length: count }, (_, index) => ({ name: `c${index}`, ...column }));
      const answer = await send(() => service.post('/table/long', { table: { columns } }), 64);
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.deepEqual(
        errors?.map((error) => error.code),
        [code],
      );
    });
  }

  test('the numbers of a jsonpath count in rows and when rows are listed', async () => {
    await service.database.pool.query(`CREATE TABLE jsonpaths (a jsonpath, b int)`);
    const data = [{ a: `$ ? (${conditions(1500)})`, b: 1 }];
    const path = '/table/jsonpaths/upload/json?if_exists=append';
    const answer = await send(() => service.post(path, { data }));
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors?.map(({ code }) => code),
      ['too-complex'],
    );
    assert.equal((await service.post(path, { data: [{ a: '$.a ? (@ > 1.5)', b: 2 }] })).status, 200);
    await service.database.pool.query('INSERT INTO jsonpaths VALUES ($1, 1)', [`$ ? (${conditions(3000)})`]);
    const { status, body } = await send(() => service.get('/table/jsonpaths/rows'));
    assert.deepEqual(
      [status, body.rows],
      [
        200,
        [
          { a: '$."a"?(@ > 1.5)', b: 2 },
          { a: null, b: 1 },
        ],
      ],
    );
    assert.deepEqual(body.cut, [{ row: 2, column: 'a' }]);
  });

  test('a table whose defaults are too long to be described is not created', async () => {
    const columns = [{ name: 'a', type: 'name[]', default: `{${listOf(100_000, 'a')}}` }];
    const answer = await send(() => service.post('/table/long', { table: { columns } }));
    assertProblem(answer, 413, 'limit-exceeded');
    assert.equal((await service.get('/table/long')).status, 404);
  });

  test('the row type of a table pads its values too', async () => {
    const made = await service.post('/table/wide_table', {
      table: { columns: [{ name: 'a', type: 'char(10485760)' }] },
    });
    assert.equal(made.status, 201);
    const columns = Array.from({ length: 10 }, (_, index) => ({
      ...{ name: `c${index}`, type: 'public.wide_table', default: '(x)' },
    }));
    const answer = await send(() => service.post('/table/long', { table: { columns } }), 64);
    assert.equal(assertProblem(answer, 422, 'invalid-definition').errors?.[0]?.code, 'row-too-long');
  });

  test('a type that contains another one many times is measured without counting each path', async () => {
    const { pool } = service.database;
    await pool.query('CREATE TYPE level0 AS (a int)');
    for (let level = 1; level <= 12; level++) {
      await pool.query(`CREATE TYPE level${level} AS (a level${level - 1}, b level${level - 1})`);
    }
    const columns = [
      { name: 'a', type: 'level12' },
      { name: 'b', type: 'int' },
    ];
    const made = await send(() => service.post('/table/levels', { table: { columns } }));
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const load = await service.post('/table/levels/upload/json?if_exists=append', { data: [{ b: 1 }] });
    assert.equal(load.status, 200, JSON.stringify(load.body));
  });

  test('tables whose types contain four times as many types with each level are refused from level 9 on', async () => {
    const create = (level: number) => {
      const type = level === 0 ? 'int' : `public.nested${level - 1}`;
      const columns = ['a', 'b', 'c', 'd'].map((name) => ({ name, type, default: '(,,,)' }));
      for (const column of columns) if (level === 0) column.default = '0';
      return send(() => service.post(`/table/nested${level}`, { table: { columns } }));
    };
    for (let level = 0; level < 9; level++) {
      const { status, body } = await create(level);
      assert.equal(status, 201, JSON.stringify(body));
    }
    const { errors } = assertProblem(await create(9), 422, 'invalid-definition');
    assert.deepEqual(
      errors?.map(({ code, pointer }) => [code, pointer]),
      [['types-too-nested', '/table/columns/2/type']],
    );
  });

  test('ordinary defaults are created and described, however many and long they are', async () => {
    const document = JSON.stringify(
      Array.from({ length: 5000 }, (_, n) => ({ [`key ${n}`]: `${n}`.repeat(9), n })),
    );
    const columns = [
      { name: 'document', type: 'jsonb', default: document },
      { name: 'numbers', type: 'numeric[]', default: `{${Array.from({ length: 5000 }, (_, n) => n / 8)}}` },
      { name: 'pair', type: 'pair', default: '(1.5,1e9)' },
      {
        name: 'whole',
        type: 'whole_numbers',
        default: `("{${Array.from({ length: 20_000 }, (_, n) => n)}}")`,
      },
      ...Array.from({ length: 1000 }, (_, n) => ({ name: `n${n}`, type: 'numeric', default: `${n}.25` })),
    ];
    const made = await send(() => service.post('/table/ordinary', { table: { columns } }));
    assert.equal(made.status, 201, JSON.stringify(made.body).slice(0, 500));
    const described = await send(() => service.get('/table/ordinary'));
    assert.equal(described.status, 200, JSON.stringify(described.body).slice(0, 500));
    assert.deepEqual(described.body, made.body);
  });
});

suite('a table with a default that is long as text', () => {
  const path = '/table/made_elsewhere';
  const upload = (ifExists: string) => () =>
    service.post(`${path}/upload/json?if_exists=${ifExists}`, { data: [{ b: 1 }] });
  const requests: [name: string, work: () => Promise<TestAnswer>, status: number][] = [
    ['Describe Table', () => service.get(path), 413],
    ['Read First Rows', () => service.get(`${path}/rows`), 413],
    ['an append', upload('append'), 413],
    // A faulty row would be found only after the rows are read.
    [
      'an append of faulty rows',
      () => service.post(`${path}/upload/json?if_exists=append`, { data: [{ b: 'x' }] }),
      413,
    ],
    ['a truncate', upload('truncate'), 413],
    [
      'if_not_exists',
      () => service.post(`${path}?if_not_exists=true`, { table: { columns: [{ name: 'b', type: 'int' }] } }),
      413,
    ],
    ['List Tables', () => service.get('/api/v1/tables?schema=public'), 200],
    ['a replace', upload('replace'), 201],
  ];
  const tables: [name: string, sql: string, owner: string][] = [
    [
      'an array of long numbers',
      `CREATE TABLE made_elsewhere (b int, a numeric[] DEFAULT '${numbers}')`,
      'column "a"',
    ],
    [
      'JSON of long numbers',
      `CREATE TABLE made_elsewhere (b int, a jsonb DEFAULT '[${listOf(4500, '1e131071')}]')`,
      'column "a"',
    ],
    [
      'ranges of long numbers',
      `CREATE TABLE made_elsewhere (b int, ${Array.from({ length: 300 }, (_, n) => `c${n} numrange DEFAULT '[1,1e131071]'`)})`,
      'column "c',
    ],
    [
      'a check with long numbers',
      `CREATE TABLE made_elsewhere (b int, a numeric[], CONSTRAINT a_check CHECK (a <> '${numbers}'))`,
      'constraint "a_check"',
    ],
  ];
  for (const [name, sql, owner] of tables) {
    test(`${name}: the service and PostgreSQL answer in bounded memory`, async () => {
      await service.database.pool.query(`DROP TABLE IF EXISTS made_elsewhere; ${sql}`);
      for (const [request, work, status] of requests) {
        const answer = await send(work);
        assert.equal(answer.status, status, `${request}: ${JSON.stringify(answer.body).slice(0, 300)}`);
        if (status !== 413) continue;
        const { detail } = assertProblem(answer, 413, 'limit-exceeded');
        assert.ok(detail.includes(`${owner}`), `${request}: ${detail}`);
      }
    });
  }
});

suite('rows with numbers that have many more digits than bytes', () => {
  const values: [type: string, value: string][] = [
    ['numeric[]', `{${listOf(8000, '1e131071')}}`],
    ['jsonb', `{"a":[${listOf(8000, '1e131071')}]}`],
    ['jsonb[]', `{"[${listOf(8000, '1e131071')}]"}`],
    ['numrange[]', `{${listOf(2000, '"[1,1e131071]"')}}`],
    ['nummultirange', `{${Array.from({ length: 2000 }, (_, n) => `[${n}e-16000,${n}.5e-16000]`)}}`],
    ['amounts', `{${listOf(8000, '1e131071')}}`],
  ];
  for (const [type, value] of values) {
    test(`${type}: a first row that is too long is not written`, async () => {
      await service.database.pool.query(
        `DROP TABLE IF EXISTS long_rows; CREATE TABLE long_rows (a ${type}); INSERT INTO long_rows VALUES ('${value}')`,
      );
      const answer = await send(() => service.get('/table/long_rows/rows'), 64);
      assert.deepEqual([answer.status, answer.body.rows], [200, [{ a: null }]]);
      assert.deepEqual(answer.body.cut, [{ row: 1, column: 'a' }]);
    });
  }

  test('many columns and rows of long numbers are listed up to the limit', async () => {
    const columns = Array.from({ length: 100 }, (_, n) => `c${n} numeric DEFAULT 1e131071`);
    await service.database.pool.query(
      `DROP TABLE IF EXISTS long_rows; CREATE TABLE long_rows (a int, ${columns}); INSERT INTO long_rows SELECT generate_series(1, 20)`,
    );
    const answer = await send(() => service.get('/table/long_rows/rows?limit=20'), 160);
    assert.equal(answer.status, 200);
    assert.equal((answer.body.rows as unknown[]).length, 1);
  });

  test('ordinary numbers of all types are listed', async () => {
    await service.database.pool.query(`
      DROP TABLE IF EXISTS long_rows;
      CREATE TABLE long_rows (a numeric, b numeric[], c numrange, d nummultirange, e jsonb, f jsonb[], g numrange[]);
      INSERT INTO long_rows VALUES (1.50, '{1,NULL,NaN}', '[1,)', '{[1,2]}', '{"a":[1e300,-0.5]}', '{1,2}', '{"[1,2]"}'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('-Infinity', '{}', 'empty', '{}', '1', '{}', '{}')`);
    const answer = await service.get('/table/long_rows/rows');
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal((answer.body.rows as unknown[]).length, 3);
  });
});

const manyRanges = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `[${2 * index},${2 * index + 1})`)}}`;

suite('values with many parts', () => {
  const values: [name: string, type: string, value: () => unknown][] = [
    ['ranges in a multirange', 'int4multirange', () => manyRanges(800_000)],
    ['ranges in an array', 'int4range[]', () => Array(900_000).fill('[1,2)')],
    ['ranges in the text of an array', 'int4range[]', () => `{${listOf(900_000, '"[1,2)"')}}`],
    ['elements tsvector', 'tsvector[]', () => Array(900_000).fill('a')],
    ['objects in jsonb', 'jsonb', () => Array(4_000_000).fill({})],
    ['elements xml', 'xml', () => `<r>${'<a/>'.repeat(3_000_000)}</r>`],
    ['operators in tsquery', 'tsquery', () => listOf(9000, 'a').replaceAll(',', '&')],
    ['operators in a field tsquery', 'searches', () => `(${operators(9000)})`],
    ['operators in a field jsonpath', 'paths[]', () => [`(${listOf(600_000, '1').replaceAll(',', '+')})`]],
    ['long numbers with underscores', 'numeric[]', () => Array(4500).fill('1e1_31071')],
    ['long numbers with escapes', 'pair[]', () => Array(4500).fill('(1\\e131071,a)')],
    ['long numbers with quotes', 'numrange[]', () => Array(4500).fill('[1,1"e"131071]')],
    ['long numbers in the text of an array', 'jsonb[]', () => `{${listOf(4500, '"1e131071"')}}`],
    ['operators in jsonpath', 'jsonpath', () => listOf(600_000, '1').replaceAll(',', '+')],
    ['long numbers in an array', 'numeric[]', () => Array(4500).fill('1e131071')],
    ['long numbers in jsonb', 'jsonb', () => JSON.parse(`[${listOf(4500, '1')}]`)],
    ['long numbers in composite values', 'pair[]', () => Array(4500).fill('(1e131071,a)')],
  ];
  for (const [name, type, value] of values) {
    test(`${name} are refused before PostgreSQL reads them`, async () => {
      const data = JSON.stringify([{ a: value() }]);
      const isNumbers = name === 'long numbers in jsonb';
      const rows = isNumbers ? data.replaceAll('1', '1e131071') : data;
      const body = `{"table":{"columns":[{"name":"a","type":"${type}"}]},"data":${rows}}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await send(() =>
        service.request('POST', '/table/parts/upload/json?dry_run=true', { body, headers }),
      );
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.deepEqual(
        errors?.map(({ code }) => code),
        ['too-complex'],
      );
    });
  }

  const most: [type: string, value: () => unknown][] = [
    ['int4multirange', () => manyRanges(9_000)],
    ['int4range[]', () => Array(sized(9_000, 97_000)).fill('[1,2)')],
    ['tsvector[]', () => Array(sized(19_000, 195_000)).fill('a')],
    ['jsonb', () => Array(sized(60_000, 560_000)).fill({})],
    ['xml', () => `<r>${'<a/>'.repeat(sized(200_000, 1_800_000))}</r>`],
    ['pair[]', () => Array(sized(9_000, 97_000)).fill('(1e9,a)')],
    ['pair', () => `(1,"${','.repeat(200_000)}")`],
    ['pair[]', () => Array(6000).fill('(1,41e99999-1e12-4e13-8e99-1e99999e9999)')],
    [
      'tsvector',
      () =>
        Array.from(
          { length: 800 },
          (_, word) => `w${word}:${Array.from({ length: 255 }, (_, n) => n + 1)}`,
        ).join(' '),
    ],
    ['jsonb', () => ({ text: '{,e99999 1e99999 \\1 '.repeat(sized(2_000, 200_000)) })],
  ];
  for (const [type, value] of most) {
    test(`a value of type ${type} with fewer parts is loaded, in bounded memory`, async () => {
      const body = { table: { columns: [{ name: 'a', type }] }, data: [{ a: value() }] };
      const answer = await send(() => service.post('/table/parts/upload/json?dry_run=true', body), 512);
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
    });
  }
});

suite('a row of several values that are large for their types', () => {
  const rows: [name: string, type: string, value: string][] = [
    ['numbers in jsonb', 'jsonb', `[${listOf(1_500_000, '1')}]`],
    ['objects in jsonb', 'jsonb', `[${listOf(190_000, '{}')}]`],
    ['multiranges', 'int4multirange', `"${manyRanges(9_000)}"`],
    ['texts of arrays of bit strings', 'bit(1)[]', `"{${listOf(900_000, '1')}}"`],
    ['arrays of names', 'name[]', `"{${listOf(500_000, '1')}}"`],
    ['elements xml', 'xml', `"<r>${'<a/>'.repeat(700_000)}</r>"`],
    ['short arrays of long numbers', 'numeric[]', `[${listOf(100, '1e131071')}]`],
  ];
  for (const [name, type, value] of rows) {
    test(`${name}: the values beyond the limit are refused`, async () => {
      const columns = Array.from({ length: 12 }, (_, index) => ({ name: `c${index}`, type }));
      const cells = columns.map((column) => `"${column.name}":${value}`);
      const body = `{"table":${JSON.stringify({ columns })},"data":[{${cells}}]}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await send(() =>
        service.request('POST', '/table/parts/upload/json?dry_run=true', { body, headers }),
      );
      const { errors, error_count: count } = assertProblem(answer, 422, 'invalid-data');
      assert.ok(
        errors?.every(({ code }) => code === 'too-complex'),
        JSON.stringify(errors),
      );
      assert.ok(count !== undefined && count < columns.length, `${count} values are refused`);
    });
  }

  test('short values with long numbers count too', async () => {
    const columns = Array.from({ length: 24 }, (_, index) => ({ name: `c${index}`, type: 'numeric[]' }));
    const row = Object.fromEntries(columns.map(({ name }) => [name, Array(12).fill('1e131071')]));
    const answer = await send(() =>
      service.post('/table/parts/upload/json', { table: { columns }, data: [row] }),
    );
    const { errors, error_count: count } = assertProblem(answer, 422, 'invalid-data');
    assert.ok(errors?.every(({ code }) => code === 'too-complex'));
    assert.equal(count, 24 - Math.floor((16 * mib) / (12 * 131_071)));
  });

  test('PostgreSQL does not gather several rows that are long as it stores them', async () => {
    const numbersOfRow = `[${listOf(sized(400_000, 4_400_000), '1')}]`;
    const body = `{"table":{"columns":[{"name":"a","type":"jsonb"}]},"data":[${Array(20).fill(`{"a":${numbersOfRow}}`)}]}`;
    const answer = await send(
      () =>
        service.request('POST', '/table/parts/upload/json?dry_run=true', {
          body,
          headers: { 'content-type': 'application/json' },
        }),
      sized(150, 512),
    );
    assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
  });

  test('a row of the largest texts is loaded', async () => {
    const data = [Object.fromEntries(['a', 'b', 'c'].map((name) => [name, 'x'.repeat(15 * mib)]))];
    const columns = ['a', 'b', 'c'].map((name) => ({ name, type: 'text' }));
    const path = '/table/parts/upload/json?dry_run=true';
    assert.equal((await service.post(path, { table: { columns }, data })).status, 200);
  });
});

test('a default counts with the length of its value', async () => {
  const columns = [
    { name: 'a', type: 'text', default: `to_char(now(), '${'J'.repeat(900_000)}')` },
    { name: 'b', type: 'int' },
  ];
  assert.equal((await send(() => service.post('/table/days', { table: { columns } }))).status, 201);
  const data = Array.from({ length: 60 }, (_, b) => ({ b }));
  const answer = await send(() => service.post('/table/days/upload/json?if_exists=append', { data }));
  assert.match(
    assertProblem(answer, 413, 'limit-exceeded').detail,
    /^The defaults, generated values, index entries and padding/,
  );
  const few = await service.post('/table/days/upload/json?if_exists=append', { data: data.slice(0, 5) });
  assert.equal(few.status, 200);
});

test('a default that fails or takes numbers from a sequence is not evaluated for its length', async () => {
  const { pool } = service.database;
  await pool.query(`
    CREATE SEQUENCE letters; GRANT USAGE ON letters TO public;
    CREATE FUNCTION must_be_sent() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'send a value'; END $$;
    CREATE TABLE careful (
      a text DEFAULT 'A' || nextval('letters'), b text DEFAULT must_be_sent(), c text DEFAULT repeat('x', -1 / (random() * 0)::int))`);
  const data = [{ b: 'x', c: 'y' }];
  const answer = await service.post('/table/careful/upload/json?if_exists=append', { data });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { rows } = await pool.query('SELECT a FROM careful');
  assert.deepEqual(rows, [{ a: 'A1' }]);
});

test('PostgreSQL does not gather rows with long generated values', async () => {
  const { pool } = service.database;
  await pool.query(`
    CREATE DOMAIN long_text AS text;
    CREATE TABLE generated (b text, g text GENERATED ALWAYS AS (repeat(b, 300000)) STORED, h int GENERATED ALWAYS AS (length(b)) STORED);
    CREATE TABLE generated_parts (b text, g long_text GENERATED ALWAYS AS (repeat(b, 300000)) STORED) PARTITION BY LIST (b);
    CREATE TABLE generated_limited (b text, g varchar(300000) GENERATED ALWAYS AS (repeat(b, 300000)) STORED);
    CREATE TABLE generated_list (b text, g varchar(10)[] GENERATED ALWAYS AS (array_fill(b::varchar(10), array[30000])) STORED);
    CREATE TABLE generated_part PARTITION OF generated_parts FOR VALUES IN ('x');
`);
  const data = Array.from({ length: 500 }, () => ({ b: 'x' }));
  const tables = {
    generated: ['truncate', 'append'],
    generated_parts: ['truncate'],
    generated_limited: ['append'],
    generated_list: ['append'],
  };
  for (const [table, choices] of Object.entries(tables))
    for (const ifExists of choices) {
      const answer = await send(() =>
        service.post(`/table/${table}/upload/json?if_exists=${ifExists}`, { data }),
      );
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    }
  const { rows } = await pool.query(
    'SELECT count(*)::int, count(h)::int AS h, min(length(g)) FROM generated UNION ALL SELECT count(*)::int, 0, min(length(g)) FROM generated_parts',
  );
  assert.deepEqual(rows, [
    { count: 1000, h: 1000, min: 300_000 },
    { count: 500, h: 0, min: 300_000 },
  ]);
});

suite('many changes of a table with long defaults, for each of which PostgreSQL keeps the whole table', () => {
  const numbered = (name: string, count: number, column: object) =>
    Array.from({ length: count }, (_, index) => ({ name: `${name}${index}`, ...column }));
  const long = { default: `greatest(${listOf(200, '1')})`, default_is_expression: true };
  const checks = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      expression: `greatest(${listOf(200, 'c0')}) > ${index}`,
    }));
  const put = (table: string, query: string, body: object) =>
    service.request('PUT', `/table/${table}${query}`, {
      body: JSON.stringify({ table: body }),
      headers: { 'content-type': 'application/json' },
    });
  const row = (name: string, value: number) =>
    Object.fromEntries(numbered(name, 250, {}).map((column) => [column.name, value]));
  const upload = (table: string, query: string, data: object[]) =>
    service.post(`/table/${table}/upload/json?if_exists=append&${query}`, { data });

  const ways: Record<string, [of: object, change: (table: string) => Promise<TestAnswer>]> = {
    'new defaults': [{}, (table) => put(table, '', { columns: numbered('c', 300, long) })],
    'generated columns': [
      {},
      (table) =>
        put(table, '', {
          columns: [
            ...numbered('c', 300, {}),
            ...numbered('g', 300, { type: 'int', generated: `greatest(${listOf(200, 'c0')})` }),
          ],
        }),
    ],
    checks: [{}, (table) => put(table, '', { constraints: { checks: checks(300) } })],
    'new names': [
      long,
      (table) =>
        put(table, '', {
          columns: numbered('d', 300, {}).map((column, index) => ({ ...column, renamed_from: `c${index}` })),
        }),
    ],
    'new types': [
      long,
      (table) => put(table, '?dry_run=true', { columns: numbered('c', 300, { type: 'bigint' }) }),
    ],
    'extra_columns=add': [long, (table) => upload(table, 'extra_columns=add', [row('e', 1)])],
    'misfits=widen': [long, (table) => upload(table, 'misfits=widen', [row('c', 2 ** 40)])],
  };
  for (const [name, [of, change]] of Object.entries(ways))
    test(name, async () => {
      const table = name.replaceAll(/\W/g, '_');
      const columns = numbered('c', 300, { type: 'int', ...of });
      assert.equal((await service.post(`/table/${table}`, { table: { columns } })).status, 201);
      const answer = await send(() => change(table), 250);
      assertProblem(answer, 413, 'limit-exceeded');
      assert.match(
        answer.body.detail,
        /Make the \d+ changes in several requests, each with at most \d+ of them/,
      );
    });

  test('300 of them that are short are made', async () => {
    const columns = numbered('c', 300, { type: 'int' });
    assert.equal((await service.post('/table/changed', { table: { columns } })).status, 201);
    const body = { columns: numbered('c', 300, { type: 'bigint', default: '1', is_nullable: false }) };
    const { status } = await send(() => put('changed', '', body), 250);
    assert.equal(status, 200);
  });

  test('one of 300 checks that PostgreSQL refuses', async () => {
    const all = checks(300);
    all[150] = { expression: `greatest(${listOf(200, 'c0')}, 'x'::text) > 0` };
    const body = { table: { columns: [{ name: 'c0', type: 'int' }], constraints: { checks: all } } };
    const { status, body: refusal } = await send(() => service.post('/table/refused', body), 250);
    assert.deepEqual(
      [status, refusal.errors.map(({ pointer }: { pointer: string }) => pointer)],
      [422, ['/table/constraints/checks/150/expression']],
    );
  });
});
