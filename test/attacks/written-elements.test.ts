/** Arrays whose elements take PostgreSQL a kilobyte or more when it writes them as text, and arrays that take long for each element. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { withBackendMemory } from '../support/backend-memory.ts';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { killerOrder } from '../support/killer-order.ts';
import { assertProblem } from '../support/problem.ts';
import type { TestAnswer } from '../support/service.ts';
import { someOf } from '../support/sized.ts';

const mib = 2 ** 20;
let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
  await service.database.pool.query(`
    CREATE EXTENSION hstore; CREATE EXTENSION intarray;
    CREATE TYPE place AS (a int);
    CREATE TYPE document AS (a jsonb);
    CREATE TYPE outer_place AS (a place);
    CREATE DOMAIN entry AS jsonb;
    CREATE DOMAIN points AS point[];
    CREATE DOMAIN long_root AS int CHECK (sqrt(VALUE + 1e-16000) >= 0);
    CREATE DOMAIN number_text AS text CHECK (VALUE::numeric >= 0);
    CREATE DOMAIN even AS int CHECK (VALUE > 0 AND VALUE % 2 = 0);
    CREATE DOMAIN cents AS numeric CHECK (VALUE = round(VALUE, 2));`);
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

const list = (count: number, element: unknown) => Array(count).fill(element);
const text = (count: number, element: string, separator = ',') => `{${list(count, element).join(separator)}}`;

/** Loads one row into a new table with a check that the row violates, so that PostgreSQL writes the row into its message. */
function load(type: string, value: unknown, maxBackendMib: number, ...checks: string[]): Promise<TestAnswer> {
  const columns = [
    { name: 'a', type },
    ...['n', 'h'].map((name) => ({ name, type: name === 'n' ? 'int' : 'hstore' })),
  ];
  const constraints = { checks: [...checks, 'n > 5'].map((expression) => ({ name: '', expression })) };
  const body = { table: { columns, constraints }, data: [{ a: value, n: 1, h: 'a=>1' }] };
  return send(() => service.post('/table/refused/upload/json', body), maxBackendMib);
}

function assertCode(answer: TestAnswer, code: string): void {
  const { errors } = assertProblem(answer, 422, 'invalid-data');
  assert.equal(errors?.[0]?.code, code, JSON.stringify(errors?.[0]));
}

suite('a row that violates a constraint', () => {
  const refused: [type: string, value: () => unknown][] = [
    ['jsonb[]', () => list(900_000, 1)],
    ['jsonb[]', () => text(200_000, '1')],
    ['entry[]', () => list(200_000, null).map((_, n) => ({ n }))],
    ['point[]', () => list(900_000, '(1,1)')],
    ['point[]', () => text(500_000, '"(1,1)"')],
    ['points', () => list(900_000, '(1,1)')],
    ['box[]', () => text(500_000, '"1,1,2,2"', ';')],
    ['xml[]', () => list(600_000, 'a')],
    ['document[]', () => list(180_000, '(1)')],
  ];
  for (const [index, [type, value]] of someOf(6, refused).entries()) {
    test(`${index + 1}: one with too many elements of ${type} is refused before PostgreSQL reads it`, async () => {
      assertCode(await load(type, value(), 128), 'too-complex');
    });
  }

  const most: [type: string, value: () => unknown][] = [
    ['jsonb[]', () => list(121_000, 1)],
    ['jsonb[]', () => list(3, list(300_000, 1))],
    ['point[]', () => list(299_000, '(1,1)')],
    ['polygon[]', () => list(20, `(${list(40_000, '(1,1)').join()})`)],
    ['xml[]', () => list(320_000, 'a')],
    ['jsonpath[]', () => list(166_000, '$')],
    ['int4range[]', () => list(94_000, '[1,2)')],
    ['document[]', () => list(90_000, '(1)')],
    ['outer_place[]', () => list(170_000, '("(1)")')],
  ];
  for (const [index, [type, value]] of someOf(5, most).entries()) {
    test(`${index + 1}: one may have as many elements of ${type} as PostgreSQL can write`, async () => {
      assertCode(await load(type, value(), 512), 'check-violation');
    });
  }

  const cheap: [type: string, element: unknown][] = [
    ['int[]', 1],
    ['text[]', 'a'],
    ['numeric[]', 1.5],
    ['float8[]', 1.5],
    ['even[]', 2],
    ['cents[]', 2.5],
  ];
  for (const [type, element] of cheap) {
    test(`one may have a million elements of ${type}`, async () => {
      assertCode(await load(type, list(1_000_000, element), 300), 'check-violation');
    });
  }
});

suite('expressions that write the elements of an array', () => {
  const checks: [type: string, check: string, element: unknown, count: number][] = [
    ['jsonb[]', 'length(a::text) >= 0', 1, 110_000],
    ['point[]', 'length(a::text) >= 0', '(1,1)', 250_000],
    ['point[]', 'length(a::text) + length(a::text) >= 0', '(1,1)', 200_000],
    ['int4range[]', 'cardinality(a::text[]) >= 0', '[1,2)', 90_000],
    ['place[]', `to_jsonb(a) <> '1'`, '(1)', 150_000],
  ];
  for (const [type, check, element, count] of checks) {
    test(`count for each element of ${type}: ${check}`, async () => {
      assertCode(await load(type, list(count, element), 128, check), 'too-complex');
      assertCode(await load(type, list(5000, element), 128, check), 'check-violation');
    });
  }
});

test('the most elements are read, exported and converted in bounded memory', async () => {
  const columns = [{ name: 'a', type: 'point[]' }];
  const body = { table: { columns }, data: [{ a: list(299_000, '(1,1)') }] };
  assert.equal((await send(() => service.post('/table/many/upload/json', body), 512)).status, 201);
  for (const query of ['limit=1', 'format=csv', 'format=json', 'format=ndjson'])
    assert.equal((await send(() => service.get(`/table/many/rows?${query}`), 512)).status, 200);
  const table = { columns: [{ name: 'a', type: 'text' }] };
  assert.equal((await send(() => change('many', table), 512)).status, 200);
});

const change = (name: string, table: object) =>
  service.request('PUT', `/table/${name}`, {
    body: JSON.stringify({ table }),
    headers: { 'content-type': 'application/json' },
  });

test('an array that another client has stored with more elements is not written to change its type', async () => {
  await service.database.pool.query(
    `CREATE TABLE stored AS SELECT array_agg(point(1, 1)) AS a FROM generate_series(1, 500000)`,
  );
  for (const type of ['text', 'box[]', 'jsonb']) {
    const table = { columns: [{ name: 'a', type, is_nullable: true }] };
    const { status } = await send(() => change('stored', table), 128);
    assert.ok(status >= 400, `${type}: ${status}`);
  }
  const { detail } = assertProblem(
    await change('stored', { columns: [{ name: 'a', type: 'text', is_nullable: true }] }),
    413,
    'limit-exceeded',
  );
  assert.ok(detail.includes('"a"'), detail);
  await service.database.pool.query(
    `CREATE TABLE many_stored AS SELECT a, a AS b, a AS c FROM (SELECT array_agg(point(1, 1)) AS a FROM generate_series(1, 150000)) AS s`,
  );
  const columns = ['a', 'b', 'c'].map((name) => ({ name, type: 'text', is_nullable: true }));
  const together = await send(() => change('many_stored', { columns }), 128);
  assert.match(
    assertProblem(together, 413, 'limit-exceeded').detail,
    /the columns "a", "b", "c" have too many/,
  );
});

suite('expressions that take long for each element', () => {
  for (const [type, element, count] of [
    ['long_root[]', 2, 20_000],
    ['number_text[]', '2', 100_000],
  ] as const) {
    test(`the numbers that the check of ${type} makes count for each element`, async () => {
      assertCode(await load(type, list(count, element), 128), 'too-complex');
      assertCode(await load(type, list(500, element), 128), 'check-violation');
    });
  }

  const padded = (count: number) => killerOrder(count).order.map((rank) => String(rank).padStart(7, '0'));

  test('hstore sorts the keys of an array', async () => {
    for (const check of ['h ?| a OR n > 0', 'h ?& a OR n > 0'])
      assertCode(await load('text[]', padded(30_000), 128, check), 'too-complex');
    assertCode(await load('text[]', padded(10_000), 128, 'h ?| a OR n > 0'), 'check-violation');
  });

  test('intarray sorts numbers', async () => {
    await service.database.pool.query(
      `CREATE TABLE sets (a int[], CHECK (cardinality(a & '{1}'::int[]) >= 0))`,
    );
    const upload = (count: number) =>
      service.post('/table/sets/upload/json?if_exists=append', { data: [{ a: killerOrder(count).order }] });
    assertCode(await upload(80_000), 'too-complex');
    assert.equal((await upload(20_000)).status, 200);
  });
});
