/**
 * One service per data folder.
 *
 * A pid file cannot be taken over without a race, and a number says nothing once it is used again. So the lock is
 * one of the kernel's, which ends with its process however that dies. Node offers none of its own; SQLite does: a
 * write transaction on an empty database that is never written.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pid } from 'node:process';
import { DatabaseSync } from 'node:sqlite';

export interface FolderLock {
  release(): void;
}

const SQLITE_BUSY = 5;

/** Takes the folder for this process, or fails with a message that names the process that has it. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const pidFile = join(folder, 'pid');
  const database = new DatabaseSync(join(folder, 'lock'));
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    const holder = (await readFile(pidFile, 'utf8').catch(() => '')).trim();
    throw new Error(
      `another Tablewright${holder === '' ? '' : ` (process ${holder})`} uses the folder ${folder}: stop it, or set DATA_DIR to another folder`,
    );
  }
  await writeFile(pidFile, `${pid}\n`).catch((error) => {
    database.close();
    throw error;
  });
  return { release: () => database.close() };
}
