/** Foreign keys and checks that are NOT VALID, and tables that are UNLOGGED: they are made, come back, and differ from those that are not. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { columns } from '../support/columns.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
  await service.rows(
    'CREATE TABLE owners (id integer PRIMARY KEY); CREATE UNLOGGED TABLE quick (id integer PRIMARY KEY)',
  );
});
after(() => service.stop());

const key = {
  name: 'to_owner',
  column: 'owner',
  reference_table: 'owners',
  reference_column: 'id',
  reference_schema: 'public',
};
const table = (notValid: object) => ({
  columns: columns(['id', 'integer'], ['owner', 'integer']),
  constraints: {
    primary_key: { name: '', columns: ['id'] },
    foreign_keys: [{ ...key, ...notValid }],
    checks: [
      { name: 'positive', expression: 'owner > 0', ...notValid },
      { name: 'small', expression: 'owner < 1000' },
    ],
  },
});
const loose = table({ not_valid: true });

const constraints = () =>
  service.rows(
    `SELECT conname::text AS name, convalidated AS valid FROM pg_constraint
     WHERE conrelid = 'pets'::regclass AND contype IN ('f', 'c') ORDER BY conname`,
  );

test('constraints that are not valid do not check the rows that the table is made with, and check all later ones', async () => {
  const made = await service.post('/table/pets', { table: loose });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { foreign_keys, checks } = made.body.table.constraints;
  assert.deepEqual(foreign_keys, [{ ...key, not_valid: true }]);
  assert.deepEqual(checks, [
    { name: 'small', expression: '(owner < 1000)' },
    { name: 'positive', expression: '(owner > 0)', not_valid: true },
  ]);
  const expected = [
    { name: 'positive', valid: false },
    { name: 'small', valid: true },
    { name: 'to_owner', valid: false },
  ];
  assert.deepEqual(await constraints(), expected);
  await service.rows('DROP TABLE pets');
  const rows = [
    { id: 1, owner: -1 },
    { id: 2, owner: 7 },
  ];
  for (const query of ['', '?if_exists=replace']) {
    const loaded = await service.post(`/table/pets/upload/json${query}`, {
      table: made.body.table,
      data: rows,
    });
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    assert.deepEqual(loaded.body.table, made.body.table);
    assert.deepEqual(await constraints(), expected);
    assert.deepEqual(await service.rows('SELECT id, owner FROM pets ORDER BY id'), rows);
  }
  const appended = await service.post('/table/pets/upload/json?if_exists=append', {
    data: [
      { id: 3, owner: -1 },
      { id: 4, owner: 7 },
    ],
  });
  const { errors } = assertProblem(appended, 422, 'invalid-data');
  assert.deepEqual(
    errors!.map(({ pointer, code }) => [pointer, code]),
    [
      ['/data/0/owner', 'no-such-reference'],
      ['/data/0/owner', 'check-violation'],
      ['/data/1/owner', 'no-such-reference'],
    ],
  );
});

test('rows with other problems are judged without the constraints that are not valid', async () => {
  const data = [
    { id: 1, owner: -1 },
    { id: 1, owner: 7 },
    { id: 2, owner: 2000 },
  ];
  const refused = await service.post('/table/judged/upload/json', { table: loose, data });
  const { errors } = assertProblem(refused, 422, 'invalid-data');
  assert.deepEqual(
    errors!.map(({ pointer, code }) => [pointer, code]),
    [
      ['/data/1/id', 'not-unique'],
      ['/data/2/owner', 'check-violation'],
    ],
  );
  const left = await service.post('/table/judged/upload/json?faulty_rows=leave_out', { table: loose, data });
  assert.equal(left.status, 201, JSON.stringify(left.body));
  assert.deepEqual(await service.rows('SELECT * FROM judged'), [{ id: 1, owner: -1 }]);
});

test('whether a constraint is valid is a difference', async () => {
  await service.post('/table/pets?if_not_exists=true', { table: loose });
  const differences = async (sent: object) =>
    (await service.post('/table/pets?if_not_exists=true', { table: sent })).body.differences;
  assert.deepEqual(await differences(loose), []);
  assert.deepEqual(await differences(table({})), [
    'the foreign key "to_owner" has not_valid true',
    'the check "positive" has not_valid true',
  ]);
  await service.rows(
    'TRUNCATE pets; ALTER TABLE pets VALIDATE CONSTRAINT to_owner, VALIDATE CONSTRAINT positive',
  );
  assert.deepEqual(await differences(table({ not_valid: false })), []);
  assert.deepEqual(await differences(loose), [
    'the foreign key "to_owner" has not_valid false',
    'the check "positive" has not_valid false',
  ]);
});

test('a check that is not valid is tried before the table is made', async () => {
  const answer = await service.post('/table/wrong', {
    table: {
      columns: columns(['a', 'integer']),
      constraints: { checks: [{ expression: 'a', not_valid: true }] },
    },
  });
  const { errors } = assertProblem(answer, 422, 'invalid-definition');
  assert.deepEqual(
    errors!.map(({ pointer, code }) => [pointer, code]),
    [['/table/constraints/checks/0/expression', 'invalid-expression']],
  );
});

test('an unlogged table is made, comes back, and may refer to another one', async () => {
  const sent = {
    unlogged: true,
    columns: [{ name: 'id', type: 'serial', sequence: {} }, ...columns(['owner', 'integer'])],
    constraints: { foreign_keys: [{ ...key, reference_table: 'quick' }] },
  };
  for (const path of ['', '/upload/json?if_exists=replace']) {
    const made = await service.post(`/table/volatile${path}`, { table: sent });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.table.unlogged, true);
    assert.deepEqual((await service.get('/table/volatile')).body.table, made.body.table);
    assert.deepEqual(
      await service.rows(
        `SELECT relpersistence AS p FROM pg_class WHERE relname IN ('volatile', 'volatile_id_seq')`,
      ),
      [{ p: 'u' }, { p: 'u' }],
    );
  }
  const { unlogged: _, ...logged } = sent;
  const other = await service.post('/table/volatile?if_not_exists=true', {
    table: { ...logged, constraints: {} },
  });
  assert(other.body.differences.includes('the table is unlogged'), JSON.stringify(other.body));
  const refused = await service.post('/table/lasting', { table: logged });
  assert.match(assertProblem(refused, 422, 'invalid-definition').detail, /only an unlogged table can refer/);
});
