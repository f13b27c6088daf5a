/** Bodies in very many chunks: what they may cost the service, and that ordinary ones are read correctly. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type ChildWithDatabase, startChildWithDatabase } from '../support/child-service.ts';
import { assertProblem } from '../support/problem.ts';
import { chunk, openSocket, parseAnswer, untilRead } from '../support/raw-http.ts';

const clients = 8;

let service: ChildWithDatabase;

before(async () => {
  service = await startChildWithDatabase();
});
after(async () => {
  await service?.stop('SIGKILL');
});

suite('eight clients that send one byte per chunk', () => {
  // This is 1.2 MB on the network. Each chunk that reaches JavaScript would take some microseconds.
  const bytes = Buffer.from('1\r\n \r\n'.repeat(200_000));
  const kinds: [string, string, () => Promise<string>, string][] = [
    ['with a token', 'POST /api/v1/table/tiny/upload/json', () => service.token(), '400|429'],
    ['with a token, of a definition', 'POST /api/v1/table/tiny', () => service.token(), '400|429'],
    ['without a token', 'POST /api/v1/table/tiny/upload/json', async () => '', '400|401'],
    ['as the body of a GET', 'GET /healthz', async () => '', '200|400'],
    ['to an unknown path', 'POST /nowhere', async () => '', '400|404'],
  ];

  for (const [title, line, token, statuses] of kinds) {
    test(`${title}, take little processor time and no memory, again and again`, async (context) => {
      const head =
        `${line} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n` +
        `Authorization: Bearer ${await token()}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const rounds = 3;
      await sendUntilClosed(head, bytes);
      service.resetPeakMemory();
      const memoryBefore = service.peakMemoryBytes() ?? 0;
      const before = service.processorMs() ?? 0;
      const answers: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const sent = Array.from({ length: clients }, () => sendUntilClosed(head, bytes));
        answers.push(...(await Promise.all(sent)));
      }
      const each = ((service.processorMs() ?? 0) - before) / (rounds * clients);
      const grown = (service.peakMemoryBytes() ?? 0) - memoryBefore;
      context.diagnostic(
        `${each.toFixed(1)} ms of processor time per client, ${Math.round(grown / 2 ** 20)} MiB`,
      );
      assert.ok(each < 100, `${each} ms of processor time per client`);
      assert.ok(grown < 64 * 2 ** 20, `${grown} bytes`);
      for (const answer of answers) {
        // If the connection is closed while the client sends, the client may lose the answer.
        if (answer !== '') assert.match(answer, new RegExp(`^HTTP/1.1 (${statuses}) `));
      }
    });
  }

  test('clients that send chunks just long enough to be joined take a part of the processor, and others are answered', async (context) => {
    const head = `POST /api/v1/table/tiny/upload/json HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAuthorization: Bearer ${await service.token()}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const sockets: Socket[] = [];
    for (let n = 0; n < clients; n++) {
      const socket = await openSocket(service.url);
      sockets.push(socket);
      socket.on('error', () => {});
      socket.write(head + '4\r\n    \r\n'.repeat(400_000));
    }
    const [since, before] = [performance.now(), service.processorMs() ?? 0];
    let answered = 0;
    while (performance.now() - since < 5000) {
      assert.equal((await service.get('/healthz')).status, 200);
      answered++;
      await sleep(20);
    }
    const share = ((service.processorMs() ?? 0) - before) / (performance.now() - since);
    context.diagnostic(`${Math.round(share * 100)} % of the processor, ${answered} other answers`);
    for (const socket of sockets) socket.destroy();
    assert.ok(share < 0.6, `${share} of the processor`);
  });

  test('eight clients that send one byte per chunk get the reason in the answer', async () => {
    const socket = await openSocket(service.url);
    const head = `POST /api/v1/table/tiny HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nAuthorization: Bearer ${await service.token()}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const received: Buffer[] = [];
    socket.on('data', (data: Buffer) => received.push(data));
    socket.write(head + '1\r\n \r\n'.repeat(200_000));
    const [hadError] = await once(socket, 'close');
    assert.equal(hadError, false, 'the connection was reset');
    const { detail } = assertProblem(parseAnswer(Buffer.concat(received).toString()), 400, 'invalid-request');
    assert.match(detail, /too many tiny chunks/);
    assert.equal((await service.get('/healthz')).status, 200);
    assert.doesNotMatch(service.output(), /"level":50|Promise errored/);
  });
});

for (const path of ['/table/tiny/upload/excel', '/api/v1/loads']) {
  test(`a form of a million parts for ${path} is refused after the first ones`, async (context) => {
    // The packed body has 14 KB. Each part that the parser leaves out would take some microseconds.
    const body = gzipSync('--b\r\n\r\n\r\n'.repeat(1_000_000));
    const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-encoding': 'gzip' };
    const before = service.processorMs() ?? 0;
    const answer = await service.request('POST', path, { headers, body });
    const taken = (service.processorMs() ?? 0) - before;
    context.diagnostic(`${taken.toFixed(0)} ms of processor time`);
    assertProblem(answer, 413, 'limit-exceeded');
    assert.ok(taken < 500, `${taken} ms of processor time`);
  });
}

suite('ordinary bodies in small chunks', () => {
  async function answerTo(
    path: string,
    send: (write: (text: string) => void, socket: Socket) => Promise<void>,
  ) {
    const socket = await openSocket(service.url);
    const received: Buffer[] = [];
    socket.on('data', (data: Buffer) => received.push(data));
    socket.write(
      `POST /api/v1/table/${path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nConnection: close\r\nAuthorization: Bearer ${await service.token()}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    await send((text) => socket.write(chunk(text)), socket);
    socket.write('0\r\n\r\n');
    await once(socket, 'close');
    return parseAnswer(Buffer.concat(received).toString());
  }

  test('a client that sends one token at a time, with pauses, is served', async () => {
    const text = JSON.stringify({ data: Array.from({ length: 500 }, (_, a) => ({ a })) });
    const tokens = text.match(/"\w+"|\d+|./g)!;
    const answer = await answerTo('by_token/upload/json', async (write, socket) => {
      for (const [n, token] of tokens.entries()) {
        write(token);
        if (n % 500 === 499) await untilRead(socket);
      }
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, 500);
  });

  test('short lines that are sent one by one, faster than they are read, are joined', async () => {
    const socket = await openSocket(service.url);
    const received: Buffer[] = [];
    socket.on('data', (data: Buffer) => received.push(data));
    const head = `POST /api/v1/table/by_line/upload/excel HTTP/1.1\r\nHost: test\r\nContent-Type: multipart/form-data; boundary=b\r\nConnection: close\r\nAuthorization: Bearer ${await service.token()}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const lines = Array.from({ length: 60_000 }, (_, n) => chunk(`${n}\n`)).join('');
    const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nnumber\n';
    socket.write(`${head}${chunk(part)}${lines}${chunk('\r\n--b--\r\n')}0\r\n\r\n`);
    await once(socket, 'close');
    const answer = parseAnswer(Buffer.concat(received).toString());
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal(answer.body.load.rows, 60_000);
  });

  test('short and long rows that are sent one by one arrive in order', async () => {
    const long = 'x'.repeat(3000);
    const answer = await answerTo('by_row/upload/json', async (write) => {
      write('{"data":[');
      for (let n = 0; n < 30_000; n += 1)
        write(`${n === 0 ? '' : ','}{"n":${n},"text":"${n % 100 === 0 ? long : 'short, but not tiny'}"}`);
      write(']}');
    });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { rows } = await service.database.pool.query(
      `SELECT count(*)::int AS rows, bool_and(n = place) AS ordered, sum(length(text))::int AS length
       FROM (SELECT n, text, row_number() OVER (ORDER BY ctid) - 1 AS place FROM by_row) AS numbered`,
    );
    assert.deepEqual(rows, [{ rows: 30_000, ordered: true, length: 300 * 3000 + 29_700 * 19 }]);
  });
});

/** Sends until the service closes the connection or everything is sent. Returns the first bytes of the answer. */
async function sendUntilClosed(head: string, bytes: Buffer): Promise<string> {
  const socket = await openSocket(service.url);
  const received: Buffer[] = [];
  socket.on('error', () => {});
  socket.on('data', (data: Buffer) => received.push(data));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  await untilRead(socket);
  socket.write(bytes);
  await Promise.race([closed, sleep(20_000, undefined, { ref: false })]);
  socket.destroy();
  return Buffer.concat(received).toString();
}
