/** Asynchronous uploads: they are answered when the body is stored, and are loaded later. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { endOf, storedBodies } from '../support/load-ends.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
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
    const { state, answer: kept } = await endOf(service, id);
    assert.deepEqual([state, kept.status, kept.body.load.rows], ['committed', 201, 2]);
    assert.deepEqual(await service.rows('SELECT a::int FROM public.later ORDER BY a'), [{ a: 1 }, { a: 2 }]);
    await until('the body to be removed', async () => (await storedBodies(folder)).length === 0);
  });

  test('an asynchronous upload may be a workbook', async () => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(sheetOf([['a'], [7]]))]), 'a.xlsx');
    const answer = await service.request('POST', '/table/sheet/upload/excel', { body: form, headers: later });
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
    assert.equal((await endOf(service, answer.body.id)).state, 'committed');
  });

  test('an asynchronous upload whose data is wrong is refused later, and one whose query or token is wrong at once', async () => {
    const table = { columns: [{ name: 'a', type: 'integer' }] };
    const path = '/table/wrong/upload/json';
    const answer = await service.post(path, { table, data: [{ a: 'x' }] }, { headers: later });
    assert.equal(answer.status, 202);
    const { state, answer: kept } = await endOf(service, answer.body.id);
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
    const { state, answer: kept } = await endOf(service, answer.body.id);
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
    assert.equal((await endOf(service, answer.body.id)).state, 'committed');
    assert.equal((await service.get('/api/v1/loads', { token })).body.loads.length, 1);
  });

  test('an asynchronous upload with a key is accepted once', async () => {
    const headers = { ...later, 'idempotency-key': 'later' };
    const first = await service.post(append, { data: [{ a: 1 }] }, { headers });
    const again = await service.post(append, { data: [{ a: 1 }] }, { headers });
    assert.deepEqual([again.status, again.body], [202, first.body]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal((await endOf(service, first.body.id)).state, 'committed');
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
      await endOf(service, answer.headers.get('load-id')!);
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
    assert.equal((await endOf(service, ids[5]!)).state, 'cancelled');
    assert.equal((await service.request('POST', `/api/v1/loads/${ids[0]}/cancel`)).status, 202);
    assert.equal((await endOf(service, ids[0]!)).state, 'cancelled');
    await client.query('ROLLBACK');
    client.release();
    for (const id of ids.slice(1, 5)) assert.equal((await endOf(service, id)).state, 'committed');
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
    const all = await busy.token({ scope: 'load:read-all' });
    for (const id of ids) await endOf(busy, id, all);
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

test('the file of a load that was cancelled while it waited is removed, because no limit counts it any more', async () => {
  await until('the file to be removed', async () => !(await storedBodies(folder)).join().includes(cancelled));
});
