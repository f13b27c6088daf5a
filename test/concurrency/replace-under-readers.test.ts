/** `if_exists=replace` with a million rows, while others read the table: no reader waits long, and no reader sees a mixture. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

let service: TestService;

before(async () => {
  // The replace waits longer than a reader does. If it waited in PostgreSQL's queue for the lock, the readers would fail.
  service = await startTestService({ LOCK_TIMEOUT_MS: '60000' });
});
after(() => service.stop());

const table = {
  columns: [
    { name: 'version', type: 'integer' },
    { name: 'n', type: 'integer' },
  ],
  constraints: { primary_key: { name: '', columns: ['n'] } },
};

/**
 * Replaces a table by `count` rows of this version, which are generated while they are sent.
 *
 * @param beforeEnd the body ends when this has resolved
 */
function replace(
  name: string,
  version: number,
  count: number,
  by = service,
  beforeEnd?: Promise<void>,
): Promise<TestAnswer> {
  async function* body() {
    yield Buffer.from(`{"table":${JSON.stringify(table)},"data":[`);
    for (let n = 0; n < count; n += 1000) {
      const rows = Array.from(
        { length: Math.min(1000, count - n) },
        (_, index) => `{"version":${version},"n":${n + index}}`,
      );
      yield Buffer.from(`${n > 0 ? ',' : ''}${rows.join(',')}`);
    }
    await beforeEnd;
    yield Buffer.from(']}');
  }
  return by.request('POST', `/table/${name}/upload/json?if_exists=replace`, {
    headers: { 'content-type': 'application/json' },
    body: ReadableStream.from(body()),
  });
}

async function connect(by = service): Promise<pg.Client> {
  const client = new pg.Client(by.database.url);
  await client.connect();
  return client;
}

/** The longest time that a reader waits for a lock. It is much longer than a swap takes, even on a busy machine. */
const readerTimeoutMs = 15_000;

interface Reader {
  /** The versions that it has read so far, and how often. */
  seen: Map<string, number>;
  longestMs: number;
  stop(): Promise<void>;
}

/** Reads the table again and again, until it is stopped. */
async function startReader(query: string, by = service): Promise<Reader> {
  const client = await connect(by);
  await client.query(`SET lock_timeout = ${readerTimeoutMs}`);
  let isStopped = false;
  const reader: Reader = {
    seen: new Map(),
    longestMs: 0,
    stop: async () => {
      isStopped = true;
      await reading;
      await client.end();
    },
  };
  const reading = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      const { rows } = await client.query(query);
      reader.longestMs = Math.max(reader.longestMs, performance.now() - startedAt);
      const shown = JSON.stringify(rows[0]);
      reader.seen.set(shown, (reader.seen.get(shown) ?? 0) + 1);
    }
  })();
  // `stop` reports the failure.
  reading.catch(() => {});
  return reader;
}

// Otherwise the test would wait for a reader that has failed.
const timeout = 180_000;

const oldCount = sized(20_000, 100_000);
const newCount = sized(60_000, 300_000);

test(`while ${newCount} rows replace others, readers see all the old rows and then all the new ones`, {
  timeout,
}, async (context) => {
  assert.equal((await replace('polled', 1, oldCount)).status, 201);
  const counts = await startReader(
    'SELECT count(*)::int AS rows, min(version) AS low, max(version) AS high FROM polled',
  );
  // This reader reads as often as possible, so that the swap nearly always meets it.
  const versions = await startReader('SELECT version FROM polled LIMIT 1');
  const startedAt = performance.now();
  // A fast machine may load the rows before the readers have read anything.
  const haveRead = until('readings of the old rows', () => (versions.seen.get('{"version":1}') ?? 0) > 20);
  const answer = await replace('polled', 2, newCount, service, haveRead);
  const seconds = (performance.now() - startedAt) / 1000;
  const oldReadings = versions.seen.get('{"version":1}') ?? 0;
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.body.load.rows, newCount);
  const before = JSON.stringify({ rows: oldCount, low: 1, high: 1 });
  const after = JSON.stringify({ rows: newCount, low: 2, high: 2 });
  await until('a reading of the new rows', () => counts.seen.has(after));
  await Promise.all([counts.stop(), versions.stop()]);
  assert.deepEqual([...counts.seen.keys()], [before, after]);
  context.diagnostic(
    `${seconds.toFixed(1)} s; ${oldReadings} readings of the old rows meanwhile, the longest reading of one row took ${Math.round(versions.longestMs)} ms`,
  );
});

test('only the replace waits for a reader that has locked the table', { timeout }, async () => {
  assert.equal((await replace('held', 1, 10)).status, 201);
  const holder = await connect();
  await holder.query('BEGIN; SELECT * FROM held');
  const reader = await startReader('SELECT max(version) AS version FROM held');
  let isAnswered = false;
  const replacing = replace('held', 2, 10).finally(() => {
    isAnswered = true;
  });
  const isWaiting = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'held'::regclass AND mode = 'AccessExclusiveLock'`;
  await until('the replace to wait', async () => (await service.rows(isWaiting)).length > 0);
  const readBefore = reader.seen.get('{"version":1}') ?? 0;
  // A reader that is queued after the replace would wait for the holder, too.
  await until('more readings', () => reader.seen.get('{"version":1}')! >= readBefore + 20);
  assert.equal(isAnswered, false);
  await holder.query('COMMIT');
  assert.equal((await replacing).status, 201);
  await reader.stop();
  assert.deepEqual([...reader.seen.keys()].slice(0, 1), ['{"version":1}']);
  await holder.end();
});

test('a reader that locks the table for longer than the lock timeout makes the replace fail with 503, and the old rows remain', async () => {
  const hasty = await startTestService({ LOCK_TIMEOUT_MS: '2000' });
  assert.equal((await replace('kept', 1, 10, hasty)).status, 201);
  const holder = await connect(hasty);
  await holder.query('BEGIN; SELECT * FROM kept');
  const reader = await startReader('SELECT max(version) AS version FROM kept', hasty);
  const startedAt = performance.now();
  const answer = await replace('kept', 2, 10, hasty);
  const elapsedMs = performance.now() - startedAt;
  await reader.stop();
  await holder.end();
  assertProblem(answer, 503, 'database-busy');
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.ok(elapsedMs > 1900, `${elapsedMs} ms`);
  assert.deepEqual(await hasty.rows('SELECT DISTINCT version FROM kept'), [{ version: 1 }]);
  assert.deepEqual(await hasty.rows("SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'"), []);
  assert.equal((await replace('kept', 3, 10, hasty)).status, 201);
  await hasty.stop();
});
