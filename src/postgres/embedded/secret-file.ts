/**
 * Reads and creates the secrets that the service generates. They are files in the data folder that only their owner can read.
 */

import { randomBytes } from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';

/**
 * Returns the secret in a file. If there is no file, it creates one with mode 0600 and 32 random bytes in base64url. If two processes
 * create it at the same moment, both get the secret of the first one.
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
  // An empty or short secret could be guessed, so it is refused.
  if (text.length < 32)
    throw new Error(`${path} contains no usable secret; remove the file to get a new one`);
  return text;
}

async function createSecret(path: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('base64url')}\n`);
    await file.sync();
    await file.close();
    // A link fails if the file exists, so it never replaces a secret that another process has just created. A rename would replace it.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await unlink(draft);
  }
  return (await readSecret(path))!;
}
