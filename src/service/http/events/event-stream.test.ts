import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import { sendEventStream } from './event-stream.ts';

/** Serves a stream to a client that reads nothing, until the connection is closed. */
async function sendUnread(events: (stop: () => void) => AsyncGenerator<{ event: string; data: string }>) {
  const app = Fastify();
  const closed = Promise.withResolvers<void>();
  app.get('/', async (_, reply) => {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    reply.raw.on('close', () => {
      stop();
      closed.resolve();
    });
    await sendEventStream(reply, stopping.signal, events(stop), {
      validUntilMs: Number.POSITIVE_INFINITY,
      drainMs: 50,
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  client.on('error', () => {});
  await once(client, 'connect');
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  await closed.promise;
  client.destroy();
  await app.close();
}

/** More than the operating system buffers for a client that does not read. */
const data = 'x'.repeat(20_000_000);

test('the connection of a client that does not read a stream is closed', { timeout: 30_000 }, () =>
  sendUnread(async function* () {
    for (;;) yield { event: 'a', data };
  }),
);

test('the connection of a client that does not read the end of a stream is closed', { timeout: 30_000 }, () =>
  sendUnread(async function* (stop) {
    setImmediate(stop);
    yield { event: 'a', data };
  }),
);
