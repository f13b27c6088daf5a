/**
 * Locks a data folder, so that only one service uses it.
 *
 * A file with a process id is not enough: two processes can take it over at the same time, and another process may get the same id.
 * A lock of the kernel always ends with its process. Node.js has no function for such a lock, but SQLite has: a write transaction on an
 * empty database that nobody writes to.
 */

import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pid } from 'node:process';
import { DatabaseSync } from 'node:sqlite';

export interface FolderLock {
  release(): void;
}

// SQLite's result codes.
const BUSY = 5;
const READONLY = 8;
const CANTOPEN = 14;

/** The code of the error if another process has locked the folder. */
export const folderInUse = 'FOLDER_IN_USE';

/** Returns whether a process has locked the folder. */
export function isLocked(folder: string): boolean {
  const lockFile = join(folder, 'lock');
  if (!existsSync(lockFile)) return false;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile);
    database.exec('BEGIN EXCLUSIVE');
    return false;
  } catch (error) {
    return (error as { errcode?: number }).errcode === BUSY;
  } finally {
    database?.close();
  }
}

/** Locks the folder for this process. @throws Error `folderInUse`, which names the other process; Error if the user cannot write to the folder */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const lockFile = join(folder, 'lock');
  const pidFile = join(folder, 'pid');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile);
    // Everybody who can read the file can lock it, so only its owner may. The mode is set by path, because closing an open file would release the lock (fcntl).
    await chmod(lockFile, 0o600);
    // Waits a little, because `isLocked` of another process may have the lock for a moment.
    database.exec('PRAGMA busy_timeout = 500');
    database.exec('BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${pid}\n`);
  } catch (error) {
    database?.close();
    const { errcode, code } = error as { errcode?: number; code?: string };
    if (errcode === BUSY) {
      const holder = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
      const process = holder === '' ? '' : ` (process ${holder})`;
      const message = `another Tablewright${process} uses the folder ${folder}: stop it, or set DATA_DIR to another folder`;
      throw Object.assign(new Error(message), { code: folderInUse });
    }
    if (errcode === CANTOPEN || errcode === READONLY || code === 'EACCES' || code === 'EPERM') {
      throw new Error(
        `this user cannot write to the folder ${folder}: give it the folder, or set DATA_DIR to another one`,
        { cause: error },
      );
    }
    throw error;
  }
  return { release: () => database.close() };
}
