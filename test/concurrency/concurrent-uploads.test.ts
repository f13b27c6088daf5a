/**
 * Many uploads at the same time all succeed, other requests are served meanwhile, and memory remains small. One upload too many
 * is refused.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { sized } from '../support/sized.ts';
import { startSteadyClient } from '../support/steady-client.ts';
import { until } from '../support/until.ts';
import { holdUpload, openUpload } from '../support/uploads.ts';

const uploads = 8;
/** UPLOAD_BYTES=200000000 gives the figures of docs/monitoring.md. */
const uploadBytes = Number(process.env.UPLOAD_BYTES ?? sized(8, 16) * 2 ** 20);

suite('eight uploads at once', () => {
  let service: ChildWithDatabase;

  before(async () => {
    // The limits of requests are on by default. The metrics must not delay requests either.
    service = await startChildWithDatabase({
      MAX_UPLOADS_PER_SUBJECT: String(uploads),
      METRICS_PORT: '0',
    });
  });
  after(async () => {
    await service?.stop('SIGKILL');
  });

  // The body is created once, so that the test itself does not keep the processor busy.
  const part = Buffer.from(
    Array.from(
      { length: 1000 },
      (_, n) =>
        `{"id":${n},"sku":"${String(n).padStart(8, '0')}","name":"${'name '.repeat(8)}${n}","price":${n}.25,"added":"2026-11-21T10:11:12Z","tags":["a","b"],"active":${n % 2 === 0}}`,
    ).join(','),
  );
  const parts = Math.ceil(uploadBytes / part.length);
  const rows = parts * 1000;
  const definition = {
    columns: [
      { name: 'id', type: 'integer' },
      { name: 'sku', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'price', type: 'numeric(10,2)' },
      { name: 'added', type: 'timestamptz' },
      { name: 'tags', type: 'text[]' },
      { name: 'active', type: 'boolean' },
    ],
  };

  function upload(name: string, table: object | undefined): Promise<TestAnswer> {
    async function* body() {
      yield Buffer.from(table ? `{"table":${JSON.stringify(table)},"data":[` : '{"data":[');
      for (let n = 0; n < parts; n += 1) {
        if (n > 0) yield Buffer.from(',');
        // A copy, because a sent buffer is transferred.
        yield Buffer.from(part);
      }
      yield Buffer.from(']}');
    }
    return service.request('POST', `/table/${name}/upload/json`, {
      headers: { 'content-type': 'application/json' },
      body: ReadableStream.from(body()),
    });
  }

  test('all are loaded, with and without definitions, other requests are answered, and memory stays small', async (context) => {
    await service.post('/table/described/upload/json', { data: [{ a: 1 }] });
    const described = new URL('/api/v1/table/described', service.url);
    const describing = startSteadyClient(described, await service.token(), 10, service.child.pid!);
    await describing.ready;
    const since = Date.now();
    const answers = await Promise.all(
      Array.from({ length: uploads }, (_, n) => upload(`u${n}`, n % 2 === 0 ? definition : undefined)),
    );
    const seconds = (Date.now() - since) / 1000;
    const latencies = await describing.stop(since);
    for (const { status, body } of answers) {
      assert.equal(status, 201, JSON.stringify(body));
      assert.equal(body.load.rows, rows);
    }
    for (let n = 0; n < uploads; n += 1) {
      const counted = await service.database.pool.query(`SELECT count(*)::int AS rows FROM u${n}`);
      assert.deepEqual(counted.rows, [{ rows }]);
    }
    const at = (share: number) => latencies[Math.floor(latencies.length * share)]!;
    const peak = service.peakMemoryBytes();
    context.diagnostic(
      `${((uploads * uploadBytes) / 1e6 / seconds).toFixed(0)} MB/s; ${latencies.length} describes: median ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms; peak ${Math.round((peak ?? 0) / 2 ** 20)} MiB`,
    );
    // A fast machine needs little time for the uploads, so there may be few requests.
    assert.ok(latencies.length > 0);
    assert.ok(at(0.5) < 100, `median ${at(0.5)} ms`);
    assert.ok(at(0.99) < 500, `p99 ${at(0.99)} ms`);
    if (peak !== undefined) assert.ok(peak < 260 * 2 ** 20, `${peak} bytes`);
  });
});

suite('more uploads than MAX_UPLOADS', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({
      MAX_UPLOADS: '2',
      MAX_UPLOADS_PER_SUBJECT: '2',
      UPLOAD_WAIT_MS: '0',
    });
    await service.rows('CREATE TABLE kept (a int PRIMARY KEY); INSERT INTO kept VALUES (1)');
  });
  after(() => service.stop());

  /** Begins an upload and sends no more bytes. */
  async function hold(by = service) {
    const request = await holdUpload(by, '/table/held/upload/json?dry_run=true');
    // A request that was admitted later may be answered now. This one has its place by then.
    await by.get('/table/kept');
    return request;
  }

  const post = (by = service) => by.post('/table/new/upload/json?dry_run=true', { data: [{ a: 1 }] });

  /** Checks that all places are free again, by running as many uploads as there are places. */
  async function assertFree(by = service): Promise<void> {
    await until('all places to be given back', async () => {
      const answers = await Promise.all([post(by), post(by)]);
      return answers.every(({ status }) => status === 200);
    });
  }

  test('more uploads than MAX_UPLOADS are answered with 429 before their body is read, both JSON and workbooks', async () => {
    const held = [await hold(), await hold()];
    const answer = await post();
    assertProblem(answer, 429, 'too-many-uploads');
    assert.match(answer.headers.get('retry-after')!, /^[1-9]\d*$/);
    for (const path of ['/table/new/upload/excel', '/api/v1/inspect/excel']) {
      assertProblem(await service.upload(path, Buffer.from('PK')), 429, 'too-many-uploads');
    }
    const request = await openUpload(service, '/table/new/upload/json');
    request.flushHeaders();
    const [response] = await once(request, 'response');
    assert.equal(response.statusCode, 429);
    assert.equal(((await json(response)) as { code: string }).code, 'too-many-uploads');
    request.destroy();

    assertProblem(await service.post('/table/new/upload/json', {}, { token: null }), 401, 'missing-token');
    assert.equal((await service.get('/table/kept')).status, 200, 'what is no upload is served');
    const [first, second] = held;
    first!.end(']}');
    second!.end(',{"a":2}]}');
    const statuses = await Promise.all(
      held.map(async (one) => ((await once(one, 'response')) as [{ statusCode: number }])[0].statusCode),
    );
    assert.deepEqual(statuses, [200, 200]);
    await assertFree();
  });

  for (const [title, leave] of [
    ['that break the connection', (request: Awaited<ReturnType<typeof hold>>) => request.destroy()],
    ['that are no JSON', (request: Awaited<ReturnType<typeof hold>>) => request.end('?')],
  ] as const) {
    test(`uploads ${title} release their place`, async () => {
      const held = [await hold(), await hold()];
      assert.equal((await post()).status, 429);
      for (const request of held) leave(request);
      await assertFree();
      for (const request of held) request.destroy();
    });
  }

  test('uploads that stop sending release their place', async (t) => {
    const impatient = await startTestService({
      MAX_UPLOADS: '2',
      MAX_UPLOADS_PER_SUBJECT: '2',
      BODY_IDLE_TIMEOUT_MS: '1000',
    });
    t.after(() => impatient.stop());
    const held = [await hold(impatient), await hold(impatient)];
    await assertFree(impatient);
    for (const request of held) request.destroy();
  });

  test('uploads that are refused release their place', async () => {
    for (let round = 0; round < 5; round += 1) {
      const answers = [
        await service.post('/table/kept/upload/json', { data: [{ a: 1 }] }),
        await service.post('/table/kept/upload/json?if_exists=append', { data: [{ a: 1 }] }),
        await service.post('/table/none/upload/json?schema=nowhere', { data: [{ a: 1 }] }),
        await service.post('/table/none/upload/json', {}),
        await service.upload('/table/none/upload/excel', Buffer.from('PK\x03\x04')),
        await service.request('POST', '/table/none/upload/excel', {
          headers: { 'content-type': 'multipart/form-data' },
          body: 'x',
        }),
      ];
      for (const { status } of answers)
        assert.ok(status >= 400 && status < 500 && status !== 429, `${status}`);
    }
    await assertFree();
  });
});
