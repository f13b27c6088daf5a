/** A replace of a table while a slow automatic VACUUM of PostgreSQL works on it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

test('a long automatic VACUUM is cancelled for a replace', async () => {
  const service = await startTestService({ LOCK_TIMEOUT_MS: '5000' });
  const admin = new pg.Client(service.database.adminUrl);
  await admin.connect();
  // By default PostgreSQL checks tables only once in a minute.
  await admin.query(`ALTER SYSTEM SET autovacuum_naptime = '1s'`);
  await admin.query('SELECT pg_reload_conf()');
  try {
    await service.rows(`CREATE TABLE big (a integer, b text) WITH (autovacuum_vacuum_threshold = 1,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`);
    await service.rows(`INSERT INTO big SELECT n, repeat('x', 1000) FROM generate_series(1, 20000) n`);
    await service.rows('DELETE FROM big WHERE a % 2 = 0');
    await until('an automatic VACUUM', async () => (await admin.query(vacuums)).rows.length > 0);
    const answer = await service.post('/table/big/upload/json?if_exists=replace', { data: [{ a: 1 }] });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.deepEqual(await service.rows('SELECT a FROM big'), [{ a: '1' }]);
  } finally {
    await admin.query('ALTER SYSTEM RESET autovacuum_naptime');
    await admin.query('SELECT pg_reload_conf()');
    await admin.end();
    await service.stop();
  }
});

const vacuums = `SELECT FROM pg_locks l JOIN pg_stat_activity s USING (pid)
WHERE l.relation = 'big'::regclass AND l.mode = 'ShareUpdateExclusiveLock' AND s.query LIKE 'autovacuum: VACUUM%'`;
