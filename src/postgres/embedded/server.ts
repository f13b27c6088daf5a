/**
 * Starts, watches and stops the embedded server. It also stops a server that an earlier service left running.
 */

import { type ChildProcess, execFile } from 'node:child_process';
import { open, readFile, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { kill, platform } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { GuardedClient } from '../driver-internals.ts';
import type { Log } from '../log.ts';
import { conditionOf, fullDisk } from '../sqlstate.ts';
import { programPath } from './binaries.ts';
import type { Place } from './place.ts';
import { runProgram, spawnProgram } from './run-program.ts';

export interface Server {
  port: number;
  /** Resolves when the server has ended. If the server ended by itself, the value is the last lines of its log. */
  exited: Promise<string | undefined>;
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** false: a power failure can damage the data. */
  durable: boolean;
  /** The maximum number of connections that the service opens. */
  connections: number;
}

const execute = promisify(execFile);

/** The number of connections that the server allows in addition to the service's: for psql, other programs and superusers. */
const otherConnections = 30;

const startTimeoutMs = 60_000;
const startAttempts = 5;
const pollMs = 10;
const fastStopMs = 15_000;
const immediateStopMs = 5_000;
const maxLogBytes = 1_000_000;

/** Starts the server of a place and returns when it accepts connections. */
export async function startServer(
  dataDir: string,
  place: Place,
  password: string,
  options: ServerOptions,
): Promise<Server> {
  const portFile = join(dataDir, 'postgres-port');
  const logFile = join(dataDir, 'postgres.log');
  let preferred = Number(await readFile(portFile, 'utf8').catch(() => 0));
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(preferred);
    await rotateLog(logFile);
    const logStart = await sizeOf(logFile);
    const child = await spawnServer(place, port, logFile, options);
    if (await becomesReady(child, port, password)) {
      if (port !== preferred) await writeFile(portFile, `${port}\n`);
      return watch(child, port, place, logFile, logStart);
    }
    const words = await lastWords(logFile, logStart);
    // Both problems may be temporary: another program can take the port between this check and the start of the server, and the
    // last processes of a killed server may still use shared memory for a moment.
    const isPortTaken = /could not (bind|create any TCP)/.test(words);
    const isTemporary = isPortTaken || words.includes('pre-existing shared memory block');
    if (!isTemporary || attempt === startAttempts) {
      throw new Error(`the embedded PostgreSQL did not start: ${words} (see ${logFile})`);
    }
    if (isPortTaken) preferred = 0;
    await sleep(200 * attempt);
  }
}

/**
 * Stops a server that an earlier service left running on the cluster. If the process of the pid file has ended, or is another program,
 * the file is removed, because PostgreSQL refuses to start while any process has that id.
 */
export async function stopOrphan(place: Place, log: Log): Promise<void> {
  const pidFile = join(place.cluster, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n', 1)[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  if (await isServerOf(pid, place.cluster)) {
    log.warn({ pid }, 'Stopping a PostgreSQL server that an earlier run did not stop');
    await stopProcess(pid, place, async (timeoutMs) => {
      const end = performance.now() + timeoutMs;
      while (await isServerOf(pid, place.cluster)) {
        if (performance.now() > end) return false;
        await sleep(pollMs);
      }
      return true;
    });
  }
  await rm(pidFile, { force: true });
}

async function spawnServer(
  place: Place,
  port: number,
  logFile: string,
  options: ServerOptions,
): Promise<ChildProcess> {
  const log = await open(logFile, 'a', 0o600);
  try {
    const settings = Object.entries(serverSettings(port, options)).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    return await spawnProgram(
      programPath(place.binaries, 'postgres'),
      ['-D', place.cluster, ...settings],
      place.user,
      {
        cwd: place.cluster,
        stdio: ['ignore', log.fd, log.fd],
        // Ctrl-C in a terminal goes to the whole process group. The service itself stops the server, after the requests have ended, so the server is not in its group.
        detached: true,
      },
    );
  } finally {
    await log.close();
  }
}

/**
 * Settings that make temporary servers faster. The buffer cache is small because PostgreSQL searches all of it when it creates or
 * drops a table. Measured: with 32 MB instead of 256 MB, creating and dropping a small table takes a third less processor time.
 */
const temporarySettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_wal_size: '512MB',
};

function serverSettings(
  port: number,
  { durable, connections }: ServerOptions,
): Record<string, string | number> {
  return {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: Math.max(100, connections + otherConnections),
    shared_buffers: '256MB',
    maintenance_work_mem: '256MB',
    max_wal_size: '4GB',
    // All requests share the room for locks, and one that makes or tests hundreds of objects holds a lock for each. It takes about 10 MB.
    max_locks_per_transaction: 256,
    checkpoint_timeout: '15min',
    // The server has no replicas. With this setting, the rows of a table that is created and filled in one transaction need no WAL.
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_logical_replication_workers: 0,
    jit: 'off',
    // Only messages about the server itself are logged. Messages about statements contain the values of callers, and could fill the disk.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    ...(!durable && temporarySettings),
  };
}

/** Waits until the server accepts connections; false: the server ended. */
async function becomesReady(child: ChildProcess, port: number, password: string): Promise<boolean> {
  const end = performance.now() + startTimeoutMs;
  while (child.exitCode === null && child.signalCode === null) {
    // Each attempt uses a new connection. SCRAM proves that it reached this server and not another program, because the server must know the password, too.
    const client = new GuardedClient({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      password,
      database: 'postgres',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return true;
    } catch (error) {
      const { code } = error as { code?: string };
      const isStarting =
        code === 'ECONNREFUSED' || code === 'ECONNRESET' || conditionOf(error) === 'cannot_connect_now';
      if (!isStarting || performance.now() > end) {
        child.kill('SIGKILL');
        throw new Error(`the embedded PostgreSQL does not accept connections: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    await sleep(pollMs);
  }
  return false;
}

function watch(child: ChildProcess, port: number, place: Place, logFile: string, logStart: number): Server {
  const pid = child.pid!;
  let stopping: Promise<void> | undefined;
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once('exit', () => resolve());
  });
  const exited = ended.then(async () => {
    if (stopping !== undefined) return undefined;
    return `the embedded PostgreSQL ended (${child.signalCode ?? `exit code ${child.exitCode}`}): ${await lastWords(logFile, logStart)}`;
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      await stopProcess(pid, place, (timeoutMs) =>
        Promise.race([ended.then(() => true), sleep(timeoutMs, false, { ref: false })]),
      );
    }
    await exited;
  };
  return {
    port,
    exited,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Tries a fast shutdown, then an immediate shutdown, and then kills the process (PostgreSQL 18.5). */
async function stopProcess(
  pid: number,
  place: Place,
  ends: (timeoutMs: number) => Promise<boolean>,
): Promise<void> {
  await signal(pid, 'INT', place);
  if (await ends(fastStopMs)) return;
  await signal(pid, 'QUIT', place);
  if (await ends(immediateStopMs)) return;
  await signal(pid, 'KILL', place);
  if (!(await ends(immediateStopMs)))
    throw new Error(`the embedded PostgreSQL (process ${pid}) cannot be stopped`);
}

async function signal(pid: number, name: 'INT' | 'QUIT' | 'KILL', place: Place): Promise<void> {
  try {
    // Windows has no signals, so pg_ctl sends PostgreSQL's own signals over a pipe.
    if (platform === 'win32' && name !== 'KILL') {
      await runProgram(programPath(place.binaries, 'pg_ctl'), ['kill', name, String(pid)], {
        user: undefined,
        cwd: place.cluster,
      });
    } else {
      kill(pid, `SIG${name}`);
    }
  } catch (error) {
    // ESRCH means that the process has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Returns whether a process is the server of this cluster. The id alone is not enough, because another process may have got it since. On Windows
 * this cannot be found out, and the result is false; PostgreSQL itself then refuses to start a second server.
 */
async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  // The working directory of a server is its cluster. A process that has ended but was not reaped yet has no working directory.
  if (platform === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === cluster;
  const listing = await execute('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return listing.stdout.includes(` -D ${cluster} `);
}

async function freePort(preferred: number): Promise<number> {
  if (preferred > 0 && preferred < 65_536 && (await canListen(preferred)) !== undefined) return preferred;
  const port = await canListen(0);
  if (port === undefined) throw new Error('no TCP port is free on 127.0.0.1');
  return port;
}

function canListen(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? address?.port : undefined));
    });
  });
}

async function rotateLog(logFile: string): Promise<void> {
  if ((await sizeOf(logFile)) > maxLogBytes) await rename(logFile, `${logFile}.1`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

/** Returns what the server has logged since its start: the last lines, as one line. A message about a full disk is always included. */
async function lastWords(logFile: string, logStart: number): Promise<string> {
  const text = (await readFile(logFile).catch(() => Buffer.alloc(0))).subarray(logStart).toString();
  const lines = text.trim().split('\n');
  const ofDisk = lines.slice(0, -4).filter((line) => fullDisk.test(line));
  return [...ofDisk.slice(-1), ...lines.slice(-4)].join(' / ').slice(-1000) || 'the log has no message';
}
