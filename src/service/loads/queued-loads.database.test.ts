/** These tests need certain orders of events. PostgreSQL makes them: triggers let the transactions of sweeps and takes wait for a lock. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import type { Pool, PoolClient } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { lostAnswer, owner, silentLog, uploadFacts } from '../../../test/support/load-records.ts';
import { startMovingProxy } from '../../../test/support/moving-proxy.ts';
import { until } from '../../../test/support/until.ts';
import type { Log } from '../../postgres/log.ts';
import { createPool } from '../../postgres/pool.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { LoadRun } from './load-run.ts';
import { Loads } from './loads.ts';
import { QueuedLoads, type RunTaken } from './queued-loads.ts';
import { prepareServiceSchema } from './service-schema.ts';
import { StoredBodies } from './stored-bodies.ts';

/** The sweep repeats after a third of this time, so it does not repeat during the tests. */
const leaseMs = 3_600_000;
const request = { query: {}, headers: {}, scopes: [], schemas: undefined, caller: 'a', requestId: 'a' };
const limits = {
  maxQueuedLoads: 10,
  maxQueuedLoadsPerSubject: 10,
  maxQueuedBytes: 1000,
  maxQueuedBytesPerSubject: 1000,
};

let database: TestDatabase;
let pool: Pool;
let schema: ServiceSchema;
let base: string;
let loads: Loads;

before(async () => {
  database = await createTestDatabase();
  pool = createPool({ url: database.url, poolSize: 6, statementTimeoutMs: 0 }, silentLog);
  schema = (await prepareServiceSchema(pool, 'tablewright_service')).schema!;
  base = await mkdtemp(join(tmpdir(), 'tablewright-queue-'));
  await database.pool.query(`CREATE FUNCTION public.wait_for_test() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$`);
  await database.pool.query(`CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT OR UPDATE ON ${schema.quoted}.processes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_for_test()`);
  await database.pool.query(`CREATE FUNCTION public.wait_in_take() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF current_query() LIKE '%SET state = ''running''%' THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN NULL; END $$`);
  await database.pool.query(`CREATE TRIGGER wait_in_take AFTER UPDATE ON ${schema.quoted}.loads
    FOR EACH STATEMENT EXECUTE FUNCTION public.wait_in_take()`);
});

beforeEach(() => {
  const pools = { pool, recordPool: pool, leasePool: pool };
  const options = { schema, ...pools, log: silentLog, historyDays: 1, abandonedAnswer: lostAnswer, leaseMs };
  loads = new Loads(options);
  // The lease counts as fresh, so that only the sweep renews it.
  loads.lease.renewed(performance.now());
});

after(async () => {
  await pool.end();
  await database.drop();
  await rm(base, { recursive: true });
});

function createQueue(folder: string, log: Log = silentLog, recordPool = pool): QueuedLoads {
  const options = {
    loads,
    recordPool,
    folder,
    canAccept: true,
    places: 2,
    limits,
    log,
  };
  return new QueuedLoads({ ...options, lostAnswer, givenUpAnswer: lostAnswer, failedAnswer: lostAnswer });
}

/** Makes the transactions of sweeps and takes wait before their end, until the returned function is called. Others take another lock. */
async function holdTransactions(lock = 7): Promise<() => Promise<void>> {
  const client: PoolClient = await database.pool.connect();
  await client.query(`SELECT pg_advisory_lock(${lock})`);
  return async () => {
    await client.query(`SELECT pg_advisory_unlock(${lock})`);
    client.release();
  };
}

const oneWaits = (lock = 7) =>
  until('a transaction that waits', async () => {
    const { rows } = await database.pool.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rows.length > 0;
  });

/** @param readAgain reads the stored body before the load waits in the queue */
async function accept(
  queue: QueuedLoads,
  readAgain: (run: LoadRun, chunks: () => AsyncGenerator<Buffer>) => Promise<void> = async () => {},
): Promise<string> {
  const run = loads.begin(loads.create(uploadFacts, { bytesReceived: () => 1, isReceived: () => true }));
  const body = (async function* () {
    yield Buffer.from('1');
  })();
  await queue.accept(
    run,
    request,
    body,
    (chunks) => readAgain(run, chunks),
    () => [],
  );
  loads.forget(run);
  return run.id;
}

test('a load is run that was accepted after the service had found no load and before it knew that', async () => {
  const queue = createQueue(join(base, 'accepted'));
  const begun: string[] = [];
  const mayEnd = Promise.withResolvers<void>();
  const run: RunTaken = async ({ id }, taken) => {
    begun.push(id);
    await mayEnd.promise;
    await loads.end(taken, 'failed', lostAnswer);
    return 'ended';
  };
  await queue.start({ run, onGivenUp: () => {} });
  const first = await accept(queue);
  await until('the first load', () => begun.includes(first));
  const release = await holdTransactions();
  let second: string;
  try {
    mayEnd.resolve();
    await oneWaits();
    second = await accept(queue);
  } finally {
    await release();
  }
  await until('the second load', () => begun.includes(second));
  await queue.stop();
  await loads.stop();
});

test('a load whose work ends with an exception fails, is logged with its id, and leaves no body', async () => {
  const folder = join(base, 'exception');
  const logged: object[] = [];
  const queue = createQueue(folder, { ...silentLog, warn: (details) => logged.push(details) });
  const run: RunTaken = async () => {
    throw new RangeError('Invalid string length');
  };
  await queue.start({ run, onGivenUp: () => {} });
  const id = await accept(queue);
  await until('the end of the load', async () => {
    const { rows } = await database.pool.query(`SELECT state FROM ${schema.quoted}.loads WHERE id = $1`, [
      id,
    ]);
    return rows[0].state === 'failed';
  });
  // The record is seen before this process has got the answer to its COMMIT.
  await queue.stop();
  assert.ok(!loads.runningIds().includes(id));
  assert.ok(logged.some((details) => 'load' in details && details.load === id));
  assert.ok((await readdir(folder)).every((name) => !name.includes(id)));
  await loads.stop();
});

test('a load that another process has ended before it was accepted, with its body, is answered with 503', async () => {
  const folder = join(base, 'ended');
  const queue = createQueue(folder);
  const accepting = accept(queue, async (run, chunks) => {
    await loads.record(run);
    await database.pool.query(
      `UPDATE ${schema.quoted}.loads SET state = 'failed', ended_at = now() WHERE id = $1`,
      [run.id],
    );
    await (await StoredBodies.open(folder)).remove(run.id);
    for await (const _ of chunks());
  });
  await assert.rejects(accepting, { code: 'database-unavailable' });
  await queue.stop();
  await loads.stop();
});

test('a load is run whose COMMIT into the queue succeeds after the connection broke, and the end of its request changes nothing', async () => {
  // The renewal of the lease may wait at the same time, for its own lock.
  await database.pool.query(`CREATE FUNCTION public.wait_in_queue() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(8); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait_in_queue AFTER INSERT ON ${schema.quoted}.loads
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.wait_in_queue()`);
  const server = new URL(database.url);
  const proxy = await startMovingProxy(Number(server.port));
  server.port = `${proxy.port}`;
  const throughProxy = createPool({ url: server.href, poolSize: 2, statementTimeoutMs: 0 }, silentLog);
  const folder = join(base, 'broken');
  const queue = createQueue(folder, silentLog, throughProxy);
  const mayEnd = Promise.withResolvers<void>();
  const begun: string[] = [];
  const work: RunTaken = async ({ id }, taken, chunks) => {
    for await (const _ of chunks()) begun.push(id);
    await mayEnd.promise;
    await loads.end(taken, 'refused', lostAnswer);
    return 'ended';
  };
  const state = async (id: string) =>
    (await database.pool.query(`SELECT state FROM ${schema.quoted}.loads WHERE id = $1`, [id])).rows[0]
      ?.state;
  const run = loads.begin(loads.create(uploadFacts, { bytesReceived: () => 1, isReceived: () => true }));
  const body = (async function* () {
    yield Buffer.from('1');
  })();
  let release = async () => {};
  const hold = async () => {
    release = await holdTransactions(8);
  };
  const accepting = queue.accept(run, request, body, hold, () => []);
  try {
    await oneWaits(8);
    proxy.cut();
    await assert.rejects(accepting, { code: 'database-unavailable', isOutcomeUnknown: true });
    assert.ok((await readdir(folder)).includes(`${run.id}.body`));
  } finally {
    await release();
  }
  await until('the COMMIT', async () => (await state(run.id)) === 'queued');
  proxy.leadTo(Number(new URL(database.url).port));
  await queue.start({ run: work, onGivenUp: () => {} });
  await until('the load', () => begun.includes(run.id));
  await loads.end(run, 'failed', lostAnswer, false);
  assert.equal(await state(run.id), 'running');
  assert.ok(loads.runningIds().includes(run.id));
  mayEnd.resolve();
  await until('the end', async () => (await state(run.id)) === 'refused');
  await queue.stop();
  await loads.stop();
  await throughProxy.end();
  await proxy.stop();
  await database.pool.query(`DROP TRIGGER wait_in_queue ON ${schema.quoted}.loads`);
});

test('a load that has waited for days is run by a process that begins to serve its folder', async () => {
  const folder = join(base, 'waited');
  const earlier = createQueue(folder);
  const id = await accept(earlier);
  await earlier.stop();
  const { quoted } = schema;
  await database.pool.query(
    `UPDATE ${quoted}.loads SET state = 'queued', ended_at = NULL, process = gen_random_uuid(),
    created_at = now() - interval '3 days' WHERE id = $1`,
    [id],
  );
  await database.pool.query(`UPDATE ${quoted}.processes SET seen_at = '-infinity'`);
  const queue = createQueue(folder);
  const begun: string[] = [];
  await queue.start({
    run: async (load, run) => {
      begun.push(load.id);
      await loads.end(run, 'failed', lostAnswer);
      return 'ended';
    },
    onGivenUp: () => {},
  });
  const state = async () =>
    (await database.pool.query(`SELECT state FROM ${quoted}.loads WHERE id = $1`, [id])).rows[0].state;
  await until('the end of the load', async () => (await state()) === 'failed');
  await queue.stop();
  await loads.stop();
  assert.deepEqual(begun, [id]);
});

test('a stop during the first sweep waits for it, and no other sweep follows', async (context) => {
  const folder = join(base, 'stopped');
  await StoredBodies.open(folder);
  const queue = createQueue(folder);
  const intervals = context.mock.method(globalThis, 'setInterval').mock;
  const release = await holdTransactions();
  let starting: Promise<void>;
  let stopping: Promise<void>;
  try {
    starting = queue.start({ run: async () => 'ended', onGivenUp: () => {} });
    await oneWaits();
    stopping = queue.stop();
    const first = await Promise.race([
      stopping.then(() => 'stopped'),
      database.pool.query('SELECT 1').then(() => 'waits'),
    ]);
    assert.equal(first, 'waits');
  } finally {
    await release();
  }
  await Promise.all([starting, stopping]);
  assert.equal(intervals.callCount(), 0);
});

test('of two requests of a process with one key, one does the work, although they get connections in another order', async () => {
  let isFirst = true;
  const mayConnect = Promise.withResolvers<void>();
  // The first request gets its connection after the second one.
  const slowPool: Pool = Object.create(pool, {
    connect: {
      value: async () => {
        if (isFirst) {
          isFirst = false;
          await mayConnect.promise;
        }
        return pool.connect();
      },
    },
  });
  const options = {
    schema,
    pool,
    recordPool: slowPool,
    leasePool: pool,
    log: silentLog,
    historyDays: 1,
    abandonedAnswer: lostAnswer,
    leaseMs,
  };
  const slow = new Loads(options);
  const notRead = { fingerprint: () => undefined };
  let working = 0;
  let refused = 0;
  const mayEnd = Promise.withResolvers<void>();
  const send = (claim: string) =>
    slow.withKey({ owner, key: 'a key', claim, digest: notRead }, async ({ claimed }) => {
      if (claimed === undefined) {
        refused++;
        return 'in use';
      }
      working++;
      await mayEnd.promise;
      await claimed.release();
      return 'done';
    });
  const answers = [
    send('00000000-0000-4000-8000-000000000001'),
    send('00000000-0000-4000-8000-000000000002'),
  ];
  // While the first request waits for its connection, the second one would get the key if the requests did not take turns.
  for (let query = 0; query < 20; query++) await database.pool.query('SELECT 1');
  mayConnect.resolve();
  await until('both claims', () => working + refused === 2);
  mayEnd.resolve();
  assert.deepEqual((await Promise.all(answers)).toSorted(), ['done', 'in use']);
  assert.equal(working, 1);
  await slow.stop();
});
