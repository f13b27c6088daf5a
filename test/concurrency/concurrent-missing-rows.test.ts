/** Uploads that delete missing rows, while other sessions write to the table. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const all = '&max_missing_rows=100%25';

function send(table: string, ids: number[], query: string): Promise<TestAnswer> {
  const data = ids.map((id) => ({ id, note: 'sent' }));
  return service.post(`/table/${table}/upload/json?if_exists=append&on_conflict=update${query}`, { data });
}

async function idsOf(table: string): Promise<number[]> {
  return (await service.rows(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id as number);
}

test('a row that another session inserts before the comparison is counted, not deleted unseen', async () => {
  await service.rows('CREATE TABLE counted (id int PRIMARY KEY, note text); INSERT INTO counted VALUES (1)');
  const other = await service.database.pool.connect();
  try {
    await other.query('BEGIN; INSERT INTO counted VALUES (2)');
    const answer = send('counted', [1], '&missing_rows=delete&max_missing_rows=0');
    await untilWaitsForLock(service.database);
    await other.query('COMMIT');
    assert.match(assertProblem(await answer, 409, 'loses-data').detail, /lacks 1 of the 2 rows/);
    assert.deepEqual(await idsOf('counted'), [1, 2]);
  } finally {
    other.release();
  }
});

test('a row that another session inserts after the comparison waits and stays', async () => {
  await service.rows(`
    CREATE TABLE waiting (id int PRIMARY KEY, note text); INSERT INTO waiting VALUES (1), (2);
    CREATE FUNCTION wait_for_turn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(4711); RETURN OLD; END $$;
    CREATE TRIGGER wait_for_turn BEFORE DELETE ON waiting FOR EACH ROW EXECUTE FUNCTION wait_for_turn()`);
  const holder = await service.database.pool.connect();
  try {
    await holder.query('BEGIN; SELECT pg_advisory_xact_lock(4711)');
    const answer = send('waiting', [1], `&missing_rows=delete${all}`);
    await untilWaitsForLock(service.database);
    let isInserted = false;
    const inserted = service.rows('INSERT INTO waiting VALUES (3)').then(() => {
      isInserted = true;
    });
    assert.equal((await service.rows('SELECT id FROM waiting')).length, 2);
    assert.equal(isInserted, false);
    await holder.query('COMMIT');
    const { status, body } = await answer;
    assert.deepEqual([status, body.load?.deleted], [200, 1], JSON.stringify(body));
    await inserted;
    assert.deepEqual(await idsOf('waiting'), [1, 3]);
  } finally {
    holder.release();
  }
});

test('a row of another table that begins to refer to a missing row is not deleted with it', async () => {
  await service.rows(`
    CREATE TABLE referred (id int PRIMARY KEY, note text); INSERT INTO referred VALUES (1), (2);
    CREATE TABLE referring (of int REFERENCES referred ON DELETE CASCADE)`);
  const other = await service.database.pool.connect();
  try {
    await other.query('BEGIN');
    await other.query('SELECT FROM referred FOR KEY SHARE');
    const answer = send('referred', [1], `&missing_rows=delete${all}`);
    await untilWaitsForLock(service.database);
    await other.query('INSERT INTO referring VALUES (2)');
    await other.query('COMMIT');
    assertProblem(await answer, 409, 'dependent-objects');
    assert.equal((await service.rows('SELECT FROM referring')).length, 1);
  } finally {
    other.release();
  }
});

test('uploads with missing rows and others of the same table all end without a deadlock', async () => {
  for (let round = 0; round < sized(3, 20); round++) {
    const table = `busy_${round}`;
    await service.rows(`
      CREATE TABLE ${table} (id int PRIMARY KEY, note text);
      INSERT INTO ${table} SELECT n FROM generate_series(1, 20) n`);
    const uploads = Array.from({ length: 5 }, (_, n) =>
      Array.from({ length: 15 }, (_, at) => ((at * (n + 3)) % 19) + 1),
    );
    const answers = await Promise.all([
      ...uploads.map((ids) => send(table, ids, `&missing_rows=delete${all}`)),
      ...uploads.map((ids) => send(table, ids.toReversed(), '')),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map(() => 200),
      JSON.stringify(answers.map(({ body }) => body.detail)),
    );
  }
});
