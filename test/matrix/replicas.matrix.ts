/** `npm run demo:replicas`, which checks what it shows, run as a separate process. It takes half a minute, because a lease must end. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { scriptEnvironment } from '../support/child-environment.ts';

const demo = join(import.meta.dirname, '..', '..', 'scripts', 'demo-replicas.ts');

let temporary: string;

before(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'tablewright-replicas-'));
  await chmod(temporary, 0o711);
});

after(() => rm(temporary, { recursive: true, force: true }));

test('replicas answer for the loads of others, nothing is lost or done twice when one is killed, and nothing is left', async () => {
  const child = spawn(process.execPath, [demo], {
    env: { ...scriptEnvironment(), TMPDIR: temporary },
    stdio: 'pipe',
  });
  const ended = once(child, 'exit');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, '');
  assert.deepEqual(await ended, [0, null]);
  assert.match(output, /^ {2}replica 3: running\n(?:.*\n)*? {2}replica 3: cancelled$/m);
  assert.match(output, /^The table has 0 rows/m);
  assert.match(output, /^\$ kill -9 replica \d$/m);
  assert.match(output, /409 idempotency-key-in-use/);
  assert.match(output, /^The table has 2000 rows with 2000 different parcels\.$/m);
  assert.deepEqual(await readdir(temporary), []);
});
