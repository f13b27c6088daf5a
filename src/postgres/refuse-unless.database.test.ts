import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { refuseUnless, wasRefused } from './refuse-unless.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const errorOf = async (text: string): Promise<unknown> =>
  database.pool.query(text).then(
    () => undefined,
    (error) => error,
  );

test('a condition that is false or NULL refuses the transaction for its reason alone', async () => {
  assert.equal(await errorOf(refuseUnless('1 = 1', 'the table has changed')), undefined);
  for (const condition of ['1 = 2', 'NULL']) {
    const error = await errorOf(refuseUnless(condition, 'the table has changed'));
    assert.equal(wasRefused(error, 'the table has changed'), true);
    assert.equal(wasRefused(error, 'the load has ended or is cancelled'), false);
  }
});

test('an error of a table with the same words is no refusal', async () => {
  const error = await errorOf("SELECT CAST('tablewright: the table has changed' AS integer)");
  assert.match((error as Error).message, /the table has changed/);
  assert.equal(wasRefused(error, 'the table has changed'), false);
});
