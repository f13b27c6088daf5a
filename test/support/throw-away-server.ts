/** Starts a separate PostgreSQL server, for tests that need another version or other settings than those of the test run. */
import { type ExecFileOptions, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { childProcesses } from '../../soak/leftovers.ts';
import { signal as sendSignal } from '../../soak/processes.ts';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';
import { databaseUser, reachableBinaries, type SystemUser } from '../../src/postgres/embedded/system-user.ts';
import { freePort } from './free-port.ts';

export interface ServerOptions {
  settings?: Record<string, string | number>;
  /** The content of pg_hba.conf. Default: passwords for everybody. */
  hostRules?: string;
  /** The files to write into the cluster's folder, by their names. */
  files?: Record<string, Buffer>;
  /** true: the server is a standby, which accepts no changes, and has no other role or database than those of the superuser. */
  isStandby?: boolean;
}

export interface ThrowAwayServer {
  port: number;
  /** The URL for a role that may create databases and roles, in a database that it owns. */
  url: string;
  /** The URL for a superuser. */
  adminUrl: string;
  stop(): Promise<void>;
}

const run = promisify(execFile);
/** The password of all roles. */
export const password = 'a password for tests';
const startTimeoutMs = 60_000;

export async function startThrowAwayServer(
  found: Binaries,
  options: ServerOptions = {},
): Promise<ThrowAwayServer> {
  const cluster = await makeCluster(found, options);
  const { port, end } = await startCluster(cluster, options.settings);
  const adminUrl = urlOf(port, 'postgres', 'postgres');
  if (options.isStandby) await connectWhenReady(adminUrl).then((admin) => admin.end());
  else await provision(adminUrl);
  return {
    port,
    url: urlOf(port, 'tablewright', 'tablewright'),
    adminUrl,
    stop: async () => {
      // This is an immediate shutdown, because nothing of the server is kept.
      await end('SIGQUIT');
      await rm(cluster.folder, { recursive: true, force: true });
    },
  };
}

export interface Cluster {
  /** The folder of the test, with the cluster's folder. */
  folder: string;
  path: string;
  /** The folder of the programs. */
  programs: string;
  /** How programs are run: the user that owns the cluster. */
  asUser: ExecFileOptions;
  /** Writes a file into the cluster's folder. */
  writeFile(name: string, content: Buffer | string): Promise<void>;
}

/** Makes the folder of a server. */
export async function makeCluster(found: Binaries, options: ServerOptions): Promise<Cluster> {
  const user = await databaseUser(undefined);
  const { root } = user === undefined ? found : await reachableBinaries(found, user);
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-matrix-'));
  await writeFile(join(folder, 'password'), password);
  await chmod(folder, 0o700);
  if (user !== undefined) {
    await chown(join(folder, 'password'), user.uid, user.gid);
    await chown(folder, user.uid, user.gid);
  }
  const asUser = { ...user, cwd: folder, env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' } };
  const path = join(folder, 'cluster');
  const programs = join(root, 'bin');
  await run(
    join(programs, 'initdb'),
    [
      ...['-D', path, '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync'],
      ...['--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`],
    ],
    asUser,
  );
  const cluster = clusterAt({ folder, path, programs, asUser }, user);
  const files = { ...options.files };
  if (options.isStandby) files['standby.signal'] = Buffer.alloc(0);
  for (const [name, content] of Object.entries(files)) await cluster.writeFile(name, content);
  if (options.hostRules) await writeFile(join(path, 'pg_hba.conf'), options.hostRules);
  return cluster;
}

/** Copies a cluster whose server does not run, into the same folder. */
export async function copyCluster(original: Cluster, name: string): Promise<Cluster> {
  const path = join(original.folder, name);
  await run('cp', ['-a', original.path, path], original.asUser);
  return clusterAt({ ...original, path }, await databaseUser(undefined));
}

function clusterAt(facts: Omit<Cluster, 'writeFile'>, user: SystemUser | undefined): Cluster {
  return {
    ...facts,
    writeFile: async (name, content) => {
      const path = join(facts.path, name);
      await writeFile(path, content, { mode: 0o600 });
      if (user !== undefined) await chown(path, user.uid, user.gid);
    },
  };
}

export interface RunningCluster {
  port: number;
  /** Sends a signal to the first process of the server, and waits for its end. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Kills all processes of the server, as the end of its machine does. */
  crash(): Promise<void>;
}

/** Starts the server of a cluster. It may not accept connections yet. */
export async function startCluster(
  { path, programs, asUser }: Cluster,
  given: ServerOptions['settings'] = {},
): Promise<RunningCluster> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: await freePort(),
    unix_socket_directories: '',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    // As the embedded server: files that run side by side share this room, and the test of hostile objects takes thousands of locks.
    max_locks_per_transaction: 256,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    log_min_messages: 'fatal',
    ...given,
  };
  const child = spawn(
    join(programs, 'postgres'),
    ['-D', path, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...asUser, stdio: 'ignore' },
  );
  const ended = once(child, 'close');
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await ended;
  };
  const crash = async (): Promise<void> => {
    const others = childProcesses(child.pid!);
    const ending = end('SIGKILL');
    // A process of the server may end by itself before its signal.
    for (const pid of others) sendSignal(pid, 'SIGKILL');
    await ending;
  };
  return { port: Number(settings.port), end, crash };
}

/** Returns the URL of a database of a server on this machine. */
export function urlOf(port: number, role: string, database: string): string {
  return `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}

/** Creates the role and the database of the service. */
export async function provision(adminUrl: string): Promise<void> {
  const admin = await connectWhenReady(adminUrl);
  const { rows } = await admin.query(`SELECT current_setting('server_version_num')::int AS version`);
  await admin.query(`CREATE ROLE tablewright LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`);
  if (rows[0].version >= 160_000) {
    await admin.query(`ALTER ROLE tablewright SET createrole_self_grant = 'set, inherit'`);
  }
  await admin.query('CREATE DATABASE tablewright OWNER tablewright');
  await admin.end();
}

/** Waits until the server accepts connections. */
export async function connectWhenReady(url: string): Promise<pg.Client> {
  const giveUpAt = performance.now() + startTimeoutMs;
  for (;;) {
    const client = new pg.Client(url);
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await sleep(50);
    }
  }
}
