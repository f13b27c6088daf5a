/** Roles, locks, connections to the workers, asynchronous loads and keys of requests, with tables of Citus. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { type CitusService, startCitusService } from '../support/citus.ts';
import { assertProblem } from '../support/problem.ts';
import { until } from '../support/until.ts';

let service: CitusService;
before(async () => {
  service = await startCitusService({ LOCK_TIMEOUT_MS: '500' });
  await service.rows('CREATE SCHEMA tenant');
  await service.rows(`SELECT citus_schema_distribute('tenant')`);
  await service.rows('CREATE TABLE tenant.t (k integer PRIMARY KEY, n integer)');
  await service.rows('CREATE TABLE t (k integer PRIMARY KEY, n integer)');
  await service.rows(`SELECT create_distributed_table('t', 'k', shard_count => 32)`);
});
after(() => service?.stop());

const path = (schema: string, query = '') => `/table/t/upload/json?schema=${schema}&if_exists=append${query}`;

for (const schema of ['public', 'tenant']) {
  test(`a role of the token that may not log in gets an error that says so, in the schema ${schema}`, async () => {
    const role = `loader_${schema}_${process.pid}`;
    const user = new URL(service.databaseUrl).username;
    await service.adminRows(`CREATE ROLE ${role}`);
    try {
      await service.adminRows(`GRANT ${role} TO ${user}`);
      await service.rows(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
      await service.rows(`GRANT SELECT, INSERT, UPDATE ON ${schema}.t TO ${role}`);
      const token = await service.token({ role });
      const data = [{ k: 1, n: 1 }];
      const { detail } = assertProblem(
        await service.post(path(schema), { data }, { token }),
        403,
        'permission-denied',
      );
      assert.match(detail, new RegExp(`the role "${role}" needs LOGIN`));
      await service.adminRows(`ALTER ROLE ${role} LOGIN`);
      const answer = await service.post(path(schema), { data }, { token });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      const load = await service.get(`/api/v1/loads/${answer.headers.get('load-id')}`);
      assert.equal(load.body.state, 'committed');
      const updated = await service.post(
        path(schema, '&on_conflict=update'),
        { data: [{ k: 1, n: 5 }] },
        { token },
      );
      assert.deepEqual([updated.status, updated.body.load?.updated], [200, 1], JSON.stringify(updated.body));
      const refused = await service.post(path(schema), { data }, { token });
      assert.equal(assertProblem(refused, 422, 'invalid-data').errors[0]!.code, 'not-unique');
    } finally {
      await service.adminRows(`DROP OWNED BY ${role}`);
      await service.adminRows(`DROP ROLE ${role}`);
    }
  });

  test(`a row that another session has locked at a worker ends the wait after LOCK_TIMEOUT_MS, in the schema ${schema}`, async () => {
    const other = new pg.Client(service.databaseUrl);
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query(`INSERT INTO ${schema}.t VALUES (77, 1)`);
      for (const query of ['', '&on_conflict=update']) {
        assertProblem(await service.post(path(schema, query), { data: [{ k: 77 }] }), 503, 'database-busy');
      }
    } finally {
      await other.end();
    }
    assert.equal((await service.post(path(schema), { data: [{ k: 77 }] })).status, 200);
  });

  test(`asynchronous loads and keys of requests work, in the schema ${schema}`, async () => {
    const body = { data: [{ k: 100 }, { k: 101 }] };
    const accepted = await service.post(path(schema), body, { headers: { prefer: 'respond-async' } });
    assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
    const location = accepted.headers.get('location')!;
    await until('the load to end', async () => (await service.get(location)).body.ended_at !== null);
    assert.equal((await service.get(location)).body.state, 'committed');
    const headers = { 'idempotency-key': `once-${schema}` };
    const first = await service.post(path(schema), { data: [{ k: 102 }] }, { headers });
    const again = await service.post(path(schema), { data: [{ k: 102 }] }, { headers });
    assert.deepEqual([first.status, again.status], [200, 200], JSON.stringify([first.body, again.body]));
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  });
}

test('a deferred constraint that a worker refuses at the end is answered without the shard', async () => {
  await service.rows(
    'CREATE TABLE tenant.later (k integer, CONSTRAINT once UNIQUE (k) DEFERRABLE INITIALLY DEFERRED)',
  );
  const answer = await service.post('/table/later/upload/json?schema=tenant&if_exists=append', {
    data: [{ k: 1 }, { k: 1 }],
  });
  assertProblem(answer, 422, 'invalid-data');
  assert.match(JSON.stringify(answer.body), /once/);
  assert.doesNotMatch(JSON.stringify(answer.body), /_10\d{4}/);
  assert.deepEqual(await service.rows('SELECT * FROM tenant.later'), []);
});

test('eight uploads at once open at most four connections to each worker for each upload', async () => {
  const ports = (await service.adminRows('SELECT nodeport FROM pg_dist_node WHERE groupid > 0')).map(
    ({ nodeport }) => String(nodeport),
  );
  const watchers = await Promise.all(
    ports.map(async (port) => {
      const url = new URL(service.databaseUrl);
      url.port = port;
      const watcher = new pg.Client(url.href);
      await watcher.connect();
      return watcher;
    }),
  );
  let most = 0;
  let isOver = false;
  const watch = async (watcher: pg.Client) => {
    while (!isOver) {
      const { rows } = await watcher.query(
        `SELECT count(*)::int AS count FROM pg_stat_activity
          WHERE datname = current_database() AND backend_type = 'client backend' AND application_name LIKE 'citus_internal%'`,
      );
      most = Math.max(most, rows[0].count);
    }
    await watcher.end();
  };
  const watching = watchers.map(watch);
  const uploads = Array.from({ length: 8 }, (_, upload) =>
    service.post(path('public'), {
      data: Array.from({ length: 20_000 }, (_, row) => ({ k: 1_000_000 * (upload + 1) + row, n: row })),
    }),
  );
  const answers = await Promise.all(uploads);
  isOver = true;
  await Promise.all(watching);
  for (const { status, body } of answers) assert.equal(status, 200, JSON.stringify(body));
  // Each of the eight sessions may also keep one connection from earlier tests, and Citus itself has a few.
  assert.ok(most > 0 && most <= 8 * 4 + 8, `${most} connections to one worker`);
  console.log(`at most ${most} connections to one worker`);
});
