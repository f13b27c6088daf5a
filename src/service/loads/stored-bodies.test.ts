import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
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

test('a body without a record is removed when it is old by the clock of its folder, whatever the clock of the process says', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-bodies-'));
  try {
    const bodies = await StoredBodies.open(folder);
    const [fresh, old] = [randomUUID(), randomUUID()];
    for (const load of [fresh, old]) await writeFile(join(folder, `${load}.body`), '');
    const twoHoursAgo = new Date(Date.now() - 7_200_000);
    await utimes(join(folder, `${old}.body`), twoHoursAgo, twoHoursAgo);
    context.mock.timers.enable({ apis: ['Date'], now: Date.now() + 86_400_000 });
    await bodies.removeRemnants(async () => new Map());
    assert.deepEqual((await readdir(folder)).toSorted(), [`${fresh}.body`, 'folder-id'].toSorted());
  } finally {
    await rm(folder, { recursive: true });
  }
});
