/**
 * The processes that use one data folder: the service that has locked it, and commands that use this service.
 *
 * The service writes its address into the file `url`. A command writes its process id into the folder `users` before it reads the address,
 * so a service that removes the address first and then waits for the users leaves no command behind.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { kill, pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLocked } from './folder-lock.ts';

const pauseMs = 100;
/** A service needs seconds for its first start, and the shutdown grace period for its end. */
const maxWaitMs = 60_000;

export interface JoinedService {
  url: string;
  /** The service may end now. */
  leave(): Promise<void>;
}

/** Tells commands where the service of the folder listens. The caller has locked the folder. */
export async function announceService(folder: string, url: string): Promise<void> {
  await writeFile(join(folder, 'url'), url);
}

export async function withdrawService(folder: string): Promise<void> {
  await rm(join(folder, 'url'), { force: true });
}

/**
 * Returns the service that uses the folder; undefined: none does. Waits for a service that starts or ends.
 *
 * @throws Error if a process keeps the folder locked, but no service listens
 */
export async function joinService(dataDir: string): Promise<JoinedService | undefined> {
  const folder = resolve(dataDir);
  const users = join(folder, 'users');
  const own = join(users, String(pid));
  const leave = () => rm(own, { force: true });
  for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += pauseMs) {
    if (!isLocked(folder)) return undefined;
    await mkdir(users, { recursive: true });
    await writeFile(own, '');
    const url = await readFile(join(folder, 'url'), 'utf8').catch(() => '');
    if (url !== '') return { url, leave };
    await leave();
    await sleep(pauseMs);
  }
  throw new Error(`another Tablewright uses the folder ${folder}, but no service listens: stop it`);
}

/** Waits until no other process uses the service of the folder. The address must have been withdrawn. @param onWait called once if the wait is not over at once */
export async function othersHaveLeft(dataDir: string, onWait: () => void): Promise<void> {
  const users = join(resolve(dataDir), 'users');
  for (let isFirst = true; ; isFirst = false) {
    const names = await readdir(users).catch(() => []);
    // A process that was killed could not remove its name.
    if (!names.some((name) => Number(name) !== pid && isRunning(Number(name)))) return;
    if (isFirst) onWait();
    await sleep(pauseMs);
  }
}

function isRunning(id: number): boolean {
  try {
    return kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
