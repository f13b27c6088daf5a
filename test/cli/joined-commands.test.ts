/** Commands without an address share the service that runs on their data folder. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, test } from 'node:test';
import { scriptEnvironment } from '../support/child-environment.ts';
import { until } from '../support/until.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const timeout = 120_000;

let folder: string;
let served: ChildProcess | undefined;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-joined-'));
});
afterEach(async () => {
  if (served?.exitCode !== null || served.signalCode !== null) return;
  const ended = once(served, 'close');
  served.kill('SIGTERM');
  await ended;
});
after(() => rm(folder, { recursive: true, force: true }));

function start(...parameters: string[]): ChildProcess {
  const { TABLEWRIGHT_URL: _, DATABASE_URL: __, ...env } = scriptEnvironment();
  return spawn(process.execPath, [program, ...parameters], {
    cwd: folder,
    env: { ...env, HOME: folder, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent', PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(...parameters: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = start(...parameters);
  const [out, err] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

async function serve(): Promise<void> {
  served = start('serve');
  served.stdout!.resume();
  served.stderr!.resume();
  await until('the service', () => existsSync(join(folder, 'data', 'url')));
}

test('commands at the same time share the service that the first of them starts', { timeout }, async () => {
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) await writeFile(join(folder, `${name}.csv`), `n\n${'1\n'.repeat(1000)}`);
  const all = await Promise.all(names.map((name) => run('load', `${name}.csv`)));
  for (const { code, out, err } of all) {
    assert.equal(code, 0, err);
    assert.match(out, /1,000 rows loaded/);
  }
  assert.equal(all.filter(({ err }) => err.includes('has started one')).length, 1);
  assert.equal(existsSync(join(folder, 'data', 'url')), false);
});

test('a command uses the service that runs on its data folder', { timeout }, async () => {
  await serve();
  const { code, out, err } = await run('rows', 'a', '--limit', '2', '--json');
  assert.equal(code, 0, err);
  assert.equal(out, '{"n":1}\n{"n":1}\n');
  const url = await readFile(join(folder, 'data', 'url'), 'utf8');
  assert.ok(err.includes(`uses the one that runs at ${url}.`), err);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

test('the address of a service that was killed is not used', { timeout }, async () => {
  await serve();
  const ended = once(served!, 'close');
  served!.kill('SIGKILL');
  await ended;
  const { code, out, err } = await run('tables');
  assert.equal(code, 0, err);
  assert.match(err, /has started one/);
  assert.match(out, /public +a /);
});
