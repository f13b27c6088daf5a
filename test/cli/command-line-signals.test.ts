/** A command that starts the service for itself ends it, and its PostgreSQL, however the command ends. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { scriptEnvironment } from '../support/child-environment.ts';
import { isRunning } from '../support/is-running.ts';
import { until } from '../support/until.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');

const hasPipes = spawnSync('mkfifo', ['--version']).status === 0;

let folder: string;
let cluster: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-signals-'));
  await chmod(folder, 0o711);
  cluster = join(folder, '.tablewright', 'postgres');
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

function start(...parameters: string[]): ChildProcess {
  return spawn(process.execPath, [program, ...parameters], {
    cwd: folder,
    env: { ...scriptEnvironment(), HOME: folder },
  });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; err: string }> {
  const [err] = await Promise.all([text(child.stderr!), once(child, 'close')]);
  return { code: child.exitCode, err };
}

/** Returns the id of the server of the folder; undefined: none runs. */
async function serverId(): Promise<number | undefined> {
  const file = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '');
  const id = Number.parseInt(file, 10);
  return id > 0 && isRunning(id) ? id : undefined;
}

/** Queries the database of the running command. */
async function query(sql: string): Promise<Record<string, unknown>[]> {
  const read = async (name: string) => (await readFile(join(folder, '.tablewright', name), 'utf8')).trim();
  const client = new pg.Client({
    host: '127.0.0.1',
    port: Number(await read('postgres-port')),
    user: 'tablewright',
    password: await read('tablewright-password'),
    database: 'tablewright',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits until a load into the table has rows, and returns the id of the server. */
async function untilLoading(table: string): Promise<number> {
  await until('the load', async () => {
    const rows = await query(
      `SELECT FROM tablewright_service.loads WHERE table_name = '${table}' AND state = 'receiving'`,
    ).catch(() => []);
    return rows.length === 1;
  });
  return (await serverId())!;
}

test('SIGHUP while the database is created ends the command with 129 and leaves no PostgreSQL', async () => {
  const child = start('tables');
  await once(child.stderr!, 'data');
  child.kill('SIGHUP');
  const { code, err } = await ended(child);
  assert.deepEqual([code, err], [129, '']);
  assert.equal(await serverId(), undefined);
});

test('SIGTERM during a load rolls it back and ends PostgreSQL, and the exit code is 143', async () => {
  const child = start('load', '-', '--table', 'endless');
  child.stdin!.on('error', () => {});
  child.stdin!.write('{"a":1}\n'.repeat(50_000));
  const ending = ended(child);
  const server = await untilLoading('endless');
  assert.deepEqual(await query(`SELECT to_regclass('endless') AS "table"`), [{ table: null }]);
  child.kill('SIGTERM');
  const { code, err } = await ending;
  assert.match(err, /^Cancelled\. Nothing was changed\.$/m);
  assert.equal(code, 143);
  assert(!isRunning(server));
});

test('a signal during an inspection ends PostgreSQL, and does not wait for the file', {
  skip: !hasPipes,
}, async () => {
  const pipe = join(folder, 'piped.csv');
  execFileSync('mkfifo', [pipe]);
  const child = start('inspect', 'piped.csv');
  const ending = ended(child);
  const sender = createWriteStream(pipe);
  sender.on('error', () => {});
  sender.write('a,b\n');
  await until('PostgreSQL', async () => (await serverId()) !== undefined);
  const server = (await serverId())!;
  child.kill('SIGQUIT');
  const { code } = await ending;
  sender.destroy();
  assert.equal(code, 131);
  assert(!isRunning(server));
});

test('a process that ends at once, because nobody reads its output, ends PostgreSQL', async () => {
  const child = start('tables');
  child.stdout!.destroy();
  await once(child.stderr!, 'data');
  let server: number | undefined;
  await until('PostgreSQL', async () => {
    server = await serverId();
    return server !== undefined;
  });
  child.stderr!.resume();
  const [code] = await once(child, 'close');
  assert.equal(code, 0);
  // The process does not wait for it.
  await until('the end of PostgreSQL', () => !isRunning(server!));
});
