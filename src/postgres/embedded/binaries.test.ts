import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { restoreLinks } from './binaries.ts';

let folder: string;
const links = [
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
  { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-binaries-'));
  await mkdir(join(folder, 'native'));
  await writeFile(join(folder, 'native', 'pg-symlinks.json'), JSON.stringify(links));
});

afterEach(() => rm(folder, { recursive: true }));

test('missing links are created, and existing ones are kept', async () => {
  const lib = join(folder, 'native', 'lib');
  await mkdir(lib);
  await symlink('libpq.so.other', join(lib, 'libpq.so'));
  await restoreLinks(folder, 'postgres-package');
  assert.equal(await readlink(join(lib, 'libpq.so.5')), 'libpq.so.5.18');
  assert.equal(await readlink(join(lib, 'libpq.so')), 'libpq.so.other');
});

test('two processes can create the links at the same moment', async () => {
  await mkdir(join(folder, 'native', 'lib'));
  await Promise.all(Array.from({ length: 8 }, () => restoreLinks(folder, 'postgres-package')));
});

test('if the links cannot be created, the error names the command that creates them', async () => {
  // The test uses a missing folder instead of one without write permission, because root may write everywhere.
  await assert.rejects(restoreLinks(folder, 'postgres-package'), /run "npm rebuild postgres-package"/);
});
