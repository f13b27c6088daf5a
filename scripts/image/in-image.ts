/** Lays out the image in a temporary folder, tries it there, and removes it. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { databaseUser } from '../../src/postgres/embedded/system-user.ts';
import { layOutImage } from './lay-out.ts';
import { type Trial, tryImage } from './try-image.ts';

/** @throws Error if the image cannot be built, or does not work with the database */
export async function inImage(databaseUrl: string): Promise<Trial> {
  // Root would be able to write to the tree, so another user runs the service.
  const user = await databaseUser(undefined);
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-image-'));
  try {
    await chmod(folder, 0o755);
    const image = await layOutImage(folder, user);
    const volumes = { tmp: join(folder, 'tmp'), spool: join(folder, 'spool') };
    return await tryImage(image, {
      databaseUrl,
      port: await freePort(),
      metricsPort: await freePort(),
      ...volumes,
      user,
    });
  } finally {
    // Folders that nobody may write to cannot be emptied.
    await promisify(execFile)('chmod', ['-R', 'u+w', folder]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
