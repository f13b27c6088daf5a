/** How `tablewright` gets the password of an encrypted workbook: from the terminal, a file or the environment. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { scriptEnvironment } from '../support/child-environment.ts';
import { encryptAgile } from '../support/encrypt-workbook.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { sheetOf } from '../support/workbook.ts';

const program = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const password = 'Größe 77';
const hasScript = spawnSync('script', ['--version']).status === 0;

let service: TestService;
let folder: string;
let environment: NodeJS.ProcessEnv;

before(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'tablewright-cli-'));
  environment = {
    ...scriptEnvironment(),
    HOME: folder,
    TABLEWRIGHT_URL: service.url,
    TABLEWRIGHT_TOKEN: await service.token(),
  };
  const locked = encryptAgile(sheetOf([['a'], [7]]), password, 100);
  for (const name of ['locked.xlsx', 'further.xlsx']) await writeFile(join(folder, name), locked);
  await writeFile(join(folder, 'password.txt'), `${password}\n`);
  await writeFile(join(folder, 'wrong.txt'), 'wrong');
  await writeFile(join(folder, 'empty.txt'), '\n');
});

after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function run(parameters: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [program, ...parameters], {
    cwd: folder,
    env: { ...environment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, out, err };
}

test('the password comes from a file or from the environment, for loads and inspections', async () => {
  await service.rows('CREATE TABLE secret (a bigint)');
  const table = ['--table', 'secret', '--if-exists', 'append'];
  const fromFile = ['--password-file', 'password.txt'];
  const fromEnvironment = { TABLEWRIGHT_FILE_PASSWORD: password };
  const all = [
    await run(['load', 'locked.xlsx', ...table, ...fromFile]),
    await run(['load', 'locked.xlsx', ...table], fromEnvironment),
    await run(['inspect', 'locked.xlsx', ...fromFile]),
    await run(['inspect', 'locked.xlsx'], fromEnvironment),
  ];
  for (const { code, err } of all) assert.equal(code, 0, err);
  assert.deepEqual(await service.rows('SELECT a::int FROM secret'), [{ a: 7 }, { a: 7 }]);
});

test('without a terminal a missing or wrong password is refused with the ways to give it', async () => {
  const ways = /TABLEWRIGHT_FILE_PASSWORD to the password, or name a file that has it with --password-file/;
  const missing = await run(['load', 'locked.xlsx', '--table', 'never']);
  assert.equal(missing.code, 1);
  assert.match(missing.err, /password-required/);
  assert.match(missing.err, ways);
  const wrong = await run(['load', 'locked.xlsx', '--table', 'never', '--password-file', 'wrong.txt']);
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /wrong-password/);
  assert.match((await run(['inspect', 'locked.xlsx'])).err, ways);
  for (const file of ['empty.txt', 'absent.txt']) {
    const { code, err } = await run(['load', 'locked.xlsx', '--password-file', file]);
    assert.equal(code, 2);
    assert.match(err, /The password file ".*" (is empty|cannot be read)/);
  }
  const option = await run(['load', 'locked.xlsx', '--password', 'x']);
  assert.equal(option.code, 2);
  assert.match(option.err, /Set TABLEWRIGHT_FILE_PASSWORD, or use --password-file/);
});

/** Starts a command on a terminal. */
function onTerminal(parameters: string): {
  child: ChildProcess;
  shown: () => string;
  closed: Promise<unknown>;
} {
  const command = `${process.execPath} ${program} ${parameters}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: folder, env: environment });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
  });
  return { child, shown: () => shown, closed: once(child, 'close') };
}

const questions = (shown: string): number => shown.split('Password: ').length - 1;

test('a terminal asks until the password is right, does not show it, and uses it for further files', {
  skip: !hasScript,
}, async () => {
  await service.rows('CREATE TABLE asked (a bigint)');
  const { child, shown, closed } = onTerminal(
    'load locked.xlsx further.xlsx --table asked --if-exists append',
  );
  await until('the question', () => questions(shown()) === 1);
  child.stdin!.write('mistake\r');
  await until('the second question', () => questions(shown()) === 2);
  child.stdin!.write(`${password}x\u007f\r`);
  await closed;
  assert.equal(child.exitCode, 0, shown());
  assert.match(shown(), /locked\.xlsx is encrypted\.\r\n/);
  assert.match(shown(), /locked\.xlsx is encrypted, and the password does not open it\.\r\n/);
  assert.equal(questions(shown()), 2);
  assert.ok(!shown().includes('mistake') && !shown().includes('Gr'), shown());
  assert.deepEqual(await service.rows('SELECT a::int FROM asked'), [{ a: 7 }, { a: 7 }]);
});

test('an empty answer, the end of the input and Ctrl-C give up, and nothing is changed', {
  skip: !hasScript,
}, async () => {
  for (const [typed, code, text] of [
    ['\r', 1, /password-required/],
    ['\u0004', 1, /password-required/],
    ['\u0003', 130, /Cancelled\. Nothing was changed\./],
  ] as const) {
    const { child, shown, closed } = onTerminal('load locked.xlsx --table given_up');
    await until('the question', () => questions(shown()) === 1);
    child.stdin!.write(typed);
    await closed;
    assert.equal(child.exitCode, code, shown());
    assert.match(shown(), text);
  }
  const inspecting = onTerminal('inspect locked.xlsx');
  await until('the question', () => questions(inspecting.shown()) === 1);
  inspecting.child.stdin!.write('\u0003');
  await inspecting.closed;
  assert.equal(inspecting.child.exitCode, 130, inspecting.shown());
  assert.deepEqual(await service.rows("SELECT 1 FROM pg_tables WHERE tablename = 'given_up'"), []);
});
