/** Changes of a table that wait for a long reader: the readers that come later do not wait for the end of the long one. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { untilWaitsForLock } from '../support/locks.ts';
import { planForm } from '../support/plan-form.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { tableNames } from '../support/tables.ts';

let service: TestService;

before(async () => {
  // If a change waited in PostgreSQL's queue for the lock, the readers would fail long before it gives up.
  service = await startTestService({ LOCK_TIMEOUT_MS: '120000' });
});
after(() => service.stop());

const nextTable = tableNames('read');
const readings = 10;
/** It is much longer than one attempt of a change, even on a busy machine. */
const readerTimeoutMs = 20_000;

const send = (method: string, path: string, body?: unknown): Promise<TestAnswer> =>
  service.request(method, path, {
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  });

const changes: Record<string, (table: string) => Promise<TestAnswer>> = {
  'Rename Table': (table) => send('PATCH', `/table/${table}`, { name: `${table}_new` }),
  'Alter Table': (table) =>
    send('PUT', `/table/${table}`, {
      table: { columns: [{ name: 'id' }, { name: 'b', renamed_from: 'a' }] },
    }),
  'Drop Table': (table) => send('DELETE', `/table/${table}`),
};

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(service.database.url);
  await client.connect();
  await client.query(`SET lock_timeout = ${readerTimeoutMs}`);
  return client;
}

test('a plan that waits for a table keeps no other one locked against readers', async () => {
  for (const mode of ['replace', 'truncate']) {
    const [free, read] = [`a_${nextTable()}`, nextTable()];
    for (const table of [free, read]) await service.rows(`CREATE TABLE ${table} AS SELECT 1 AS id`);
    const [long, short] = await Promise.all([connect(), connect()]);
    try {
      await long.query(`BEGIN; SELECT * FROM ${read}`);
      const tables = [free, read].map((table) => ({ table, file: 'rows', if_exists: mode }));
      let isAnswered = false;
      const answer = service
        .request('POST', '/api/v1/loads', { body: planForm({ tables }, { rows: 'id\n2\n' }) })
        .finally(() => {
          isAnswered = true;
        });
      for (let reading = 0; reading < readings; reading += 1) {
        await untilWaitsForLock(service.database);
        assert.deepEqual((await short.query(`SELECT * FROM ${free}`)).rows, [{ id: 1 }]);
      }
      assert.ok(!isAnswered, 'the plan did not wait for the long reader');
      await long.query('COMMIT');
      const { status, body } = await answer;
      assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
      assert.equal((await short.query(`SELECT id FROM ${free}`)).rows.length, 1);
    } finally {
      await Promise.all([long.end(), short.end()]);
    }
  }
});

suite('a change that waits for a long reader', () => {
  for (const [name, change] of Object.entries(changes)) {
    test(`lets other readers pass: ${name}`, async () => {
      const table = nextTable();
      await service.rows(
        `CREATE TABLE ${table} (id integer PRIMARY KEY, a text); INSERT INTO ${table} VALUES (1, 'x')`,
      );
      const [long, short] = await Promise.all([connect(), connect()]);
      try {
        await long.query(`BEGIN; SELECT * FROM ${table}`);
        let isAnswered = false;
        const answer = change(table).finally(() => {
          isAnswered = true;
        });
        for (let reading = 0; reading < readings; reading += 1) {
          await untilWaitsForLock(service.database);
          const { rows } = await short.query(`SELECT * FROM ${table}`);
          assert.deepEqual(rows, [{ id: 1, a: 'x' }]);
        }
        assert.ok(!isAnswered, 'the change did not wait for the long reader');
        await long.query('COMMIT');
        const { status, body } = await answer;
        assert.ok([200, 204].includes(status), `${status} ${JSON.stringify(body)}`);
      } finally {
        await Promise.all([long.end(), short.end()]);
      }
    });
  }
});

suite('a change of a type whose name gets another type while the change waits', () => {
  const swaps = {
    'by new names': (a: string, b: string) =>
      `ALTER DOMAIN ${a} RENAME TO ${a}_old; ALTER DOMAIN ${b} RENAME TO ${a}`,
    'by a new domain': (a: string, b: string) =>
      `DO $$BEGIN EXECUTE format('DROP DOMAIN ${a}; CREATE DOMAIN ${a} AS %s', (SELECT format_type(typbasetype, typtypmod) FROM pg_type WHERE oid = '${b}'::regtype)); END$$`,
  };
  for (const [what, swap] of Object.entries(swaps)) {
    test(`loses nothing: ${what}`, async () => {
      for (const [from, value, wide, narrow, isArray] of [
        ['int', '12345', 'text', 'varchar(2)', false],
        ['numeric', '1.25', 'numeric', 'numeric(5,1)', false],
        ['numeric[]', '{1.25}', 'numeric', 'numeric(5,1)', true],
        ['timestamp', '2026-01-01 10:20:30', 'timestamp', 'date', false],
      ] as const) {
        const table = nextTable();
        const [a, b] = [`${table}_a`, `${table}_b`];
        await service.rows(`CREATE DOMAIN ${a} AS ${wide}; CREATE DOMAIN ${b} AS ${narrow};
          CREATE TABLE ${table} (v ${from}); INSERT INTO ${table} VALUES ('${value}')`);
        const long = await connect();
        try {
          await long.query(`BEGIN; SELECT * FROM ${table}`);
          const type = `public.${a}${isArray ? '[]' : ''}`;
          const answer = send('PUT', `/table/${table}`, { table: { columns: [{ name: 'v', type }] } });
          await untilWaitsForLock(service.database);
          await service.rows(swap(a, b));
          await long.query('COMMIT');
          const { status, body } = await answer;
          const [row] = await service.rows(`SELECT v::text FROM ${table}`);
          assert.equal(row!.v, value, `${status} ${JSON.stringify(body)}`);
          assert.ok([409, 422].includes(status), `${status} ${JSON.stringify(body)}`);
        } finally {
          await long.end();
        }
      }
    });
  }
});
