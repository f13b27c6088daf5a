/** Requests that wait for each other: which ones wait, how long, and which ones are served meanwhile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { untilWaitsForLock } from '../support/locks.ts';
import { assertProblem } from '../support/problem.ts';
import { startTestService, type TestAnswer, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { holdUpload } from '../support/uploads.ts';

const definition = { table: { columns: [{ name: 'a', type: 'integer' }] } };

/** Starts an upload that has a place and sends no more bytes. */
async function hold(service: TestService, subject: string) {
  const authorization = `Bearer ${await service.token({ subject })}`;
  return holdUpload(service, '/table/held/upload/json?dry_run=true', { authorization });
}

/** Waits until so many uploads wait for a place, as the metrics count them. */
async function untilWaiting(service: TestService, count: number): Promise<void> {
  await until(`${count} uploads to wait`, async () => {
    const metrics = await (await fetch(service.metricsUrl!)).text();
    return metrics.includes(`tablewright_requests_waiting{line="uploads"} ${count}\n`);
  });
}

async function upload(service: TestService, subject: string): Promise<TestAnswer> {
  const token = await service.token({ subject });
  return service.post('/table/new/upload/json?dry_run=true', { data: [{ a: 1 }] }, { token });
}

suite('uploads', () => {
  test('uploads wait for a place and are served in the order of arrival', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '1',
      UPLOAD_WAIT_MS: '60000',
      METRICS_PORT: '0',
    });
    context.after(() => service.stop());
    const held = await hold(service, 'first');
    const served: number[] = [];
    const answers: Promise<TestAnswer>[] = [];
    for (let n = 0; n < 3; n += 1) {
      const answer = upload(service, `client ${n}`);
      answers.push(answer);
      answer.then(() => served.push(n));
      await untilWaiting(service, n + 1);
    }
    assert.deepEqual(served, []);
    held.end(']}');
    for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
    assert.deepEqual(served, [0, 1, 2]);
  });

  test('an upload is refused after the longest wait, or if the line is full', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '1',
      MAX_WAITING_UPLOADS: '1',
      UPLOAD_WAIT_MS: '500',
    });
    context.after(() => service.stop());
    const held = await hold(service, 'first');
    const answers = await Promise.all([upload(service, 'a'), upload(service, 'b')]);
    for (const answer of answers) {
      assertProblem(answer, 429, 'too-many-uploads');
      assert.match(answer.headers.get('retry-after')!, /^[1-9]\d*$/);
      assert.equal(
        answer.headers.get('ratelimit-policy'),
        '"uploads";q=1;qu="concurrent-requests", "uploads-per-subject";q=1;qu="concurrent-requests"',
      );
      assert.equal(answer.headers.get('ratelimit'), `"uploads";r=0;t=${answer.headers.get('retry-after')}`);
      assert.equal(answer.headers.get('load-id'), null);
    }
    // One of them waited long enough to be recorded as a load, which it never became.
    const loads = await service.rows(
      "SELECT state FROM tablewright_service.loads WHERE table_name = 'new' ORDER BY state",
    );
    assert.deepEqual(loads, []);
    held.destroy();
  });

  test('a small append does not wait for other uploads', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '1',
      MAX_UPLOADS_PER_SUBJECT: '1',
      UPLOAD_WAIT_MS: '0',
    });
    context.after(() => service.stop());
    const held = await hold(service, 'large');
    const token = await service.token({ subject: 'large' });
    const path = '/table/small/upload/json?if_exists=append';
    for (const status of [201, 200])
      assert.equal((await service.post(path, { data: [{ a: 1 }] }, { token })).status, status);
    const large = { data: [{ a: 'x'.repeat(200_000) }] };
    assertProblem(await service.post(path, large, { token }), 429, 'too-many-uploads');
    held.destroy();
  });

  test('uploads of one token subject do not use the places of others', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '2',
      MAX_UPLOADS_PER_SUBJECT: '1',
      UPLOAD_WAIT_MS: '500',
    });
    context.after(() => service.stop());
    const held = await hold(service, 'greedy');
    // One after the other: if both places were in use at the end of the wait, the other limit would be named.
    const greedy = await upload(service, 'greedy');
    const other = await upload(service, 'other');
    assert.match(assertProblem(greedy, 429, 'too-many-uploads').detail, /MAX_UPLOADS_PER_SUBJECT/);
    assert.match(greedy.headers.get('ratelimit')!, /^"uploads-per-subject";r=0;t=/);
    assert.equal(other.status, 200);
    held.destroy();
  });

  test('uploads of a subject that fills the line make room for other subjects, and a free place goes to the subject with fewer uploads', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '3',
      MAX_UPLOADS_PER_SUBJECT: '2',
      MAX_WAITING_UPLOADS: '2',
      UPLOAD_WAIT_MS: '60000',
      METRICS_PORT: '0',
    });
    context.after(() => service.stop());
    const held = [await hold(service, 'greedy'), await hold(service, 'greedy'), await hold(service, 'third')];
    const order: string[] = [];
    const send = async (subject: string) => {
      const { status } = await upload(service, subject);
      order.push(`${subject} ${status}`);
    };
    const waiting: Promise<void>[] = [];
    for (const count of [1, 2]) {
      waiting.push(send('greedy'));
      await untilWaiting(service, count);
    }
    waiting.push(send('other'));
    await until('the newest upload of the greedy subject to be refused', () => order.length === 1);
    assert.deepEqual(order, ['greedy 429']);
    held[0]!.end(']}');
    await Promise.all(waiting);
    assert.deepEqual(order.slice(1), ['other 200', 'greedy 200']);
    for (const request of held) request.destroy();
  });

  test('uploads that are slow keep their place until others wait for it', async (context) => {
    const service = await startTestService({
      MAX_UPLOADS: '1',
      UPLOAD_WAIT_MS: '60000',
      BODY_IDLE_TIMEOUT_MS: '1000',
      MIN_BODY_BYTES_PER_SECOND: '1',
    });
    context.after(() => service.stop());
    const slow = await hold(service, 'slow');
    const answered = once(slow, 'response');
    let isAnswered = false;
    answered.then(() => {
      isAnswered = true;
    });
    let sent = 0;
    const sending = setInterval(() => {
      slow.write(',{"a":2}');
      sent += 1;
    }, 50);
    context.after(() => clearInterval(sending));
    // These pieces take longer than BODY_IDLE_TIMEOUT_MS twice.
    await until('the pieces of the slow upload', () => sent >= 50);
    assert.equal(isAnswered, false, 'nobody waits for its place');
    assert.equal((await upload(service, 'other')).status, 200);
    const [response] = await answered;
    assert.equal(response.statusCode, 408);
    slow.destroy();
  });
});

suite('creates', () => {
  test('creates of a subject that fills the line make room for other subjects', async (context) => {
    const service = await startTestService({ LOCK_TIMEOUT_MS: '60000', DATABASE_POOL_SIZE: '12' });
    context.after(() => service.stop());
    await service.rows('CREATE TABLE locked (a int PRIMARY KEY)');
    const other = await service.database.pool.connect();
    await other.query('BEGIN; LOCK TABLE locked');
    const greedy = await service.token({ subject: 'greedy' });
    const constraints = {
      foreign_keys: [{ name: '', column: 'a', reference_table: 'locked', reference_column: 'a' }],
    };
    const table = { ...definition.table, constraints };
    const refused: TestAnswer[] = [];
    const noteRefused = (answer: TestAnswer) => {
      if (answer.status !== 201) refused.push(answer);
    };
    // One place and 100 in the line.
    const creates = Array.from({ length: 104 }, (_, n) =>
      service.post(`/table/greedy${n}`, { table }, { token: greedy }).then(noteRefused),
    );
    try {
      await until('the line to be full', () => refused.length === 3);
      const token = await service.token({ subject: 'modest' });
      const modest = service.post('/table/modest', definition, { token });
      await until('the newest create of the greedy subject to be refused', () => refused.length === 4);
      await other.query('ROLLBACK');
      assert.equal((await modest).status, 201);
      for (const answer of refused) {
        assertProblem(answer, 429, 'too-many-requests');
        assert.equal(answer.headers.get('retry-after'), '5');
      }
    } finally {
      other.release(true);
      await Promise.all(creates);
    }
  });
});

suite('requests that wait for a lock', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ LOCK_TIMEOUT_MS: '60000', DATABASE_POOL_SIZE: '12' });
    await service.rows('CREATE TABLE kept (a int); CREATE TABLE locked (a int PRIMARY KEY)');
  });
  after(() => service.stop());

  test('requests that wait for a lock do not delay descriptions, uploads or health checks', async () => {
    const other = await service.database.pool.connect();
    await other.query('BEGIN; LOCK TABLE locked');
    const gone = new AbortController();
    const table = {
      columns: [{ name: 'a', type: 'integer' }],
      constraints: {
        foreign_keys: [{ name: '', column: 'a', reference_table: 'locked', reference_column: 'a' }],
      },
    };
    const creates = Array.from({ length: 40 }, (_, n) =>
      service.post(`/table/refers${n}`, { table }, { signal: gone.signal }).catch(() => undefined),
    );
    await untilWaitsForLock(service.database);
    for (const answer of [
      await service.get('/table/kept'),
      await service.post('/table/kept/upload/json?if_exists=append', { data: [{ a: 1 }] }),
      await service.get('/readyz'),
    ]) {
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    }
    gone.abort();
    await other.query('ROLLBACK');
    other.release();
    await Promise.all(creates);
    assert.equal((await service.post('/table/afterwards', definition)).status, 201);
  });
});

suite('a database that hangs', () => {
  /** A proxy that passes everything on until the test makes it hang. */
  let proxy: Server;
  let isHanging = false;
  let service: TestService;
  const sockets = new Set<Socket>();

  before(async () => {
    service = await startTestService({ STATEMENT_TIMEOUT_MS: '1000' }, async (database) => {
      const target = new URL(database.serviceUrl);
      const [port, host] = [Number(target.port), target.hostname];
      proxy = createServer((near) => {
        const far = connect(port, host);
        for (const [from, to] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(from);
          from.on('data', (data: Buffer) => isHanging || to.write(data));
          from.on('close', () => to.destroy());
          from.on('error', () => {});
        }
      });
      proxy.listen(0, '127.0.0.1');
      await once(proxy, 'listening');
      target.hostname = '127.0.0.1';
      target.port = String((proxy.address() as { port: number }).port);
      return target.href;
    });
  });
  after(async () => {
    isHanging = false;
    for (const socket of sockets) socket.destroy();
    await service?.stop();
    proxy.close();
  });

  test('requests to a database that hangs are answered with 503, by /readyz soon and by others after their time limit, and later everything works again', async () => {
    assert.equal((await service.get('/readyz')).status, 200);
    assert.equal((await service.post('/table/kept', definition)).status, 201);
    isHanging = true;
    const before = performance.now();
    const ready = service.get('/readyz');
    const described = service.get('/table/kept');
    assertProblem(await ready, 503, 'database-unavailable');
    const readyMs = performance.now() - before;
    assert.ok(readyMs < 10_000, `/readyz took ${readyMs} ms`);
    assertProblem(await described, 503, 'database-unavailable');
    isHanging = false;
    assert.equal((await service.get('/readyz')).status, 200);
    assert.equal((await service.get('/table/kept')).status, 200);
  });
});
