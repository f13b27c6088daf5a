/** Effects that an upload or a definition must not have on other callers: delays and memory. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

test('a replace respects row-level security', async () => {
  await service.rows('CREATE TABLE secrets (a int)');
  await service.rows('ALTER TABLE secrets ENABLE ROW LEVEL SECURITY');
  const answer = await service.post('/table/secrets/upload/json?if_exists=replace', { data: [{ a: 1 }] });
  assert.equal(answer.status, 409, JSON.stringify(answer.body));
  assert.deepEqual(answer.body.errors[0].value, 'its row-level security');
});

test('a truncate names the foreign keys that refer to the table', async () => {
  await service.rows('CREATE TABLE parent (id int PRIMARY KEY)');
  await service.rows('CREATE TABLE child (p int REFERENCES parent)');
  const answer = await service.post('/table/parent/upload/json?if_exists=truncate', { data: [{ id: 1 }] });
  assert.equal(answer.status, 409, JSON.stringify(answer.body));
  assert.match(answer.body.errors[0].value, /child_p_fkey/);
});

test('appends at the same moment to a table that does not exist all add their rows', async () => {
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      service.post('/table/together/upload/json?if_exists=append', { data: [{ n }] }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 200, 201]);
  assert.deepEqual(await service.rows('SELECT count(*)::int AS rows FROM together'), [{ rows: 6 }]);
});

test('uploads that add columns to one table wait for each other', async () => {
  await service.rows('CREATE TABLE wide (a int)');
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        service.post('/table/wide/upload/json?if_exists=append&extra_columns=add', {
          data: [{ a: 1, [`c${round}_${n % 3}`]: n }],
        }),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  }
});

test('a slow truncate upload does not make readers of the table wait', async () => {
  await service.rows('CREATE TABLE slow (a int)');
  let finish: () => void = () => {};
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode('{"data":[{"a":1},'));
      finish = () => {
        controller.enqueue(encoder.encode('{"a":2}]}'));
        controller.close();
      };
    },
  });
  const [{ now }] = (await service.rows('SELECT clock_timestamp()::text AS now')) as [{ now: string }];
  const sending = service.request('POST', '/table/slow/upload/json?if_exists=truncate', {
    headers: { 'content-type': 'application/json' },
    body,
  });
  const hasBegun = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tablewright' AND query_start > $1`;
  await until(
    'the upload to look at the table',
    async () => (await service.rows(hasBegun, [now])).length > 0,
  );
  // This fails at once if another session holds a lock on the table.
  await service.rows('BEGIN; LOCK TABLE slow IN ACCESS SHARE MODE NOWAIT; COMMIT');
  finish();
  assert.equal((await sending).status, 200);
  assert.deepEqual(await service.rows('SELECT a FROM slow ORDER BY a'), [{ a: 1 }, { a: 2 }]);
});

test('a token with the role "none" or an empty scope is refused', async () => {
  const none = await service.get('/table/secrets', { token: await service.token({ role: 'none' }) });
  assert.equal(none.status, 401);
  const without = await service.get('/table/secrets', { token: await service.token({ scope: '' }) });
  assert.equal(without.status, 403);
});
