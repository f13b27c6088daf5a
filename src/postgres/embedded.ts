/**
 * The embedded PostgreSQL: a real server that the service starts on the loopback interface. Its data stays in a folder.
 *
 * The folder contains `lock` and `pid` (one service per folder), `url` and `users` (commands that use the service), `postgres` (the cluster, or a link to it), `postgres-password` and
 * `tablewright-password`, `postgres-port` (the port stays the same, and with it the connection strings) and `postgres.log`. If the
 * service was killed, its server still runs; the next start stops that server first.
 */

import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createCluster } from './embedded/cluster.ts';
import { lockFolder } from './embedded/folder-lock.ts';
import { announceService, withdrawService } from './embedded/folder-users.ts';
import { findPlace, linkPlace } from './embedded/place.ts';
import { readOrCreateSecret } from './embedded/secret-file.ts';
import { type Server, startServer, stopOrphan } from './embedded/server.ts';
import type { Log } from './log.ts';

export interface EmbeddedOptions {
  /** The data folder. It is created if it does not exist. */
  dataDir: string;
  log: Log;
  /** Called if the server ends by itself. */
  onExit?: (detail: string) => void;
  /** false: a power failure can damage the data. Only for temporary servers. */
  durable?: boolean;
  /** The maximum number of connections that the service opens. Default: those of one process. */
  connections?: number;
}

export interface EmbeddedPostgres {
  /** The connection string for the service. Its role `tablewright` is not a superuser and owns the database `tablewright`. */
  url: string;
  /** The connection string for administration, with the superuser `postgres`. */
  adminUrl: string;
  /** Tells commands on this machine where the service listens, so that they use it instead of a service of their own. */
  announce(url: string): Promise<void>;
  /** Stops the server and unlocks the folder. Open transactions are rolled back. It can be called again. */
  stop(): Promise<void>;
}

/**
 * Starts the server of a folder and returns when it accepts connections. The first start creates the cluster. The message of an
 * error is for the person who starts the service: another service uses the folder, there are no PostgreSQL programs for this
 * machine, or the last lines of the server's log.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, onExit, durable = true, connections = 0 } = options;
  const dataDir = await makeDataDir(options.dataDir);
  const locks = [await lockFolder(dataDir)];
  const unlock = () => {
    for (const lock of locks.splice(0)) lock.release();
  };
  try {
    // If an earlier service was killed, its address is still in the folder.
    await withdrawService(dataDir);
    const passwords = {
      postgres: await readOrCreateSecret(join(dataDir, 'postgres-password')),
      tablewright: await readOrCreateSecret(join(dataDir, 'tablewright-password')),
    };
    const place = await findPlace(dataDir, log);
    // A copied data folder has a link to the cluster of the original folder, so that folder is locked, too.
    if (place.folder !== dataDir) locks.push(await lockFolder(place.folder));

    if (place.isNew) await createCluster(place, passwords, durable);
    else await stopOrphan(place, log);
    await linkPlace(dataDir, place);

    const server = await startServer(dataDir, place, passwords.postgres, { durable, connections });
    server.exited.then((detail) => {
      unlock();
      if (detail !== undefined) onExit?.(detail);
    });
    return {
      url: connectionString('tablewright', passwords.tablewright, server, 'tablewright'),
      adminUrl: connectionString('postgres', passwords.postgres, server, 'postgres'),
      announce: (url) => announceService(dataDir, url),
      stop: async () => {
        await withdrawService(dataDir);
        await server.stop();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Creates the data folder if it does not exist, and returns its real path. */
export async function makeDataDir(folder: string): Promise<string> {
  const path = resolve(folder);
  if (!(await stat(path).catch(() => undefined))) {
    await mkdir(path, { recursive: true });
    // Other users may enter the folder, because the user who runs PostgreSQL must reach the cluster. The secret files have modes of their own.
    await chmod(path, 0o711);
  }
  return realpath(path);
}

function connectionString(role: string, password: string, server: Server, database: string): string {
  return `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${server.port}/${database}`;
}
