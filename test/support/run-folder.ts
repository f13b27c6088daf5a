/**
 * The folder for all temporary files of a test run. It is in memory if there is enough of it, because the tests create and remove
 * tens of thousands of small files: each table of PostgreSQL is several files. Measured: on ext4 these files took a third of
 * PostgreSQL's processor time, because ext4 searches for inodes that no file has used in the last seconds.
 */
import { chmod, mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** A file system in memory on Linux. In a container it is often as small as 64 MB. */
const memoryFileSystem = '/dev/shm';

/** The tests need at most 0.5 GiB. The rest is for the processes, and for another test run on the same machine. */
const neededBytes = 6 * 2 ** 30;

/** Creates the folder. All users may write to it as to `/tmp`, because another user than root runs PostgreSQL. */
export async function makeRunFolder(): Promise<string> {
  const parent = (await hasRoomInMemory()) ? memoryFileSystem : tmpdir();
  const folder = await mkdtemp(join(parent, 'tablewright-test-'));
  await chmod(folder, 0o1777);
  return folder;
}

async function hasRoomInMemory(): Promise<boolean> {
  const system = await statfs(memoryFileSystem).catch(() => undefined);
  if (system === undefined) return false;
  return system.bavail * system.bsize >= neededBytes && process.availableMemory() >= neededBytes;
}
