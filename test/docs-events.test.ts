/** Tests that docs/events.md is true: its answers have the members of the real ones, and its receivers check signatures. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { eventTypes } from '../src/events/event.ts';
import { freePort } from './support/free-port.ts';
import { codeOf, rowsUnder } from './support/markdown.ts';
import { startTestService, type TestService } from './support/service.ts';
import { until } from './support/until.ts';

const page = await readFile(join(import.meta.dirname, '..', 'docs', 'events.md'), 'utf8');
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

const python = spawnSync('python3', ['--version']).status === 0;

suite('the receiver', () => {
  for (const [language, command, file, skip] of [
    ['js', process.execPath, 'receiver.mjs', false],
    ['python', 'python3', 'receiver.py', !python],
  ] as const) {
    test(`in ${language} accepts genuine events only`, { skip }, async () => {
      const path = join(folder, file);
      await writeFile(path, blocksOf(language).join(''));
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/`;
      const { body } = await service.post('/api/v1/webhooks', { url, schemas: ['public'] });
      const receiver = spawn(command, [path], {
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
  }
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
  await until('two events', () => output.includes('webhook.ping') && output.includes('rows.loaded'));
  assert.deepEqual(output.match(/forged/g), null);
  const told = JSON.parse(/^rows\.loaded (.*)$/m.exec(output)![1]!);
  assert.deepEqual(Object.keys(told).sort(), Object.keys(event.data).sort());
}
