/** The service when nobody reads its log any more, for example because the process that started it has crashed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startChildWithDatabase } from '../support/child-service.ts';
import { runStatement } from '../support/database.ts';
import { assertProblem } from '../support/problem.ts';

test('a service whose log was not read to its end ends with SIGTERM', async () => {
  const service = await startChildWithDatabase();
  service.child.stdout!.removeAllListeners('data').pause();
  for (let n = 0; n < 20; n++) await service.get('/api/v1/tables');
  service.child.stdout!.destroy();
  const ended = await service.end('SIGTERM');
  await service.database.drop();
  assert.equal(ended, 0);
});

test('a service whose log has no reader answers requests, and ends with SIGTERM', async () => {
  const service = await startChildWithDatabase();
  service.child.stdout!.destroy();
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await service.get('/readyz')).status);
  const created = await service.post('/table/unread', { table: { columns: [{ name: 'a', type: 'int' }] } });
  const ended = await service.end('SIGTERM');
  await service.database.drop();
  assert.deepEqual([...statuses, created.status, ended], [200, 200, 200, 201, 0]);
});

test('a service whose log is no longer read, by a reader that is still there, ends after SIGTERM', {
  timeout: 120_000,
}, async () => {
  const service = await startChildWithDatabase();
  const ended = once(service.child, 'exit');
  service.child.stdout!.removeAllListeners('data').pause();
  // More than the pipe can hold.
  const path = `/api/v1/${'x'.repeat(4000)}`;
  for (let n = 0; n < 300; n++) await service.get(path);
  service.child.kill('SIGTERM');
  const [code, signal] = await ended;
  await service.database.drop();
  // Node.js cannot end by itself while one of its threads waits for the reader.
  assert.deepEqual([code, signal], [null, 'SIGKILL']);
});

test('overload that callers cause is a warning without a stack', async () => {
  const service = await startChildWithDatabase({ LOCK_TIMEOUT_MS: '50' });
  const locking = await service.database.pool.connect();
  try {
    await locking.query('CREATE TABLE public.locked (a bigint); BEGIN; LOCK TABLE public.locked');
    const path = '/table/locked/upload/json?if_exists=append';
    assertProblem(await service.post(path, { data: [{ a: 1 }] }), 503, 'database-busy');
  } finally {
    locking.release(true);
    await service.stop('SIGTERM');
  }
  const line = service
    .output()
    .split('\n')
    .find((text) => text.includes('"request failed"'))!;
  const { level, code, sqlState, err } = JSON.parse(line);
  assert.deepEqual([level, code, sqlState, err], [40, 'database-busy', '55P03', undefined]);
  assert.doesNotMatch(service.output(), /"level":50/);
});

test('a foreign server that is away is a warning, and the answer does not say that the database is away', async (t) => {
  const service = await startChildWithDatabase();
  const { adminUrl } = service.database;
  try {
    if (adminUrl === undefined) return t.skip('needs a superuser');
    await runStatement(
      adminUrl,
      `CREATE EXTENSION postgres_fdw;
        CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1');
        CREATE USER MAPPING FOR PUBLIC SERVER away OPTIONS (user 'a', password 'secret');
        GRANT USAGE ON FOREIGN SERVER away TO PUBLIC`,
    );
    await runStatement(
      service.database.serviceUrl,
      `CREATE TABLE parts (a int) PARTITION BY LIST (a);
        CREATE TABLE near PARTITION OF parts FOR VALUES IN (1);
        CREATE FOREIGN TABLE far PARTITION OF parts FOR VALUES IN (2) SERVER away`,
    );
    const load = (a: number, query = '') =>
      service.post(`/table/parts/upload/json?if_exists=append${query}`, { data: [{ a }] });
    for (const query of ['', '&faulty_rows=leave_out']) {
      const { detail } = assertProblem(await load(2, query), 503, 'database-unavailable');
      assert.match(detail, /^A foreign server that the table uses cannot be reached/);
    }
    assert.equal((await load(1)).status, 200);
    assert.match(service.output(), /"level":40[^\n]*"sqlState":"08001"/);
    assert.doesNotMatch(service.output(), /"level":50|secret/);
  } finally {
    await service.end('SIGTERM');
    await service.database.drop();
  }
});
