/** Many clients that send small chunks at the same time: what one turn of the event loop reads, and who waits for bodies that were refused. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { assertShortSteps, measureSteps } from '../../test/support/event-loop.ts';
import { joinSmallChunks } from './join-small-chunks.ts';
import { createServer } from './node-http.ts';

let server: Server;

before(async () => {
  server = createServer((request, response) => {
    joinSmallChunks(request, () => request.socket.destroy());
    request.resume();
    if (request.url === '/refused') setTimeout(() => request.destroy(), 1000);
    request.on('end', () => response.end('read'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const headOf = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`;

suite('many clients that send small chunks at the same time', () => {
  // This test is the first, because the service notices only when it reads a connection that its client has left.
  test('a body of short lines does not wait for bodies that were refused', async () => {
    const begun = await sendAtOnce(4, '/refused');
    assert.ok(begun > 32, `${begun} of 64`);
    const { port } = server.address() as AddressInfo;
    const since = performance.now();
    const socket = connect(port, '127.0.0.1');
    socket.write(`${headOf('/')}${'a\r\n1234567890\r\n'.repeat(12_000)}0\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1.1 200 /);
    const waited = performance.now() - since;
    assert.ok(waited < 3000, `${Math.round(waited)} ms`);
  });

  for (const bytes of [1, 4, 10, 31]) {
    test(`chunks of ${bytes} bytes are read in short steps`, async () => {
      assertShortSteps(await measureSteps(() => sendAtOnce(bytes)));
    });
  }
});

/** Opens 64 connections from another thread, sends 60 KB of chunks on each at once, and leaves after 2 seconds. Returns how many were begun. */
async function sendAtOnce(bytes: number, path = '/'): Promise<number> {
  const { port } = server.address() as AddressInfo;
  let begun = 0;
  const count = (_: IncomingMessage): void => {
    begun++;
  };
  server.on('request', count);
  const chunks = `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`.repeat(Math.ceil(60_000 / bytes));
  const client = new Worker(clientCode, { eval: true, workerData: { port, head: headOf(path), chunks } });
  await once(client, 'exit');
  server.off('request', count);
  return begun;
}

const clientCode = `
  const { workerData: { port, head, chunks } } = require('node:worker_threads');
  const { connect } = require('node:net');
  const sockets = Array.from({ length: 64 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  for (const socket of sockets) socket.write(head);
  setTimeout(() => { for (const socket of sockets) socket.write(chunks); }, 500);
  setTimeout(() => { for (const socket of sockets) socket.destroy(); }, 2000);
`;
