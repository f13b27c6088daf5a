/** The memory of the service while several long rows arrive: they wait for each other, and nothing else waits for them. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startChildWithDatabase } from '../support/child-service.ts';
import { openSocket } from '../support/raw-http.ts';
import {
  type ServiceClient,
  startTestService,
  type TestAnswer,
  type TestService,
} from '../support/service.ts';
import { until } from '../support/until.ts';

const mib = 2 ** 20;

/** A body of one row with three values of so many bytes. */
function longRow(bytes: number): string {
  return JSON.stringify({ data: [{ a: 'x'.repeat(bytes), b: 'y'.repeat(bytes), c: 'z'.repeat(bytes) }] });
}

async function upload(
  service: ServiceClient,
  subject: string,
  table: string,
  body: string,
): Promise<TestAnswer> {
  return service.request('POST', `/api/v1/table/${table}/upload/json?if_exists=replace`, {
    headers: { 'content-type': 'application/json' },
    token: await service.token({ subject }),
    body,
  });
}

test('six rows of 45 MB take less than 500 MiB together', async (context) => {
  const service = await startChildWithDatabase({ UPLOAD_WAIT_MS: '60000' });
  context.after(() => service.stop('SIGTERM'));
  const body = longRow(15_000_000);
  const uploads = ['a', 'a', 'a', 'b', 'b', 'c'].map((subject, n) => upload(service, subject, `t${n}`, body));
  for (const { status, body } of await Promise.all(uploads)) assert.equal(status, 201, JSON.stringify(body));
  const peak = service.peakMemoryBytes() ?? 0;
  context.diagnostic(`${Math.round(peak / mib)} MiB`);
  assert.ok(peak < 500 * mib, `the process took ${peak / mib} MiB`);
});

suite('a client that does not end a long row', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService({ METRICS_PORT: '0' });
  });
  after(() => service?.stop());

  async function count(what: 'running' | 'waiting'): Promise<number> {
    const text = await (await fetch(service.metricsUrl!)).text();
    return Number(new RegExp(`^tablewright_requests_${what}{line="longRows"} (\\d+)$`, 'm').exec(text)?.[1]);
  }
  const untilCount = (what: 'running' | 'waiting', wanted: number) =>
    until(`${wanted} ${what}`, async () => (await count(what)) === wanted);

  /** Sends a part of a row, after its definition. */
  async function sendPart(subject: string, name: string): Promise<Socket> {
    const head = [
      `POST /api/v1/table/${name}/upload/json HTTP/1.1`,
      'Host: test',
      'Content-Type: application/json',
      `Authorization: Bearer ${await service.token({ subject })}`,
      'Content-Length: 40000000',
    ];
    const socket = await openSocket(service.url);
    socket.on('error', () => {});
    const table = '"table": {"columns": [{"name": "a", "type": "text"}]}';
    socket.write(`${head.join('\r\n')}\r\n\r\n{${table}, "data": [{"a": "${'x'.repeat(12_000_000)}`);
    return socket;
  }

  test('lets its other long rows wait, and neither short rows nor the rows of others', async () => {
    const first = await sendPart('slow', 'first');
    await untilCount('running', 1);
    const second = await sendPart('slow', 'second');
    await untilCount('waiting', 1);
    const third = upload(service, 'slow', 'third', longRow(4_000_000));
    await untilCount('waiting', 2);
    const short = await upload(service, 'slow', 'short', '{"data": [{"a": 1}]}');
    assert.equal(short.status, 201, JSON.stringify(short.body));
    const other = await upload(service, 'quick', 'other', longRow(4_000_000));
    assert.equal(other.status, 201, JSON.stringify(other.body));
    // A client that leaves while it waits gives up its turn.
    second.destroy();
    await untilCount('waiting', 1);
    assert.equal(await count('running'), 1);
    first.destroy();
    const { status, body } = await third;
    assert.equal(status, 201, JSON.stringify(body));
    await untilCount('running', 0);
  });

  test('a long row with a problem gives its place back, and so do those after it', async () => {
    const table = {
      columns: [
        { name: 'a', type: 'text' },
        { name: 'b', type: 'int' },
      ],
    };
    const rows = [0, 1, 2].map((n) => ({ a: 'x'.repeat(12_000_000), b: n === 1 ? 'none' : n }));
    const refused = await upload(service, 'one', 'faulty', JSON.stringify({ table, data: rows }));
    assert.equal(refused.status, 422, JSON.stringify(refused.body));
    assert.equal(await count('running'), 0);
    rows[1]!.b = 1;
    const loaded = await upload(service, 'one', 'faulty', JSON.stringify({ table, data: rows }));
    assert.equal(loaded.status, 201, JSON.stringify(loaded.body));
    const stored = await service.rows('SELECT b, length(a) AS a FROM faulty ORDER BY b');
    assert.deepEqual(
      stored,
      [0, 1, 2].map((b) => ({ b, a: 12_000_000 })),
    );
  });

  test('a packed small append with a bad long row gives its place back', async () => {
    await service.rows('CREATE TABLE packed (a text, b int)');
    const append = (data: string) =>
      service.request('POST', '/table/packed/upload/json?if_exists=append', {
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: gzipSync(`{"data": [${data}]}`),
      });
    // The service knows the table from here on.
    assert.equal((await append('{"b": 1}')).status, 200);
    const long = Array.from({ length: 40_000 }, (_, n) => `${n % 7}${'x'.repeat(250)}`).join('');
    const bad = await append(`{"a": "${long}", "b": @}`);
    assert.equal(bad.status, 400, JSON.stringify(bad.body));
    assert.equal(await count('running'), 0);
  });

  test('rows of other types after a long row do not keep its place', async () => {
    const head = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => ({ a: n, t: 'x'.repeat(40) })));
    const socket = await openSocket(service.url);
    socket.on('error', () => {});
    const lines = [
      'POST /api/v1/table/changing/upload/json HTTP/1.1',
      'Host: test',
      'Content-Type: application/json',
      `Authorization: Bearer ${await service.token({ subject: 'changing' })}`,
      'Content-Length: 40000000',
    ];
    socket.write(
      `${lines.join('\r\n')}\r\n\r\n{"data": ${head.slice(0, -1)}, {"t": "${'y'.repeat(12_000_000)}`,
    );
    await untilCount('running', 1);
    let isAnswered = false;
    socket.on('data', () => {
      isAnswered = true;
    });
    socket.write('", "a": "text"}, {"a": 1}, {"a": 2}');
    await untilCount('running', 0);
    assert(!isAnswered);
    socket.destroy();
  });

  test('a client that does not read the rows with its corrections lets its other long rows wait', async () => {
    /** Asks for all rows as a file, and reads none of it. */
    async function ask(subject: string): Promise<Socket> {
      const body = longRow(6_000_000);
      const head = [
        'POST /api/v1/inspect/json HTTP/1.1',
        'Host: test',
        'Accept: application/x-ndjson',
        'Content-Type: application/json',
        'Connection: close',
        `Authorization: Bearer ${await service.token({ subject })}`,
        `Content-Length: ${body.length}`,
      ];
      const socket = await openSocket(service.url);
      socket.on('error', () => {});
      socket.pause();
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      return socket;
    }
    const first = await ask('unread');
    await untilCount('running', 1);
    const second = await ask('unread');
    await untilCount('waiting', 1);
    first.destroy();
    await untilCount('waiting', 0);
    let bytes = 0;
    for await (const chunk of second) bytes += chunk.length;
    assert.ok(bytes > 18_000_000, String(bytes));
    await untilCount('running', 0);
  });
});
