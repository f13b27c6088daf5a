/** The number of connections that the service allows, and its answers when it has no file descriptor left. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { utils, write } from '@e965/xlsx';
import { readConfig } from '../../src/core/settings/config.ts';
import { fittingConnections } from '../../src/service/http/wire/connections.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { assertProblem } from '../support/problem.ts';
import { beginUpload, openSocket, parseAnswer } from '../support/raw-http.ts';
import { testEnvironment } from '../support/service.ts';
import { until } from '../support/until.ts';

const canLimitFiles = spawnSync('prlimit', ['--version']).status === 0;

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database?.drop());

/** Sends a request on a new connection. */
async function ask(service: ChildService, path: string) {
  const socket = await openSocket(service.url);
  socket.on('error', () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return parseAnswer(data.toString());
}

suite('MAX_CONNECTIONS', () => {
  let service: ChildService;
  let metricsPort: number;
  before(async () => {
    metricsPort = await freePort();
    service = await startChildService(database, {
      METRICS_PORT: String(metricsPort),
      MAX_CONNECTIONS: '20',
      MAX_UPLOADS: '1',
      UPLOAD_WAIT_MS: '60000',
    });
  });
  after(() => service?.end('SIGKILL'));

  test('a new connection replaces an idle one', async () => {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => openSocket(service.url)));
    const closed = once(sockets[0]!.resume(), 'close');
    assert.equal((await ask(service, '/healthz')).status, 200);
    await closed;
    assert.equal((await ask(service, '/api/v1')).status, 404);
    for (const socket of sockets) socket.destroy();
  });

  test('a request is refused if all connections are in use, but health checks are answered', async () => {
    const token = await service.token();
    const first = await beginUpload(service.url, '/busy/upload/json', token, 'application/json');
    // These uploads wait for the only place.
    const waiting = await Promise.all(
      Array.from({ length: 19 }, async () => {
        const socket = await openSocket(service.url);
        socket.write(
          `POST /api/v1/table/busy/upload/json HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
        );
        return socket;
      }),
    );
    // Until its request has arrived, a connection is idle, and a new one would replace it.
    await until('the uploads to wait', async () =>
      /requests_waiting\{line="uploads"\} 19\n/.test(
        await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text(),
      ),
    );
    const refused = await ask(service, '/api/v1/table/a');
    assertProblem(refused, 503, 'service-busy');
    assert.match(refused.headers.get('retry-after')!, /^[1-9]\d*$/);
    assert.equal(refused.headers.get('connection'), 'close');
    assert.equal((await ask(service, '/healthz')).status, 200);
    for (const socket of [first, ...waiting]) socket.destroy();
    await until('a request to be served again', async () => (await ask(service, '/api/v1')).status === 404);
  });
});

suite('a process that may open 300 files', () => {
  let service: ChildService;
  const silent: Socket[] = [];
  before(async () => {
    service = await startChildService(database, {}, 300);
  });
  after(async () => {
    for (const socket of silent) socket.destroy();
    await service?.end('SIGKILL');
  });

  test('a process that may open 300 files allows fewer connections, logs it, and does not run out of files', async () => {
    assert.match(service.output(), /"openFiles":300,"maxConnections":\d+/);
    await service.post('/table/kept', { table: { columns: [{ name: 'a', type: 'text' }] } });
    for (let n = 0; n < 400; n += 1) {
      const socket = await openSocket(service.url);
      socket.on('error', () => {});
      silent.push(socket);
    }
    const rows = Array.from({ length: 20_000 }, (_, n) => ({ a: `a value that is not short ${n}` }));
    for (let round = 0; round < 3; round += 1) {
      // The types are inferred, so the body is kept in a file.
      const answer = await service.post('/table/spooled/upload/json?if_exists=replace', { data: rows });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
    }
    assert.doesNotMatch(service.output(), /EMFILE/);
  });
});

suite('a process that has no file descriptor left', {
  skip: !canLimitFiles && 'this machine has no prlimit',
}, () => {
  let service: ChildService;
  before(async () => {
    service = await startChildService(database);
    await service.post('/table/kept', { table: { columns: [{ name: 'a', type: 'text' }] } });
  });
  after(() => service?.end('SIGKILL'));

  const rows = JSON.stringify({
    data: Array.from({ length: 20_000 }, (_, n) => ({ a: `a long value ${n}` })),
  });
  const xls = write(
    { SheetNames: ['a'], Sheets: { a: utils.aoa_to_sheet([['a'], [1]]) } },
    { type: 'buffer', bookType: 'biff8' },
  );
  const json = (body: string) => ({ type: 'application/json', body: Buffer.from(body) });
  const requests: [string, string, { type: string; body: Buffer }][] = [
    ['an upload that is kept in a file', 'POST /api/v1/table/none/upload/json', json(rows)],
    ['an .xls workbook', 'POST /api/v1/table/legacy/upload/excel', multipart(xls)],
  ];
  for (const [title, line, content] of requests) {
    test(`a process that has no file descriptor left answers ${title} with 503 and Retry-After, and serves it when it has some again`, async () => {
      const head = `${line} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${await service.token()}\r\n`;
      const request = Buffer.concat([
        Buffer.from(`${head}Content-Type: ${content.type}\r\nContent-Length: ${content.body.length}\r\n\r\n`),
        content.body,
      ]);
      const send = async (socket: Socket) => {
        socket.write(request);
        const [data] = (await once(socket, 'data', { signal: AbortSignal.timeout(30_000) })) as [Buffer];
        return data.toString();
      };
      const sockets = [await openSocket(service.url), await openSocket(service.url)];
      await service.get('/table/kept');
      const { pid } = service.child;
      limitFiles(pid!, lowestFree(readdirSync(`/proc/${pid}/fd`).map(Number)));
      const refused = parseAnswer(await send(sockets[0]!));
      limitFiles(pid!, 1000);
      assertProblem(refused, 503, 'service-busy');
      assert.match(refused.headers.get('retry-after')!, /^[1-9]\d*$/);
      assert.match(await send(sockets[1]!), /^HTTP\/1\.1 20[01] /);
      for (const socket of sockets) socket.destroy();
    });
  }
});

function multipart(file: Buffer): { type: string; body: Buffer } {
  const head = '--part\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  return {
    type: 'multipart/form-data; boundary=part',
    body: Buffer.concat([Buffer.from(head), file, Buffer.from('\r\n--part--\r\n')]),
  };
}

/**
 * Returns the lowest number that is free. The limit applies to the numbers of file descriptors, and a new descriptor gets the
 * lowest free number.
 */
function lowestFree(taken: number[]): number {
  for (let number = 0; ; number += 1) if (!taken.includes(number)) return number;
}

/** Sets the number of files that a running process may have open. */
function limitFiles(pid: number, count: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]);
}

test('the number of connections leaves files for uploads and the database', () => {
  const config = readConfig(testEnvironment(database, '/tmp'));
  assert.equal(fittingConnections(config, undefined), 1000);
  assert.equal(fittingConnections(config, 1_000_000), 1000);
  const fitting = fittingConnections(config, 300);
  assert.ok(fitting > 50 && fitting < 200, String(fitting));
  assert.equal(fittingConnections(config, 10), 1);
});
