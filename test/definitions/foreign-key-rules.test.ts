/** The rules of foreign keys in a definition: they act in PostgreSQL, come back, and stay when the table is replaced. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows('CREATE TABLE parents (a integer, b integer, PRIMARY KEY (a, b))');
});
after(() => service.stop());

const pairs = [
  {
    name: 'to_parent',
    column: 'a',
    reference_table: 'parents',
    reference_column: 'a',
    reference_schema: 'public',
  },
  {
    name: 'to_parent',
    column: 'b',
    reference_table: 'parents',
    reference_column: 'b',
    reference_schema: 'public',
  },
];
const whole = {
  name: 'to_parent',
  columns: ['a', 'b'],
  reference_table: 'parents',
  reference_columns: ['a', 'b'],
};

function tableWith(foreignKeys: object[]) {
  return {
    columns: columns(['id', 'integer'], ['a', 'integer'], ['b', 'integer']),
    constraints: { foreign_keys: foreignKeys },
  };
}

const cases: [string, object, unknown][] = [
  ['cascade', { on_delete: 'cascade' }, []],
  ['set null', { on_delete: 'set null' }, [{ id: 1, a: null, b: null }]],
  ['on update', { on_update: 'cascade' }, [{ id: 1, a: 7, b: 7 }]],
];

for (const [name, rules, expected] of cases) {
  test(`the rule "${name}" acts after each way to make the table`, async () => {
    const data = [{ id: 1, a: 1, b: 1 }];
    const change =
      'on_update' in rules
        ? 'UPDATE parents SET a = 7, b = 7 WHERE a = 1'
        : 'DELETE FROM parents WHERE a = 1';
    const table = tableWith([{ ...whole, ...rules }]);
    const answers = [];
    for (const mode of ['fail', 'replace', 'append']) {
      await service.rows('DELETE FROM parents');
      await service.rows('INSERT INTO parents VALUES (1, 1)');
      const path = `/table/children/upload/json?if_exists=${mode}`;
      const answer = await service.post(path, { table, data });
      assert.equal(answer.status, mode === 'append' ? 200 : 201, JSON.stringify(answer.body));
      answers.push(answer.body.table.constraints.foreign_keys);
      await service.rows(change);
      const rows = await service.rows('SELECT id, a, b FROM children');
      assert.deepEqual(rows.slice(-1), expected);
      await service.rows('DELETE FROM children');
    }
    for (const found of answers)
      assert.deepEqual(
        found,
        pairs.map((pair) => ({ ...pair, ...rules })),
      );
    await service.rows('DROP TABLE children');
  });
}

test('a deferrable key is checked at the end of a transaction', async () => {
  const table = tableWith([{ ...whole, deferrable: 'initially deferred' }]);
  const created = await service.post('/table/deferred', { table });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.deepEqual(
    created.body.table.constraints.foreign_keys,
    pairs.map((pair) => ({ ...pair, deferrable: 'initially deferred' })),
  );
  await service.rows('DELETE FROM parents');
  await service.rows(
    'WITH child AS (INSERT INTO deferred VALUES (1, 5, 5)) INSERT INTO parents VALUES (5, 5)',
  );
  const refused = await service.post('/table/deferred/upload/json?if_exists=append', {
    data: [{ id: 2, a: 6, b: 6 }],
  });
  assert.equal(refused.status, 422, JSON.stringify(refused.body));
  assert.deepEqual(
    refused.body.errors.map((error: { code: string; pointer: string }) => [error.code, error.pointer]),
    [['no-such-reference', '/data/0/a']],
  );
});

test('a member of a rule that a program writes on a column says where it belongs', async () => {
  const answer = await service.post('/table/misplaced', {
    table: { columns: [{ name: 'a', type: 'integer', on_delete: 'cascade' }] },
  });
  assert.match(answer.body.detail, /Put it into the foreign key of the table: .*"on_delete": "cascade"/);
  const wrong = await service.post('/table/misplaced', {
    table: tableWith([{ ...whole, on_delete: 'CASCADE' }]),
  });
  assert.match(wrong.body.detail, /must be one of no action, restrict, cascade, set null, set default/);
});

test('a row without a match is named, also if an earlier row has no value', async () => {
  await service.rows('CREATE TABLE others (id bigint PRIMARY KEY)');
  const foreignKey = { name: '', column: 'r', reference_table: 'others', reference_column: 'id' };
  const table = {
    columns: columns(['id', 'bigint'], ['r', 'bigint']),
    constraints: { primary_key: { name: '', columns: ['id'] }, foreign_keys: [foreignKey] },
  };
  for (const query of ['', '?faulty_rows=leave_out&max_faulty_rows=0']) {
    const answer = await service.upload(
      `/table/matched/upload/excel${query}`,
      Buffer.from('id,r\n1,\n2,999\n'),
      { table },
    );
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    const found = answer.body.errors.map(({ row, column, code }: Record<string, unknown>) => [
      row,
      column,
      code,
    ]);
    assert.deepEqual(found, [[2, 'r', 'no-such-reference']]);
  }
});
