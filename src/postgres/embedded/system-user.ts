/**
 * Finds the user who runs PostgreSQL. PostgreSQL refuses to run as root, so if the service runs as root, the cluster belongs to a
 * system user. Files that this user cannot reach, for example in a clone under /root, are then kept in another folder.
 */

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { geteuid } from 'node:process';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';

export interface SystemUser {
  uid: number;
  gid: number;
}

const run = promisify(execFile);

/** The folder for files that the system user cannot reach at their own path. */
export const sharedFolder = '/var/lib/tablewright';

/**
 * Returns the user who must run PostgreSQL; undefined: the user of this process. An existing cluster is run by its owner, so it
 * does not matter which user starts the service later.
 */
export async function databaseUser(cluster: string | undefined): Promise<SystemUser | undefined> {
  if (geteuid?.() !== 0) return undefined;
  const owner = cluster === undefined ? undefined : await stat(cluster);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return (await lookUp('postgres')) ?? (await lookUp('tablewright')) ?? (await create('tablewright'));
}

/**
 * Returns whether a user may read a path: the user can enter every folder above it, and can read the file or folder itself. Only the mode bits
 * are checked, because a fresh installation has nothing else.
 */
export async function canReach(user: SystemUser, path: string): Promise<boolean> {
  let needed = 4;
  for (let place = path; ; place = dirname(place)) {
    const entry = await stat(place).catch(() => undefined);
    // A path that does not exist yet is not checked, because the service will create it.
    if (entry !== undefined) {
      const shift = entry.uid === user.uid ? 6 : entry.gid === user.gid ? 3 : 0;
      if (((entry.mode >> shift) & needed) !== needed) return false;
    }
    if (dirname(place) === place) return true;
    needed = 1;
  }
}

/** Returns programs that the user can reach: the given ones, or a copy of them under `sharedFolder`. */
export async function reachableBinaries(binaries: Binaries, user: SystemUser): Promise<Binaries> {
  const probes = ['bin/postgres', 'lib/postgresql/plpgsql.so', 'share/postgresql/postgres.bki'];
  const reached = await Promise.all(probes.map((probe) => canReach(user, join(binaries.root, probe))));
  if (!reached.includes(false)) return binaries;

  const root = join(sharedFolder, `postgresql-${binaries.version}`);
  if (await stat(root).catch(() => undefined)) return { ...binaries, root };
  await makeSharedFolder();
  const draft = `${root}.${randomBytes(6).toString('hex')}`;
  try {
    await cp(binaries.root, draft, { recursive: true, verbatimSymlinks: true });
    await openToAll(draft);
    await rename(draft, root).catch(async (error) => {
      // If another process has made the same copy first, that copy is used.
      if (!(await stat(root).catch(() => undefined))) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { ...binaries, root };
}

export async function makeSharedFolder(): Promise<void> {
  await mkdir(sharedFolder, { recursive: true });
  await chmod(sharedFolder, 0o755);
}

async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, ((await stat(path)).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

async function lookUp(name: string): Promise<SystemUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

async function create(name: string): Promise<SystemUser> {
  // The second command is for BusyBox, for example in Alpine Linux.
  const commands: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', name]],
    ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', name]],
  ];
  for (const [command, parameters] of commands) {
    await run(command, parameters).catch(() => undefined);
    const user = await lookUp(name);
    if (user !== undefined) return user;
  }
  throw new Error(
    'PostgreSQL refuses to run as root and no system user could be made for it: start Tablewright as an ordinary user, or set DATABASE_URL',
  );
}
