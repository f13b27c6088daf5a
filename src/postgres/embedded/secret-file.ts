/**
 * Secrets that the service makes for itself and keeps in its data folder, readable by the owner alone.
 */

import { randomBytes } from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';

/**
 * The secret in a file; where there is no file, a new one: 32 random bytes in base64url, mode 0600.
 * Of two processes that make it at the same moment both get the one that was first.
 */
export async function readOrCreateSecret(path: string): Promise<string> {
  return (await readSecret(path)) ?? (await createSecret(path));
}

async function readSecret(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  // An empty secret would be one that everybody knows.
  if (text.length < 32) throw new Error(`${path} holds no usable secret; remove the file to get a new one`);
  return text;
}

async function createSecret(path: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`);
    await file.sync();
    await file.close();
    // A link, not a rename: it never takes the place of a secret that another process has just made.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await unlink(draft);
  }
  return (await readSecret(path))!;
}
