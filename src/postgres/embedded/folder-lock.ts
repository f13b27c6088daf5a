/**
 * One service per data folder.
 *
 * A pid file cannot be taken over without a race, and a number says nothing once it is used again. So the lock is
 * one of the kernel's, which ends with its process however that dies. Node offers none of its own; SQLite does: a
 * write transaction on an empty database that is never written.
 */

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

/** Takes the folder for this process, or fails with a message that names the process that has it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const lockFile = join(folder, 'lock');
  const pidFile = join(folder, 'pid');
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile);
    // Who can read the file can lock it. Not by opening it here: to close it again would give up the lock (fcntl).
    await chmod(lockFile, 0o600);
    database.exec('BEGIN EXCLUSIVE');
    await writeFile(pidFile, `${pid}\n`);
  } catch (error) {
    database?.close();
    const { errcode, code } = error as { errcode?: number; code?: string };
    if (errcode === BUSY) {
      const holder = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
      const process = holder === '' ? '' : ` (process ${holder})`;
      throw new Error(
        `another Tablewright${process} uses the folder ${folder}: stop it, or set DATA_DIR to another folder`,
      );
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
