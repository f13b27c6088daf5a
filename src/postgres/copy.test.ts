import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { sized } from '../../test/support/sized.ts';
import { copyFrom } from './copy.ts';

let database: TestDatabase;
let client: pg.PoolClient;

before(async () => {
  database = await createTestDatabase();
  client = await database.pool.connect();
  await client.query('CREATE TABLE t (a integer PRIMARY KEY, b text)');
});

beforeEach(async () => {
  await client.query('TRUNCATE t');
});

after(async () => {
  client.release();
  await database.drop();
});

async function rows(): Promise<unknown[]> {
  return (await client.query('SELECT * FROM t ORDER BY a')).rows;
}

test('bytes cut anywhere become rows, and the number of rows is returned', async () => {
  const copy = copyFrom(client, 'COPY t FROM STDIN');
  for (const byte of Buffer.from('1\tone\n2\tzw\u00f6lf\n')) await copy.write(Buffer.of(byte));
  await copy.write(Buffer.alloc(0));
  assert.equal(await copy.end(), 2);
  assert.deepEqual(await rows(), [
    { a: 1, b: 'one' },
    { a: 2, b: 'zw\u00f6lf' },
  ]);
});

test('a COPY without rows ends', async () => {
  assert.equal(await copyFrom(client, 'COPY t FROM STDIN').end(), 0);
});

test('a buffer can be used again when its write has ended', async () => {
  const rowCount = sized(100, 400);
  const text = Buffer.alloc(256 * 1024);
  const copy = copyFrom(client, 'COPY t FROM STDIN');
  let waits = 0;
  for (let i = 0; i < rowCount; i++) {
    const letter = String.fromCharCode(97 + (i % 26));
    text.fill(letter);
    text.write(`${i}\t`);
    text.write('\n', text.length - 1);
    const written = copy.write(text);
    if (written !== undefined) {
      waits++;
      await written;
    }
  }
  assert.equal(await copy.end(), rowCount);
  // The socket must have been full at times. Otherwise this tests nothing.
  assert(waits > 1);
  const damaged = await client.query(`SELECT a FROM t WHERE b <> repeat(chr(97 + a % 26), length(b))`);
  assert.deepEqual(damaged.rows, []);
});

test('the first call rejects with the error of a COPY that cannot start', async () => {
  const missing = copyFrom(client, 'COPY missing FROM STDIN');
  await assert.rejects(async () => missing.write(Buffer.from('1\n')), { code: '42P01' });
  await assert.rejects(missing.end(), { code: '42P01' });
  await assert.rejects(copyFrom(client, 'COPY missing FROM STDIN').end(), { code: '42P01' });
  assert.deepEqual(await rows(), []);
});

test('an error in the middle is reported while rows still arrive, and the connection remains usable', async () => {
  const copy = copyFrom(client, 'COPY t FROM STDIN');
  await copy.write(Buffer.from('1\tone\nnot a number\ttwo\n'));
  const more = Buffer.from(`3\t${'x'.repeat(60_000)}\n`);
  let writes = 0;
  await assert.rejects(
    async () => {
      for (; writes < 100_000; writes++) {
        await copy.write(more);
        if (writes % 10 === 0) await new Promise(setImmediate);
      }
    },
    { code: '22P02' },
  );
  await assert.rejects(copy.end(), { code: '22P02' });
  await copy.abort(new Error('late'));
  assert.deepEqual(await rows(), []);
});

test('an error of the last row is reported by end()', async () => {
  const copy = copyFrom(client, 'COPY t FROM STDIN');
  await copy.write(Buffer.from('1\tone\n1\ttwo\n'));
  await assert.rejects(copy.end(), { code: '23505' });
});

test('an abort ends the COPY without rows, and later calls reject with the cause', async () => {
  const cause = new Error('enough');
  const copy = copyFrom(client, 'COPY t FROM STDIN');
  await copy.write(Buffer.from('1\tone\n'));
  await copy.abort(cause);
  await copy.abort(cause);
  await assert.rejects(async () => copy.write(Buffer.from('2\ttwo\n')), cause);
  await assert.rejects(copy.end(), cause);
  assert.deepEqual(await rows(), []);
});

test('an abort before PostgreSQL has answered ends the COPY', async () => {
  await copyFrom(client, 'COPY t FROM STDIN').abort(new Error('enough'));
  await copyFrom(client, 'COPY missing FROM STDIN').abort(new Error('enough'));
  assert.deepEqual(await rows(), []);
});

test('a write fails if the connection breaks', async () => {
  const other = await database.pool.connect();
  other.on('error', () => {});
  const pid = (await other.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const copy = copyFrom(other, 'COPY t FROM STDIN');
  await copy.write(Buffer.from('1\tone\n'));
  await client.query('SELECT pg_terminate_backend($1)', [pid]);
  const chunk = Buffer.from(`2\t${'x'.repeat(60_000)}\n`);
  await assert.rejects(async () => {
    for (let i = 0; i < 100_000; i++) {
      await copy.write(chunk);
      if (i % 10 === 0) await new Promise(setImmediate);
    }
  });
  await assert.rejects(copy.end());
  other.release(true);
});
