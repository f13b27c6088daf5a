/**
 * The embedded PostgreSQL: a real server of our own on the loopback, its data kept in a folder across starts.
 *
 * The folder holds `lock` and `pid` (one service per folder), `postgres` (the cluster, or a link to it),
 * `postgres-password` and `tablewright-password`, `postgres-port` (kept, so that connection strings stay the same) and
 * `postgres.log`. A service that was killed leaves a server behind; the next start stops that one first.
 */

import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createCluster } from './embedded/cluster.ts';
import { lockFolder } from './embedded/folder-lock.ts';
import { findPlace, linkPlace } from './embedded/place.ts';
import { readOrCreateSecret } from './embedded/secret-file.ts';
import { type Server, startServer, stopOrphan } from './embedded/server.ts';
import type { Log } from './log.ts';

export interface EmbeddedOptions {
  /** The folder; made where there is none. */
  dataDir: string;
  log: Log;
  /** The server ended and nobody had asked it to. */
  onExit?: (detail: string) => void;
  /** For throw-away servers only: false gives up the data's safety from a power cut. */
  durable?: boolean;
}

export interface EmbeddedPostgres {
  /** For the service: role `tablewright`, no superuser, owner of the database `tablewright`. */
  url: string;
  /** For administration: the superuser `postgres`. */
  adminUrl: string;
  /** Ends the server and gives the folder back; open transactions are rolled back. Can be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the server of a folder and answers when it takes connections; makes the cluster at the first time.
 * Fails with a message for the person who starts the service: another service has the folder, no programs for this
 * machine, the server's own last words.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, onExit, durable = true } = options;
  const dataDir = await makeDataDir(options.dataDir);
  const locks = [await lockFolder(dataDir)];
  const unlock = () => {
    for (const lock of locks.splice(0)) lock.release();
  };
  try {
    const passwords = {
      postgres: await readOrCreateSecret(join(dataDir, 'postgres-password')),
      tablewright: await readOrCreateSecret(join(dataDir, 'tablewright-password')),
    };
    const place = await findPlace(dataDir, log);
    // A copied data folder still links to the first one's cluster.
    if (place.folder !== dataDir) locks.push(await lockFolder(place.folder));

    if (place.isNew) await createCluster(place, passwords, durable);
    else await stopOrphan(place, log);
    await linkPlace(dataDir, place);

    const server = await startServer(dataDir, place, passwords.postgres, durable);
    server.exited.then((detail) => {
      unlock();
      if (detail !== undefined) onExit?.(detail);
    });
    return {
      url: connectionString('tablewright', passwords.tablewright, server, 'tablewright'),
      adminUrl: connectionString('postgres', passwords.postgres, server, 'postgres'),
      stop: () => server.stop(),
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Makes the data folder where there is none, and answers its real path. */
export async function makeDataDir(folder: string): Promise<string> {
  const path = resolve(folder);
  if (!(await stat(path).catch(() => undefined))) {
    await mkdir(path, { recursive: true });
    // Others may pass through to the cluster, which its own user must reach; what is secret is so by its own mode.
    await chmod(path, 0o711);
  }
  return realpath(path);
}

function connectionString(role: string, password: string, server: Server, database: string): string {
  return `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${server.port}/${database}`;
}
