/** Tests that docs/events.md is true: its answers have the members of the real ones, and its receiver checks signatures. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import Schema from 'typebox/schema';
import { eventTypes, pingType } from '../../src/service/events/event.ts';
import { freePort } from '../support/free-port.ts';
import { codeOf, rowsUnder } from '../support/markdown.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'events.md'), 'utf8');
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text!);
const [event, createdWebhook, deliveries] = blocksOf('json').map((text) => JSON.parse(text));

let service: TestService;
let folder: string;
before(async () => {
  service = await startTestService({ WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'tablewright-receivers-'));
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

test('docs/events.md lists the types of the events', () => {
  const listed = rowsUnder(page, '| type | what happened |').map(([type]) => codeOf(type!).join());
  assert.deepEqual(listed, [...eventTypes]);
});

suite('each event', () => {
  let sent: Map<string, Record<string, unknown>>;
  before(async () => {
    sent = await sentEvents();
  });

  test('each event is shown in docs/events.md with the members that it really has', () => {
    assert.deepEqual(shapeOf(event), shapeOf(sent.get('rows.loaded')));
    const shown = blocksOf('jsonl')[0]!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      shown.map(({ type }) => type),
      [...eventTypes, pingType].filter((type) => type !== 'rows.loaded'),
    );
    for (const { type, data } of shown) assert.deepEqual(shapeOf(data), shapeOf(sent.get(type)!.data), type);
  });

  test('each event has the schema that the OpenAPI document says', async () => {
    const { body: document } = await service.get('/openapi.json', { token: null });
    assert.deepEqual(Object.keys(document.webhooks).toSorted(), [...sent.keys()].toSorted());
    for (const [type, event] of sent) {
      const { $ref } =
        document.webhooks[type].post.requestBody.content['application/cloudevents+json'].schema;
      const schema = document.components.schemas[$ref.split('/').at(-1)];
      assert.deepEqual(Schema.Errors({ ...schema, additionalProperties: false }, event)[1], [], type);
      assert.deepEqual(unknownMembers(schema, event), [], type);
    }
  });
});

/** Causes an event of each type. @returns the last event of each type as a receiver gets it */
async function sentEvents(): Promise<Map<string, Record<string, unknown>>> {
  const sent = new Map<string, Record<string, unknown>>();
  const server = createServer(async (request, response) => {
    const event = JSON.parse(await textOf(request));
    sent.set(event.type, event);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { body } = await service.post('/api/v1/webhooks', { url });
  const upload = (query: string, data: unknown[] = [{ a: 1 }]) =>
    service.post(`/table/orders/upload/json${query}`, { data });
  await upload('');
  await upload('?if_exists=truncate');
  await upload('?if_exists=replace');
  await upload('?if_exists=append', [{ a: 'x' }]);
  await service.rows(`CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid()); RETURN NEW; END $$;
    CREATE TRIGGER fail BEFORE INSERT ON public.orders FOR EACH ROW EXECUTE FUNCTION public.fail()`);
  await upload('?if_exists=append');
  await service.request('PATCH', '/table/orders', {
    body: '{"name": "orders_new"}',
    headers: { 'content-type': 'application/json' },
  });
  await service.request('DELETE', '/table/orders_new');
  await service.request('POST', `/api/v1/webhooks/${body.id}/ping`);
  await until('each event', () => sent.size === eventTypes.length + 1);
  await service.request('DELETE', `/api/v1/webhooks/${body.id}`);
  server.closeAllConnections();
  server.close();
  return sent;
}

/** Returns the names of the members, and the types of their values. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
}

// biome-ignore lint/suspicious/noExplicitAny: a schema as JSON
function unknownMembers({ properties }: any, event: Record<string, any>): string[] {
  return [
    ...Object.keys(event).filter((name) => !(name in properties)),
    ...Object.keys(event.data).filter((name) => !(name in properties.data.properties)),
  ];
}

test('the receiver accepts genuine events only', async () => {
  const path = join(folder, 'receiver.mjs');
  await writeFile(path, blocksOf('js').join(''));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const { body } = await service.post('/api/v1/webhooks', { url, schemas: ['public'] });
  const receiver = spawn(process.execPath, [path], {
    env: { ...process.env, WEBHOOK_SECRET: body.secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await assertReceives(receiver, url, body.id);
  } finally {
    receiver.kill();
    await once(receiver, 'exit');
  }
  assert.deepEqual(Object.keys(body), Object.keys(createdWebhook));
  const { body: listed } = await service.get(`/api/v1/webhooks/${body.id}/deliveries?state=delivered`);
  assert.deepEqual(Object.keys(listed.deliveries[0]), Object.keys(deliveries.deliveries[0]));
});

async function assertReceives(receiver: ChildProcess, url: string, webhook: string): Promise<void> {
  let output = '';
  receiver.stdout!.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  const forged = () =>
    fetch(url, {
      method: 'POST',
      headers: {
        'webhook-id': 'a',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
      },
      body: '{"type": "forged"}',
    }).then(
      ({ status }) => status,
      () => undefined,
    );
  await until('the receiver', async () => (await forged()) === 401);
  await service.request('POST', `/api/v1/webhooks/${webhook}/ping`);
  await service.post(`/table/t_${webhook}/upload/json`, { data: [{ a: 1 }] });
  // The receiver may write a line in several parts.
  await until('two events', () => /^webhook\.ping .*\n/m.test(output) && /^rows\.loaded .*\n/m.test(output));
  assert.deepEqual(output.match(/forged/g), null);
  const told = JSON.parse(/^rows\.loaded (.*)$/m.exec(output)![1]!);
  assert.deepEqual(Object.keys(told).sort(), Object.keys(event.data).sort());
}
