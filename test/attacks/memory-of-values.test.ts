/** Values that are short as text, and for which PostgreSQL would need much memory or time, or memory that it keeps. */
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
    CREATE TYPE digits AS (a numeric(1000,1000));
    CREATE TYPE documents AS (a jsonb, b xml);
    CREATE DOMAIN route AS jsonpath;
    CREATE TYPE paths AS (a int, b jsonpath);
    CREATE TYPE visits AS (a text, b timestamptz);`);
});
after(async () => {
  await service?.stop('SIGTERM');
});

/** Sends the request, and checks the memory of PostgreSQL. */
async function send(work: () => Promise<TestAnswer>, maxBackendMib: number): Promise<TestAnswer> {
  const { result, backendBytes = 0 } = await withBackendMemory(service.database, work);
  assert.ok(backendBytes < maxBackendMib * mib, `a backend held ${backendBytes / mib} MiB`);
  return result;
}

function load(type: string, values: unknown[], maxBackendMib = 100): Promise<TestAnswer> {
  const body = { table: { columns: [{ name: 'a', type }] }, data: values.map((a) => ({ a })) };
  return send(() => service.post('/table/values/upload/json?dry_run=true', body), maxBackendMib);
}

/** A name of a time zone that no other index has: `AAAA-1`. */
function zone(index: number): string {
  const letters = [17_576, 676, 26, 1].map((unit) =>
    String.fromCharCode(65 + (Math.floor(index / unit) % 26)),
  );
  return `${letters.join('')}-1`;
}

const inZone = (index: number) => `2026-01-01 00:00 ${zone(index)}`;
const list = (count: number, of: (index: number) => unknown) =>
  Array.from({ length: count }, (_, n) => of(n));
const attributes = (count: number) => list(count, (n) => `a${n}=""`).join(' ');
/** Elements within each other, each of which declares namespaces. */
const nested = (depth: number, count: number) =>
  `<z xmlns:z="u" ${list(count, (n) => `xmlns:a${n}="u"`).join(' ')}>`.repeat(depth);
/** `1:02:03`, another one for each index up to 32,400. */
const shortOffset = (index: number) =>
  [1 + Math.floor(index / 3600), Math.floor(index / 60) % 60, index % 60]
    .map((part, place) => String(part).padStart(place === 0 ? 1 : 2, '0'))
    .join(':');
/** A path with a regular expression. */
const like = (pattern: string, keyword = 'like_regex') => `$ ? (@ ${keyword} "${pattern}" flag "i")`;
const groups = (count: number) => '(a?)*(b?)*'.repeat(count);
const declared = (bytes: number) => `<!DOCTYPE r [<!ATTLIST b x CDATA "${'y'.repeat(bytes)}">]>`;
const entity = (bytes: number) => `<!DOCTYPE r [<!ENTITY e "${'y'.repeat(bytes)}">]>`;

suite('values that PostgreSQL does not read', () => {
  const values: [name: string, type: string, values: () => unknown[]][] = [
    ['arrays in jsonb', 'jsonb', () => [list(2_000_000, () => [])]],
    ['attributes that XML declares', 'xml', () => [`${declared(3000)}<r>${'<b/>'.repeat(1000)}</r>`]],
    ['entities that XML declares', 'xml', () => [`${entity(3000)}<r>${'&e;'.repeat(1000)}</r>`]],
    ['a declaration in an array', 'xml[]', () => [`{"<\\!ATT${'<b/>'.repeat(2000)}"}`]],
    ['a declaration in a field', 'documents', () => [`(,"<!""ENTITY${'<b/>'.repeat(2000)}")`]],
    ['many attributes of an element', 'xml', () => [`<r ${attributes(5000)}/>`]],
    ['many names of elements', 'xml', () => [`<r>${list(60_000, (n) => `<b${n}/>`).join('')}</r>`]],
    ['many names of attributes', 'xml', () => [`<r>${list(60_000, (n) => `<b a${n} = ''/>`).join('')}</r>`]],
    [
      'namespaces of many elements',
      'xml',
      () => [`${nested(80, 100)}${'<z:a/>'.repeat(40_000)}${'</z>'.repeat(80)}`],
    ],
    [
      'namespaces of many attributes',
      'xml',
      () => [
        `${nested(100, 200)}${`<e ${list(280, (n) => `z:b${n}=""`).join(' ')}/>`.repeat(60)}${'</z>'.repeat(100)}`,
      ],
    ],
    ['many elements with many attributes', 'xml', () => [`<r>${`<b ${attributes(4000)}/>`.repeat(30)}</r>`]],
    ['a long pattern', 'jsonpath', () => [like(groups(60))]],
    ['a long pattern in an array', 'jsonpath[]', () => [[like(groups(60))]]],
    [
      'a long pattern in the text of an array',
      'jsonpath[]',
      () => [`{$ ? (@ l\\ike_regex \\"${groups(60)}\\")}`],
    ],
    ['a long pattern of a domain', 'route', () => [like(groups(60), 'LIKE_REGEX')]],
    ['a long pattern in a field', 'paths', () => [`(1,"${like(groups(60)).replaceAll('"', '""')}")`]],
    [
      'long patterns together',
      'jsonpath',
      () => [
        list(20, () => like(groups(2)).slice(2))
          .join('')
          .replace('', '$'),
      ],
    ],
    ['repeated groups', 'jsonpath', () => [like('(a?){255}(b?){255}')]],
    ['repeated groups after a comment', 'jsonpath', () => [like('(?x)(a?)#a\\n{255}(b?)#a\\n{255}')]],
    ['groups with repeated groups', 'jsonpath', () => [like('((((x{1,100}){1,100}){1,100}){1,100})')]],
    ['repeated characters', 'jsonpath', () => [like('.{0,255}'.repeat(4))]],
    ['digits behind backslashes', 'jsonpath', () => [like('(a?){\\2\\55}(b?){\\2\\55}')]],
    ['many anchors', 'jsonpath', () => [like('(^|$|a)*'.repeat(16))]],
    ['many borders of words', 'jsonpath', () => [like('(\\\\y|a?)*'.repeat(17))]],
    ['a keyword with an escape', 'jsonpath', () => [like(groups(60), 'l\\u0069ke_regex')]],
    ['a keyword with another escape', 'jsonpath', () => [like(groups(60), 'like\\x5fregex')]],
    ['a keyword with a long escape', 'jsonpath', () => [like(groups(60), 'like_rege\\u{000078}')]],
    ['braces with an escape', 'jsonpath', () => [like('(a?)\\u007b255}(b?)\\u007b255}')]],
    ['an escape in an array', 'jsonpath[]', () => [`{$ ? (@ l\\\\u\\0\\069ke_regex \\"${groups(60)}\\")}`]],
    ['a long name of a type', 'regtype', () => [`numeric(${list(40_000, () => 1)})`]],
    ['many names of types', 'regtype[]', () => [list(20_000, () => 'int')]],
    ['names of zones in rows', 'tstzrange', () => list(10_100, (n) => `[${inZone(n)},)`)],
    ['names of zones in a value', 'tstzmultirange', () => [`{${list(10_100, (n) => `[${inZone(n)},)`)}}`]],
    ['names of zones with quotes', 'tsrange[]', () => [list(10_100, (n) => `[2026-01-01 AB"${zone(n)}",)`)]],
    ['names of zones in fields', 'visits', () => list(10_100, (n) => `(a,"2026-01-01, ${zone(n)}")`)],
    [
      'names of zones of one letter',
      'tstzrange',
      () => list(10_100, (n) => `[2026-01-01 00:00 A-${shortOffset(n)},)`),
    ],
    ['fractions of elements', 'numeric(1000,1000)[]', () => [list(20_000, () => 0)]],
    ['fractions of fields', 'digits[]', () => [list(20_000, () => '(0)')]],
  ];
  for (const [name, type, valuesOf] of values) {
    test(`${name} are refused before PostgreSQL reads them`, async () => {
      const answer = await load(type, valuesOf(), 290);
      const { errors } = assertProblem(answer, 422, 'invalid-data');
      assert.equal(errors?.[0]?.code, 'too-complex');
    });
  }

  const most: [type: string, values: () => unknown[]][] = [
    ['jsonb', () => [list(sized(60_000, 1_100_000), () => [])]],
    ['jsonb', () => [list(sized(10_000, 130_000), () => [[[[[[[[]]]]]]]])]],
    ['xml', () => [`<r>${'x<b/>'.repeat(sized(100_000, 1_400_000))}</r>`]],
    ['xml', () => [`${declared(2000)}<r>${'<b/>'.repeat(400)}</r>`]],
    ['xml', () => [`<r ${attributes(4000)}/>`, `<r>${list(40_000, (n) => `<b${n}/>`).join('')}</r>`]],
    ['xml[]', () => [['<!DOCTYPE r [<!ELEMENT r ANY>]><r/>', '<a b="=">=</a>']]],
    ['regtype[]', () => [list(10_000, () => 'int')]],
    [
      'jsonpath',
      () => [
        like(groups(44)),
        like('^([a-z]{2,10}\\\\.){1,5}[a-z]{2,6}$'),
        like('^\\\\d{4}-\\\\d{2}-\\\\d{2}$'),
      ],
    ],
    ['jsonpath', () => ['$.a ? (@.b like_regex "^x" || @.c like_regex "y$")', '$."caf\\u00e9 \\"like\\""']],
    [
      'jsonpath',
      () => [`$.a[*] ? (${list(2000, (n) => `@ != ${n}`).join(' && ')})`, '$.a.**{2 to 5} ? (@ > 1)'],
    ],
    ['paths', () => ['(1,"$.a ? (@ like_regex ""^x"")")']],
    ['numeric(1000,1000)[]', () => [list(16_000, () => 0)]],
    ['numeric(12,2)[]', () => [list(sized(10_000, 900_000), () => 1.5)]],
    ['visits', () => list(10_500, (n) => `(ABC${1000 + n},2026-01-01 00:00 Europe/Berlin)`)],
    ['tstzrange', () => list(sized(500, 9_900), (n) => `[${inZone(n)},)`)],
    ['tstzrange', () => list(12_000, (n) => `[2026-01-01T0${shortOffset(n)}Z,)`)],
    ['xml', () => [`${nested(1, 20)}${'<z:a b="1"/>'.repeat(sized(10_000, 300_000))}</z>`]],
  ];
  for (const [index, [type, valuesOf]] of most.entries()) {
    test(`${index + 1}: values of type ${type} below the limit are loaded, in bounded memory`, async () => {
      const answer = await load(type, valuesOf(), 512);
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
    });
  }
});

test('a connection that keeps many names of time zones is closed', async () => {
  for (let round = 0; round < 6; round++) {
    const values = list(400, (n) => `[${inZone(20_000 + round * 400 + n)},)`);
    assert.equal((await load('tstzrange', values, 80)).status, 200);
  }
});

/** Sends uploads of one row that has only the column `a`, and checks the memory of PostgreSQL. */
async function append(table: string, maxBackendMib: number): Promise<void> {
  const path = `/table/${table}/upload/json?if_exists=append`;
  const answer = await send(() => service.post(path, { data: [{ a: 1 }] }), maxBackendMib);
  assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500));
}

suite('tables whose defaults name many time zones', () => {
  const zones = (table: number) =>
    list(850, (n) => ({
      name: `c${n}`,
      type: 'timestamp',
      default: `timezone('${zone(30_000 + table * 850 + n)}', now())`,
    }));

  test('the connection is closed after the creation of each', async () => {
    for (let table = 0; table < 4; table++) {
      const body = { table: { columns: [{ name: 'a', type: 'int' }, ...zones(table)] } };
      assert.equal((await send(() => service.post(`/table/zones_${table}`, body), 60)).status, 201);
    }
  });

  test('the connection is closed after an upload into each', async () => {
    for (let table = 0; table < 4; table++) await append(`zones_${table}`, 60);
  });

  test('a default that is longer than a load reads counts with its length', async () => {
    const { pool } = service.database;
    for (let table = 0; table < 4; table++) {
      const names = list(25, (part) => {
        const calls = list(30, (n) => `timezone('${zone(40_000 + table * 750 + part * 30 + n)}', now())`);
        return `c${part} text DEFAULT jsonb_build_array(${calls})`;
      });
      await pool.query(`CREATE TABLE long_zones_${table} (a int, ${names})`);
    }
    for (let table = 0; table < 4; table++) await append(`long_zones_${table}`, 60);
  });
});

suite('PostgreSQL keeps the descriptions of tables', () => {
  /** Does the work again and again, and returns how many connections have run it. The table writes the number of its connection into each row. */
  async function connectionsOf(table: string, times: number): Promise<number> {
    for (let time = 0; time < times; time++) await append(table, 100);
    const { rows } = await service.database.pool.query(`SELECT count(DISTINCT pid)::int AS n FROM ${table}`);
    return rows[0].n;
  }

  test('a connection is closed after uploads into wide tables', async () => {
    const columns = list(1500, (n) => `c${n} boolean`);
    await service.database.pool.query(
      `CREATE TABLE wide (a int, pid int DEFAULT pg_backend_pid(), ${columns})`,
    );
    assert.ok((await connectionsOf('wide', 14)) > 1);
  });

  test('a connection is closed after uploads into tables with many foreign keys', async () => {
    const columns = list(400, (n) => `c${n} int REFERENCES referenced`);
    await service.database.pool.query(`CREATE TABLE referenced (a int PRIMARY KEY);
      CREATE TABLE referring (a int, pid int DEFAULT pg_backend_pid(), ${columns})`);
    assert.ok((await connectionsOf('referring', 6)) > 1);
  });

  test('a connection is used again after uploads into an ordinary table', async () => {
    await service.database.pool.query('CREATE TABLE ordinary (a int, pid int DEFAULT pg_backend_pid())');
    assert.ok((await connectionsOf('ordinary', 14)) <= 2);
  });
});

suite('defaults that name time zones', () => {
  test('many names in the defaults of a definition are refused', async () => {
    const column = {
      name: 'a',
      type: 'tstzmultirange',
      default: `{${list(10_100, (n) => `[${inZone(n)},)`)}}`,
    };
    const answer = await send(() => service.post('/table/zones', { table: { columns: [column] } }), 100);
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.deepEqual(
      errors?.map(({ code }) => code),
      ['defaults-too-long'],
    );
  });

  const time = `to_timestamp(to_char(random(), 'FMV9999'), 'SSSS')`;
  for (const text of [
    `timezone(to_char(${time}, '"AAA-"HH24:MI:SS'), now())`,
    `timezone(to_char(clock_timestamp(), '"<X"US">-1"'), now())`,
    `timezone((to_char(clock_timestamp(), '"<X"US">-1"'))::text, now())`,
    `(to_char(clock_timestamp(), '"2026-01-01 00:00 AAA-"FF2:SS'))::timestamptz`,
    `date_trunc('day', now(), to_char(${time}, '"AAA-"HH24:MI:SS'))`,
    `(to_char(${time}, '"2026-01-01 00:00 AAA-"HH24:MI:SS'))::timestamptz`,
  ]) {
    test(`a zone that is random for each row is refused: ${text.slice(0, 20)}`, async () => {
      const columns = [{ name: 'a', type: 'timestamptz', default: text }];
      assertProblem(await service.post('/table/zones', { table: { columns } }), 422, 'invalid-definition');
    });
  }
});

suite('defaults with regular expressions', () => {
  const defaults: [name: string, type: string, value: string][] = [
    ['a literal', 'jsonpath', like(groups(60))],
    ['a literal with a cast', 'jsonpath', `'${like(groups(60))}'::jsonpath`],
    ['an array', 'jsonpath[]', `{"${like(groups(60)).replaceAll('"', '\\"')}"}`],
    ['a domain', 'route', like(groups(60))],
    ['an argument', 'text', `to_char(now(), ('${like(groups(60))}'::jsonpath)::text)`],
    ['a call with a cast', 'jsonpath', `(to_char(now(), '$ ? (@ like_regex \\"(a?){DDD}\\")'))::jsonpath`],
    ['a call with two casts', 'text', `((to_char(now(), '$'))::jsonpath)::text`],
  ];
  for (const [name, type, value] of defaults) {
    test(`${name} is refused before PostgreSQL reads it`, async () => {
      const columns = [{ name: 'a', type, default: value }];
      const answer = await send(() => service.post('/table/patterns', { table: { columns } }), 100);
      const { errors } = assertProblem(answer, 422, 'invalid-definition');
      assert.equal(errors?.[0]?.pointer, '/table/columns/0/default', JSON.stringify(errors));
    });
  }
});

test('a long text that a default parses as a time is refused', async () => {
  const texts = ['1 '.repeat(10_000), 'DD '.repeat(10_000)].map((text) => `'${text}'`);
  for (const text of [`to_timestamp(${texts})`, `(to_timestamp(${texts}))::date`]) {
    const columns = [{ name: 'a', type: 'timestamptz', default: text }];
    const answer = await service.post('/table/times', { table: { columns } });
    const { errors } = assertProblem(answer, 422, 'invalid-definition');
    assert.equal(errors?.[0]?.code, 'defaults-too-long');
  }
});

test('many defaults of texts are tried in bounded memory', async () => {
  const columns = list(1600, (n) => ({ name: `c${n}`, type: 'text', default: `to_char(now(), 'US')` }));
  const answer = await send(() => service.post('/table/texts', { table: { columns } }), 100);
  assert.equal(answer.status, 201, JSON.stringify(answer.body).slice(0, 500));
});

test('many columns share the labels of an enum type', async () => {
  await service.database.pool.query(`DO $$ BEGIN EXECUTE 'CREATE TYPE labels AS ENUM (' ||
    (SELECT string_agg(quote_literal('label ' || n), ',') FROM generate_series(1, 20000) n) || ')'; END $$`);
  const columns = list(300, (n) => ({ name: `c${n}`, type: 'labels', is_nullable: true }));
  service.resetPeakMemory();
  const answer = await service.post('/table/labelled/upload/json', {
    table: { columns },
    data: [{ c0: 'label 7' }],
  });
  assert.equal(answer.status, 201);
  const bytes = service.peakMemoryBytes() ?? 0;
  assert.ok(bytes < 300 * mib, `the process held ${bytes / mib} MiB`);
});

suite('types of extensions', () => {
  before(() =>
    service.database.pool.query(
      'CREATE EXTENSION ltree; CREATE EXTENSION cube; CREATE DOMAIN query AS lquery',
    ),
  );
  const query = (labels: number) =>
    `${list(labels, () => 'a').join('.')}${list(labels, () => '|b').join('')}`;
  const numbers = (count: number) => `(${list(count, () => 1).join()})`;

  for (const [type, value] of [
    ['lquery', query(6000)],
    ['lquery[]', `{${query(6000)}}`],
    ['query', query(6000)],
    ['cube', numbers(1_000_000)],
  ] as const) {
    test(`a value of ${type} that costs PostgreSQL too much is refused`, async () => {
      const { errors } = assertProblem(await load(type, [value]), 422, 'invalid-data');
      assert.equal(errors[0]!.code, 'too-complex');
    });
  }

  test('ordinary values are loaded, and a default is refused like a value', async () => {
    assert.equal((await load('lquery', ['a.b|c.*{1,2}'])).status, 200);
    assert.equal((await load('cube', ['(1, 2, 3)'])).status, 200);
    const column = { name: 'a', type: 'lquery', default: query(6000) };
    const answer = await send(() => service.post('/table/queries', { table: { columns: [column] } }), 100);
    assertProblem(answer, 422, 'invalid-definition');
  });
});

test('rows with long bit strings are listed in bounded memory', async () => {
  await service.database.pool.query(`CREATE TABLE bits (a bit varying, b bit varying, c bit varying[]);
    INSERT INTO bits SELECT repeat('1', 20000000)::varbit, repeat('1', 20000000)::varbit, ARRAY[repeat('1', 1000000)::varbit]`);
  const answer = await send(() => service.get('/table/bits/rows'), 200);
  assert.deepEqual([answer.status, answer.body.rows], [200, [{ a: null, b: null, c: null }]]);
  await service.database.pool.query("TRUNCATE bits; INSERT INTO bits VALUES ('101', '1', '{1,01}')");
  assert.deepEqual((await service.get('/table/bits/rows')).body.rows, [{ a: '101', b: '1', c: ['1', '01'] }]);
});
