/** Uploads that widen the same columns at the same moment, while others read and append. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { untilWaitsForLock } from '../support/locks.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

let service: TestService;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const widen = (table: string, data: unknown[]): Promise<TestAnswer> =>
  service.post(`/table/${table}/upload/json?if_exists=append&misfits=widen`, { data });

test('two uploads that widen a column to different types both load all rows', async () => {
  for (let round = 0; round < sized(5, 25); round++) {
    const table = `both_${round}`;
    await service.rows(`CREATE TABLE ${table} (a smallint, b varchar(2))`);
    const values = [40_000, 5_000_000_000, 1.5, 7, 2];
    const texts = ['abc', 'abcdef', 'ab', 'abcd', 'a'];
    const answers = await Promise.all(values.map((a, n) => widen(table, [{ a, b: texts[n] }])));
    assert.deepEqual(
      answers.map(({ status }) => status),
      values.map(() => 200),
      JSON.stringify(answers.map(({ body }) => body)),
    );
    const rows = await service.rows(`SELECT a::float8, b FROM ${table} ORDER BY a`);
    assert.deepEqual(
      rows.map(({ a }) => a),
      values.toSorted((one, other) => one - other),
    );
    assert.deepEqual(rows.map(({ b }) => b).sort(), texts.toSorted());
  }
});

test('an upload whose column another session widens while it waits for the lock looks for the types again', async () => {
  await service.rows('CREATE TABLE late (a smallint)');
  const other = await service.database.pool.connect();
  try {
    await other.query('BEGIN; ALTER TABLE late ALTER a TYPE integer');
    const answer = widen('late', [{ a: 40_000 }, { a: 1.5 }]);
    await untilWaitsForLock(service.database);
    await other.query('COMMIT');
    const { status, body } = await answer;
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.load.widened, [{ column: 'a', from: 'integer', to: 'numeric' }]);
  } finally {
    other.release();
  }
});

test('a reader is not blocked by an upload that waits for a longer transaction', async () => {
  await service.rows('CREATE TABLE busy (a smallint); INSERT INTO busy VALUES (1)');
  const holder = await service.database.pool.connect();
  try {
    await holder.query('BEGIN; SELECT FROM busy');
    const answer = widen('busy', [{ a: 1.5 }]);
    const tries = async () =>
      (
        await service.rows(
          `SELECT FROM pg_locks WHERE relation = 'busy'::regclass AND mode = 'AccessExclusiveLock'`,
        )
      ).length > 0;
    await until('an attempt to lock the table', tries);
    assert.deepEqual(await service.rows('SELECT a FROM busy'), [{ a: 1 }]);
    await holder.query('COMMIT');
    assert.equal((await answer).status, 200);
  } finally {
    holder.release();
  }
});
