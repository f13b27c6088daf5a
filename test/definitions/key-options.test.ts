/** The options of keys in a definition: they come back, act in PostgreSQL, and refused rows are found with them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.rows('CREATE SCHEMA copies');
});
after(() => service.stop());

const table = {
  columns: columns(['id', 'integer'], ['a', 'integer'], ['b', 'integer'], ['c', 'text']),
  constraints: {
    primary_key: { name: '', columns: ['id'], include: ['c'], deferrable: 'initially immediate' },
    unique: [
      { name: '', columns: ['a'], deferrable: 'initially deferred' },
      { name: '', columns: ['b', 'a'], include: ['c', 'id'], nulls_not_distinct: true },
      { name: 'plain', columns: ['a'] },
    ],
  },
};
const definitions = (name: string, schema = 'public') =>
  service
    .rows(
      `SELECT conname, pg_get_constraintdef(oid) AS sql FROM pg_constraint WHERE conrelid = $1::regclass AND contype IN ('p', 'u') ORDER BY oid`,
      [`${schema}.${name}`],
    )
    .then((rows) => rows.map(({ conname, sql }) => `${conname} ${sql}`));

test('options of keys act in every way to make the table, come back, and make the same table again', async () => {
  const expected = [
    'k_pkey PRIMARY KEY (id) INCLUDE (c) DEFERRABLE',
    'k_a_key UNIQUE (a) DEFERRABLE INITIALLY DEFERRED',
    'k_b_a_c_id_key UNIQUE NULLS NOT DISTINCT (b, a) INCLUDE (c, id)',
    'plain UNIQUE (a)',
  ];
  const created = await service.post('/table/k', { table });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.deepEqual((await definitions('k')).sort(), expected.toSorted());
  const described = created.body.table.constraints;
  assert.deepEqual(described.primary_key, {
    ...{ name: 'k_pkey', columns: ['id'], include: ['c'] },
    deferrable: 'initially immediate',
  });
  assert.equal('others' in described, false);
  const copy = await service.post('/table/k?schema=copies', { table: created.body.table });
  assert.deepEqual(copy.body.table.constraints, described);
  const data = [{ id: 1, a: 1, b: 1, c: 'x' }];
  for (const ifExists of ['replace', 'append']) {
    const loaded = await service.post(`/table/k/upload/json?if_exists=${ifExists}`, {
      table: created.body.table,
      data: ifExists === 'append' ? [{ id: 2, a: 2 }] : data,
    });
    assert(loaded.status < 300, JSON.stringify(loaded.body));
    assert.deepEqual((await definitions('k')).sort(), expected.toSorted());
    assert.deepEqual(loaded.body.load.warnings, []);
  }
});

test('if_not_exists answers every difference of the options', async () => {
  await service.rows(`CREATE TABLE plain_keys (id int PRIMARY KEY, a int UNIQUE, b int, c text,
    UNIQUE NULLS NOT DISTINCT (b))`);
  const sent = {
    ...table,
    constraints: {
      primary_key: { columns: ['id'], include: ['c'], deferrable: 'initially deferred' },
      unique: [{ columns: ['a'], deferrable: 'initially deferred' }, { columns: ['b'] }],
    },
  };
  const { body } = await service.post('/table/plain_keys?if_not_exists=true', { table: sent });
  assert.deepEqual(body.differences, [
    'the primary key of the table has no options',
    'the table has no unique constraint over "a" that is deferrable, initially deferred',
    'the table has no unique constraint over "b"',
    'the table has the unique constraint "plain_keys_a_key", which the definition does not have',
    'the table has the unique constraint "plain_keys_b_key", which the definition does not have',
  ]);
  const own = (await service.get('/table/plain_keys')).body.table;
  const again = await service.post('/table/plain_keys?if_not_exists=true', { table: own });
  assert.deepEqual(again.body.differences, []);
});

const one = (name: string, options: object) => ({
  columns: columns(['id', 'integer'], ['a', 'integer'], ['c', 'text']),
  constraints: { unique: [{ name: `${name}_key`, columns: ['id'], ...options }] },
});
const rowsOf = (...ids: (number | null)[]) => ids.map((id, index) => ({ id, c: String(index) }));

for (const [name, options, data, refused] of [
  ['plain', {}, rowsOf(1, null, null, 1), [3]],
  ['nulls', { nulls_not_distinct: true }, rowsOf(1, null, 2, null, 1), [3, 4]],
  ['deferred', { deferrable: 'initially deferred' }, rowsOf(1, 2, 1, null, null, 2), [2, 5]],
  ['including', { include: ['c'], deferrable: 'initially immediate' }, rowsOf(7, 7, 8), [1]],
] as const) {
  test(`an upload names the rows that break a key: ${name}`, async () => {
    const definition = one(name, options);
    const whole = await service.post(`/table/of_${name}/upload/json`, { table: definition, data });
    const pointers = refused.map((row) => `/data/${row}/id`);
    assert.equal(whole.status, 422);
    assert.deepEqual(
      whole.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      pointers,
    );
    for (const ifExists of ['fail', 'append']) {
      const { body } = await service.post(
        `/table/of_${name}/upload/json?faulty_rows=leave_out&if_exists=${ifExists}`,
        { table: definition, data: ifExists === 'append' ? [...rowsOf(90), ...data, ...rowsOf(90)] : data },
      );
      const left = body.load.left_out_count;
      const nulls = name === 'nulls' ? 1 : data.filter(({ id }) => id === null).length;
      const expected =
        ifExists === 'fail' ? refused.length : data.length + 1 - (name === 'nulls' ? 0 : nulls);
      assert.equal(left, expected, JSON.stringify(body.load));
    }
  });
}

test('on_conflict cannot use a deferrable key, and says so', async () => {
  const definition = one('late', { deferrable: 'initially immediate' });
  const query = 'on_conflict=update';
  const fresh = await service.post(`/table/late/upload/json?${query}`, {
    table: definition,
    data: rowsOf(1, 1),
  });
  assert.match(
    assertProblem(fresh, 422, 'invalid-parameter').detail,
    /that is not deferrable, and the definition has none/,
  );
  assert.equal((await service.post('/table/late', { table: definition })).status, 201);
  const later = await service.post(`/table/late/upload/json?if_exists=append&${query}`, {
    data: rowsOf(1, 1),
  });
  assert.match(
    assertProblem(later, 422, 'invalid-parameter').detail,
    /that is not deferrable, and the table has none/,
  );
});

test('on_conflict treats NULL as a value in a key with nulls_not_distinct, of a new table, too', async () => {
  const definition = one('merged', { nulls_not_distinct: true });
  for (const ifExists of ['fail', 'append']) {
    const { status, body } = await service.post(
      `/table/merged/upload/json?if_exists=${ifExists}&on_conflict=update`,
      { table: definition, data: rowsOf(null, 1, null) },
    );
    assert(status < 300, JSON.stringify(body));
    assert.deepEqual(await service.rows('SELECT id, c FROM merged ORDER BY id'), [
      { id: 1, c: '1' },
      { id: null, c: '2' },
    ]);
  }
});

test('wrong options are refused with their places', async () => {
  const { body } = await service.post('/table/wrong', {
    table: {
      columns: columns(['id', 'integer'], ['parent', 'integer']),
      constraints: {
        primary_key: { columns: ['id'], include: ['missing'], deferrable: 'yes', nulls_not_distinct: true },
        unique: [
          { columns: ['id'], include: 'parent' },
          { columns: ['parent'], nulls_not_distinct: 1 },
        ],
      },
    },
  });
  assert.deepEqual(
    body.errors.map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]),
    [
      ['/table/constraints/primary_key/deferrable', 'must be one of initially immediate, initially deferred'],
      ['/table/constraints/primary_key/include/0', 'the table has no column "missing".'],
      ['/table/constraints/primary_key/nulls_not_distinct', '"nulls_not_distinct" is not known here.'],
      ['/table/constraints/unique/0/include', 'must be an array, not a string'],
      ['/table/constraints/unique/1/nulls_not_distinct', 'must be true or false, not a number'],
    ],
  );
});

test('a foreign key to a deferrable key is refused by name, in the same table and in another', async () => {
  await service.rows('CREATE TABLE lates (id int PRIMARY KEY DEFERRABLE)');
  const refer = (target: string) => ({
    columns: columns(['id', 'integer'], ['parent', 'integer']),
    constraints: {
      primary_key: { columns: ['id'], deferrable: 'initially immediate' },
      foreign_keys: [{ column: 'parent', reference_table: target, reference_column: 'id' }],
    },
  });
  for (const target of ['lates', 'self']) {
    const answer = await service.post('/table/self', { table: refer(target) });
    const [error] = assertProblem(answer, 422, 'invalid-definition').errors!;
    assert.equal(error!.code, 'reference-not-unique');
    assert.match(error!.detail, /is deferrable, and a foreign key cannot refer to such a key/);
  }
});
