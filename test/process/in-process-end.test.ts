/** A program that runs the service in its own process ends by itself after it has stopped the service. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { serviceEnvironment } from '../support/child-environment.ts';
import { createTestDatabase } from '../support/database.ts';
import { testEnvironment } from '../support/service.ts';

/** Starts the service, uploads, leaves a stream of events, and stops the service. It never calls `process.exit`. */
const program = `
import { readConfig } from './src/core/settings/config.ts';
import { startService } from './src/service/service.ts';
import { serviceClient } from './test/support/service.ts';
const service = await startService(readConfig(process.env));
const client = await serviceClient(service.url);
const { status } = await client.post('/table/kept/upload/json', { data: [{ a: 1 }] });
const leaving = new AbortController();
const stream = await fetch(service.url + '/api/v1/events', {
  headers: { authorization: 'Bearer ' + (await client.token()) },
  signal: leaving.signal,
});
await stream.body.getReader().read();
leaving.abort();
await service.stop();
process.stdout.write(status + ' ' + stream.status);
`;

test('a process ends within seconds after it has stopped its service, although a client has left a stream of events', async () => {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-in-process-'));
  try {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: join(import.meta.dirname, '..', '..'),
      env: { ...serviceEnvironment(), ...testEnvironment(database, folder) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let killing: NodeJS.Timeout | undefined;
    // It writes when the service has stopped.
    child.stdout.once('data', () => {
      killing = setTimeout(() => child.kill('SIGKILL'), endMs);
    });
    const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    clearTimeout(killing);
    assert.equal(output, '201 200');
    assert.deepEqual([code, signal], [0, null], `it has not ended after ${endMs} ms`);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await database.drop();
  }
});

/** The timer of an event stream has 30 seconds. The process needs far less. */
const endMs = 15_000;
