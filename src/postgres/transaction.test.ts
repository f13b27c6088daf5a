import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, afterEach, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts';
import { until } from '../../test/support/until.ts';
import { AppError } from '../core/errors.ts';
import { qualified } from './callers-statement.ts';
import { copyFrom } from './copy.ts';
import { breakConnection } from './deadline-client.ts';
import { internalsOf } from './driver-internals.ts';
import { createPool } from './pool.ts';
import {
  queryWithSavepoint,
  rollBackTo,
  runWithSavepoint,
  setSavepoint,
  withSavepoint,
} from './savepoints.ts';
import { asciiLiteral } from './sql.ts';
import { isDatabaseError, toAppError } from './sqlstate.ts';
import {
  inTransaction,
  readRows,
  runStatement,
  runStatements,
  type TransactionEdges,
} from './transaction.ts';

let database: TestDatabase;
let pool: pg.Pool;

before(async () => {
  database = await createTestDatabase();
  pool = createPool({ url: database.url, poolSize: 2, statementTimeoutMs: 0 }, { info() {}, warn() {} });
  await pool.query('CREATE TABLE public.t (a integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
});

after(async () => {
  await pool.end();
  await database.drop();
});

// After each test no connection is in use, and none waits in a transaction.
afterEach(async () => {
  await until('all connections to be idle', async () => {
    const { rows } = await database.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`,
    );
    return rows.length === 0 && pool.totalCount === pool.idleCount;
  });
  await pool.query('TRUNCATE public.t');
});

/** Waits until a connection of the pool waits for this event: `PgSleep`, `advisory`. */
async function untilWaitsFor(event: string): Promise<void> {
  await until(`a statement that waits for ${event}`, async () => {
    const { rows } = await database.pool.query(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = $1',
      [event],
    );
    return rows.length > 0;
  });
}

async function countRows(): Promise<number> {
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM public.t');
  return rows[0].n;
}

async function backendPid(client: pg.PoolClient): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
}

test('a transaction commits and returns the result of the work', async () => {
  const answer = await inTransaction(pool, {}, async (client) => {
    await client.query('INSERT INTO public.t VALUES (1)');
    return 'done';
  });
  assert.equal(answer, 'done');
  assert.equal(await countRows(), 1);
});

test('statements of the service run in one round trip, all or none of them', async () => {
  await runStatements(pool, ['INSERT INTO public.t VALUES (1)', 'SELECT 1']);
  const client = await pool.connect();
  const query = client.query.bind(client) as (...sent: unknown[]) => Promise<unknown>;
  let [trips, unanswered] = [0, 0];
  Object.assign(client, {
    query: (...sent: unknown[]) => {
      if (unanswered++ === 0) trips++;
      return query(...sent).finally(() => unanswered--);
    },
  });
  client.release();
  const results = await runStatements(pool, [
    'INSERT INTO public.t VALUES (2)',
    { text: 'SELECT a + $1 AS b FROM public.t ORDER BY a', values: [1] },
  ]);
  assert.deepEqual(results.at(-1)!.rows, [{ b: 2 }, { b: 3 }]);
  assert.equal(trips, 1);
  assert.deepEqual(await readRows(pool, { text: 'SELECT a FROM public.t ORDER BY a' }), [{ a: 1 }, { a: 2 }]);
  assert.equal((await runStatement(pool, { text: 'DELETE FROM public.t' })).rowCount, 2);
  // The constraint is checked at the COMMIT.
  const twice = 'INSERT INTO public.t VALUES (3)';
  await assert.rejects(runStatements(pool, [twice, twice]), { code: '23505' });
  await assert.rejects(runStatements(pool, [twice, 'SELECT 1 / 0', twice]), { code: '22012' });
  await assert.rejects(readRows(pool, { text: `${twice} RETURNING a` }), { code: '25006' });
  // Each of the three transactions takes one round trip, and each failure one more for its ROLLBACK.
  assert.equal(trips, 3 + 3 * 2);
  delete (client as { query?: unknown }).query;
  assert.equal(await countRows(), 0);
});

test('if the connection breaks, it is unknown whether statements of the service were kept, but not a reading one', async () => {
  /** Breaks the connection while the statement sleeps. */
  const breaking = async (run: (pool: pg.Pool, statement: { text: string }) => Promise<unknown>) => {
    const client = await pool.connect();
    client.release();
    const running = run(pool, { text: 'SELECT pg_sleep(300)' });
    running.catch(() => {});
    await untilWaitsFor('PgSleep');
    breakConnection(client);
    // PostgreSQL notices the broken connection only when the statement has ended.
    await until('the end of the statement', async () => {
      const { rows } = await database.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      return rows.length === 0;
    });
    return running;
  };
  const nobody = createPool(
    { url: 'postgresql://a@127.0.0.1:1/a', poolSize: 1, statementTimeoutMs: 0 },
    { info() {}, warn() {} },
  );
  const outcomes = [
    [() => breaking(runStatement), true],
    [() => breaking(readRows), false],
    // The connection broke before anything was sent.
    [() => runStatement(nobody, { text: 'SELECT 1' }), false],
  ] as const;
  for (const [work, isOutcomeUnknown] of outcomes)
    await assert.rejects(work(), (error) => {
      const known = toAppError(error) as AppError;
      assert.deepEqual(
        [known.code, known.isOutcomeUnknown],
        ['database-unavailable', isOutcomeUnknown],
        String(error),
      );
      return true;
    });
  await nobody.end();
});

test('a transaction whose work throws is rolled back, and its connection remains usable', async () => {
  const pids: number[] = [];
  for (let i = 0; i < 2; i++) {
    const failing = inTransaction(pool, {}, async (client) => {
      pids.push(await backendPid(client));
      await client.query('INSERT INTO public.t VALUES (1)');
      throw new Error('no');
    });
    await assert.rejects(failing, { message: 'no' });
  }
  assert.equal(await countRows(), 0);
  assert.equal(pids[0], pids[1]);
});

test('a dry run is rolled back and returns the result', async () => {
  const work = (client: pg.PoolClient) =>
    client.query('INSERT INTO public.t VALUES (1)').then((result) => result.rowCount);
  assert.equal(await inTransaction(pool, { rollback: true }, work), 1);
  assert.equal(await countRows(), 0);
});

test('a failed statement whose error the work ignored makes the transaction fail', async () => {
  const swallowing = inTransaction(pool, {}, async (client) => {
    await client.query('INSERT INTO public.t VALUES (1)');
    await client.query('SELECT 1/0').catch(() => {});
  });
  await assert.rejects(swallowing, /its error was not reported/);
  assert.equal(await countRows(), 0);
});

test('an error of the commit is thrown', async () => {
  const duplicate = inTransaction(pool, {}, (client) => client.query('INSERT INTO public.t VALUES (1), (1)'));
  await assert.rejects(duplicate, { code: '23505' });
});

test('settings apply in the transaction and not after it', async () => {
  const options = { statementTimeoutMs: 1234, lockTimeoutMs: 56, readOnly: true };
  const read = `SELECT current_setting('statement_timeout') AS s, current_setting('lock_timeout') AS l,
    current_setting('transaction_read_only') AS r`;
  const { rows } = await inTransaction(pool, options, (client) => client.query(read));
  assert.deepEqual(rows, [{ s: '1234ms', l: '56ms', r: 'on' }]);
  assert.deepEqual((await pool.query(read)).rows, [{ s: '0', l: '0', r: 'off' }]);
});

test('texts mean the same in a transaction, whatever the settings of database, role and session are', async () => {
  const settings: Record<string, [foreign: string, ours: string]> = {
    client_encoding: ['LATIN1', 'UTF8'],
    TimeZone: ['Asia/Tokyo', 'UTC'],
    DateStyle: ['German', 'ISO, YMD'],
    IntervalStyle: ['postgres_verbose', 'postgres'],
    extra_float_digits: ['-15', '1'],
    bytea_output: ['escape', 'hex'],
    xmloption: ['document', 'content'],
    standard_conforming_strings: ['off', 'on'],
    array_nulls: ['off', 'on'],
    quote_all_identifiers: ['on', 'off'],
    row_security: ['off', 'on'],
    search_path: ['public', 'pg_catalog, pg_temp'],
    idle_in_transaction_session_timeout: ['1min', '0'],
    statement_timeout: ['1min', '1min'],
    lock_timeout: ['1min', '1min'],
    default_transaction_isolation: ['serializable', 'serializable'],
    transaction_isolation: ['read committed', 'read committed'],
    default_transaction_read_only: ['on', 'on'],
    transaction_read_only: ['off', 'off'],
    default_transaction_deferrable: ['on', 'on'],
    transaction_deferrable: ['off', 'off'],
    application_name: ['tablewright', 'tablewright'],
  };
  const names = Object.keys(settings);
  const read = `SELECT ${names.map((name) => `current_setting('${name}') AS "${name}"`).join(', ')}, 1::int8 AS big`;
  const client = await pool.connect();
  try {
    for (const name of names.filter((name) => !name.startsWith('transaction_'))) {
      await client.query(`SELECT set_config('${name}', '${settings[name]![0]}', false)`);
    }
  } finally {
    client.release();
  }
  const { rows } = await inTransaction(pool, {}, (used) => {
    assert.equal(used, client);
    return used.query(read);
  });
  const ours = Object.fromEntries(names.map((name) => [name, settings[name]![1]]));
  assert.deepEqual(rows, [{ ...ours, big: '1' }]);
  const again = await pool.connect();
  await again.query('RESET ALL');
  again.release();
});

test('the transaction_timeout of the session does not end a transaction', async (t) => {
  const client = await pool.connect();
  const { rowCount } = await client.query(`SELECT FROM pg_settings WHERE name = 'transaction_timeout'`);
  if (rowCount === 0) {
    client.release();
    t.skip('PostgreSQL 17 introduced transaction_timeout');
    return;
  }
  await client.query(`SET transaction_timeout = '1s'`);
  client.release();
  const { rows } = await inTransaction(pool, {}, (used) => {
    assert.equal(used, client);
    return used.query('SELECT pg_sleep(1.5)::text AS slept');
  });
  assert.deepEqual(rows, [{ slept: '' }]);
  const again = await pool.connect();
  await again.query('RESET ALL');
  again.release();
});

test('a statement that takes too long fails', async () => {
  const slow = inTransaction(pool, { statementTimeoutMs: 50 }, (client) =>
    client.query('SELECT pg_sleep(10)'),
  );
  await assert.rejects(slow, (error) => (toAppError(error) as AppError).code === 'database-busy');
});

test('a role with any name applies to the transaction only', async () => {
  const role = `tw "test" ${process.pid}`;
  const quoted = `"tw ""test"" ${process.pid}"`;
  await pool.query(`CREATE ROLE ${quoted}`);
  try {
    await pool.query(`GRANT ${quoted} TO CURRENT_USER`);
    const { rows } = await inTransaction(pool, { role }, (client) =>
      client.query('SELECT current_user AS name'),
    );
    assert.equal(rows[0].name, role);
    assert.notEqual((await pool.query('SELECT current_user AS name')).rows[0].name, role);
  } finally {
    await pool.query(`DROP ROLE ${quoted}`);
  }
});

test('a role that does not exist is refused', async () => {
  let hasRun = false;
  const refused = inTransaction(pool, { role: 'x"; DROP TABLE public.t; --' }, async () => {
    hasRun = true;
  });
  await assert.rejects(refused, (error) => error instanceof AppError && error.code === 'permission-denied');
  assert(!hasRun);
  assert.equal(await countRows(), 0);
});

test('a connection that PostgreSQL ends is not used again, and the next transaction works', async () => {
  const broken = inTransaction(pool, {}, async (client) => {
    const pid = await backendPid(client);
    const ending = database.pool.query('SELECT pg_terminate_backend($1)', [pid]);
    await Promise.all([client.query('SELECT pg_sleep(10)'), ending]);
  });
  await assert.rejects(broken, (error) => (toAppError(error) as AppError).code === 'database-unavailable');
  assert.equal(await inTransaction(pool, {}, async () => 'works'), 'works');
});

test('a connection that breaks while no query runs on it does not end the process', async () => {
  const broken = inTransaction(pool, {}, async (client) => {
    await database.pool.query('SELECT pg_terminate_backend($1)', [await backendPid(client)]);
    await sleep(50);
    await client.query('SELECT 1');
  });
  await assert.rejects(broken, (error) => (toAppError(error) as AppError).code === 'database-unavailable');
});

test('an abort cancels the running statement and throws the reason', { timeout: 60_000 }, async () => {
  const reason = new Error('the caller has disconnected');
  const caller = new AbortController();
  const aborted = inTransaction(pool, { signal: caller.signal }, async (client) => {
    await client.query('INSERT INTO public.t VALUES (1)');
    await client.query('SELECT pg_sleep(3600)');
  });
  await Promise.all([
    assert.rejects(aborted, reason),
    untilWaitsFor('PgSleep').finally(() => caller.abort(reason)),
  ]);
  assert.equal(await countRows(), 0);
});

test('an abort ends a COPY that waits for its rows', { timeout: 60_000 }, async () => {
  const reason = new Error('the caller has disconnected');
  const caller = new AbortController();
  const aborted = inTransaction(pool, { signal: caller.signal }, async (client) => {
    await copyFrom(client, 'COPY public.t FROM STDIN').write(Buffer.from('1\n'));
    caller.abort(reason);
    await new Promise(() => {});
  });
  await assert.rejects(aborted, reason);
  assert.equal(await countRows(), 0);
});

test('work that ends by itself after an abort keeps its connection', async () => {
  const reason = new Error('the caller has disconnected');
  const caller = new AbortController();
  let pid = 0;
  const aborted = inTransaction(pool, { signal: caller.signal }, async (client) => {
    pid = await backendPid(client);
    const copy = copyFrom(client, 'COPY public.t FROM STDIN');
    await copy.write(Buffer.from('1\n'));
    caller.abort(reason);
    await copy.abort(reason);
    throw new Error('something that came of it');
  });
  await assert.rejects(aborted, reason);
  assert.equal(await inTransaction(pool, {}, backendPid), pid);
  assert.equal(await countRows(), 0);
});

test('an abort before the begin, and one while all connections are in use, throw the reason', async () => {
  const reason = new Error('the caller has disconnected');
  await assert.rejects(
    inTransaction(pool, { signal: AbortSignal.abort(reason) }, async () => {}),
    reason,
  );
  const taken = await Promise.all([pool.connect(), pool.connect()]);
  const caller = new AbortController();
  const waiting = inTransaction(pool, { signal: caller.signal }, async () => {});
  setImmediate(() => caller.abort(reason));
  await assert.rejects(waiting, reason);
  for (const client of taken) client.release();
});

test('many transactions with every kind of end leave no open connection', async () => {
  const runs = Array.from({ length: 60 }, async (_, i) => {
    const caller = new AbortController();
    if (i % 3 === 0) setTimeout(() => caller.abort(new Error('cancelled')), i % 7);
    return inTransaction(pool, { signal: caller.signal }, async (client) => {
      await client.query('INSERT INTO public.t VALUES ($1)', [i]);
      if (i % 3 === 1) await client.query('SELECT 1/0');
    });
  });
  const results = await Promise.allSettled(runs);
  assert.equal(await countRows(), results.filter((result) => result.status === 'fulfilled').length);
  assert(pool.totalCount <= 2);
});

test('endWith runs the last statements and ends the transaction', async () => {
  const work = (client: pg.PoolClient, { endWith }: TransactionEdges) =>
    client
      .query('INSERT INTO public.t VALUES (1)')
      .then(() => endWith(['INSERT INTO public.t VALUES (2)', 'SELECT count(*)::int AS n FROM public.t']));
  const [, counted] = await inTransaction(pool, { rollback: true }, work);
  assert.equal(counted!.rows[0].n, 2);
  assert.equal(await countRows(), 0);
  await inTransaction(pool, {}, work);
  assert.equal(await countRows(), 2);
});

test('a last statement that fails is reported, rolls back, and leaves a connection that can COPY', async () => {
  let pid = 0;
  const failing = inTransaction(pool, {}, async (client, { endWith }) => {
    pid = await backendPid(client);
    await client.query('INSERT INTO public.t VALUES (1)');
    await endWith(['INSERT INTO public.t VALUES (2)', 'SELECT 1/0', { text: 'SELECT $1::int', values: [3] }]);
  });
  await assert.rejects(failing, { code: '22012' });
  assert.equal(await countRows(), 0);
  await inTransaction(pool, {}, async (client) => {
    assert.equal(await backendPid(client), pid);
    const copy = copyFrom(client, 'COPY public.t FROM STDIN');
    await copy.write(Buffer.from('1\n'));
    assert.equal(await copy.end(), 1);
  });
  assert.equal(await countRows(), 1);
});

test('an abort cancels a last statement that runs', { timeout: 60_000 }, async () => {
  const reason = new Error('the caller has disconnected');
  const caller = new AbortController();
  const cancelled = inTransaction(pool, { signal: caller.signal }, async (_, { endWith }) =>
    endWith(['INSERT INTO public.t VALUES (1)', 'SELECT pg_sleep(3600)']),
  );
  await Promise.all([
    assert.rejects(cancelled, reason),
    untilWaitsFor('PgSleep').finally(() => caller.abort(reason)),
  ]);
  assert.equal(await countRows(), 0);
});

test('an abort after the commit changes nothing', async () => {
  const reason = new Error('the caller has disconnected');
  const late = new AbortController();
  const committed = inTransaction(pool, { signal: late.signal }, async (_, { endWith }) => {
    await endWith(['INSERT INTO public.t VALUES (1)']);
    late.abort(reason);
    return 'kept';
  });
  assert.equal(await committed, 'kept');
  assert.equal(await countRows(), 1);
});

test('an abort lets a running commit end and returns its result', async () => {
  await pool.query(`
    CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE TABLE public.late (a int);
    CREATE CONSTRAINT TRIGGER d AFTER INSERT ON public.late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_lock()`);
  const other = await database.pool.connect();
  await other.query('SELECT pg_advisory_lock(1)');
  const caller = new AbortController();
  const committed = inTransaction(pool, { signal: caller.signal }, (_, { endWith }) =>
    endWith(['INSERT INTO public.late VALUES (1)', 'SELECT 1']),
  );
  await untilWaitsFor('advisory');
  caller.abort(new Error('the caller has disconnected'));
  await other.query('SELECT pg_advisory_unlock(1)');
  other.release();
  await committed;
  const { rows } = await pool.query('SELECT * FROM public.late');
  assert.deepEqual(rows, [{ a: 1 }]);
});

test('a first statement is sent with BEGIN, and has no effect if the role is refused', async () => {
  const first = { preparedName: 'seven', text: 'SELECT current_user AS name, $1::int AS n', values: [7] };
  const n = await inTransaction(pool, {}, async (_, { begun }) => begun!.rows[0].n, first);
  assert.equal(n, 7);
  const work = async () => assert.fail('it must not run');
  const refused = inTransaction(pool, { role: 'no such role' }, work, {
    text: 'INSERT INTO public.t VALUES (1)',
  });
  await assert.rejects(refused, (error) => error instanceof AppError && error.code === 'permission-denied');
  assert.equal(await countRows(), 0);
});

suite('statements of the service before the COMMIT', () => {
  const role = `caller_${process.pid}`;
  before(async () => {
    const admin = new pg.Client(database.adminUrl ?? database.url);
    await admin.connect();
    const { rows } = await database.pool.query('SELECT current_user AS own');
    await admin.query(
      `CREATE ROLE ${role}; GRANT ${role} TO "${rows[0].own}"; GRANT ALL ON public.t TO ${role}`,
    );
    await admin.end();
    await database.pool.query(`CREATE TABLE public.record (who text, note text)`);
  });
  after(async () => {
    const admin = new pg.Client(database.adminUrl ?? database.url);
    await admin.connect();
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await admin.end();
  });
  afterEach(() => database.pool.query('TRUNCATE public.record'));

  const note = (text: string) =>
    qualified`INSERT INTO public.record SELECT CURRENT_USER, ${asciiLiteral(text)}`;
  const notes = async () => (await database.pool.query('SELECT * FROM public.record ORDER BY note')).rows;
  const ownRole = async () => (await database.pool.query('SELECT current_user AS own')).rows[0].own;

  test('statements of the service before the COMMIT run under its own role, in the same transaction, at every way to end it', async () => {
    const ways: [string, (edges: TransactionEdges) => Promise<unknown>][] = [
      ['by itself', async () => {}],
      ['with statements', ({ endWith }) => endWith(['INSERT INTO public.t VALUES (1)'])],
      ['at once', ({ endAtOnce }) => endAtOnce(['INSERT INTO public.t VALUES (2)'])],
    ];
    for (const [way, endBy] of ways) {
      await inTransaction(pool, { role, beforeCommit: () => [note(`Möhre ${way}`)] }, (_, edges) =>
        endBy(edges),
      );
    }
    const who = await ownRole();
    assert.deepEqual(await notes(), [
      { who, note: 'Möhre at once' },
      { who, note: 'Möhre by itself' },
      { who, note: 'Möhre with statements' },
    ]);
    assert.equal(await countRows(), 2);
  });

  test('statements of the service before the COMMIT are not run in a dry run', async () => {
    await inTransaction(pool, { rollback: true, beforeCommit: () => [note('dry')] }, async () => {});
    assert.deepEqual(await notes(), []);
  });

  test('statements of the service before the COMMIT roll everything back if they fail', async () => {
    const failing = inTransaction(pool, { role, beforeCommit: () => [qualified`SELECT 1 / 0`] }, (client) =>
      client.query('INSERT INTO public.t VALUES (1)'),
    );
    await assert.rejects(failing, /division by zero/);
    assert.equal(await countRows(), 0);
  });

  test('statements of the service before the COMMIT do not lend their role to a deferred trigger', async () => {
    // From PostgreSQL 18 on, a deferred trigger runs under the role that caused it. The setting shows the role of the transaction.
    await database.pool.query(`CREATE TABLE public.seen (role text); GRANT INSERT ON public.seen TO ${role};
      CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.seen VALUES (pg_catalog.current_setting('role')); RETURN NEW; END $$;
      CREATE CONSTRAINT TRIGGER spy AFTER INSERT ON public.t DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.spy()`);
    try {
      const insert = 'INSERT INTO public.t VALUES (1)';
      await inTransaction(pool, { role, beforeCommit: () => [note('a')] }, (client) => client.query(insert));
      assert.deepEqual((await database.pool.query('SELECT role FROM public.seen')).rows, [{ role }]);
    } finally {
      await database.pool.query(
        'DROP TRIGGER spy ON public.t; DROP FUNCTION public.spy; DROP TABLE public.seen',
      );
    }
  });
});

test('rows that are sent when the server has just closed the connection find the database unavailable', async () => {
  const { hostname, port } = new URL(database.url);
  const accepted: Socket[] = [];
  const relay = createServer((socket) => {
    accepted.push(socket);
    const onward = connect(Number(port), hostname);
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(database.url);
  url.port = String((relay.address() as AddressInfo).port);
  const silent = { info() {}, warn() {} };
  const relayed = createPool({ url: url.href, poolSize: 1, statementTimeoutMs: 0 }, silent);
  const copying = inTransaction(relayed, {}, async (client) => {
    const copy = copyFrom(client, 'COPY public.t FROM STDIN');
    await copy.write(Buffer.from('1\n'));
    const { stream } = internalsOf(client).connection;
    const ended = once(stream, 'end');
    accepted[0]!.end();
    await ended;
    // Waits until Node.js has also ended its side, while the socket is not closed yet.
    while (!stream.writableEnded) await new Promise<void>((resolve) => process.nextTick(resolve));
    await copy.write(Buffer.from('2\n'));
    await copy.end();
  });
  try {
    const error = toAppError(await copying.catch((error) => error));
    assert.ok(error instanceof AppError, String(error));
    assert.equal(error.code, 'database-unavailable');
  } finally {
    await relayed.end();
    relay.close();
  }
});

test('if the statements after a savepoint cannot be undone, the caller does not get the error of one that was undone', async () => {
  const work = inTransaction(pool, {}, (client) =>
    withSavepoint(client, 'gone', async () => {
      await client.query('ROLLBACK');
      throw new Error('the first error');
    }),
  );
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof AppError && error.code === 'database-unavailable', String(error));
    assert.equal((error.cause as Error).message, 'the first error');
    return true;
  });
});

test('if the transaction failed before a savepoint was set, the request is answered with 503, and the log has the first error', async () => {
  const ways: ((client: pg.ClientBase) => Promise<unknown>)[] = [
    (client) => runWithSavepoint(client, 'keys', ['SELECT 1'], false),
    (client) => runWithSavepoint(client, 'keys', ['SELECT 1'], true),
    (client) => queryWithSavepoint(client, 'keys', ['SELECT 1']),
    (client) => setSavepoint(client, 'keys'),
    (client) => rollBackTo(client, 'keys'),
  ];
  for (const way of ways) {
    const work = inTransaction(pool, {}, async (client) => {
      // This error aborts the transaction, as the end of a server of a cluster does.
      await client.query('SELECT 1 / 0').catch(() => {});
      await way(client);
    });
    await assert.rejects(work, (error) => {
      assert.ok(error instanceof AppError && error.code === 'database-unavailable', String(error));
      assert.ok(error.headers['retry-after'] !== undefined);
      assert.ok(isDatabaseError(error.cause));
      return true;
    });
  }
});

suite('rows that are sent in one message with BEGIN', () => {
  const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)]);
  const row = Buffer.from([0, 1, 0, 0, 0, 4, 0, 0, 0, 7]);
  const rows = Buffer.concat([header, row, Buffer.from([0xff, 0xff])]);
  const copy = 'COPY public.t FROM STDIN (FORMAT binary)';

  test('are stored before the work begins', async () => {
    await pool.query('SELECT 1');
    const first = () => ({ text: copy, rows });
    await inTransaction(pool, { rollback: true }, async () => {});
    const copied = await inTransaction(
      pool,
      { lockTimeoutMs: 1000 },
      async (_, edges) => edges.copied,
      first,
    );
    assert.equal(copied, 1);
    assert.equal((await pool.query('SELECT FROM public.t')).rowCount, 1);
  });

  test('are not stored if the transaction cannot begin', async () => {
    for (const settings of [{ readOnly: true }, { role: 'nobody has this role' }]) {
      const first = () => ({ text: copy, rows });
      const running = inTransaction(pool, { lockTimeoutMs: 1000, ...settings }, async () => {}, first);
      await assert.rejects(running, (error) => isDatabaseError(error) || error instanceof AppError);
      assert.equal((await pool.query('SELECT FROM public.t')).rowCount, 0);
    }
  });

  test('are refused with the other error if another statement before the COPY fails', async () => {
    const first = () => ({ text: `SELECT 1 / 0; ${copy}`, rows });
    const running = inTransaction(pool, { lockTimeoutMs: 1000 }, async () => {}, first);
    await assert.rejects(running, /division by zero/);
    assert.equal((await pool.query('SELECT FROM public.t')).rowCount, 0);
  });

  test('may wait for a lock, and the wait can be aborted', async () => {
    const holder = await database.pool.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE public.t');
      const leaving = new AbortController();
      const first = () => ({ text: copy, rows });
      const options = { lockTimeoutMs: 60_000, signal: leaving.signal };
      const running = inTransaction(pool, options, async () => {}, first);
      await untilWaitsFor('relation');
      leaving.abort(new Error('left'));
      await assert.rejects(running, /left/);
    } finally {
      await holder.query('ROLLBACK');
      holder.release();
    }
  });

  test('break the connection if PostgreSQL has not begun the COPY 15 seconds after the limit for locks', async ({
    mock,
  }) => {
    const holder = await database.pool.connect();
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      await holder.query('BEGIN; LOCK TABLE public.t');
      const running = inTransaction(
        pool,
        { lockTimeoutMs: 60_000 },
        async () => {},
        () => ({ text: copy, rows }),
      );
      const state = { isBroken: false };
      running.catch(() => {
        state.isBroken = true;
      });
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'`;
      while ((await holder.query(waiting)).rowCount === 0);
      mock.timers.tick(74_000);
      await holder.query('SELECT 1');
      assert.equal(state.isBroken, false);
      mock.timers.tick(1000);
      await assert.rejects(running, /did not answer in time/);
    } finally {
      mock.timers.reset();
      await holder.query('ROLLBACK');
      holder.release();
    }
  });
});
