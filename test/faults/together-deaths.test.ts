/** A process that is killed while it loads several tables leaves none of them, and another process takes the load again. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { endOf } from '../support/load-ends.ts';
import { planForm } from '../support/plan-form.ts';
import { until } from '../support/until.ts';

test('a load of several tables whose process is killed is all or nothing, and is taken again', async () => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-spool-'));
  const environment = { SPOOL_DIR: folder };
  const first = await startChildService(database, environment);
  // The rows of the last table wait for a lock that the test holds, when the other tables are made and loaded.
  await database.pool.query(`CREATE TABLE public.z (x bigint);
    CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
    CREATE TRIGGER wait BEFORE INSERT ON public.z FOR EACH ROW EXECUTE FUNCTION public.wait()`);
  const lock = await database.pool.connect();
  await lock.query('SELECT pg_advisory_lock(7)');
  const tables = [
    { table: 'a', file: 'f' },
    { table: 'b', file: 'f' },
    { table: 'z', file: 'f', if_exists: 'append', on_conflict: 'fail' },
  ];
  const body = planForm({ tables }, { f: 'x\n1\n2\n' });
  const headers = { prefer: 'respond-async' };
  const accepted = await first.request('POST', '/api/v1/loads', { body, headers });
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  await until('the load to wait for the lock', async () => {
    const waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory'";
    const { rows } = await database.pool.query(waiting);
    return rows.length > 0;
  });
  assert.equal(await first.end('SIGKILL'), 'SIGKILL');
  const made =
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'z'";
  assert.deepEqual((await database.pool.query(made)).rows, []);
  await lock.query('SELECT pg_advisory_unlock(7)');
  lock.release();
  const second = await startChildService(database, environment);
  try {
    assert.equal((await endOf(second, accepted.body.id)).state, 'committed');
    for (const { table } of tables) {
      const { rows } = await database.pool.query(`SELECT count(*)::int AS count FROM public."${table}"`);
      assert.deepEqual(rows, [{ count: 2 }], table);
    }
  } finally {
    await second.end('SIGTERM');
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});
