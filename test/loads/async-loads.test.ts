/** Asynchronous uploads: they are answered when the body is stored, and are loaded once whatever happens to the process. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { spoolFolder } from '../../src/loads/spool-folder.ts';
import { startService } from '../../src/service.ts';
import { startChildService } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import {
  type ServiceClient,
  startTestService,
  type TestAnswer,
  type TestService,
  testEnvironment,
} from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

let service: TestService;
let folder: string;
/** A load that was cancelled while it waited. */
let cancelled: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-spool-'));
  service = await startTestService({ SPOOL_DIR: folder });
  await service.rows('CREATE TABLE public.counted (a bigint)');
});

after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const schema = 'tablewright_service';
const later = { prefer: 'respond-async' };
const append = '/table/counted/upload/json?if_exists=append';
const ended = /^(committed|checked|refused|failed|cancelled)$/;

async function endOf(id: string, at: ServiceClient = service) {
  let load:
    | { state: string; answer: { status: number; body: { code: string; load: { rows: number } } } }
    | undefined;
  await until('the end of the load', async () => {
    load = (await at.get(`/api/v1/loads/${id}`)).body;
    return ended.test(load!.state);
  });
  return load!;
}

/** Returns the paths of the stored bodies below the folder. */
async function bodies(below = folder): Promise<string[]> {
  const names = await readdir(below, { recursive: true });
  return names.filter((name) => name.endsWith('.body')).map((name) => join(below, name));
}

suite('an asynchronous upload', () => {
  test('an asynchronous upload is answered with 202 and loaded later, with the answer of a synchronous one', async () => {
    const answer = await service.post(
      '/table/later/upload/json',
      { data: [{ a: 1 }, { a: 2 }] },
      { headers: later },
    );
    assert.equal(answer.status, 202);
    const id = answer.headers.get('load-id')!;
    assert.equal(answer.headers.get('location'), `/api/v1/loads/${id}`);
    assert.equal(answer.headers.get('preference-applied'), 'respond-async');
    assert.deepEqual([answer.body.id, answer.body.state], [id, 'queued']);
    const { state, answer: kept } = await endOf(id);
    assert.deepEqual([state, kept.status, kept.body.load.rows], ['committed', 201, 2]);
    assert.deepEqual(await service.rows('SELECT a::int FROM public.later ORDER BY a'), [{ a: 1 }, { a: 2 }]);
    await until('the body to be removed', async () => (await bodies()).length === 0);
  });

  test('an asynchronous upload may be a workbook', async () => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(sheetOf([['a'], [7]]))]), 'a.xlsx');
    const answer = await service.request('POST', '/table/sheet/upload/excel', { body: form, headers: later });
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    assert.equal((await endOf(answer.body.id)).state, 'committed');
  });

  test('an asynchronous upload whose data is wrong is refused later, and one whose query or token is wrong at once', async () => {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    const path = '/table/wrong/upload/json';
    const answer = await service.post(path, { table, data: [{ a: 'x' }] }, { headers: later });
    assert.equal(answer.status, 202);
    const { state, answer: kept } = await endOf(answer.body.id);
    assert.deepEqual([state, kept.status, kept.body.code], ['refused', 422, 'invalid-data']);
    assertProblem(await service.post(`${path}?x=1`, {}, { headers: later }), 422, 'invalid-parameter');
    const token = await service.token({ scope: 'table:read' });
    assertProblem(await service.post(path, {}, { headers: later, token }), 403, 'insufficient-scope');
  });

  test('an asynchronous upload has only the rights of its token, and its record has no token', async () => {
    const token = await service.token({ subject: 'ann', scope: 'table:load' });
    const body = { data: [{ a: 1 }] };
    const answer = await service.post('/table/nowhere/upload/json?if_exists=append', body, {
      headers: later,
      token,
    });
    assert.equal(answer.status, 202);
    const { state, answer: kept } = await endOf(answer.body.id);
    assert.deepEqual([state, kept.body.code], ['refused', 'insufficient-scope']);
    const rows = await service.rows(`SELECT l::text AS row FROM ${schema}.loads l WHERE id = $1`, [
      answer.body.id,
    ]);
    assert(!String(rows[0]!.row).includes(token.split('.')[2]!));
  });

  test('an asynchronous upload is refused before it is accepted if too many bodies wait, or too many bytes, in all or of one subject', async () => {
    const spool = await mkdtemp(join(tmpdir(), 'tablewright-limited-'));
    const limited = await startTestService({
      SPOOL_DIR: spool,
      MAX_QUEUED_BYTES: '5000',
      MAX_QUEUED_BYTES_PER_SUBJECT: '4000',
      MAX_QUEUED_LOADS: '3',
      MAX_QUEUED_LOADS_PER_SUBJECT: '2',
    });
    await limited.rows('CREATE TABLE public.locked (a bigint)');
    const lock = await limited.database.pool.connect();
    await lock.query('BEGIN; LOCK TABLE public.locked');
    const send = async (subject: string, bytes: number, options: { stream?: boolean } = {}) => {
      const body = '{"data":[{"a":1}]}'.padEnd(bytes);
      return limited.request('POST', '/table/locked/upload/json?if_exists=append', {
        token: await limited.token({ subject }),
        headers: { 'content-type': 'application/json', ...later },
        // A stream has no Content-Length.
        body: options.stream ? new Blob([body]).stream() : body,
      });
    };
    const assertFull = async (answer: TestAnswer, setting: string) => {
      const { detail } = assertProblem(answer, 429, 'queue-full');
      assert(detail.includes(`(${setting})`), detail);
      assert.equal(answer.headers.get('retry-after'), '30');
      assert.equal(answer.headers.get('load-id'), null);
      const stored = (await readdir(spool, { recursive: true })).filter((name) => name.endsWith('.body'));
      const loads = await limited.rows(`SELECT id FROM ${schema}.loads`);
      assert.equal(stored.length, loads.length);
    };
    try {
      await assertFull(await send('ann', 4001), 'MAX_QUEUED_BYTES_PER_SUBJECT');
      assert.equal((await send('ann', 3000)).status, 202);
      await assertFull(await send('ann', 1001), 'MAX_QUEUED_BYTES_PER_SUBJECT');
      await assertFull(await send('ann', 1001, { stream: true }), 'MAX_QUEUED_BYTES_PER_SUBJECT');
      await assertFull(await send('bob', 2001, { stream: true }), 'MAX_QUEUED_BYTES');
      assert.equal((await send('ann', 100)).status, 202);
      await assertFull(await send('ann', 100), 'MAX_QUEUED_LOADS_PER_SUBJECT');
      assert.equal((await send('bob', 100)).status, 202);
      await assertFull(await send('carl', 100), 'MAX_QUEUED_LOADS');
      await lock.query('ROLLBACK');
      await until('a place in the queue', async () => (await send('ann', 100)).status === 202);
    } finally {
      lock.release();
      await limited.stop();
      await rm(spool, { recursive: true, force: true });
    }
  });

  test('an asynchronous upload of a token whose subject and schemas have NUL is accepted', async () => {
    const token = await service.token({
      subject: 'a\0\ud800b',
      scope: 'table:create',
      schemas: ['public', 'a\0*'],
    });
    const answer = await service.post(
      '/table/nul/upload/json',
      { data: [{ a: 1 }] },
      { headers: later, token },
    );
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    assert.equal((await endOf(answer.body.id)).state, 'committed');
    assert.equal((await service.get('/api/v1/loads', { token })).body.loads.length, 1);
  });

  test('an asynchronous upload with a key is accepted once', async () => {
    const headers = { ...later, 'idempotency-key': 'later' };
    const first = await service.post(append, { data: [{ a: 1 }] }, { headers });
    const again = await service.post(append, { data: [{ a: 1 }] }, { headers });
    assert.deepEqual([again.status, again.body], [202, first.body]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal((await endOf(first.body.id)).state, 'committed');
  });

  test('an upload is asynchronous only by the preference itself, not by a word in the value of another preference', async () => {
    for (const [prefer, status] of [
      ['foo="a, respond-async, b"', 200],
      ['foo="a\\", respond-async', 200],
      ['foo="a\\\\", respond-async', 202],
      ['wait=1, Respond-Async; foo="b"', 202],
    ] as const) {
      const answer = await service.post(append, { data: [{ a: 1 }] }, { headers: { prefer } });
      assert.equal(answer.status, status, prefer);
      await endOf(answer.headers.get('load-id')!);
    }
  });

  test('an asynchronous upload to a service without a schema of its own is loaded while its request lasts', async () => {
    const other = await startTestService({ SERVICE_SCHEMA: 'none' });
    try {
      const answer = await other.post('/table/t/upload/json', { data: [{ a: 1 }] }, { headers: later });
      assert.deepEqual([answer.status, answer.headers.get('preference-applied')], [201, null]);
    } finally {
      await other.stop();
    }
  });

  test('an asynchronous upload that waits ends at once when it is cancelled', async () => {
    const client = await service.database.pool.connect();
    await client.query('BEGIN; LOCK TABLE public.counted');
    const ids: string[] = [];
    for (let n = 0; n < 6; n++)
      ids.push((await service.post(append, { data: [{ a: 1 }] }, { headers: later })).body.id);
    await until('four loads to run', async () => {
      const rows = await service.rows(`SELECT FROM ${schema}.loads WHERE state = 'running'`);
      return rows.length === 4;
    });
    assert.equal((await service.request('POST', `/api/v1/loads/${ids[5]}/cancel`)).status, 202);
    assert.equal((await endOf(ids[5]!)).state, 'cancelled');
    assert.equal((await service.request('POST', `/api/v1/loads/${ids[0]}/cancel`)).status, 202);
    assert.equal((await endOf(ids[0]!)).state, 'cancelled');
    await client.query('ROLLBACK');
    client.release();
    for (const id of ids.slice(1, 5)) assert.equal((await endOf(id)).state, 'committed');
    cancelled = ids[5]!;
  });
});

test('the places of asynchronous loads go to all subjects in turn, however many loads of one of them wait', async () => {
  const spool = await mkdtemp(join(tmpdir(), 'tablewright-turns-'));
  const limits = { MAX_UPLOADS: '2', MAX_UPLOADS_PER_SUBJECT: '2' };
  const busy = await startTestService({ SPOOL_DIR: spool, ...limits });
  await busy.rows('CREATE TABLE public.locked (a bigint)');
  const lock = await busy.database.pool.connect();
  try {
    await lock.query('BEGIN; LOCK TABLE public.locked');
    const ids: string[] = [];
    for (const subject of ['ann', 'ann', 'ann', 'ann', 'bob', 'bob', 'bob', 'cyd']) {
      const options = { headers: later, token: await busy.token({ subject }) };
      const path = '/table/locked/upload/json?if_exists=append';
      ids.push((await busy.post(path, { data: [{ a: 1 }] }, options)).body.id);
    }
    await lock.query('ROLLBACK');
    const all = { token: await busy.token({ scope: 'load:read-all' }) };
    for (const id of ids)
      await until('the load', async () => {
        return ended.test((await busy.request('GET', `/api/v1/loads/${id}`, all)).body.state);
      });
    const order = await busy.rows(`SELECT subject FROM ${schema}.loads ORDER BY started_at`);
    const subjects = ['ann', 'bob', 'cyd', 'ann', 'bob', 'ann', 'bob', 'ann'];
    assert.deepEqual(
      order.map(({ subject }) => subject),
      subjects,
    );
  } finally {
    lock.release(true);
    await busy.stop();
    await rm(spool, { recursive: true, force: true });
  }
});

test('services with different databases may share a folder, and each removes only its own remnants', async () => {
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.counted');
  const ids: string[] = [];
  try {
    for (let n = 0; n < 5; n++)
      ids.push((await service.post(append, { data: [{ a: 1 }] }, { headers: later })).body.id);
    // The bodies of earlier tests may be removed meanwhile.
    const stored = async () =>
      (await bodies()).filter((body) => ids.includes(basename(body, '.body'))).sort();
    const before = await stored();
    assert.equal(before.length, 5);
    const old = new Date(Date.now() - 24 * 3_600_000);
    for (const body of before) await utimes(body, old, old);
    // A service removes remnants when it starts.
    const other = await startTestService({ SPOOL_DIR: folder });
    try {
      const headers = { headers: later };
      const { id } = (await other.post('/table/t/upload/json', { data: [{ a: 1 }] }, headers)).body;
      assert.equal((await endOf(id, other)).state, 'committed');
    } finally {
      await other.stop();
    }
    assert.deepEqual(await stored(), before);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  for (const id of ids) assert.equal((await endOf(id)).state, 'committed');
});

test('a service does not start if the id of the folder was changed, and says which file to restore', async () => {
  const { database } = service;
  const base = join(folder, 'changed');
  const changed = await spoolFolder(database.pool, { name: schema, quoted: '' }, base);
  await mkdir(changed, { recursive: true });
  await writeFile(join(changed, 'folder-id'), "x'");
  const config = readConfig(testEnvironment(database, base, { SPOOL_DIR: base }));
  await assert.rejects(startService(config), /folder-id must contain one UUID/);
});

test('a service that cannot write to the folder warns, and loads while the request lasts', async () => {
  const file = join(folder, 'no-folder');
  await writeFile(file, '');
  const child = await startChildService(service.database, { SPOOL_DIR: join(file, 'spool') });
  try {
    assert.match(child.output(), /SPOOL_DIR.*respond-async is ignored/);
    const answer = await child.post(append, { data: [{ a: 1 }] }, { headers: later });
    assert.deepEqual([answer.status, answer.headers.get('preference-applied')], [200, null]);
  } finally {
    await child.end('SIGTERM');
  }
});

test('a load whose connections are ended by PostgreSQL is tried again, and fails after five attempts', async () => {
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.counted');
  const begin = async () =>
    (await service.post(append, { data: [{ a: 1 }] }, { headers: later })).body.id as string;
  const endedSessions = new Set<unknown>();
  /** Ends the session that loads into the locked table. */
  const interrupt = () =>
    until('a session to be ended', async () => {
      const rows = await service.rows(`SELECT pid, pg_terminate_backend(pid) FROM pg_locks
        WHERE NOT granted AND relation = 'public.counted'::regclass`);
      const isNew = rows.some(({ pid }) => !endedSessions.has(pid));
      for (const { pid } of rows) endedSessions.add(pid);
      return isNew;
    });
  const [counted] = await client
    .query('SELECT count(*)::int AS n FROM public.counted')
    .then(({ rows }) => rows);
  const failing = await begin();
  for (let attempt = 0; attempt < 5; attempt++) await interrupt();
  const { state, answer } = await endOf(failing);
  assert.deepEqual([state, answer.status, answer.body.code], ['failed', 503, 'database-unavailable']);
  const again = await begin();
  await interrupt();
  await client.query('ROLLBACK');
  client.release();
  assert.equal((await endOf(again)).state, 'committed');
  const rows = await service.rows('SELECT count(*)::int AS n FROM public.counted');
  assert.deepEqual(rows, [{ n: counted.n + 1 }]);
});

test('a load whose file is lost, shortened or longer fails, and no row of it is in the table', async () => {
  const own = await mkdtemp(join(tmpdir(), 'tablewright-lost-'));
  const first = await startChildService(service.database, { SPOOL_DIR: own });
  const counted = await service.rows('SELECT count(*) FROM public.counted');
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.counted');
  const damages = [
    (path: string) => rm(path),
    // What remains is a valid upload with fewer rows.
    (path: string) => truncate(path, '{"a":1}\n'.length),
    (path: string) => appendFile(path, '{"a":3}\n'),
  ];
  const ids: string[] = [];
  try {
    const headers = { ...later, 'content-type': 'application/x-ndjson' };
    for (const _ of damages) {
      const { body } = await first.request('POST', append, { body: '{"a":1}\n{"a":2}\n', headers });
      ids.push(body.id);
    }
    await until('the loads to run', async () => {
      const loads = await Promise.all(ids.map((id) => first.get(`/api/v1/loads/${id}`)));
      return loads.every(({ body }) => body.state === 'running');
    });
    await first.end('SIGTERM');
    assert.equal((await service.get(`/api/v1/loads/${ids[0]}`)).body.state, 'queued');
  } finally {
    await client.query('ROLLBACK');
    client.release();
    await first.end('SIGKILL');
  }
  const stored = await bodies(own);
  for (const [n, damage] of damages.entries()) await damage(stored.find((path) => path.includes(ids[n]!))!);
  const next = await startChildService(service.database, { SPOOL_DIR: own });
  try {
    for (const id of ids) {
      const { state, answer } = await endOf(id);
      assert.deepEqual([state, answer.status], ['failed', 500]);
    }
    assert.deepEqual(await service.rows('SELECT count(*) FROM public.counted'), counted);
  } finally {
    await next.end('SIGTERM');
    await rm(own, { recursive: true, force: true });
  }
});

test('a full disk refuses an upload before it is accepted, and each accepted one is loaded', async (context) => {
  const small = await mkdtemp(join(tmpdir(), 'tablewright-small-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
  const limited = await startTestService({ SPOOL_DIR: small });
  const lock = await limited.database.pool.connect();
  try {
    if (mounted.status !== 0) return context.skip('this process may not mount');
    await limited.rows('CREATE TABLE public.t (a bigint)');
    await lock.query('BEGIN; LOCK TABLE public.t');
    // The loads wait for the table, so their bodies stay on the disk.
    const accepted: string[] = [];
    let answer: TestAnswer;
    do {
      const body = '{"data":[{"a":1}]}'.padEnd(200_000);
      const headers = { 'content-type': 'application/json', ...later };
      answer = await limited.request('POST', '/table/t/upload/json?if_exists=append', { headers, body });
      if (answer.status === 202) accepted.push(answer.body.id);
    } while (answer.status === 202);
    assertProblem(answer, 503, 'storage-full');
    assert.ok(accepted.length > 0);
    const stored = (await readdir(small, { recursive: true })).filter((name) => name.endsWith('.body'));
    assert.equal(stored.length, accepted.length);
    await lock.query('ROLLBACK');
    for (const id of accepted) assert.equal((await endOf(id, limited)).state, 'committed');
    assert.equal((await limited.rows('SELECT FROM public.t')).length, accepted.length);
    assert.equal((await limited.get(`/api/v1/loads/${answer.headers.get('load-id')}`)).body.state, 'failed');
  } finally {
    lock.release();
    await limited.stop();
    if (mounted.status === 0) spawnSync('umount', [small]);
    await rm(small, { recursive: true, force: true });
  }
});

test('the file of a load that was cancelled while it waited is removed, because no limit counts it any more', async () => {
  await until('the file to be removed', async () => !(await bodies()).join().includes(cancelled));
});

test('an asynchronous upload is accepted and loaded also after somebody has removed the folder', async () => {
  await rm(folder, { recursive: true });
  const { status, body } = await service.post(append, { data: [{ a: 1 }] }, { headers: later });
  assert.equal(status, 202);
  assert.equal((await endOf(body.id)).state, 'committed');
});
