/** Starts a PgBouncer between a test's service and the test server, if the machine has the program. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { geteuid } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { databaseUser } from '../../src/postgres/embedded/system-user.ts';
import { freePort } from './free-port.ts';

export type PoolMode = 'session' | 'transaction';

export interface Pooler {
  port: number;
  /** The URL of the same database through the pooler. */
  urlOf(databaseUrl: string): string;
  stop(): Promise<void>;
}

const startTimeoutMs = 30_000;

/** Returns the URL of the same database through the pooler that listens at this port. */
export function atPort(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

/** Returns the path of the program; undefined: this machine has none. */
export function findPgBouncer(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path));
}

/**
 * Starts PgBouncer.
 *
 * @param serverUrl the server behind it, and the only role that it knows
 * @param settings more lines of `[pgbouncer]`
 */
export async function startPooler(
  mode: PoolMode,
  serverUrl: string,
  settings: Record<string, string | number> = {},
): Promise<Pooler> {
  const program = findPgBouncer();
  if (program === undefined) throw new Error('this machine has no pgbouncer');
  const server = new URL(serverUrl);
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-pooler-'));
  // PgBouncer refuses to run as root, like PostgreSQL.
  const user = await databaseUser(undefined);
  const lines = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users'),
    pool_mode: mode,
    // Each session of the service has a connection: those of DATABASE_POOL_SIZE, two for records and one for health checks.
    default_pool_size: 30,
    max_client_conn: 1000,
    ...settings,
  };
  const configuration = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port || 5432}`,
    '[pgbouncer]',
    ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
  ];
  const password = decodeURIComponent(server.password).replaceAll('"', '""');
  await writeFile(join(folder, 'users'), `"${decodeURIComponent(server.username)}" "${password}"\n`);
  await writeFile(join(folder, 'pgbouncer.ini'), `${configuration.join('\n')}\n`);
  await chmod(folder, 0o700);
  if (user !== undefined) {
    for (const path of [join(folder, 'users'), join(folder, 'pgbouncer.ini'), folder]) {
      await chown(path, user.uid, user.gid);
    }
  }

  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], {
    cwd: folder,
    ...(geteuid?.() === 0 && user),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  await acceptsConnections(child, port);
  return {
    port,
    urlOf: (databaseUrl) => atPort(databaseUrl, port),
    stop: async () => {
      // SIGTERM ends it at once. SIGINT would wait for its clients.
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function acceptsConnections(child: ChildProcess, port: number): Promise<void> {
  let words = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    words = (words + chunk).slice(-10_000);
  });
  const end = performance.now() + startTimeoutMs;
  while (child.exitCode === null && performance.now() < end) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await sleep(20);
  }
  child.kill('SIGKILL');
  throw new Error(`pgbouncer did not start: ${words}`);
}
