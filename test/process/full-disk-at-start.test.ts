/** A service with a full disk gives the reason when it cannot start. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { serviceEnvironment } from '../support/child-environment.ts';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

test('a failed start on a full disk names the reason and what to do', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-full-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', folder]);
  context.after(async () => {
    if (mounted.status === 0) spawnSync('umount', [folder]);
    await rm(folder, { recursive: true, force: true });
  });
  if (mounted.status !== 0) return context.skip('this process may not mount');
  await chmod(folder, 0o711);
  const child = spawn(process.execPath, [main], {
    cwd: folder,
    env: { ...serviceEnvironment(), PORT: '0', LOG_LEVEL: 'silent', DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.equal(code, 1);
  assert.match(errors, /^Tablewright cannot start: /);
  assert.match(errors, /No space left on device: free or enlarge the disk of DATA_DIR/);
});
