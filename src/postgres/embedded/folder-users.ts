/**
 * The processes that use one data folder: the service that has locked it, and commands that use this service.
 *
 * The service writes its address into the file `url`. A command writes its process id into the folder `users` before it reads the address.
 * So a service that stops can first remove the address and then wait for the users: no command can still be using it afterwards.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { kill, pid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLocked } from './folder-lock.ts';

const pauseMs = 100;
/** How long to wait. A service needs some seconds for its first start, and up to the shutdown grace period for its end. */
const maxWaitMs = 60_000;

export interface JoinedService {
  url: string;
  /** Call this when the command no longer needs the service, which may then end. */
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
 * Returns the service that uses the folder; undefined: there is none. If a service is starting or ending, it waits for that.
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

/** Waits until no other process uses the service of the folder. The address must have been removed before. @param onWait called once if it must wait */
export async function othersHaveLeft(dataDir: string, onWait: () => void): Promise<void> {
  const users = join(resolve(dataDir), 'users');
  for (let isFirst = true; ; isFirst = false) {
    const names = await readdir(users).catch(() => []);
    // The id of a process that does not run is ignored: it was killed and could not remove its id.
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
