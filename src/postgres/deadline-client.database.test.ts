/** A statement that gets no answer in time is also ended at the server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { silentLog } from '../../test/support/load-records.ts';
import { until } from '../../test/support/until.ts';
import { copyFrom } from './copy.ts';
import { createSinglePool } from './pool.ts';
import { runStatement, runStatements } from './transaction.ts';

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

/** Returns how many server processes run a statement with this text. */
async function running(text: string): Promise<number> {
  const { rows } = await database.pool.query(
    `SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()`,
    [`%${text}%`],
  );
  return rows.length;
}

test('a client that gives up cancels its statement', async () => {
  const pool = createSinglePool(database.url, 2000, silentLog);
  try {
    await assert.rejects(pool.query('SELECT pg_sleep(3600) AS abandoned'), /did not answer in time/);
    await until('the end of the statement', async () => (await running('AS abandoned')) === 0);
    assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
  } finally {
    await pool.end();
  }
});

test('a COPY may take longer than the limit while rows are taken, and ends if none is', async () => {
  const pool = createSinglePool(database.url, 1500, silentLog);
  const client = await pool.connect();
  client.on('error', () => {});
  try {
    await client.query('CREATE TEMPORARY TABLE slow (a text)');
    const copy = copyFrom(client, 'COPY slow FROM STDIN');
    const endsAt = performance.now() + 3000;
    let rows = 0;
    for (; performance.now() < endsAt; rows++) {
      await copy.write(Buffer.from('a\n'));
      await sleep(50);
    }
    assert.equal(await copy.end(), rows);
    const idle = copyFrom(client, 'COPY slow FROM STDIN');
    await idle.write(Buffer.from('a\n'));
    await until('the end of the COPY', async () => (await running('COPY slow')) === 0);
    await assert.rejects(idle.end());
  } finally {
    client.release(true);
    await pool.end();
  }
});

test('the server ends a statement of the service before the client gives up', async () => {
  const pool = createSinglePool(database.url, 2000, silentLog);
  try {
    const sleeping = runStatement(pool, { text: 'SELECT pg_sleep(3600) AS limited' });
    await assert.rejects(sleeping, { code: '57014', message: /statement timeout/ });
    assert.equal(pool.totalCount, 1, 'the connection is used again');
  } finally {
    await pool.end();
  }
});

test('a statement of the service does not wait long for a lock', async () => {
  const pool = createSinglePool(database.url, 20_000, silentLog);
  const client = await database.pool.connect();
  try {
    await client.query('BEGIN; SELECT pg_advisory_xact_lock(1)');
    const waiting = runStatements(pool, ['SELECT pg_advisory_xact_lock(1)']);
    await assert.rejects(waiting, { code: '55P03' });
  } finally {
    client.release(true);
    await pool.end();
  }
});
