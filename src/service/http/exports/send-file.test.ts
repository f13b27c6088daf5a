import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ReadingPace } from '../wire/unread-answers.ts';
import { breakOff, sendFile } from './send-file.ts';

let app: FastifyInstance;
afterEach(() => app?.close());

interface Sending {
  chunks: number;
  size?: number;
  failsAt?: number;
  pace?: ReadingPace;
}

/** Starts a server that sends chunks, and returns its port and the end of the sending. */
async function start({ chunks, size = 65_536, failsAt, pace }: Sending) {
  const ended = Promise.withResolvers<unknown>();
  app = Fastify({ forceCloseConnections: true });
  app.get('/', async (_, reply) => {
    const leaving = new AbortController();
    reply.raw.once('close', () => leaving.abort(new Error('the client left')));
    async function* bytes(): AsyncGenerator<Buffer> {
      for (let chunk = 0; chunk < chunks; chunk++) {
        if (chunk === failsAt) throw new Error('no more rows');
        yield Buffer.alloc(size, 'x');
      }
    }
    const file = { bytes: bytes(), contentType: 'text/csv', fileName: 'a.csv' };
    try {
      const { sentBytes, end } = await sendFile(reply, file, leaving.signal, pace);
      end();
      ended.resolve(sentBytes);
    } catch (error) {
      ended.resolve(error);
      if (!reply.raw.headersSent) throw error;
      breakOff(reply.raw);
    }
  });
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  return { port, ended: ended.promise };
}

function ask(port: number, version = '1.1'): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET / HTTP/${version}\r\nhost: a\r\n\r\n`);
  return socket;
}

test('a client that stops reading is disconnected, although it has read a lot', async () => {
  const pace = { startMs: 50, bytesPerSecond: 1e9 };
  const { port, ended } = await start({ chunks: 100_000, pace });
  const socket = ask(port);
  socket.on('error', () => {});
  let received = 0;
  socket.on('data', ({ length }) => {
    received += length;
    if (received > 10_000_000) socket.pause();
  });
  assert.match(String(await ended), /the client left/);
  socket.destroy();
});

test('a client that reads slowly, but at the least pace, gets the whole file', async () => {
  const { port, ended } = await start({ chunks: 500, pace: { startMs: 1000, bytesPerSecond: 1_000_000 } });
  const socket = ask(port);
  let received = 0;
  let text = '';
  for await (const chunk of socket) {
    received += chunk.length;
    text = (text + chunk.toString('latin1')).slice(-10);
    if (text.endsWith('0\r\n\r\n')) break;
    if (received % 64 === 0) await new Promise(setImmediate);
  }
  assert.equal(await ended, 500 * 65_536);
});

for (const version of ['1.0', '1.1']) {
  test(`a client of HTTP/${version} gets an error if the file cannot be finished`, async () => {
    const { port, ended } = await start({ chunks: 100, failsAt: 50 });
    const socket = ask(port, version);
    socket.resume();
    const [error] = await once(socket, 'error');
    assert.equal(error.code, 'ECONNRESET');
    assert.match(String(await ended), /no more rows/);
  });
}

test('an error before the first bytes can still be answered', async () => {
  const { port } = await start({ chunks: 1, failsAt: 0 });
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  assert.equal(answer.status, 500);
});
