/** Starts a separate PostgreSQL server, for tests that need another version or other settings than those of the test run. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';
import { databaseUser, reachableBinaries } from '../../src/postgres/embedded/system-user.ts';
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
const password = 'a password for tests';
const startTimeoutMs = 60_000;

export async function startThrowAwayServer(
  found: Binaries,
  options: ServerOptions = {},
): Promise<ThrowAwayServer> {
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
  const cluster = join(folder, 'cluster');
  await run(
    join(root, 'bin', 'initdb'),
    [
      ...['-D', cluster, '--username=postgres', '--encoding=UTF8', '--locale=C', '--no-sync'],
      ...['--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`],
    ],
    asUser,
  );
  const files = { ...options.files };
  if (options.isStandby) files['standby.signal'] = Buffer.alloc(0);
  for (const [name, content] of Object.entries(files)) {
    const path = join(cluster, name);
    await writeFile(path, content, { mode: 0o600 });
    if (user !== undefined) await chown(path, user.uid, user.gid);
  }
  if (options.hostRules) await writeFile(join(cluster, 'pg_hba.conf'), options.hostRules);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    log_min_messages: 'fatal',
    ...options.settings,
  };
  const child = spawn(
    join(root, 'bin', 'postgres'),
    ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...asUser, stdio: 'ignore' },
  );
  const ended = once(child, 'close');
  const url = (role: string, database: string) =>
    `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  const adminUrl = url('postgres', 'postgres');
  if (options.isStandby) await connectWhenReady(adminUrl).then((admin) => admin.end());
  else await provision(adminUrl);
  return {
    port,
    url: url('tablewright', 'tablewright'),
    adminUrl,
    stop: async () => {
      // This is an immediate shutdown, because nothing of the server is kept.
      child.kill('SIGQUIT');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function provision(adminUrl: string): Promise<void> {
  const admin = await connectWhenReady(adminUrl);
  const { rows } = await admin.query(`SELECT current_setting('server_version_num')::int AS version`);
  await admin.query(`CREATE ROLE tablewright LOGIN CREATEROLE CREATEDB PASSWORD '${password}'`);
  if (rows[0].version >= 160_000) {
    await admin.query(`ALTER ROLE tablewright SET createrole_self_grant = 'set, inherit'`);
  }
  await admin.query('CREATE DATABASE tablewright OWNER tablewright');
  await admin.end();
}

async function connectWhenReady(url: string): Promise<pg.Client> {
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
