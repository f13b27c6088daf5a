/**
 * Uploads while the database or the disk fails. The answer says that the failure is temporary, nothing is changed, and the
 * service works again afterwards.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const table = {
  columns: [
    { name: 'a', type: 'integer' },
    { name: 'b', type: 'text' },
  ],
};
const row = `{"a":1,"b":"${'x'.repeat(90)}"}`;
const streamed = `{"table":${JSON.stringify(table)},"data":[${row}`;
const inferred = `{"data":[${row}`;

/** Starts an upload whose body the test writes. */
class OpenUpload {
  readonly #request: ClientRequest;
  readonly #response: Promise<IncomingMessage>;

  constructor(url: string, token: string) {
    this.#request = httpRequest(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    this.#response = new Promise((resolve, reject) => {
      this.#request.once('response', resolve);
      this.#request.once('error', reject);
    });
    this.#response.catch(() => {});
    // Writing after the answer breaks the connection.
    this.#request.on('error', () => {});
  }

  async write(text: string): Promise<void> {
    await new Promise<void>((resolve) => this.#request.write(text, () => resolve()));
  }

  /** Returns rows of about 100 bytes each. */
  async writeRows(count: number): Promise<void> {
    await this.write(`,${row}`.repeat(count));
  }

  end(text = ']}'): void {
    this.#request.end(text);
  }

  async answer(): Promise<TestAnswer> {
    const response = await this.#response;
    const body = await json(response);
    this.#request.destroy();
    return {
      status: response.statusCode!,
      headers: new Headers(response.headers as Record<string, string>),
      body,
    };
  }
}

async function openUpload(service: TestService, path: string): Promise<OpenUpload> {
  return new OpenUpload(`${service.url}/api/v1/table${path}`, await service.token());
}

function assertPassing(answer: TestAnswer, code: 'database-busy' | 'database-unavailable' | 'storage-full') {
  const { detail } = assertProblem(answer, 503, code);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  return detail;
}

/** Waits until no connection of the service is in a transaction. */
async function assertIdle(service: TestService): Promise<void> {
  await until('the connections to be idle', async () => {
    const busy = await service.rows(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright' AND state <> 'idle'`,
    );
    return busy.length === 0;
  });
}

async function assertNoTable(service: TestService, name: string): Promise<void> {
  await assertIdle(service);
  const left = await service.rows(
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND (relname = $1 OR relname LIKE 'tablewright%')",
    [name],
  );
  assert.deepEqual(left, []);
}

suite('a statement that takes too long', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ STATEMENT_TIMEOUT_MS: '2000' });
    await service.rows(`
      CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END $$;
      CREATE FUNCTION dawdle_over(value int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN true; END $$`);
  });
  after(() => service.stop());
  const rows = Array.from({ length: 20 }, (_, k) => ({ k }));

  test('moving the rows from the staging table is ended by the statement timeout', async () => {
    await service.rows(`CREATE TABLE merged (k int PRIMARY KEY);
      CREATE TRIGGER d BEFORE INSERT ON merged FOR EACH ROW EXECUTE FUNCTION dawdle()`);
    const answer = await service.post('/table/merged/upload/json?if_exists=append&on_conflict=skip', {
      data: rows,
    });
    assert.match(assertPassing(answer, 'database-busy'), /longer than the service allows/);
    assert.deepEqual(await service.rows('SELECT * FROM merged'), []);
  });

  test('a trigger at the end of the transaction is ended by the statement timeout', async () => {
    await service.rows(`CREATE TABLE deferred (k int);
      CREATE CONSTRAINT TRIGGER d AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()`);
    assertPassing(
      await service.post('/table/deferred/upload/json?if_exists=append', { data: rows }),
      'database-busy',
    );
    assert.deepEqual(await service.rows('SELECT * FROM deferred'), []);
  });

  test('the search for rows that violate a rule is ended, and the first one is reported', async () => {
    await service.rows('CREATE TABLE checked (k int UNIQUE CHECK (k < 0 OR dawdle_over(k)))');
    const data = [...rows.map(({ k }) => ({ k: -k - 1 })), { k: -1 }, ...rows];
    const answer = await service.post('/table/checked/upload/json?if_exists=append', { data });
    const { errors } = assertProblem(answer, 422, 'invalid-data');
    assert.deepEqual([errors[0]!.row, errors[0]!.code], [21, 'refused-by-postgresql']);
    assert.deepEqual(await service.rows('SELECT * FROM checked'), []);
  });

  test('creating a key of a new table is ended by the statement timeout', async (t) => {
    const { adminUrl } = service.database;
    if (adminUrl === undefined) {
      t.skip('only a superuser may create an event trigger');
      return;
    }
    const admin = new pg.Client(adminUrl);
    await admin.connect();
    t.after(() => admin.end());
    await admin.query(`
      CREATE FUNCTION dawdle_over_alter() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); END $$;
      CREATE EVENT TRIGGER slow_key ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION dawdle_over_alter()`);
    const columns = [{ name: 'k', type: 'integer' }];
    const keyed = { columns, constraints: { primary_key: { name: '', columns: ['k'] } } };
    const answer = await service.post('/table/keyed/upload/json', { table: keyed, data: rows });
    await admin.query('DROP EVENT TRIGGER slow_key');
    assertPassing(answer, 'database-busy');
    await assertNoTable(service, 'keyed');
  });

  test('a slow client is not ended by the statement timeout', async () => {
    const upload = await openUpload(service, '/patient/upload/json');
    await upload.write(streamed);
    await upload.writeRows(1000);
    const old = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%COPY %'
      AND clock_timestamp() - query_start > interval '2.1 s'`;
    await until('a COPY that is older than the time limit', async () => (await service.rows(old)).length > 0);
    await upload.writeRows(1000);
    upload.end();
    assert.equal((await upload.answer()).status, 201);
  });
});

suite('a table that another session has locked', () => {
  let service: TestService;
  let other: pg.PoolClient;
  before(async () => {
    service = await startTestService({ LOCK_TIMEOUT_MS: '400' });
    other = await service.database.pool.connect();
    await service.rows(`CREATE TABLE held (a int PRIMARY KEY); INSERT INTO held VALUES (1);
      CREATE TABLE parents (a int PRIMARY KEY); INSERT INTO parents VALUES (1)`);
  });
  after(async () => {
    other.release();
    await service.stop();
  });

  async function whileLocked(lock: string, work: () => Promise<void>): Promise<void> {
    await other.query(`BEGIN; ${lock}`);
    try {
      await work();
    } finally {
      await other.query('ROLLBACK');
    }
  }

  for (const [query, mode] of [
    ['append', 'SHARE'],
    ['append&on_conflict=update', 'SHARE'],
    ['append&extra_columns=add', 'ACCESS SHARE'],
    ['truncate', 'ACCESS SHARE'],
    ['replace', 'ACCESS SHARE'],
    ['replace&dry_run=true', 'ACCESS SHARE'],
  ]) {
    test(`${query} fails after the lock timeout, and the table is unchanged`, async () => {
      const send = () =>
        service.post(`/table/held/upload/json?if_exists=${query}`, { data: [{ a: 2 }, { a: 3, b: true }] });
      await whileLocked(`LOCK TABLE held IN ${mode} MODE`, async () => {
        const startedAt = performance.now();
        const data = [{ a: 2 }, { a: 3, ...(query!.includes('add') && { b: true }) }];
        assertPassing(
          await service.post(`/table/held/upload/json?if_exists=${query}`, { data }),
          'database-busy',
        );
        assert.ok(performance.now() - startedAt > 350);
        await assertNoTable(service, '');
      });
      assert.deepEqual(await service.rows('SELECT * FROM held'), [{ a: 1 }]);
      assert.ok((await send()).status < 500, 'and continues when it is free');
      await service.rows(
        'DROP TABLE held; CREATE TABLE held (a int PRIMARY KEY); INSERT INTO held VALUES (1)',
      );
    });
  }

  test('a table that a foreign key refers to is waited for until the lock timeout', async () => {
    const foreign = {
      columns: [{ name: 'a', type: 'integer' }],
      constraints: {
        foreign_keys: [{ name: '', column: 'a', reference_table: 'parents', reference_column: 'a' }],
      },
    };
    const send = () => service.post('/table/children/upload/json', { table: foreign, data: [{ a: 1 }] });
    await whileLocked('LOCK TABLE parents IN ACCESS EXCLUSIVE MODE', async () => {
      assertPassing(await send(), 'database-busy');
    });
    await assertNoTable(service, 'children');
    assert.equal((await send()).status, 201);
  });

  test('a row that another session has not committed is waited for until the lock timeout', async () => {
    await whileLocked('INSERT INTO held VALUES (5)', async () => {
      for (const query of ['append', 'append&on_conflict=skip']) {
        const answer = await service.post(`/table/held/upload/json?if_exists=${query}`, { data: [{ a: 5 }] });
        assertPassing(answer, 'database-busy');
      }
    });
    assert.deepEqual(await service.rows('SELECT * FROM held'), [{ a: 1 }]);
  });
});

suite('a restart of PostgreSQL', () => {
  let service: TestService;
  let folder: string;
  let postgres: EmbeddedPostgres;
  const log = { info: () => {}, warn: () => {} };
  const start = () => startEmbeddedPostgres({ dataDir: join(folder, 'data'), log, durable: false });

  /**
   * A number of rows that do not fit into the buffers of the connection, so that the service is still reading them after they
   * were sent.
   */
  const moreThanSockets = 200_000;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tablewright-restarted-'));
    await chmod(folder, 0o711);
    postgres = await start();
    service = await startTestService({ DATABASE_URL: postgres.url });
  });
  after(async () => {
    await service?.stop();
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('a restart of PostgreSQL in the middle of uploads is answered with 503, nothing is changed, and the service works again', async () => {
    const copying = await openUpload(service, '/copying/upload/json');
    await copying.write(streamed);
    await copying.writeRows(20_000);
    const inferring = await openUpload(service, '/inferring/upload/json');
    await inferring.write(inferred);
    await inferring.writeRows(moreThanSockets);
    const late = await openUpload(service, '/late/upload/json');
    await late.write(inferred);
    await late.writeRows(moreThanSockets);

    await postgres.stop();
    await copying.writeRows(20_000);
    copying.end();
    assertPassing(await copying.answer(), 'database-unavailable');
    inferring.end();
    assertPassing(await inferring.answer(), 'database-unavailable');
    assertPassing(await service.get('/table/copying'), 'database-unavailable');
    assert.equal((await service.get('/readyz')).status, 503);

    const url = postgres.url;
    postgres = await start();
    assert.equal(postgres.url, url);
    late.end();
    assert.equal((await late.answer()).status, 201, 'what needed no connection meanwhile is loaded');
    assert.equal((await service.get('/readyz')).status, 200);
    for (const name of ['copying', 'inferring']) {
      assertProblem(await service.get(`/table/${name}`), 404, 'table-not-found');
      assert.equal((await service.post(`/table/${name}/upload/json`, { data: [{ a: 1 }] })).status, 201);
    }
  });
});

suite('a PostgreSQL session that an administrator ends', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test('an upload whose PostgreSQL session an administrator ends while it creates a key is answered with 503', async () => {
    await service.rows('CREATE TABLE gate (a int PRIMARY KEY); INSERT INTO gate VALUES (1)');
    const foreign = {
      columns: [{ name: 'a', type: 'integer' }],
      constraints: {
        foreign_keys: [{ name: '', column: 'a', reference_table: 'gate', reference_column: 'a' }],
      },
    };
    const holder = await service.database.pool.connect();
    await holder.query('BEGIN; LOCK TABLE gate');
    const answer = service.post('/table/behind/upload/json', { table: foreign, data: [{ a: 1 }] });
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright' AND wait_event_type = 'Lock'`;
    await until('a session that waits', async () => (await service.rows(waiting)).length > 0);
    await service.rows(`SELECT pg_terminate_backend(pid) FROM (${waiting}) waiting`);
    assertPassing(await answer, 'database-unavailable');
    await holder.query('ROLLBACK');
    holder.release();
    await assertNoTable(service, 'behind');
  });

  test('an upload whose PostgreSQL session an administrator ends while the service still receives the rows continues', async () => {
    const upload = await openUpload(service, '/unaware/upload/json');
    await upload.write(inferred);
    await upload.writeRows(10_000);
    await service.rows(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tablewright'",
    );
    upload.end();
    assert.equal((await upload.answer()).status, 201);
  });
});

suite('a client that stops sending', { concurrency: true }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ BODY_IDLE_TIMEOUT_MS: '1000' });
    await service.rows('CREATE TABLE kept (a int PRIMARY KEY, b text)');
  });
  after(() => service.stop());

  for (const [title, path, begin, rows] of [
    ['before its first byte', '/idle1/upload/json', '', 0],
    ['within a definition', '/idle2/upload/json', '{"table":{"columns":[', 0],
    ['within rows that are copied', '/idle3/upload/json', streamed, 5000],
    ['within rows that are kept for inference', '/idle4/upload/json', inferred, 5000],
    ['within rows for a table with rules', '/kept/upload/json?if_exists=append', '{"data":[{"a":0}', 0],
    ['within rows that are staged', '/kept/upload/json?if_exists=append&on_conflict=skip', inferred, 5000],
  ] as const) {
    test(`a client that stops sending ${title} is answered with 408, and nothing is changed`, async () => {
      const upload = await openUpload(service, path);
      const startedAt = performance.now();
      await upload.write(begin);
      if (rows > 0) await upload.writeRows(rows);
      assert.match(
        assertProblem(await upload.answer(), 408, 'request-timeout').detail,
        /for 1 s \(BODY_IDLE_TIMEOUT_MS\)/,
      );
      assert.ok(performance.now() - startedAt > 950);
      const [, name] = path.split('/');
      await assertNoTable(service, name === 'kept' ? '' : name!);
      assert.deepEqual(await service.rows('SELECT * FROM kept'), []);
    });
  }
});

suite('a client that sends a byte now and then', { concurrency: true }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ BODY_IDLE_TIMEOUT_MS: '3000', MIN_BODY_BYTES_PER_SECOND: '100' });
  });
  after(() => service.stop());

  /** Sends so many bytes per second until the answer, or until so many seconds have passed, whatever else the machine does. */
  async function trickle(bytesPerSecond: number, seconds: number, begin: string) {
    const upload = await openUpload(service, '/slow/upload/json?dry_run=true');
    await upload.write(begin);
    let isAnswered = false;
    const answer = upload.answer().finally(() => {
      isAnswered = true;
    });
    const startedAt = performance.now();
    for (let sent = 0; sent < bytesPerSecond * seconds && !isAnswered; ) {
      await sleep(100);
      const due = Math.ceil((bytesPerSecond * (performance.now() - startedAt)) / 1000) - sent;
      await upload.write(' '.repeat(due));
      sent += due;
    }
    if (!isAnswered) {
      await upload.write('{"a":1}');
      upload.end();
    }
    return await answer;
  }

  test('a client that sends a byte now and then is answered with 408, however much it sent at first', async () => {
    const begins = ['{"data":[', `{"data":[{"a":"${'x'.repeat(1_000_000)}"},`];
    for (const answer of await Promise.all(begins.map((begin) => trickle(10, Infinity, begin)))) {
      const { detail } = assertProblem(answer, 408, 'request-timeout');
      assert.match(detail, /the limit is 100 bytes per second \(MIN_BODY_BYTES_PER_SECOND\)/);
    }
  });

  test('a client that sends a byte now and then is served if it sends enough bytes', async () => {
    assert.equal((await trickle(300, 4, '{"data":[')).status, 200);
  });
});

suite('a full disk', () => {
  const run = promisify(execFile);
  const { TMPDIR } = process.env;
  let folder: string;
  let service: TestService;
  let isMounted = false;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tablewright-full-'));
    service = await startTestService();
    await service.rows('CREATE TABLE kept (a int CHECK (a > 0), b text); INSERT INTO kept VALUES (7)');
    isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).then(
      () => true,
      () => false,
    );
    process.env.TMPDIR = folder;
  });
  after(async () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    if (isMounted) await run('umount', [folder]);
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function testWhereFull(title: string, work: () => Promise<void>): void {
    test(title, async (context) => {
      if (isMounted) await work();
      else context.skip('a small file system cannot be mounted here');
    });
  }

  for (const [title, path, begin] of [
    ['rows that are kept for inference', '/full/upload/json', inferred],
    ['rows that are kept because of the rules of the table', '/kept/upload/json?if_exists=append', inferred],
  ] as const) {
    testWhereFull(`${title}: 503, and nothing is left`, async () => {
      const upload = await openUpload(service, path);
      await upload.write(begin);
      await upload.writeRows(50_000);
      upload.end();
      assertPassing(await upload.answer(), 'storage-full');
      await assertNoTable(service, 'full');
      assert.deepEqual(await service.rows('SELECT a FROM kept'), [{ a: 7 }]);
      assert.deepEqual(await readdir(folder), []);
      const small = await service.post('/table/small/upload/json', { data: [{ a: 1 }] });
      assert.equal(small.status, 201, 'what fits is loaded');
      await service.rows('DROP TABLE small');
    });
  }

  testWhereFull('a workbook: 503', async () => {
    const answer = await service.upload('/table/full/upload/excel', Buffer.alloc(5_000_000, 'PK'));
    assertPassing(answer, 'storage-full');
    assert.deepEqual(await readdir(folder), []);
  });

  testWhereFull('rows that are read once need no room', async () => {
    const upload = await openUpload(service, '/streamed/upload/json');
    await upload.write(streamed);
    await upload.writeRows(50_000);
    upload.end();
    assert.equal((await upload.answer()).status, 201);
  });
});
