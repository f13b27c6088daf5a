/** `if_exists=replace` with a million rows, while others read the table: nobody waits, nobody sees a mixture. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { assertProblem } from './support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from './support/service.ts';

let service: TestService;

before(async () => {
  service = await startTestService({ LOCK_TIMEOUT_MS: '2000' });
});
after(() => service.stop());

const table = {
  columns: [
    { name: 'version', type: 'integer' },
    { name: 'n', type: 'integer' },
  ],
  constraints: { primary_key: { name: '', columns: ['n'] } },
};

/** Replaces a table by `count` rows of this version, made while they are sent. */
function replace(name: string, version: number, count: number): Promise<TestAnswer> {
  async function* body() {
    yield Buffer.from(`{"table":${JSON.stringify(table)},"data":[`);
    for (let n = 0; n < count; n += 1000) {
      const rows = Array.from(
        { length: Math.min(1000, count - n) },
        (_, index) => `{"version":${version},"n":${n + index}}`,
      );
      yield Buffer.from(`${n > 0 ? ',' : ''}${rows.join(',')}`);
    }
    yield Buffer.from(']}');
  }
  return service.request('POST', `/table/${name}/upload/json?if_exists=replace`, {
    headers: { 'content-type': 'application/json' },
    body: ReadableStream.from(body()),
  });
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(service.database.url);
  await client.connect();
  return client;
}

/** Polls the table, until told to stop, with a lock timeout: whoever waits longer for a lock fails. */
async function poll(query: string, lockTimeoutMs: number, stop: AbortSignal) {
  const reader = await connect();
  const seen = new Map<string, number>();
  let longestMs = 0;
  try {
    await reader.query(`SET lock_timeout = ${lockTimeoutMs}`);
    while (!stop.aborted) {
      const startedAt = performance.now();
      const { rows } = await reader.query(query);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      const shown = JSON.stringify(rows[0]);
      seen.set(shown, (seen.get(shown) ?? 0) + 1);
    }
  } finally {
    await reader.end();
  }
  return { seen, longestMs };
}

test('while a million rows replace others, readers see all the old or all the new, and wait for no lock', async (context) => {
  const oldCount = 200_000;
  const newCount = 1_000_000;
  assert.equal((await replace('polled', 1, oldCount)).status, 201);
  const stop = new AbortController();
  const whole = 'SELECT count(*)::int AS rows, min(version) AS low, max(version) AS high FROM polled';
  // The load takes seconds, on any machine.
  const lockTimeoutMs = 1000;
  const readers = [
    poll(whole, lockTimeoutMs, stop.signal),
    // As often as can be: this one stands in the way of the swap nearly always.
    poll('SELECT version FROM polled LIMIT 1', lockTimeoutMs, stop.signal),
  ];
  const startedAt = performance.now();
  const answer = await replace('polled', 2, newCount);
  const seconds = (performance.now() - startedAt) / 1000;
  await sleep(300);
  stop.abort();
  const [counts, versions] = await Promise.all(readers);

  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.body.load.rows, newCount);
  const before = JSON.stringify({ rows: oldCount, low: 1, high: 1 });
  const after = JSON.stringify({ rows: newCount, low: 2, high: 2 });
  assert.deepEqual([...counts!.seen.keys()], [before, after]);
  context.diagnostic(
    `${seconds.toFixed(1)} s; ${counts!.seen.get(before)} readings of the old rows meanwhile, the longest reading of one row took ${Math.round(versions!.longestMs)} ms`,
  );
});

test('a reader that holds the table makes the replace wait, and nobody else', async () => {
  assert.equal((await replace('held', 1, 10)).status, 201);
  const holder = await connect();
  await holder.query('BEGIN; SELECT * FROM held');
  const stop = new AbortController();
  const polling = poll('SELECT max(version) AS version FROM held', 700, stop.signal);
  let isAnswered = false;
  const replacing = replace('held', 2, 10).finally(() => {
    isAnswered = true;
  });
  await sleep(1000);
  assert.equal(isAnswered, false);
  await holder.query('COMMIT');
  assert.equal((await replacing).status, 201);
  stop.abort();
  const { seen } = await polling;
  assert.deepEqual([...seen.keys()].slice(0, 1), ['{"version":1}']);
  assert.ok(seen.get('{"version":1}')! > 20, `${seen.get('{"version":1}')} readings in a second`);
  await holder.end();
});

test('a reader that holds the table for longer than the lock timeout: 503, and the old rows stay', async () => {
  assert.equal((await replace('kept', 1, 10)).status, 201);
  const holder = await connect();
  await holder.query('BEGIN; SELECT * FROM kept');
  const stop = new AbortController();
  const polling = poll('SELECT max(version) AS version FROM kept', 700, stop.signal);
  const startedAt = performance.now();
  const answer = await replace('kept', 2, 10);
  const elapsedMs = performance.now() - startedAt;
  stop.abort();
  await polling;
  await holder.end();
  assertProblem(answer, 503, 'database-busy');
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.ok(elapsedMs > 1900, `${elapsedMs} ms`);
  assert.deepEqual(await service.rows('SELECT DISTINCT version FROM kept'), [{ version: 1 }]);
  assert.deepEqual(await service.rows("SELECT relname FROM pg_class WHERE relname LIKE 'tablewright%'"), []);
  assert.equal((await replace('kept', 3, 10)).status, 201);
});
