import { after, before, test } from 'node:test';
import type { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { lostAnswer, owner, silentLog, uploadFacts } from '../../../test/support/load-records.ts';
import { until } from '../../../test/support/until.ts';
import { createPool, createSinglePool } from '../../postgres/pool.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { Loads } from './loads.ts';
import { prepareServiceSchema } from './service-schema.ts';

const recordConnections = 2;

let database: TestDatabase;
let recordPool: Pool;
let leasePool: Pool;
let schema: ServiceSchema;
let loads: Loads;

before(async () => {
  database = await createTestDatabase();
  recordPool = createPool(
    { url: database.url, poolSize: recordConnections, statementTimeoutMs: 0 },
    silentLog,
  );
  leasePool = createSinglePool(database.url, 5000, silentLog);
  schema = (await prepareServiceSchema(recordPool, 'tablewright_service')).schema!;
  const pools = { pool: recordPool, recordPool, leasePool };
  loads = new Loads({
    schema,
    ...pools,
    log: silentLog,
    historyDays: 1,
    abandonedAnswer: lostAnswer,
    leaseMs: 900,
  });
});

after(async () => {
  await loads.stop();
  await Promise.all([recordPool.end(), leasePool.end()]);
  await database.drop();
});

async function seenAt(): Promise<string | undefined> {
  const { rows } = await database.pool.query(
    `SELECT seen_at::text AS at FROM ${schema.quoted}.processes WHERE id = $1`,
    [loads.process],
  );
  return rows[0]?.at;
}

/** Resolves when the lease has been renewed several times. */
async function renewals(count: number): Promise<void> {
  const seen = new Set([await seenAt()]);
  await until('renewals', async () => seen.add(await seenAt()).size > count);
}

test('the lease is renewed while all other connections for records wait for a lock', async () => {
  const run = loads.begin(loads.create(uploadFacts, { bytesReceived: () => 1, isReceived: () => true }));
  await loads.record(run);
  const client = await database.pool.connect();
  try {
    await client.query('BEGIN');
    // A load that is being committed locks only its own row. This lock on the whole table makes every record wait.
    await client.query(`LOCK TABLE ${schema.quoted}.loads IN ACCESS EXCLUSIVE MODE`);
    let isLocked = true;
    // A record waits for a lock for a second only, and is then tried again.
    const writing = Array.from({ length: recordConnections }, async () => {
      while (isLocked) await loads.record(run).catch(() => {});
    });
    await until('all connections to wait', async () => {
      const { rows } = await database.pool.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length === recordConnections;
    });
    await renewals(3);
    await client.query('ROLLBACK');
    isLocked = false;
    await Promise.all(writing);
  } finally {
    client.release(true);
  }
  await loads.end(run, 'failed', lostAnswer);
});

test('the lease is renewed again after its connection broke', async () => {
  const run = loads.begin(loads.create(uploadFacts, { bytesReceived: () => 1, isReceived: () => true }));
  await loads.record(run);
  await renewals(1);
  await database.pool.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await renewals(2);
  await loads.end(run, 'failed', lostAnswer);
});

/** The digest of a body that has not been read to its end. */
const notRead = { fingerprint: () => undefined };

test('the lease is renewed while a request with a key runs', async () => {
  const key = { owner, key: 'a key', claim: '00000000-0000-4000-8000-000000000001', digest: notRead };
  await loads.withKey(key, async ({ claimed }) => {
    await renewals(2);
    await claimed!.release();
  });
});
