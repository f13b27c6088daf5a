/** Stored texts that Alter Table must not let PostgreSQL read in another way, and texts of which the expressions of a table make many copies. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { killerOrder } from '../support/killer-order.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const { order } = killerOrder(60_000);
const key = (rank: number) => `k${String(rank).padStart(6, '0')}`;
const attributes = `<a ${order.map((rank) => `${key(rank)}=""`).join(' ')}/>`;
const json = JSON.stringify(Object.fromEntries(order.map((rank) => [key(rank), 1])));
const zone = (n: number) =>
  `2026-01-01 00:00 AB${String.fromCharCode(65 + (n % 26), 65 + Math.floor(n / 26))}-1`;

async function alter(
  name: string,
  stored: { type: string; values: unknown[] },
  table: object,
): Promise<TestAnswer> {
  const columns = [
    { name: 'id', type: 'serial' },
    { name: 'a', type: stored.type },
  ];
  const constraints = { primary_key: { name: '', columns: ['id'] } };
  const data = stored.values.map((a) => ({ a }));
  const loaded = await service.post(`/table/${name}/upload/json`, { table: { columns, constraints }, data });
  assert.equal(loaded.status, 201);
  return service.request('PUT', `/table/${name}`, {
    body: JSON.stringify({ table }),
    headers: { 'content-type': 'application/json' },
  });
}

const withType = (type: string) => ({
  columns: [
    { name: 'id', type: 'integer' },
    { name: 'a', type },
  ],
});

const hostile: [name: string, stored: { type: string; values: unknown[] }, table: object][] = [
  ['text to jsonb', { type: 'text', values: ['{}', json] }, withType('jsonb')],
  ['json to jsonb', { type: 'json', values: [{}, JSON.parse(json)] }, withType('jsonb')],
  ['text to tsvector', { type: 'text', values: ['a', order.map(key).join(' ')] }, withType('tsvector')],
  [
    'text to a multirange',
    { type: 'text', values: ['{}', `{${order.map((n) => `[${2 * n},${2 * n + 1})`)}}`] },
    withType('int4multirange'),
  ],
  ['text to xml', { type: 'text', values: ['<a/>', attributes] }, withType('xml')],
  [
    'text to numeric[]',
    { type: 'text', values: ['{1}', `{${Array(500).fill('1e131071')}}`] },
    withType('numeric[]'),
  ],
  [
    'text to jsonb with exponents',
    { type: 'text', values: ['[1e-05]', `[${Array(500).fill('1E+0131071').join()}]`] },
    withType('jsonb'),
  ],
  [
    'text to timestamptz',
    { type: 'text', values: ['2026-01-01 00:00+00', zone(7)] },
    withType('timestamptz'),
  ],
  [
    'a gin index',
    { type: 'text[]', values: [[], order.map(key)] },
    { indexes: [{ name: '', method: 'gin', columns: [{ column: 'a' }] }] },
  ],
  [
    'a check that divides texts',
    { type: 'text', values: ['a', Array(5).fill(order.map(key).join(' ')).join(' ')] },
    { constraints: { checks: [{ name: 'c', expression: "length(to_tsvector('simple', a)) >= 0" }] } },
  ],
];

suite('stored values', () => {
  for (const [index, [name, stored, table]] of hostile.entries()) {
    test(`${name}: a value that would take PostgreSQL too long is refused by its key`, async () => {
      const { errors } = assertProblem(await alter(`stored${index}`, stored, table), 422, 'invalid-data');
      assert.deepEqual(
        errors.map((error) => [error.key, error.column, error.code]),
        [[{ id: '2' }, 'a', 'too-complex']],
      );
    });
  }

  test('a long value that PostgreSQL reads fast is converted', async () => {
    const values = [
      JSON.stringify(Array(20_000).fill({ a: 'x{:,"y' })),
      JSON.stringify('{:,"'.repeat(100_000)),
      `[${Array(2000).fill('1.5e-05, -2E+12').join()}]`,
    ];
    const answer = await alter('fast', { type: 'text', values }, withType('jsonb'));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  });
});

test('a value of which the expressions of a table make too many copies is refused', async () => {
  const expression = 'length(a || a || a || a || a || a || a || a) >= 0';
  const checks = [1, 2, 3, 4].map((n) => ({ name: `c${n}`, expression }));
  const table = { columns: [{ name: 'a', type: 'text' }], constraints: { checks } };
  assert.equal((await service.post('/table/copies', { table })).status, 201);
  const load = (length: number) =>
    service.post('/table/copies/upload/json?if_exists=append', { data: [{ a: 'x'.repeat(length) }] });
  assert.equal((await load(100_000)).status, 200);
  const { errors } = assertProblem(await load(8_000_000), 422, 'invalid-data');
  assert.equal(errors[0]!.code, 'too-complex');
});

test('each cast of a long value counts as a copy', async () => {
  const expression = Array(150).fill('j::text IS NOT NULL').join(' OR ');
  const table = { columns: [{ name: 'j', type: 'jsonb' }], constraints: { checks: [{ expression }] } };
  assert.equal((await service.post('/table/casts', { table })).status, 201);
  const load = (length: number) =>
    service.post('/table/casts/upload/json?if_exists=append', { data: [{ j: 'x'.repeat(length) }] });
  const { errors } = assertProblem(await load(2_500_000), 422, 'invalid-data');
  assert.equal(errors[0]!.code, 'too-complex');
  const columns = [...table.columns, { name: 'n', type: 'int' }];
  const indexes = [{ columns: [{ column: 'n' }], where: expression }];
  const create = (length: number) =>
    service.post(`/table/casts_${length}/upload/json`, {
      table: { columns, indexes },
      data: [{ n: 1, j: 'x'.repeat(length) }],
    });
  assert.equal((await create(100_000)).status, 201);
  const refused = assertProblem(await create(2_500_000), 422, 'invalid-data');
  assert.equal(refused.errors[0]!.code, 'too-complex');
});

test('a value that the expressions of a table read as jsonb costs as much as one of jsonb', async () => {
  const objects = `[${Array(700_000).fill('{}')}]`;
  const numbers = `[${Array(800_000).fill('1')}]`;
  const cases: [type: string, expression: string, value: string][] = [
    ['json', 'j::jsonb IS NOT NULL', objects],
    ['json', 'to_jsonb(j) IS NOT NULL', objects],
    ['json', "j::jsonb::text <> 'x'", `[${Array(500).fill('1e131071')}]`],
    ['json[]', "(j[1] #> '{}')::jsonb IS NOT NULL", `[${objects}]`],
    ['jsonb', 'j || j || j IS NOT NULL', numbers],
    ['bigint[]', Array(30).fill('to_jsonb(j) IS NOT NULL').join(' AND '), numbers],
    ['jsonb', Array(30).fill("jsonb_set(j, '{0}', '1') IS NOT NULL").join(' AND '), numbers],
  ];
  for (const [index, [type, expression, value]] of cases.entries()) {
    const name = `read${index}`;
    const columns = [{ name: 'j', type }];
    const table = { columns, constraints: { checks: [{ expression }] } };
    assert.equal((await service.post(`/table/${name}`, { table })).status, 201, expression);
    const load = (text: string) =>
      service.request('POST', `/table/${name}/upload/json?if_exists=append`, {
        body: `{"data": [{"j": ${text}}]}`,
        headers: { 'content-type': 'application/json' },
      });
    assert.equal((await load('[1]')).status, 200);
    const { errors } = assertProblem(await load(value), 422, 'invalid-data');
    assert.equal(errors[0]!.code, 'too-complex', expression);
  }
  const indexes = [{ columns: [{ expression: 'j::jsonb IS NOT NULL' }] }];
  const table = JSON.stringify({ columns: [{ name: 'j', type: 'json' }], indexes });
  const created = await service.request('POST', '/table/indexed/upload/json', {
    body: `{"table": ${table}, "data": [{"j": ${objects}}]}`,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(assertProblem(created, 422, 'invalid-data').errors[0]!.code, 'too-complex');
  const checks = [{ expression: Array(5).fill("j -> 'a' -> 'b' IS NULL").join(' AND ') }];
  const read = { columns: [{ name: 'j', type: 'jsonb' }], constraints: { checks } };
  const loaded = await service.post('/table/parts/upload/json', {
    table: read,
    data: [{ j: JSON.parse(numbers) }],
  });
  assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
  await service.rows("CREATE TABLE own (j text CHECK (j::jsonb <> '1'), other text)");
  const load = (row: object) => service.post('/table/own/upload/json?if_exists=append', { data: [row] });
  assert.equal((await load({ j: '[]', other: objects })).status, 200);
  assert.equal(assertProblem(await load({ j: objects }), 422, 'invalid-data').errors[0]!.code, 'too-complex');
});

suite('the values of a stored row together', () => {
  const put = async (
    table: string,
    types: { from: string; to: string; count: number },
    value: unknown,
    more: object = {},
  ): Promise<TestAnswer> => {
    const columnsOf = (type: string) => [
      { name: 'id', type: 'integer' },
      ...Array.from({ length: types.count }, (_, n) => ({ name: `c${n}`, type })),
    ];
    const constraints = { primary_key: { name: '', columns: ['id'] } };
    const row = Object.fromEntries(columnsOf('').map(({ name }) => [name, name === 'id' ? 7 : value]));
    const definition = { columns: columnsOf(types.from), constraints };
    const loaded = await service.post(`/table/${table}/upload/json`, { table: definition, data: [row] });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body).slice(0, 500));
    return service.request('PUT', `/table/${table}`, {
      body: JSON.stringify({ table: { columns: columnsOf(types.to), constraints, ...more } }),
      headers: { 'content-type': 'application/json' },
    });
  };
  const assertRefused = (answer: TestAnswer): void => {
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual(
      errors?.map(({ code, key }) => [code, key]),
      [['too-complex', { id: '7' }]],
    );
  };
  const arrayOf = (count: number) => `{${Array(count).fill(1)}}`;
  const documentOf = (count: number) => JSON.stringify(Array(count).fill(1));
  const words = Array.from({ length: 20_000 }, (_, n) => `w${n.toString(36)}`);
  const indexOf = (count: number) => ({
    indexes: [
      {
        name: '',
        method: 'gin',
        columns: Array.from({ length: count }, (_, n) => ({ column: `c${n}` })),
      },
    ],
  });

  test('many arrays that are read as jsonb[] are refused, and few are not', async () => {
    assertRefused(await put('arrays', { from: 'text', to: 'jsonb[]', count: 25 }, arrayOf(20_000)));
    assert.equal(
      (await put('few_arrays', { from: 'text', to: 'jsonb[]', count: 2 }, arrayOf(10_000))).status,
      200,
    );
  });

  test('many documents are refused, and two are not', async () => {
    assertRefused(await put('documents', { from: 'text', to: 'jsonb', count: 20 }, documentOf(200_000)));
    assert.equal(
      (await put('two', { from: 'text', to: 'jsonb', count: 2 }, documentOf(100_000))).status,
      200,
    );
  });

  test('values whose parts one index sorts are refused', async () => {
    const types = { from: 'jsonb', to: 'jsonb', count: 8 };
    assertRefused(await put('sorted', types, words, indexOf(8)));
    assert.equal((await put('one_sorted', { ...types, count: 1 }, words, indexOf(1))).status, 200);
  });

  test('many short values are converted', async () => {
    const types = { from: 'text', to: 'jsonb', count: 100 };
    assert.equal((await put('short_documents', types, '{"a": [1, "b"], "c": 1.5e-5}')).status, 200);
    const numbers = { from: 'text', to: 'numeric[]', count: 100 };
    assert.equal((await put('short_numbers', numbers, '{1.5,-3}')).status, 200);
  });
});
