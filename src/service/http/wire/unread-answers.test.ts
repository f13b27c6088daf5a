import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, test } from 'node:test';
import Fastify, { type FastifyInstance } from 'fastify';
import { closeUnreadAnswers, UnreadAnswers } from './unread-answers.ts';

/** More than the kernel takes for a client that does not read. */
const long = Buffer.alloc(32 * 1024 * 1024);

const mebibytes = Array.from({ length: 32 }, () => Buffer.alloc(1024 * 1024));

let app: FastifyInstance;
afterEach(() => app?.close());

async function startApp(startMs: number, bytesPerSecond = 64 * 1024 * 1024): Promise<number> {
  app = Fastify({ forceCloseConnections: true });
  closeUnreadAnswers(app, { startMs, bytesPerSecond });
  app.get('/long', async () => long);
  app.get('/stream', async (_request, reply) => reply.send(Readable.from(mebibytes)));
  app.get('/slow-rows', async (_request, reply) => reply.send(Readable.from(slowRows(startMs))));
  app.get('/slow', async () => {
    await new Promise((resolve) => setTimeout(resolve, 2 * startMs));
    return 'slow';
  });
  return Number(new URL(await app.listen({ port: 0 })).port);
}

/** Takes twice as long as a client may be idle. */
async function* slowRows(startMs: number): AsyncGenerator<string> {
  for (let row = 0; row < 40; row++) {
    await new Promise((resolve) => setTimeout(resolve, startMs / 2));
    yield 'x';
  }
}

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;

test('the connection of a client that does not read its answer is closed', async () => {
  const socket = connect(await startApp(100), '127.0.0.1');
  const served = once(app.server, 'connection');
  socket.on('error', () => {});
  socket.write(requestOf('/long'));
  const [connection] = await served;
  await once(connection, 'close');
  socket.destroy();
});

test('the connection of a client that reads a stream very slowly is closed', async () => {
  const socket = connect(await startApp(100), '127.0.0.1');
  let bytes = 0;
  const ended = Promise.withResolvers<void>();
  socket.on('error', () => {});
  socket.once('close', ended.resolve);
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > long.length) ended.resolve();
    socket.pause();
    setTimeout(() => socket.resume(), 20);
  });
  socket.write(requestOf('/stream'));
  await ended.promise;
  socket.destroy();
  assert.ok(bytes < long.length, `${bytes} bytes were read`);
});

test('a stream whose rows come slowly is sent to its end', async () => {
  const port = await startApp(100);
  const answer = await fetch(`http://127.0.0.1:${port}/slow-rows`);
  assert.equal((await answer.text()).length, 40);
});

test('a client that reads gets the whole answer, and the answer of a request that takes longer', async () => {
  // A busy machine has half a minute to read the long answer.
  const socket = connect(await startApp(1000, 1024 * 1024), '127.0.0.1');
  socket.write(requestOf('/long') + requestOf('/slow'));
  let bytes = 0;
  let last = '';
  for await (const chunk of socket) {
    bytes += chunk.length;
    last = (last + chunk.toString('latin1')).slice(-1000);
    if (last.endsWith('slow')) break;
  }
  assert.ok(bytes > long.length);
  assert.ok(last.endsWith('slow'));
});

test('beyond the limit the oldest answer of the caller with the most bytes is given up, and for a connection the oldest of all', () => {
  const answers: { name: string; raw: ServerResponse }[] = [];
  const unread = new UnreadAnswers(100);
  const now = performance.now();
  const add = (name: string, caller: string, bytes: number, ageMs = 0) => {
    const raw = new ServerResponse(new IncomingMessage(new Socket()));
    answers.push({ name, raw });
    unread.add({ raw, caller, bytes, sinceMs: now - ageMs });
  };
  const closed = () => answers.filter(({ raw }) => raw.destroyed).map(({ name }) => name);
  assert.equal(unread.giveUpOldest(), false);
  add('of one', 'one', 40, 10_000);
  add('first of two', 'two', 30);
  add('second of two', 'two', 30);
  assert.deepEqual(closed(), []);
  add('third of two', 'two', 1);
  assert.deepEqual(closed(), ['first of two']);
  assert.equal(unread.giveUpOldest(), true);
  assert.deepEqual(closed(), ['of one', 'first of two']);
  assert.equal(unread.giveUpOldest(), false);
});
