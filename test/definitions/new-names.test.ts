/** `new_names=true`: the answer for one table makes a second one next to it. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test('the answer for a table makes a second one next to it without being edited', async () => {
  await service.rows(`CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE others (x int, y int, CONSTRAINT o PRIMARY KEY (x, y));
    CREATE TABLE first (id serial CONSTRAINT p PRIMARY KEY, a int CONSTRAINT u UNIQUE, b int, m mood DEFAULT 'ok',
      CONSTRAINT f FOREIGN KEY (a, b) REFERENCES others, CONSTRAINT s FOREIGN KEY (b) REFERENCES first);
    ALTER SEQUENCE first_id_seq RENAME TO q; CREATE INDEX i ON first (b)`);
  const { table } = (await service.get('/table/first')).body;
  const refused = await service.post('/table/second', { table });
  const codes = assertProblem(refused, 422, 'invalid-definition').errors!.map(({ code }) => code);
  assert.deepEqual(codes, Array(4).fill('name-taken'));
  const made = await service.post('/table/second?new_names=true', { table });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { columns, constraints, indexes, types } = made.body.table;
  assert.deepEqual(types, table.types);
  assert.deepEqual(columns[0].sequence, { name: 'second_id_seq' });
  assert.equal(constraints.primary_key.name, 'second_pkey');
  assert.equal(constraints.unique[0].name, 'second_a_key');
  assert.deepEqual(indexes, [{ ...table.indexes[0], name: 'second_b_idx' }]);
  assert.deepEqual(
    constraints.foreign_keys.map(({ name, column }: Record<string, string>) => `${name} ${column}`).sort(),
    ['second_a_b_fkey a', 'second_a_b_fkey b', 'second_b_fkey b'],
  );
  const again = await service.post('/table/second?new_names=true&if_not_exists=true', { table });
  assert.deepEqual(again.body.differences, []);
});
