/** Tests which COPY a session sends to PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { until } from '../../../../test/support/until.ts';
import { CopySession } from './copy-session.ts';

let database: TestDatabase;
let client: pg.Client;
let other: pg.Client;

before(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  other = new pg.Client({ connectionString: database.url });
  for (const one of [client, other]) await one.connect();
});
after(async () => {
  await client?.end();
  await other?.end();
  await database?.drop();
});

/** A row with a value of the type int4, in the binary format of COPY. */
const row = Buffer.from([0, 1, 0, 0, 0, 4, 0, 0, 0, 1]);
const rows = Buffer.concat([row, row]);
const mib = 1024 * 1024;

test('rows of a new table are stored one by one only if even those of one call are long', async () => {
  const { rows: own } = await client.query('SELECT pg_backend_pid() AS pid');
  const running = async () => {
    let text = '';
    await until('the COPY to run', async () => {
      const found = await other.query(
        "SELECT query FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%COPY%'",
        [own[0].pid],
      );
      text = found.rows[0]?.query ?? '';
      return text !== '';
    });
    return [/FREEZE/.test(text), /random\(\)/.test(text)];
  };
  await client.query('BEGIN; CREATE TABLE t (a int)');
  const session = new CopySession(client, {
    relation: 'public.t',
    columnNames: ['a'],
    freezes: true,
    isSharded: false,
    isRowByRow: true,
  });
  const columns = [0];
  const found: boolean[][] = [];
  for (const heldBytes of [100, 65 * mib, 70 * mib, 100]) {
    await session.write(columns, rows, 2, heldBytes);
    found.push(await running());
  }
  await session.finish();
  await client.query('COMMIT');
  assert.equal(session.rowsTaken, 8);
  assert.deepEqual(found, [
    [true, false],
    [true, true],
    [true, true],
    [true, false],
  ]);
});
