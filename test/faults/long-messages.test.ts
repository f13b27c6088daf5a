/**
 * PostgreSQL sends messages whose length other people decide. A message over the limit fails its statement, and the service and its other
 * connections continue.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import type pg from 'pg';
import type { AppError } from '../../src/core/errors.ts';
import { copyFrom } from '../../src/postgres/copy.ts';
import { GuardedClient, internalsOf } from '../../src/postgres/driver-internals.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { MessageTooLong, maxMessageBytes, UnreadableMessage } from '../../src/postgres/server-messages.ts';
import { toAppError } from '../../src/postgres/sqlstate.ts';
import { inTransaction, runStatement } from '../../src/postgres/transaction.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { appender } from '../support/uploads.ts';

/** The bytes of the long messages. */
const longBytes = maxMessageBytes + 1_000_000;
/** A short text for an array that PostgreSQL writes with more than `longBytes`. */
const longArray = `{${Array(600).fill('1e131071').join()}}`;

let service: TestService;

before(async () => {
  service = await startTestService();
  const raising = (name: string, level: string) =>
    `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE ${level} '%', repeat('x', ${longBytes}); RETURN NEW; END $$`;
  await service.rows(raising('refuse', 'EXCEPTION'));
  await service.rows(raising('warn', 'WARNING'));
});
after(() => service.stop());
afterEach(async () => {
  await service.rows('DROP TABLE IF EXISTS t, made');
  // The service continues, and so do its connections that were idle.
  assert.equal((await service.get('/readyz')).status, 200);
  const next = await service.post('/table/next/upload/json?if_exists=append', {
    table: { columns: [{ name: 'a', type: 'integer' }] },
    data: [{ a: 1 }],
  });
  assert.ok([200, 201].includes(next.status), JSON.stringify(next.body));
});

const append = appender(() => service);

async function assertTooLong(answer: TestAnswer, what: RegExp): Promise<void> {
  const { detail } = assertProblem(answer, 413, 'limit-exceeded');
  assert.match(detail, what);
  assert.match(detail, /too long: the limit is 64 MiB\./);
  const load = answer.headers.get('load-id');
  if (load === null) return;
  assert.equal((await service.get(`/api/v1/loads/${load}`)).body.state, 'refused');
}

suite('a trigger', () => {
  const create = async (name: string, timing: string) => {
    const kind = timing.includes('DEFERRED') ? 'CONSTRAINT TRIGGER' : 'TRIGGER';
    await service.rows(`CREATE TABLE t (b int);
      CREATE ${kind} u ${timing} FOR EACH ROW EXECUTE FUNCTION ${name}()`);
  };
  const before = 'BEFORE INSERT ON t';
  const atCommit = 'AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED';

  for (const [when, timing] of [
    ['', before],
    [' at the COMMIT', atCommit],
  ] as const) {
    test(`an error message that is too long${when} refuses the upload, whatever the upload does with faulty rows`, async () => {
      await create('refuse', timing);
      await assertTooLong(await append([{ b: 1 }]), /^An error message of PostgreSQL/);
      await assertTooLong(
        await append([{ b: 1 }], '&faulty_rows=leave_out'),
        /^An error message of PostgreSQL/,
      );
      assert.deepEqual(await service.rows('SELECT * FROM t'), []);
    });
  }

  test('a warning that is too long refuses the upload', async () => {
    for (const timing of [before, atCommit]) {
      await service.rows('DROP TABLE IF EXISTS t, made');
      await create('warn', timing);
      await assertTooLong(await append([{ b: 1 }]), /^A warning of PostgreSQL/);
      assert.deepEqual(await service.rows('SELECT * FROM t'), []);
    }
  });

  test('notifications that a trigger sends to the session of the service change nothing', async () => {
    await service.rows(`CREATE TABLE t (b int);
      CREATE OR REPLACE FUNCTION notify_session() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN LISTEN c; PERFORM pg_notify('c', repeat('x', 7999)); RETURN NEW; END $$;
      CREATE TRIGGER u ${before} FOR EACH ROW EXECUTE FUNCTION notify_session()`);
    assert.equal((await append([{ b: 1 }])).status, 200);
  });
});

test('a value, a key and a default whose text would be too long are refused before PostgreSQL writes them', async () => {
  await service.rows('CREATE TABLE t (a numeric[] PRIMARY KEY)');
  assertProblem(await append([{ a: longArray }]), 422, 'invalid-data');
  await service.rows(`DROP TABLE t; CREATE TABLE t (b int, a numeric[] DEFAULT '${longArray}')`);
  for (const answer of [await append([{ b: 1 }]), await service.get('/table/t')])
    assertProblem(answer, 413, 'limit-exceeded');
  const table = { columns: [{ name: 'a', type: 'numeric[]', default: longArray }] };
  assertProblem(await service.post('/table/made', { table }), 422, 'invalid-definition');
});

test('an asynchronous upload with a message that is too long is refused and not tried again', async () => {
  await service.rows(`CREATE TABLE t (b int);
    CREATE TRIGGER u BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION warn()`);
  const accepted = await service.post(
    '/table/t/upload/json?if_exists=append',
    { data: [{ b: 1 }] },
    { headers: { prefer: 'respond-async' } },
  );
  assert.equal(accepted.status, 202);
  const path = accepted.headers.get('location')!;
  await until('the end of the load', async () => {
    const { state } = (await service.get(path)).body;
    return !['queued', 'running'].includes(state);
  });
  const { state, answer } = (await service.get(path)).body;
  assert.deepEqual([state, answer.status, answer.body.code], ['refused', 413, 'limit-exceeded']);
});

suite('a connection', () => {
  let client: GuardedClient;

  const connect = async () => {
    client = new GuardedClient({ connectionString: service.database.url });
    client.on('error', () => {});
    await client.connect();
  };
  afterEach(() => client.end());

  test('an exception of a listener fails the statement and closes the connection', async () => {
    await connect();
    client.on('notice', () => {
      throw new Error('a bug');
    });
    await assert.rejects(client.query("DO $$ BEGIN RAISE WARNING 'x'; END $$"), UnreadableMessage);
    await assert.rejects(client.query('SELECT 1'), /not queryable/);
  });

  test('every statement whose answer came before the message has succeeded', async () => {
    await connect();
    internalsOf(client).pipeline = true;
    const first = client.query('SELECT 1 AS a');
    const second = client.query(`SELECT repeat('x', ${longBytes})`);
    const third = client.query('SELECT 1 AS a');
    const [one, ...others] = await Promise.allSettled([first, second, third]);
    assert.equal(one.status, 'fulfilled');
    for (const other of others)
      assert.ok(other.status === 'rejected' && other.reason instanceof MessageTooLong);
  });

  test('only an error message that is too long for the answer to a COMMIT says that nothing was committed', async () => {
    await connect();
    const pool = createPool(
      { url: service.database.url, poolSize: 1, statementTimeoutMs: 0 },
      { info() {}, warn() {} },
    );
    const outcomes = [
      ['refuse', false],
      ['warn', true],
    ] as const;
    for (const [name, isOutcomeUnknown] of outcomes) {
      await service.rows(`DROP TABLE IF EXISTS t; CREATE TABLE t (b int);
        CREATE CONSTRAINT TRIGGER u AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${name}()`);
      const failing = runStatement(pool, { text: 'INSERT INTO public.t VALUES (1)' });
      await assert.rejects(failing, (error) => {
        const known = toAppError(error) as AppError;
        assert.deepEqual([known.code, known.isOutcomeUnknown], ['limit-exceeded', isOutcomeUnknown], name);
        return true;
      });
    }
    await pool.end();
  });
});

suite('the memory of a server process', () => {
  const longBytes = 17 * 1024 * 1024;
  const select = { text: `SELECT pg_catalog.repeat('x', $1) AS a`, values: [longBytes] };
  const copyRow = async (client: pg.ClientBase, bytes: number): Promise<number> => {
    const copy = copyFrom(client, 'COPY public.t FROM STDIN');
    await copy.write(Buffer.concat([Buffer.alloc(bytes, 'x'), Buffer.from('\n')]));
    return copy.end();
  };
  const ways: [what: string, work: (client: pg.ClientBase) => Promise<unknown>, isKept: boolean][] = [
    ['a value that was received', (client) => client.query(select), false],
    ['a parameter', (client) => client.query('SELECT $1::text IS NULL', ['x'.repeat(longBytes)]), false],
    ['a statement', (client) => client.query(`SELECT '${'x'.repeat(longBytes)}' IS NULL`), false],
    ['a row of a COPY', (client) => copyRow(client, longBytes), false],
    [
      'short values that are long together',
      async (client) => {
        for (let i = 0; i < 20; i++) await copyRow(client, 1024 * 1024);
        await client.query(`SELECT pg_catalog.repeat('x', 1000000) FROM pg_catalog.generate_series(1, 20)`);
      },
      true,
    ],
  ];
  for (const [what, work, isKept] of ways)
    test(`${what}: the connection is ${isKept ? 'used again' : 'closed after the transaction'}`, async () => {
      await service.rows('CREATE TABLE t (a text)');
      const log = { info() {}, warn() {} };
      const pool = createPool({ url: service.database.url, poolSize: 1, statementTimeoutMs: 0 }, log);
      const { processID } = await inTransaction(pool, {}, async (client) => {
        await work(client);
        return internalsOf(client);
      });
      const next = await inTransaction(pool, {}, async (client) => internalsOf(client).processID);
      assert.equal(next === processID, isKept);
      await pool.end();
    });
});
