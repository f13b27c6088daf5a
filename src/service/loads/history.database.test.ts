import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg, { type Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../../../test/support/load-records.ts';
import { until } from '../../../test/support/until.ts';
import { createPool } from '../../postgres/pool.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { History } from './history.ts';
import { prepareServiceSchema } from './service-schema.ts';
import { firstUuidV7At } from './uuid-v7.ts';

let database: TestDatabase;
let recordPool: Pool;
let schema: ServiceSchema;

before(async () => {
  database = await createTestDatabase();
  recordPool = createPool({ url: database.url, poolSize: 1, statementTimeoutMs: 0 }, silentLog);
  schema = (await prepareServiceSchema(recordPool, 'tablewright_service')).schema!;
});

after(async () => {
  await recordPool.end();
  await database.drop();
});

const hourMs = 3_600_000;
/** So many rows need ten statements. */
const rows = 10_000;

/** Adds loads and keys of this age. */
async function addRecords(ageMs: number): Promise<void> {
  const { quoted } = schema;
  const idWithoutNumber = firstUuidV7At(Date.now() - ageMs).slice(0, -12);
  await database.pool.query(
    `INSERT INTO ${quoted}.loads (id, state, operation, table_schema, table_name, dry_run, owner, created_at, ended_at)
      SELECT ($1 || lpad(to_hex(n), 12, '0'))::uuid, 'committed', 'upload-json', 'public', 't', false, '', at, at
      FROM generate_series(1, $3::int) n, (SELECT now() - make_interval(secs => $2::float8 / 1000) AS at) age`,
    [idWithoutNumber, ageMs, rows],
  );
  await database.pool.query(
    `INSERT INTO ${quoted}.idempotency_keys (owner, key, process, created_at, answer_status)
      SELECT '', gen_random_uuid()::text, gen_random_uuid(), now() - make_interval(secs => $1::float8 / 1000 + n / 1000.0), 200
      FROM generate_series(1, $2::int) n`,
    [ageMs, rows],
  );
}

/** Returns how many entries of these indexes were read so far. */
async function entriesRead(): Promise<number> {
  const { quoted } = schema;
  // At the end of a transaction, the session of the history reports what it has read.
  await recordPool.query('SELECT pg_stat_force_next_flush()');
  const { rows } = await database.pool.query(
    `SELECT sum(idx_tup_read)::int AS read FROM pg_stat_user_indexes
      WHERE indexrelid IN ('${quoted}.loads_pkey'::regclass, '${quoted}.idempotency_keys_age'::regclass)`,
  );
  return rows[0].read;
}

test('old records are removed without reading removed records again, or records that are not old', async () => {
  await addRecords(31 * 24 * hourMs);
  await addRecords(23 * hourMs);
  await database.pool.query('ANALYZE');
  const remaining = `SELECT (SELECT count(*) FROM ${schema.quoted}.loads)::int AS loads,
    (SELECT count(*) FROM ${schema.quoted}.idempotency_keys)::int AS keys`;
  // As long as this transaction runs, PostgreSQL keeps removed rows and their entries in the indexes.
  const older = new pg.Client(database.url);
  await older.connect();
  await older.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await older.query(remaining);
  const before = await entriesRead();
  const history = new History({ schema, recordPool, historyDays: 1, leaseSeconds: 60, log: silentLog });
  try {
    history.removeIfDue();
    await until('old records to be removed', async () => {
      const [found] = (await database.pool.query(remaining)).rows;
      return found.loads === rows && found.keys === rows;
    });
  } finally {
    await history.stop();
    await older.end();
  }
  const read = (await entriesRead()) - before;
  // The entry of each record is read twice, and each statement begins with one entry more.
  assert.ok(read < 4 * rows + 100, `${read} entries were read to remove ${rows} loads and ${rows} keys`);
});

test('if PostgreSQL cancels a statement that removes many loads, the next ones remove fewer', async () => {
  const { quoted } = schema;
  await database.pool.query(`DELETE FROM ${quoted}.loads; DELETE FROM ${quoted}.idempotency_keys`);
  await addRecords(31 * 24 * hourMs);
  await database.pool.query(`CREATE FUNCTION public.cancel_many() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT pg_catalog.count(*) > 300 FROM old_loads) THEN RAISE query_canceled; END IF; RETURN NULL; END $$;
    CREATE TRIGGER cancel_many AFTER DELETE ON ${quoted}.loads REFERENCING OLD TABLE AS old_loads
      FOR EACH STATEMENT EXECUTE FUNCTION public.cancel_many()`);
  const history = new History({ schema, recordPool, historyDays: 1, leaseSeconds: 60, log: silentLog });
  history.removeIfDue();
  const count = `SELECT count(*)::int AS count FROM ${quoted}.loads`;
  await until('all loads to be removed', async () => (await database.pool.query(count)).rows[0].count === 0);
  await history.stop();
  await database.pool.query(`DROP TRIGGER cancel_many ON ${quoted}.loads`);
});
