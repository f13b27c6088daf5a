import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { StoredBodies } from './stored-bodies.ts';

test('a folder whose id is not a UUID is refused with the path of the file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-bodies-'));
  try {
    await StoredBodies.check(folder);
    const { id } = await StoredBodies.open(folder);
    await StoredBodies.check(folder);
    const path = join(folder, 'folder-id');
    for (const text of [`${id}'::uuid, state = 'failed`, `${id}\n${id}`, '\n', '']) {
      await writeFile(path, text);
      const isExplained = ({ name, message }: Error) => name === 'Error' && message.includes(path);
      await assert.rejects(StoredBodies.check(folder), isExplained);
      await assert.rejects(StoredBodies.open(folder), isExplained);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
