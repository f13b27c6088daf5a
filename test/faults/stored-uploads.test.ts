/** The stored bodies of asynchronous uploads: shared folders, folders and files that are lost or cannot be written, and loads that are tried again. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { readConfig } from '../../src/core/settings/config.ts';
import { spoolFolder } from '../../src/service/loads/spool-folder.ts';
import { startService } from '../../src/service/service.ts';
import { startChildService } from '../support/child-service.ts';
import { endOf, storedBodies } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService, testEnvironment } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: TestService;
let folder: string;

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

test('services with different databases may share a folder, and each removes only its own remnants', async () => {
  const client = await service.database.pool.connect();
  await client.query('BEGIN; LOCK TABLE public.counted');
  const ids: string[] = [];
  try {
    for (let n = 0; n < 5; n++)
      ids.push((await service.post(append, { data: [{ a: 1 }] }, { headers: later })).body.id);
    // The bodies of earlier tests may be removed meanwhile.
    const stored = async () =>
      (await storedBodies(folder)).filter((body) => ids.includes(basename(body, '.body'))).sort();
    const before = await stored();
    assert.equal(before.length, 5);
    const old = new Date(Date.now() - 24 * 3_600_000);
    for (const body of before) await utimes(body, old, old);
    // A service removes remnants when it starts.
    const other = await startTestService({ SPOOL_DIR: folder });
    try {
      const headers = { headers: later };
      const { id } = (await other.post('/table/t/upload/json', { data: [{ a: 1 }] }, headers)).body;
      assert.equal((await endOf(other, id)).state, 'committed');
    } finally {
      await other.stop();
    }
    assert.deepEqual(await stored(), before);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  for (const id of ids) assert.equal((await endOf(service, id)).state, 'committed');
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
  const { state, answer } = await endOf(service, failing);
  assert.deepEqual([state, answer.status, answer.body.code], ['failed', 503, 'database-unavailable']);
  const again = await begin();
  await interrupt();
  await client.query('ROLLBACK');
  client.release();
  assert.equal((await endOf(service, again)).state, 'committed');
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
  const stored = await storedBodies(own);
  for (const [n, damage] of damages.entries()) await damage(stored.find((path) => path.includes(ids[n]!))!);
  const next = await startChildService(service.database, { SPOOL_DIR: own });
  try {
    for (const id of ids) {
      const { state, answer } = await endOf(service, id);
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
    for (const id of accepted) assert.equal((await endOf(limited, id)).state, 'committed');
    assert.equal((await limited.rows('SELECT FROM public.t')).length, accepted.length);
    assert.equal((await limited.get(`/api/v1/loads/${answer.headers.get('load-id')}`)).body.state, 'failed');
  } finally {
    lock.release();
    await limited.stop();
    if (mounted.status === 0) spawnSync('umount', [small]);
    await rm(small, { recursive: true, force: true });
  }
});

test('an accepted load waits while a disk is full', async (context) => {
  const small = await mkdtemp(join(tmpdir(), 'tablewright-small-'));
  const mount = (options: string) =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', small]).status;
  if (mount('size=1m') !== 0) return context.skip('this process may not mount');
  const child = await startChildService(service.database, { SPOOL_DIR: folder, TMPDIR: small });
  try {
    const body = new FormData();
    body.append('file', new Blob([`a\n${'1234567\n'.repeat(500_000)}`]), 'full.csv');
    const path = '/table/full/upload/excel';
    const accepted = await child.request('POST', path, { body, headers: later });
    assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
    const { id } = accepted.body;
    const attempts = `SELECT FROM ${schema}.loads WHERE id = $1 AND state = 'queued' AND request ->> 'attempts' > '0'`;
    await until('an attempt', async () => (await service.rows(attempts, [id])).length > 0);
    assert.equal(mount('remount,size=100m'), 0);
    assert.equal((await endOf(service, id)).state, 'committed');
  } finally {
    await child.end('SIGKILL');
    spawnSync('umount', [small]);
    await rm(small, { recursive: true, force: true });
  }
});

test('an asynchronous upload is accepted and loaded also after somebody has removed the folder', async () => {
  await rm(folder, { recursive: true });
  const { status, body } = await service.post(append, { data: [{ a: 1 }] }, { headers: later });
  assert.equal(status, 202);
  assert.equal((await endOf(service, body.id)).state, 'committed');
});
