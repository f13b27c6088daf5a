/** Runs the service behind PgBouncer, in both pool modes, with a database whose own settings change the meaning of texts. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { findPgBouncer, type Pooler, type PoolMode, startPooler } from '../support/pooler.ts';
import { beginUpload, chunk } from '../support/raw-http.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const skip = findPgBouncer() === undefined && 'this machine has no pgbouncer';

/** Settings that an administrator may have made for the database, or another program in a shared session of the pooler. */
const foreignSettings: Record<string, string> = {
  TimeZone: 'Asia/Tokyo',
  DateStyle: 'German',
  IntervalStyle: 'postgres_verbose',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  xmloption: 'document',
  array_nulls: 'off',
  quote_all_identifiers: 'on',
  standard_conforming_strings: 'off',
  default_transaction_read_only: 'on',
  default_transaction_isolation: 'serializable',
  idle_in_transaction_session_timeout: '1s',
};

describe('PgBouncer in session mode', { skip }, () => testBehindPooler('session', {}));
describe('PgBouncer in transaction mode, which ignores startup options', { skip }, () =>
  testBehindPooler('transaction', { ignore_startup_parameters: 'options' }),
);

function testBehindPooler(mode: PoolMode, settings: Record<string, string>): void {
  let pooler: Pooler;
  let service: TestService;

  before(async () => {
    // If the disconnect of a client did not end a wait, the wait would last longer than the test.
    service = await startTestService({ LOCK_TIMEOUT_MS: '600000' }, async (database) => {
      for (const [name, value] of Object.entries(foreignSettings)) {
        await setForDatabase(database.url, name, value);
      }
      // There are fewer sessions than the service needs at the same time, so that transactions use sessions of others.
      pooler = await startPooler(mode, database.url, {
        ...settings,
        default_pool_size: mode === 'session' ? 20 : 3,
      });
      return pooler.urlOf(database.url);
    });
  });

  after(async () => {
    await service.stop();
    await pooler.stop();
  });

  const zoned = {
    columns: [
      { name: 'at', type: 'timestamptz' },
      { name: 'during', type: 'tstzrange' },
      { name: 'several', type: 'timestamptz[]' },
      { name: 'day', type: 'date' },
      { name: 'days', type: 'daterange' },
      { name: 'lasts', type: 'interval' },
      { name: 'bytes', type: 'bytea' },
      { name: 'share', type: 'double precision' },
      { name: 'names', type: 'text[]' },
      { name: 'words', type: 'text' },
      { name: 'since', type: 'timestamptz', default: '2026-01-01 00:00' },
    ],
  };
  const row = {
    at: '2026-01-01 00:00',
    during: '[2026-01-01 00:00,2026-02-01 00:00)',
    several: ['2026-01-01 00:00'],
    day: '2026-03-04',
    days: '[2026-03-04,2026-03-05)',
    lasts: '1 day 02:03:04',
    bytes: '\\xff00',
    share: 0.1234567890123456,
    names: '{a,NULL}',
    words: 'a\\b',
  };

  test('texts are read in the same way in every column of a row, and in its defaults', async () => {
    const uploaded = await service.post('/table/zoned/upload/json', { table: zoned, data: [row] });
    assert.equal(uploaded.status, 201, JSON.stringify(uploaded.body));
    const [found] = await service.rows(`SELECT extract(epoch FROM at)::bigint AS at,
      extract(epoch FROM lower(during))::bigint AS during, extract(epoch FROM several[1])::bigint AS several,
      extract(epoch FROM since)::bigint AS since, to_char(day, 'YYYY-MM-DD') AS day,
      to_char(lower(days), 'YYYY-MM-DD') AS days, extract(epoch FROM lasts)::int AS lasts,
      encode(bytes, 'hex') AS bytes, share = 0.1234567890123456::float8 AS share, names[2] IS NULL AS names, words
      FROM zoned`);
    const instant = String(Date.UTC(2026, 0, 1) / 1000);
    assert.deepEqual(found, {
      at: instant,
      during: instant,
      several: instant,
      since: instant,
      day: '2026-03-04',
      days: '2026-03-04',
      lasts: 93_784,
      bytes: 'ff00',
      share: true,
      names: true,
      words: 'a\\b',
    });
  });

  test('a description can be sent back as a definition', async () => {
    const created = await service.post('/table/described', { table: zoned });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    const described = await service.get('/table/described');
    assert.deepEqual(described.body.table, created.body.table);
    const { columns, constraints } = described.body.table;
    const again = await service.post('/table/described?if_not_exists=true', {
      table: { columns, constraints },
    });
    assert.deepEqual([again.status, again.body.differences], [200, []]);
  });

  test('creates, descriptions and uploads in parallel all succeed behind PgBouncer in transaction mode', async () => {
    const table = {
      columns: [
        { name: 'n', type: 'integer' },
        { name: 'v', type: 'text', default: 'x' },
      ],
    };
    const work = Array.from({ length: 8 }, async (_, i) => {
      const statuses: number[] = [];
      for (let round = 0; round < 2; round++) {
        const name = `parallel_${i}_${round}`;
        const data = [{ n: 1 }, { n: 2 }];
        statuses.push((await service.post(`/table/${name}`, { table })).status);
        statuses.push(
          (await service.post(`/table/${name}/upload/json?if_exists=append`, { table, data })).status,
        );
        statuses.push((await service.post(`/table/${name}/upload/json?if_exists=replace`, { data })).status);
        statuses.push((await service.get(`/table/${name}`)).status);
      }
      return statuses;
    });
    const expected = Array.from({ length: 2 }, () => [201, 200, 201, 200]).flat();
    for (const statuses of await Promise.all(work)) assert.deepEqual(statuses, expected);
  });

  test("upserts, which use temporary tables, do not see each other's rows", async () => {
    const table = {
      columns: [
        { name: 'id', type: 'integer' },
        { name: 'v', type: 'text' },
      ],
      constraints: { primary_key: { name: '', columns: ['id'] } },
    };
    const names = Array.from({ length: 6 }, (_, i) => `upsert_${i}`);
    for (const name of names) await service.post(`/table/${name}`, { table });
    for (let round = 0; round < 3; round++) {
      const data = [
        { id: 1, v: `${round}` },
        { id: round + 2, v: 'new' },
      ];
      const answers = await Promise.all(
        names.map((name) =>
          service.post(`/table/${name}/upload/json?if_exists=append&on_conflict=update`, { data }),
        ),
      );
      const counts = answers.map(({ status, body }) => [status, body.load?.rows, body.load?.updated]);
      assert.deepEqual(
        counts,
        names.map(() => (round === 0 ? [200, 2, 0] : [200, 1, 1])),
      );
    }
  });

  test('a role that another program has set in a session has no effect', async () => {
    const role = `left_over_${randomBytes(4).toString('hex')}`;
    const programs = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const program = new pg.Client(pooler.urlOf(service.database.url));
        await program.connect();
        return program;
      }),
    );
    const inEachSession = async (statement: string) => {
      for (const program of programs) await program.query('BEGIN READ WRITE');
      for (const program of programs) await program.query(statement);
      for (const program of programs) await program.query('COMMIT');
    };
    const { adminUrl, url } = service.database;
    const admin = new pg.Client(adminUrl ?? url);
    await admin.connect();
    const user = decodeURIComponent(new URL(url).username);
    await admin.query(`BEGIN READ WRITE; CREATE ROLE ${role}; GRANT ${role} TO "${user}"; COMMIT`);
    try {
      await inEachSession(`SET ROLE ${role}`);
      const table = { columns: [{ name: 'n', type: 'integer' }] };
      const created = await service.post(`/table/${role}`, { table });
      assert.equal(created.status, 201, JSON.stringify(created.body));
    } finally {
      await inEachSession('RESET ROLE');
      await admin.query(`BEGIN READ WRITE; DROP ROLE ${role}; COMMIT`);
      for (const client of [admin, ...programs]) await client.end();
    }
  });

  test('a pause in a body may last longer than idle_in_transaction_session_timeout', async () => {
    await service.post('/table/slow', { table: { columns: [{ name: 'n', type: 'integer' }] } });
    const socket = await beginUpload(
      service.url,
      '/slow/upload/json?if_exists=append',
      await service.token(),
      'application/json',
    );
    socket.write(chunk('{"table": {"columns": [{"name": "n", "type": "integer"}]}, "data": [{"n": 1},'));
    const old = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND xact_start IS NOT NULL AND clock_timestamp() - state_change > interval '1.1 s'`;
    await until('a session that is older than the time limit', async () => {
      return (await service.rows(old)).length > 0;
    });
    socket.write(Buffer.concat([chunk('{"n": 2}]}'), chunk('')]));
    const [answer] = await once(socket, 'data');
    socket.destroy();
    assert.match(String(answer), /^HTTP\/1\.1 200 /);
  });

  test('the waiting statement of a client that disconnects is ended', async () => {
    await service.post('/table/locked', { table: { columns: [{ name: 'n', type: 'integer' }] } });
    const locking = new pg.Client(service.database.url);
    await locking.connect();
    // The setting of the database must not apply to this session, which waits for the upload.
    await locking.query('SET idle_in_transaction_session_timeout TO 0');
    await locking.query('BEGIN READ WRITE; LOCK TABLE locked');
    const isWaited = `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND relation = 'locked'::regclass`;
    const waiters = async () => (await service.rows(isWaited))[0]!.n;
    const caller = new AbortController();
    const upload = service.post(
      '/table/locked/upload/json?if_exists=append',
      { data: [{ n: 1 }] },
      { signal: caller.signal },
    );
    upload.catch(() => {});
    await until('the upload to wait for the lock', async () => (await waiters()) === 1);
    caller.abort();
    await until('the wait to end', async () => (await waiters()) === 0);
    await locking.query('ROLLBACK');
    await locking.end();
    assert.deepEqual(await service.rows('SELECT * FROM locked'), []);
  });

  test('/readyz answers 200', async () => {
    assert.equal((await service.get('/readyz')).status, 200);
  });
}

async function setForDatabase(url: string, name: string, value: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const database = new URL(url).pathname.slice(1);
    await client.query(`BEGIN READ WRITE; ALTER DATABASE ${database} SET ${name} TO '${value}'; COMMIT`);
  } finally {
    await client.end();
  }
}
