/** To which addresses webhooks are sent, whatever name servers answer and when. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { ClientRequest, createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import { sendWebhook } from '../../src/service/events/send-webhook.ts';
import { AllowedAddresses, RefusedAddress } from '../../src/service/outgoing/allowed-addresses.ts';
import { type NameServer, startNameServer } from '../support/name-server.ts';

const never = new AbortController().signal;
const message = (url: string) => ({
  url,
  secret: `whsec_${Buffer.alloc(32).toString('base64')}`,
  eventId: 'a',
  json: '{}',
});

/** The answers of the name server; null: none. Other names are not known. */
const names: Record<string, string[] | null> = {
  'public.test': ['93.184.216.34'],
  'mixed.test': ['93.184.216.34', '10.1.2.3'],
  'mapped.test': ['0:0:0:0:0:ffff:7f00:1'],
  'nat64.test': ['64:ff9b:0:0:0:0:a9fe:a9fe'],
  'azure.test': ['168.63.129.16'],
  'empty.test': [],
};
let nameServer: NameServer;
let addresses: AllowedAddresses;
let receiver: Server;
let port: number;
before(async () => {
  nameServer = await startNameServer((name) => (name.startsWith('slow') ? null : names[name]));
  addresses = new AllowedAddresses(['127.0.0.1'], [nameServer.address]);
  receiver = createServer((_, response) => response.end());
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  ({ port } = receiver.address() as AddressInfo);
});
after(async () => {
  await nameServer.close();
  receiver.close();
});

const resolve = (host: string, signal = never) => addresses.resolve(new URL(`https://${host}/`), signal);

suite('the addresses of a host', () => {
  test('the addresses of a host are used if all of them are public', async () => {
    assert.deepEqual(await resolve('public.test'), [{ address: '93.184.216.34', family: 4 }]);
    for (const host of [
      'mixed.test',
      'mapped.test',
      'nat64.test',
      'azure.test',
      'empty.test',
      'unknown.test',
    ]) {
      await assert.rejects(resolve(host), RefusedAddress, host);
    }
  });

  test('a host that is not public is refused in every notation', async () => {
    const hosts = `127.1 0177.0.0.1 017700000001 0x7f000001 2130706433 127.0.0.2. ①②⑦.0.0.2 127。0。0。2 %31%32%37.0.0.2
      [::127.0.0.1] [::ffff:0:7f00:1] [64:ff9b:1::7f00:1] [2002:a9fe:a9fe::] [fec0::1] [100::1] [5f00::1] [3fff::1]
      [2001:db8::1] [2001:20::1] 168.63.129.16 100.100.100.200 192.0.0.192 [fd00:ec2::254] 240.0.0.1 localhost.`;
    // 127.0.0.1 is allowed in the other tests.
    const strict = new AllowedAddresses([], [nameServer.address]);
    for (const host of hosts.split(/\s+/)) {
      await assert.rejects(strict.resolve(new URL(`https://${host}/`), never), RefusedAddress, host);
    }
  });

  test('the addresses of a host are looked up once for each attempt, so that an answer which changes cannot be used', async () => {
    names['rebound.test'] = ['127.0.0.1'];
    const before = nameServer.asked.length;
    const url = `http://rebound.test:${port}/`;
    assert.deepEqual(await sendWebhook(message(url), addresses, never), { status: 200 });
    assert.deepEqual(nameServer.asked.slice(before), ['rebound.test', 'rebound.test']);
    names['rebound.test'] = ['127.0.0.2'];
    assert.match((await sendWebhook(message(url), addresses, never)).error!, /private or special network/);
  });

  test('the addresses of a host do not wait for the name servers of other hosts, and neither do files', async () => {
    const leaving = new AbortController();
    let ended = 0;
    const slow = Array.from({ length: 20 }, (_, index) =>
      assert.rejects(resolve(`slow${index}.test`, leaving.signal)).then(() => ended++),
    );
    await resolve('public.test');
    await stat(import.meta.filename);
    assert.equal(ended, 0);
    leaving.abort();
    await Promise.all(slow);
  });

  test('the addresses of a host must be known within the time of an attempt', async () => {
    const outcome = await sendWebhook(message('https://slow.test/'), addresses, AbortSignal.timeout(100));
    assert.deepEqual(Object.keys(outcome), ['error']);
  });
});

test('an attempt closes the connection of a receiver whose answer does not end', async () => {
  const closed = Promise.withResolvers<void>();
  const endless = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.on('close', () => closed.resolve());
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\na'));
  });
  endless.listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/`;
  assert.deepEqual(await sendWebhook(message(url), addresses, never), { status: 200 });
  await closed.promise;
  endless.close();
});

/** Starts a receiver that sends the text again and again, and returns its URL. */
async function startFlood(t: TestContext, text: string): Promise<string> {
  const flood = createTcpServer((socket) => {
    const send = () => {
      while (!socket.destroyed && socket.write(text.repeat(4000)));
    };
    socket.on('error', () => {});
    socket.on('drain', send);
    socket.once('data', send);
  });
  flood.listen(0, '127.0.0.1');
  await once(flood, 'listening');
  t.after(() => flood.close());
  return `http://127.0.0.1:${(flood.address() as AddressInfo).port}/`;
}

for (const interim of [
  'HTTP/1.1 100 \r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n',
  `HTTP/1.1 103 Early Hints\r\n${'a: b\r\n'.repeat(500)}\r\n`,
]) {
  test(`an attempt ends, and no more is read, if a receiver sends interim answers without an end: ${interim.slice(9, 30)}`, async (t) => {
    const url = await startFlood(t, interim);
    const emit = t.mock.method(ClientRequest.prototype, 'emit');
    assert.deepEqual(await sendWebhook(message(url), addresses, never), { error: 'the connection failed' });
    const interims = emit.mock.calls.filter((call) => (call.arguments[0] as string) === 'information').length;
    assert.ok(interims <= 11, `${interims} interim answers`);
  });
}

test('an answer counts whatever follows it', async (t) => {
  for (const answer of ['204 No Content\r\n\r\n', '200 OK\r\ncontent-length: 1\r\n\r\na']) {
    const url = await startFlood(t, `HTTP/1.1 ${answer}`);
    const status = Number(answer.slice(0, 3));
    assert.deepEqual(await sendWebhook(message(url), addresses, never), { status });
    // Node.js uses the parser of this connection for the next one.
    const next = await startFlood(t, 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na');
    assert.deepEqual(await sendWebhook(message(next), addresses, never), { status: 200 });
  }
});
