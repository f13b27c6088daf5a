import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { serviceEnvironment } from '../support/child-environment.ts';

/** The process as a person starts it: its output and its end. */

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-process-'));
  await chmod(folder, 0o711);
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Each runs in a separate folder, so that a `.env` of the person who runs the tests has no effect. */
function run(
  environment: Record<string, string> = {},
  parameters: string[] = ['--show-secrets'],
  hasOwnGroup = false,
): ChildProcess {
  const settings = { PORT: '0', DATA_DIR: 'data', LOG_LEVEL: 'silent', ...environment };
  return spawn(process.execPath, [main, ...parameters], {
    cwd: folder,
    env: { ...serviceEnvironment(), ...settings },
    stdio: 'pipe',
    detached: hasOwnGroup,
  });
}

interface Started {
  child: ChildProcess;
  url: string;
  databaseUrl: string;
}

async function started(child: ChildProcess): Promise<Started> {
  let banner = '';
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    banner += chunk;
    if (banner.includes('Ctrl-C')) break;
  }
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0];
  const databaseUrl = /postgresql:[^\s"]+/.exec(banner)?.[0];
  assert(url !== undefined && databaseUrl !== undefined, banner);
  return { child, url, databaseUrl };
}

async function databaseAnswers(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

test('output that is not a terminal has no password and no token', async () => {
  const child = run({}, []);
  let banner = '';
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    banner += chunk;
    if (banner.includes('Ctrl-C')) break;
  }
  child.kill('SIGTERM');
  await once(child, 'exit');
  for (const file of ['tablewright-password', 'postgres-password', 'token-secret']) {
    assert(!banner.includes((await readFile(join(folder, 'data', file), 'utf8')).trim()), file);
  }
  assert.doesNotMatch(banner, /postgresql:|ey[\w-]+\.[\w-]+\./);
  assert.match(banner, /^ {2}TOKEN=\$\(npm run -s token\)$/m);
  assert.match(banner, /--show-secrets/);
});

/** Sends the signal, and checks that it ends the service and its PostgreSQL, with success. */
async function assertEnds({ child, databaseUrl }: Started, signal: NodeJS.Signals): Promise<void> {
  assert(await databaseAnswers(databaseUrl));
  child.kill(signal);
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert(!(await databaseAnswers(databaseUrl)));
}

test('a Ctrl-C in the terminal, which reaches every process, ends all workers and their PostgreSQL', async () => {
  const child = run({ WORKERS: '2' }, undefined, true);
  const { url, databaseUrl } = await started(child);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  assert(await databaseAnswers(databaseUrl));
  process.kill(-child.pid!, 'SIGINT');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert(!(await databaseAnswers(databaseUrl)));
  assert.throws(() => process.kill(-child.pid!, 0), { code: 'ESRCH' });
});

test('one Ctrl-C under npm, which arrives twice, stops the service and its PostgreSQL without an error', async () => {
  const { child, url, databaseUrl } = await started(run());
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert(await databaseAnswers(databaseUrl));
  child.kill('SIGINT');
  child.kill('SIGINT');
  setTimeout(() => child.kill('SIGINT'), 5);
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert(!(await databaseAnswers(databaseUrl)));
});

test('after a kill the next start uses the same folder and address, and ends with SIGTERM', async () => {
  const first = await started(run());
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const second = await started(run());
  assert.equal(second.databaseUrl, first.databaseUrl);
  assert.equal((await fetch(`${second.url}/readyz`)).status, 200);
  await assertEnds(second, 'SIGTERM');
});

test('a second start with the same folder fails with one line, and the first is not affected and ends with SIGHUP', async () => {
  const first = await started(run());
  const second = run();
  const [message, [code]] = await Promise.all([text(second.stderr!), once(second, 'exit')]);
  assert.equal(code, 1);
  assert.match(
    message,
    /^Tablewright cannot start: another Tablewright \(process \d+\) uses the folder [^\n]*\n$/,
  );
  assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
  await assertEnds(first, 'SIGHUP');
});

test('invalid settings are all reported, without a stack', async () => {
  const child = run({ PORT: 'eighty', MAX_COLUMNS: '0' });
  const [message, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  assert.equal(code, 1);
  assert.match(message, /PORT must be .*\n {2}MAX_COLUMNS must be /);
  assert.doesNotMatch(message, /\n\s+at /);
});

test('a signal during the start ends it and leaves no process, and SIGINT ends the next start', async () => {
  for (const delayMs of [150, 300]) {
    const child = run();
    setTimeout(() => child.kill('SIGTERM'), delayMs);
    await once(child, 'exit');
  }
  await assertEnds(await started(run()), 'SIGINT');
});
