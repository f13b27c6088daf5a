/**
 * Objects and settings that the code of a table, such as a trigger, leaves in a session of PostgreSQL do not affect later
 * requests in the session.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { someOf } from '../support/sized.ts';

let service: TestService;

before(async () => {
  // There are so few sessions that each of them is used again.
  service = await startTestService({
    DATABASE_POOL_SIZE: '2',
    MAX_UPLOADS: '1',
    MAX_UPLOADS_PER_SUBJECT: '1',
  });
  await service.rows(`CREATE TABLE target (id int PRIMARY KEY, a int CHECK (a < 100), j jsonb);
    CREATE TABLE trapped (statement text);
    CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE NEW.statement; RETURN NEW; END $$;
    CREATE TRIGGER leave BEFORE INSERT ON trapped FOR EACH ROW EXECUTE FUNCTION leave()`);
});
after(() => service?.stop());

/** Runs the statement in each session that a request may use next. @returns the statuses of the requests that ran it */
async function leave(statement: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < 3; time += 1) {
    const path = '/table/trapped/upload/json?if_exists=append';
    statuses.push((await service.post(path, { data: [{ statement }] })).status);
  }
  return statuses;
}

/** Sends requests that together use everything that the service creates in a session. */
async function exercise(): Promise<unknown[]> {
  const upload = '/table/target/upload/json?if_exists=append';
  const columns = [
    { name: 'id', type: 'int' },
    { name: 'a', type: 'int' },
    { name: 'j', type: 'jsonb' },
  ];
  const answers = [
    await service.get('/table/target'),
    await service.post(`${upload}&on_conflict=update`, {
      data: [{ id: 1, a: 1 }, { id: 2 }, { id: 1, a: 2 }],
    }),
    await service.post(`${upload}&on_conflict=skip`, { data: [{ id: 1, a: 1 }] }),
    await service.post(upload, {
      data: [
        { id: 1, a: 1 },
        { id: 7, a: 700 },
        { id: 8, a: 'x' },
      ],
    }),
    await service.post(upload, { data: [{ id: 9, a: 900, j: [1] }] }),
    await service.post('/table/target?if_not_exists=true', { table: { columns } }),
    await service.post('/table/other/upload/json?if_exists=replace', { data: [{ a: 1 }] }),
    await service.post('/table/faulty/upload/json?primary_key=a', { data: [{ a: 1 }, { a: 1 }] }),
    await service.post('/table/fine?if_not_exists=true', { table: { columns } }),
    await service.get('/table/target'),
  ];
  return answers.map(({ status, body }) => {
    const { instance: _, ...rest } = body;
    delete rest.load?.duration_ms;
    delete rest.load?.id;
    return { status, ...rest };
  });
}

const temporaryNames = [
  'tablewright rows',
  'tablewright updates',
  'tablewright surplus rows',
  'tablewright progress',
  'tablewright violations',
  'tablewright comparison',
];
const kinds: [string, (name: string) => string][] = [
  ['tables', (name) => `CREATE TEMPORARY TABLE IF NOT EXISTS "${name}" (hostile int)`],
  ['sequences', (name) => `CREATE TEMPORARY SEQUENCE IF NOT EXISTS "${name}"`],
  ['views', (name) => `CREATE OR REPLACE TEMPORARY VIEW "${name}" AS SELECT 1 AS hostile`],
  ['types', (name) => `CREATE TYPE pg_temp."${name}" AS (hostile int)`],
];

// Whether a pooler cleans its sessions depends on its settings (docs/postgresql.md).
const skip = process.env.TEST_POOLER !== undefined && 'the pooler decides what a session keeps';

test('temporary objects with names that the service uses have no effect', async () => {
  await exercise();
  const answersBefore = await exercise();
  for (const [, create] of someOf(2, kinds)) {
    assert.deepEqual(await leave(`DISCARD TEMP; ${temporaryNames.map(create).join('; ')}`), [200, 200, 200]);
    assert.deepEqual(await exercise(), answersBefore);
  }
  await leave(
    `CREATE OR REPLACE FUNCTION pg_temp."tablewright input is valid"(text, text) RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  );
  assert.deepEqual(await exercise(), answersBefore);
});

test('prepared statements with names that the service uses, and removed ones, have no effect', {
  skip,
}, async () => {
  await exercise();
  const answersBefore = await exercise();
  assert.deepEqual(await leave('PREPARE "tablewright lock" AS SELECT 1'), [200, 200, 200]);
  assert.deepEqual(await exercise(), answersBefore);
  // The request itself fails if the service had prepared a statement in its session.
  for (const status of await leave('DEALLOCATE ALL')) assert.match(String(status), /^(200|422)$/);
  assert.deepEqual(await exercise(), answersBefore);
  await leave(
    `DEALLOCATE ALL; PREPARE "tablewright describe" (text, text) AS SELECT '', json_build_object('hostile', true) AS found, ''`,
  );
  assert.deepEqual(await exercise(), answersBefore);
});

test('settings and locks have no effect', { skip }, async () => {
  await exercise();
  const answersBefore = await exercise();
  const statements = [
    "PERFORM set_config('work_mem', '64kB', false); PERFORM set_config('transform_null_equals', 'on', false)",
    'PERFORM pg_advisory_lock(7)',
  ];
  for (const statement of statements) {
    assert.deepEqual(await leave(`DO $do$ BEGIN ${statement}; END $do$`), [200, 200, 200]);
  }
  assert.deepEqual(await exercise(), answersBefore);
  assert.deepEqual(await service.rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7"), []);
});
