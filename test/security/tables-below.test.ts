/** Partitions and inheriting tables in schemas that the token may not use: an upload neither empties nor changes them through their parent. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { planForm } from '../support/plan-form.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let token: string;

before(async () => {
  service = await startTestService();
  token = await service.token({ schemas: ['public'] });
  await service.rows('CREATE SCHEMA archive');
});
after(() => service.stop());

beforeEach(async () => {
  await service.rows(`
    DROP TABLE IF EXISTS measured, parent CASCADE;
    CREATE TABLE measured (a int PRIMARY KEY, gone boolean) PARTITION BY RANGE (a);
    CREATE TABLE measured_new PARTITION OF measured FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (a);
    CREATE TABLE archive.measured_old PARTITION OF measured_new FOR VALUES FROM (100) TO (150);
    CREATE TABLE parent (a int);
    CREATE TABLE archive.heir () INHERITS (parent);
    INSERT INTO measured VALUES (101);
    INSERT INTO archive.heir VALUES (1)`);
});

const load = (table: string, query: string, data: unknown[], options: object = { token }) =>
  service.post(`/table/${table}/upload/json?${query}`, { data }, options);
const count = async (table: string) => (await service.rows(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n;

test('truncate does not empty a partition in such a schema', async () => {
  for (const query of ['if_exists=truncate', 'if_exists=truncate&dry_run=true']) {
    const { detail } = assertProblem(await load('measured', query, [{ a: 102 }]), 403, 'schema-forbidden');
    assert.match(detail, /archive/);
  }
  assert.equal(await count('archive.measured_old'), 1);
  assert.equal((await load('measured', 'if_exists=truncate', [{ a: 103 }, { a: 104 }], {})).status, 200);
  assert.equal(await count('archive.measured_old'), 2);
});

for (const [action, left] of [
  ['delete', [{ a: 102, gone: null }]],
  [
    'mark:gone',
    [
      { a: 101, gone: true },
      { a: 102, gone: null },
    ],
  ],
] as const) {
  test(`missing_rows=${action} does not change a partition in such a schema`, async () => {
    const parameters = {
      if_exists: 'append',
      on_conflict: 'update',
      missing_rows: action,
      max_missing_rows: '100%',
    };
    const query = new URLSearchParams(parameters).toString();
    const profile = await service.request('PUT', '/api/v1/profiles/whole', {
      body: JSON.stringify({ parameters }),
      headers: { 'content-type': 'application/json' },
      token,
    });
    assert.ok(profile.status < 300, JSON.stringify(profile.body));
    const tables = [
      { table: 'plain', file: 'f' },
      { table: 'measured', file: 'f', ...parameters },
    ];
    const body = planForm({ tables }, { f: 'a\n102\n' });
    const answers = [
      await load('measured', query, [{ a: 102 }]),
      await load('measured', `${query}&dry_run=true`, [{ a: 102 }]),
      await load('measured', 'profile=whole', [{ a: 102 }]),
      await service.request('POST', '/api/v1/loads', { body, token }),
    ];
    for (const answer of answers)
      assert.match(assertProblem(answer, 403, 'schema-forbidden').detail, /archive/);
    const stored = () => service.rows('SELECT a, gone FROM measured ORDER BY a');
    assert.deepEqual(await stored(), [{ a: 101, gone: null }]);
    const kept = query.replace(/missing_rows=.*/, 'missing_rows=keep');
    assert.equal((await load('measured', `${kept}&dry_run=true`, [{ a: 102 }])).body.load?.missing, 1);
    assert.equal((await load('measured', query, [{ a: 102 }], {})).status, 200);
    assert.deepEqual(await stored(), left);
  });
}

test('a new column is not added to tables in such a schema', async () => {
  for (const table of ['measured', 'parent']) {
    const query = 'if_exists=append&extra_columns=add';
    assertProblem(await load(table, query, [{ a: 102, b: 1 }]), 403, 'schema-forbidden');
    assert.equal((await load(table, query, [{ a: 102, b: 1 }], {})).status, 200);
  }
});

test('truncate keeps the rows of tables that inherit, and append adds rows to partitions', async () => {
  assert.equal((await load('parent', 'if_exists=truncate', [{ a: 2 }])).status, 200);
  assert.equal(await count('archive.heir'), 1);
  assert.equal((await load('measured', 'if_exists=append', [{ a: 105 }])).status, 200);
  assert.equal(await count('archive.measured_old'), 2);
});
