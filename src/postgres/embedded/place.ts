/**
 * Decides where the programs and the cluster of the embedded PostgreSQL are, and which user runs them.
 */

import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, realpath, rename, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../log.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import {
  canReach,
  databaseUser,
  makeSharedFolder,
  reachableBinaries,
  type SystemUser,
  sharedFolder,
} from './system-user.ts';

export interface Place {
  binaries: Binaries;
  /** The user who runs PostgreSQL; undefined: the user of this process. */
  user: SystemUser | undefined;
  /** The folder that contains the cluster `postgres`: the data folder, or a folder under `sharedFolder` that the user can reach. */
  folder: string;
  cluster: string;
  /** Whether the cluster must still be created. */
  isNew: boolean;
}

/** Decides the place for a data folder. Creates the folders that it needs, but not the cluster. @param dataDir a real path */
export async function findPlace(dataDir: string, log: Log): Promise<Place> {
  const binaries = await findBinaries();
  const existing = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  const user = await databaseUser(existing);
  if (user === undefined) return placeAt(existing ?? join(dataDir, 'postgres'), binaries, user);

  const reachable = await reachableBinaries(binaries, user);
  let cluster = existing ?? join(dataDir, 'postgres');
  if (existing === undefined && !(await canReach(user, cluster))) {
    const folder = join(sharedFolder, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
    await makeSharedFolder();
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o711);
    cluster = join(folder, 'postgres');
  }
  const place = await placeAt(cluster, reachable, user);
  if (reachable.root !== binaries.root || place.folder !== dataDir) {
    log.info(
      { cluster, programs: reachable.root },
      `PostgreSQL does not run as root and its user cannot enter all folders here: some files are in ${sharedFolder}`,
    );
  }
  return place;
}

/** Creates the link `postgres` in the data folder if the cluster is in another folder. */
export async function linkPlace(dataDir: string, place: Place): Promise<void> {
  if (place.folder === dataDir) return;
  const link = join(dataDir, 'postgres');
  if ((await realpath(link).catch(() => undefined)) === place.cluster) return;
  const draft = `${link}.link`;
  await rm(draft, { force: true });
  await symlink(place.cluster, draft);
  await rename(draft, link);
}

async function placeAt(cluster: string, binaries: Binaries, user: SystemUser | undefined): Promise<Place> {
  const isNew = !(await stat(join(cluster, 'PG_VERSION')).catch(() => undefined));
  if (isNew && (await lstat(cluster).catch(() => undefined))?.isSymbolicLink()) {
    // The link leads to a cluster that no longer exists, so it is replaced.
    await rm(cluster);
  }
  return { binaries, user, folder: dirname(cluster), cluster, isNew };
}
