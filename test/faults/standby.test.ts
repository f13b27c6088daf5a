/** The service and a standby server: at the start, after a failover through a proxy, and with several hosts in DATABASE_URL. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { databaseHosts } from '../../src/core/settings/database-url.ts';
import { findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { createPool, createSinglePool } from '../../src/postgres/pool.ts';
import { Servers } from '../../src/postgres/servers.ts';
import { inTransaction, runStatements } from '../../src/postgres/transaction.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { freePort } from '../support/free-port.ts';
import { type MovingProxy, startMovingProxy } from '../support/moving-proxy.ts';
import { assertProblem } from '../support/problem.ts';
import { type StreamingPair, startStreamingPair } from '../support/streaming-pair.ts';
import { until } from '../support/until.ts';

const readOnly = 'The database is currently read-only, so nothing can be changed.';
const silent = { info() {}, warn() {} };
const data = [{ n: 1 }];

let pair: StreamingPair;
let proxy: MovingProxy;

before(async () => {
  pair = await startStreamingPair(await findBinaries(), false);
  proxy = await startMovingProxy(pair.standby.port);
});

after(async () => {
  await proxy.stop();
  await pair.stop();
});

const isReady = async (service: ChildService) => (await service.get('/readyz')).status === 200;

async function withService(
  serviceUrl: string,
  work: (service: ChildService) => Promise<void>,
  environment: Record<string, string> = {},
): Promise<void> {
  const service = await startChildService({ serviceUrl }, environment);
  try {
    await work(service);
    assert.equal(service.child.exitCode, null);
  } finally {
    await service.end('SIGTERM');
  }
}

async function assertEverythingWorks(service: ChildService, table: string): Promise<void> {
  const path = `/table/${table}/upload/json?if_exists=append`;
  assert.equal((await service.get('/api/v1/loads')).status, 200);
  assert.equal((await service.get('/api/v1/webhooks')).status, 200);
  for (const replayed of [null, 'true']) {
    const answer = await service.post(path, { data }, { headers: { 'idempotency-key': `"${table}"` } });
    assert.equal(answer.headers.get('idempotency-replayed'), replayed);
  }
  const accepted = await service.post(path, { data }, { headers: { prefer: 'respond-async' } });
  assert.equal(accepted.status, 202);
  const load = accepted.headers.get('location')!;
  await until('the asynchronous load', async () => (await service.get(load)).body.state === 'committed');
}

test('a service that started on a standby waits, and then has its schema without a restart', async () => {
  proxy.leadTo(pair.standby.port);
  await withService(pair.urlOf(`127.0.0.1:${proxy.port}`), async (service) => {
    assert.equal((await service.get('/healthz')).status, 200);
    assertProblem(await service.get('/readyz'), 503, 'database-unavailable');
    await until('the log to say why the service waits', () => service.output().includes(readOnly));
    proxy.leadTo(pair.primary.port);
    await until('the service to be ready', () => isReady(service));
    await assertEverythingWorks(service, 'waited');
  });
});

test('a connection to a standby is not used again, so the service follows a proxy whose connections stay open', async () => {
  proxy.leadTo(pair.standby.port);
  // Without a schema of its own the service has nothing to write at its start.
  const environment = { SERVICE_SCHEMA: 'none' };
  const url = pair.urlOf(`127.0.0.1:${proxy.port}`);
  const upload = async (service: ChildService) => {
    const uploads = Array.from({ length: 6 }, (_, number) =>
      service.post(`/table/moved_${number}/upload/json`, { data }),
    );
    return Promise.all(uploads);
  };
  await withService(
    url,
    async (service) => {
      for (const answer of await upload(service))
        assert.equal(assertProblem(answer, 503, 'database-unavailable').detail, readOnly);
      const problem = assertProblem(await service.get('/readyz'), 503, 'database-unavailable');
      assert.equal(problem.detail, readOnly);
      assert.equal((await service.get('/healthz')).status, 200);
      // Reading fills the pool with connections to the standby, which stay open.
      const reads = Array.from({ length: 6 }, () => service.get('/api/v1/tables'));
      for (const answer of await Promise.all(reads)) assert.equal(answer.status, 200);
      assert(proxy.targets().includes(pair.standby.port));
      proxy.leadTo(pair.primary.port);
      await until('the service to be ready', () => isReady(service));
      for (const answer of await upload(service)) assert.equal(answer.status, 201);
    },
    environment,
  );
});

test('the first of several hosts that accepts changes is used', async () => {
  const nobody = `127.0.0.1:${await freePort()}`;
  const [standby, primary] = [`127.0.0.1:${pair.standby.port}`, `127.0.0.1:${pair.primary.port}`];
  await withService(pair.urlOf(`${nobody},${standby},${primary}`), async (service) => {
    await until('the service to be ready', () => isReady(service));
    await assertEverythingWorks(service, 'several');
  });
  for (const [parameters, expected] of [
    ['', 'primary'],
    ['target_session_attrs=read-write', 'primary'],
    ['target_session_attrs=primary', 'primary'],
    ['target_session_attrs=any', 'standby'],
  ]) {
    const pool = poolOf(`${pair.urlOf(`${nobody},${standby},${primary}`)}?${parameters}`);
    const { rows } = await pool.query('SELECT pg_is_in_recovery() AS "isStandby"');
    assert.equal(rows[0].isStandby, expected === 'standby', parameters);
    await pool.end();
  }
});

test('if no host accepts changes, the error says that the database is read-only', async () => {
  const hosts = `127.0.0.1:${await freePort()},127.0.0.1:${pair.standby.port},127.0.0.1:${await freePort()}`;
  const pool = poolOf(pair.urlOf(hosts));
  for (let time = 0; time < 3; time++)
    await assert.rejects(pool.query('SELECT 1'), { code: 'database-unavailable', detail: readOnly });
  await pool.end();
});

test('a host that accepts connections and never answers does not keep the service from the next one', async () => {
  const silentHost = createServer();
  silentHost.listen(0, '127.0.0.1');
  await once(silentHost, 'listening');
  const { port } = silentHost.address() as AddressInfo;
  const url = pair.urlOf(`127.0.0.1:${port},127.0.0.1:${pair.primary.port}`);
  const pool = createSinglePool(url, 2000, silent);
  try {
    const { rows } = await pool.query('SELECT pg_is_in_recovery() AS "isStandby"');
    assert.equal(rows[0].isStandby, false);
  } finally {
    await pool.end();
    silentHost.close();
  }
});

test('a wrong password on one host is not tried on the next one', async () => {
  const hosts = `127.0.0.1:${pair.primary.port},127.0.0.1:${pair.standby.port}`;
  const pool = poolOf(pair.urlOf(hosts).replace(/:[^:@]+@/, ':wrong@'));
  await assert.rejects(pool.query('SELECT 1'), { code: '28P01' });
  await pool.end();
});

test('read-write sessions heed default_transaction_read_only, and other sessions do not', async () => {
  const [standby, primary] = [`127.0.0.1:${pair.standby.port}`, `127.0.0.1:${pair.primary.port}`];
  const url = pair.urlOf(`${primary},${standby}`);
  const [strict, lenient] = [poolOf(url), poolOf(`${url}?target_session_attrs=primary`)];
  const write = (pool: ReturnType<typeof poolOf>) => runStatements(pool, ['SELECT 1']);
  await Promise.all([write(strict), write(lenient)]);
  const set = async (sql: string) => {
    await pair.primary.rows(sql);
    await pair.primary.rows('SELECT pg_reload_conf()');
  };
  await set('ALTER SYSTEM SET default_transaction_read_only = on');
  try {
    // The connection that is open is refused at its next BEGIN, once the server process has read the setting.
    await until('the connection to be refused', () =>
      write(strict).then(
        () => false,
        (error) => error.detail === readOnly,
      ),
    );
    await write(lenient);
  } finally {
    await set('ALTER SYSTEM RESET default_transaction_read_only');
  }
  await until('the server to accept changes', () =>
    write(strict).then(
      () => true,
      () => false,
    ),
  );
  await Promise.all([strict.end(), lenient.end()]);
});

test('a function that makes its transaction read-only costs one connection, and no other', async () => {
  const pool = poolOf(pair.urlOf(`127.0.0.1:${pair.primary.port}`), 2);
  const pids = async () => {
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    const found = clients.map((client) => (client as unknown as { processID: number }).processID);
    for (const client of clients) client.release();
    return found.toSorted();
  };
  const before = await pids();
  const refused = inTransaction(pool, {}, async (client) => {
    await client.query('SET LOCAL transaction_read_only TO on');
    await client.query('CREATE TABLE public.never (n pg_catalog.int4)');
  });
  await assert.rejects(refused, { code: '25006' });
  const kept = new Set(before).intersection(new Set(await pids()));
  assert.equal(kept.size, 1);
  await pool.end();
});

test('a URL with several hosts is split as libpq does', () => {
  for (const [url, ...hosts] of [
    ['postgresql://u:p@one:1,two/d?sslmode=require', 'one:1/d?sslmode=require', 'two/d?sslmode=require'],
    ['postgresql://u:p@one,two/d?port=7', 'one:7/d', 'two:7/d'],
    ['postgresql://u:p@/d?host=one,two&port=1,2', 'one:1/d', 'two:2/d'],
    ['postgresql://u:p@other:5/d?host=one,two', 'one:5/d', 'two:5/d'],
    [
      'postgresql://u:p@/d?options=-c%20a=b&host=/run/a,::1',
      '%2Frun%2Fa/d?options=-c%20a=b',
      '[::1]/d?options=-c%20a=b',
    ],
    ['postgresql://u:p@[::1]:4,two/d', '[::1]:4/d', 'two/d'],
  ] as const) {
    assert.deepEqual(databaseHosts(url), {
      urls: hosts.map((host) => `postgresql://u:p@${host}`),
      sessionKind: 'read-write',
    });
  }
  const one = 'postgresql://u:p@localhost/d?host=/run/a';
  assert.deepEqual(databaseHosts(one), { urls: [one], sessionKind: 'any' });
});

function poolOf(url: string, poolSize = 1) {
  return createPool({ url: new Servers(url), poolSize, statementTimeoutMs: 0 }, silent);
}
