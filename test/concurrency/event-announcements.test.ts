/** The announcements of events to PostgreSQL clients: all committed events, whatever ends the process or holds the lock of NOTIFY. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import pg from 'pg';
import { findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { ServiceClient } from '../support/service.ts';
import { startThrowAwayServer } from '../support/throw-away-server.ts';
import { until } from '../support/until.ts';

const schema = 'tablewright_service';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

/** Ends what a test has started, also if the test fails. */
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startReplica(
  at: Pick<TestDatabase, 'serviceUrl'> = database,
  environment: Record<string, string> = {},
): Promise<ChildService> {
  const service = await startChildService(at, environment);
  ends.push(() => service.end('SIGKILL'));
  return service;
}

/** Returns a list to which the announced ids are added when they arrive. */
async function listenTo(url: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  ends.push(() => client.end());
  const heard: string[] = [];
  client.on('notification', ({ payload }) => heard.push(payload!));
  await client.query('LISTEN tablewright');
  return heard;
}

/** Returns the ids of the events about a table, in the order of the feed. */
async function idsOf(client: Pick<pg.Pool, 'query'>, table: string): Promise<string[]> {
  const { rows } = await client.query(
    `SELECT id FROM ${schema}.events WHERE event->'data'->>'table' = $1 ORDER BY position`,
    [table],
  );
  return rows.map(({ id }) => id);
}

const appendTo = (service: ServiceClient, table: string) =>
  service.post(`/table/${table}/upload/json?if_exists=append`, { data: [{ a: 1 }] });

/**
 * Loads into a new table through the process, and kills the process after the answer, before it could give the events their positions.
 */
async function killAfterCommit(service: ChildService, table: string): Promise<void> {
  const holder = await database.pool.connect();
  try {
    await holder.query(`BEGIN; SELECT FROM ${schema}.event_state FOR UPDATE`);
    assert.equal((await appendTo(service, table)).status, 201);
    await service.end('SIGKILL');
    // The server would still run the statements that it has received from the process.
    await holder.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'tablewright' AND wait_event_type = 'Lock'`,
    );
    const { rows } = await database.pool.query(`SELECT FROM ${schema}.events WHERE position IS NULL`);
    assert.equal(rows.length, 2);
    await holder.query('COMMIT');
  } finally {
    holder.release(true);
  }
}

test('the events of a process that is killed after a commit are announced by the next start, without a reader', async () => {
  const first = await startReplica();
  await killAfterCommit(first, 'before_start');
  const heard = await listenTo(database.url);
  await startReplica();
  await until('the events', () => heard.length >= 2);
  assert.deepEqual(heard, await idsOf(database.pool, 'before_start'));
});

test('the events of a process that is killed after a commit are announced by another replica, without a reader', async () => {
  const [first] = await Promise.all([startReplica(), startReplica()]);
  const heard = await listenTo(database.url);
  await killAfterCommit(first, 'beside_replica');
  await until('the events', () => heard.length >= 2);
  assert.deepEqual(heard, await idsOf(database.pool, 'beside_replica'));
});

test('the events of two replicas are announced once each, in the order of the feed', async () => {
  const services = await Promise.all([startReplica(), startReplica()]);
  const heard = await listenTo(database.url);
  const loads = Array.from({ length: 40 }, (_, index) => appendTo(services[index % 2]!, `busy_${index % 4}`));
  const created = (await Promise.all(loads)).filter(({ status }) => status === 201).length;
  await until('the events', () => heard.length >= loads.length + created);
  const { rows } = await database.pool.query(
    `SELECT id FROM ${schema}.events WHERE event->'data'->>'table' LIKE 'busy%' ORDER BY position`,
  );
  assert.deepEqual(
    heard,
    rows.map(({ id }) => id),
  );
});

test('the events that a service writes while it stops are announced before it ends', async () => {
  const service = await startReplica(database, { SHUTDOWN_GRACE_MS: '0' });
  const heard = await listenTo(database.url);
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const answered = service
    .request('POST', '/table/ended/upload/json', {
      headers: { 'content-type': 'application/x-ndjson' },
      body: readable as ReadableStream,
    })
    .catch(() => {});
  await writer.write(new TextEncoder().encode('{"a": 1}\n'));
  await until('the record of the load', async () => {
    const { rows } = await database.pool.query(`SELECT FROM ${schema}.loads WHERE table_name = 'ended'`);
    return rows.length > 0;
  });
  await service.end('SIGTERM');
  await answered;
  const ids = await idsOf(database.pool, 'ended');
  assert.equal(ids.length, 1);
  await until('the event', () => heard.includes(ids[0]!));
});

test('another program that holds the lock of NOTIFY delays no upload, no creation and no reader', async () => {
  const server = await startThrowAwayServer(await findBinaries(), {
    // A transaction that asks for it waits for this standby at its COMMIT, and holds the lock meanwhile.
    settings: { synchronous_standby_names: 'missing' },
  });
  ends.push(() => server.stop());
  const pool = new pg.Pool({ connectionString: server.url });
  ends.push(() => pool.end());
  const service = await startReplica({ serviceUrl: server.url }, { LOCK_TIMEOUT_MS: '1000' });
  const heard = await listenTo(server.url);
  const holder = await pool.connect();
  try {
    await holder.query('CREATE TABLE held (a int)');
    await holder.query('SET synchronous_commit TO on');
    const holding = holder.query('BEGIN; INSERT INTO held VALUES (1); NOTIFY other; COMMIT');
    await until('the lock', async () => {
      const held = await pool.query(`SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = 0 AND wait_event = 'SyncRep'`);
      return held.rows.length === 1;
    });
    const definition = { table: { columns: [{ name: 'a', type: 'int' }] } };
    const answers = await Promise.all([appendTo(service, 'free'), service.post('/table/made', definition)]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201],
      JSON.stringify(answers),
    );
    const refused = await service.post('/table/free/upload/json?if_exists=append', { data: [{ a: 'x' }] });
    assert.equal(refused.status, 422);
    await until('the positions', async () => {
      const found = await pool.query(`SELECT FROM ${schema}.events WHERE position IS NOT NULL`);
      return found.rows.length === 4;
    });
    assert.deepEqual(heard, []);
    await pool.query(`SELECT pg_cancel_backend($1)`, [holderPid(holder)]);
    await holding;
    await until('the announcements', () => heard.length >= 4);
    const all = await pool.query(`SELECT id FROM ${schema}.events ORDER BY position`);
    assert.deepEqual(
      heard,
      all.rows.map(({ id }) => id),
    );
  } finally {
    holder.release(true);
  }
});

function holderPid(client: pg.PoolClient): number {
  return (client as unknown as { processID: number }).processID;
}
