/** `scripts/run.mjs`, which every npm script runs, and the Node.js runtime that npm installs for it. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { startFailure } from '../../src/service/start/start-failure.ts';
import { isRunning } from '../support/is-running.ts';
import { sized } from '../support/sized.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const launcher = join(root, 'scripts', 'run.mjs');
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-launcher-'));
});

after(() => rm(folder, { recursive: true }));

interface Ended {
  code: number | string;
  stdout: string;
  stderr: string;
}

async function run(...parameters: string[]): Promise<Ended> {
  return new Promise((resolve) =>
    execFile(process.execPath, parameters, { cwd: root }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test('the file that is started gets its arguments as if it had been started directly', async () => {
  const file = await script(
    'arguments.ts',
    'const given: string[] = process.argv.slice(1); console.log(given);',
  );
  const { code, stdout } = await run(launcher, file, '--ttl', '8h');
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout.replaceAll("'", '"')), [file, '--ttl', '8h']);
});

/** Copies a program and the module that finds Node.js into a folder where npm has installed nothing. */
async function withoutPackages(program: string): Promise<string> {
  for (const path of ['cli/node-24.mjs', program]) await cp(join(root, path), join(folder, path));
  return join(folder, program);
}

/** Lets Node.js report an older version. */
const versions = '{value:{...process.versions,node:"20.20.2"}}';
const older = `--import=data:text/javascript,Object.defineProperty(process,"versions",${versions})`;

test('on an older Node.js the launcher starts the installed one, and ends with its exit code', async () => {
  const file = await script('version.ts', 'console.log(process.execPath); process.exitCode = 3 as number;');
  const { code, stdout } = await run(older, launcher, file);
  assert.equal(code, 3);
  assert.match(stdout, /[\\/]node_modules[\\/]node-.*[\\/]bin[\\/]node/);
});

test('on an older Node.js the command line runs on the installed one, with its exit code', async () => {
  const program = join(root, 'cli', 'tablewright.mjs');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const shown = await run(older, program, '--version');
  assert.deepEqual([shown.code, shown.stdout], [0, `${version}\n`]);
  assert.equal((await run(older, program, 'unknown')).code, 2);

  const alone = await withoutPackages('cli/tablewright.mjs');
  await cp(join(root, 'cli', 'main.ts'), join(folder, 'cli', 'main.ts'));
  const refused = await run(older, alone, '--version');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^Tablewright needs Node\.js 24 or newer and this is v[^\n]+\n$/);
});

test('on an older Node.js without the installed one the launcher ends with one sentence that says what to do', async () => {
  const alone = await withoutPackages('scripts/run.mjs');
  const { code, stdout, stderr } = await run(older, alone, 'src/main.ts');
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^Tablewright needs Node\.js 24 or newer .*: run "npm ci" .*\n$/);
});

test('options of Node.js before the file are options of the runtime', async () => {
  const { code, stdout } = await run(launcher, '--print', '1 + 1');
  assert.equal(code, 0);
  assert.equal(stdout, '2\n');
});

test('a signal that stops the launcher reaches the runtime that it started', async () => {
  const file = await script(
    'waiting.ts',
    "process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('ready');",
  );
  const child = spawn(process.execPath, [older, launcher, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  assert.equal(code, 7);
});

/**
 * The shells in which the launcher is tested. Each start creates a PostgreSQL cluster, which takes long. Dash is the shell of
 * Debian, in which npm sends signals only to the shell.
 */
const shells = ['dash', 'bash'].filter((name) => findProgram(name) !== undefined);

for (const shell of shells.slice(0, sized(1, 2))) {
  test(`SIGTERM to npm start stops the service where npm runs scripts with ${shell}`, async () => {
    const { npm, service } = await startWithNpm(findProgram(shell)!);
    npm.kill('SIGTERM');
    await waitForEnd(service);
  });
}

test('a service that a shell started in the background outlives the shell, also within a script of npm', async () => {
  const file = await script('background.ts', outliving);
  const command = `"${process.execPath}" "${launcher}" "${file}" & read line`;
  const shell = spawn('sh', ['-c', command], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, npm_lifecycle_event: 'start', npm_lifecycle_script: 'sh -c other.sh' },
  });
  const pid = Number(await firstLine(shell));
  const next = firstLine(shell);
  shell.stdin.end('\n');
  assert.equal(await next, 'outlived\n');
  process.kill(pid, 'SIGTERM');
  await waitForEnd(pid);
});

/** Prints its process id when it is ready, and waits for SIGTERM. */
const waiting =
  "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); console.log(process.pid);";

/** In addition, prints when it has run for two seconds without its parent. The launcher would look for the parent once a second. */
const outliving = `let seconds = 0; const parent = process.ppid; ${waiting}
setInterval(() => { if (process.ppid !== parent && ++seconds === 2) console.log('outlived'); }, 1000);`;

function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((path) => join(path, name)).find((path) => existsSync(path));
}

/** Runs `npm start` with a separate embedded PostgreSQL. */
async function startWithNpm(shell: string): Promise<{ npm: ChildProcess; service: number }> {
  const dataDir = join(folder, `data-${basename(shell)}`);
  // The service has a cache of compiled modules of its own (test/support/child-environment.ts).
  const { NODE_COMPILE_CACHE: _, ...inherited } = process.env;
  const npm = spawn('npm', ['start', `--script-shell=${shell}`], {
    cwd: root,
    env: { ...inherited, NODE_OPTIONS: '', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const chunk of npm.stdout.iterator({ destroyOnReturn: false })) {
    output += chunk;
    if (output.includes('Ctrl-C')) break;
  }
  npm.stdout.resume();
  return { npm, service: Number(await readFile(join(dataDir, 'pid'), 'utf8')) };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = await once(child.stdout!, 'data');
  return String(chunk);
}

async function waitForEnd(pid: number): Promise<void> {
  await until(`process ${pid} to end`, () => !isRunning(pid));
}

test('if packages are not installed, the launcher ends with one sentence that names "npm ci"', async () => {
  const file = await script('without-packages.ts', "import 'fastify';");
  const { code, stderr } = await run(launcher, file);
  assert.equal(code, 1);
  assert.equal(stderr, 'The package "fastify" is not installed: run "npm ci" first.\n');
});

test('an error of the started file is not hidden', async () => {
  const file = await script('broken.ts', "import './nothing.ts';");
  const { code, stderr } = await run(launcher, file);
  assert.equal(code, 1);
  assert.match(stderr, /ERR_MODULE_NOT_FOUND/);
});

test('npm installs the runtime without development packages and without install scripts', async () => {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'bin-darwin-arm64', 'win-x64']) {
    const name = `node-${platform}`;
    assert(name in manifest.optionalDependencies, name);
    const locked = packages[`node_modules/${name}`];
    assert.match(locked.version, /^24\./);
    assert.equal(locked.dev, undefined);
    assert.equal(locked.hasInstallScript, undefined);
  }
  for (const [name, command] of Object.entries<string>(manifest.scripts)) {
    if (/\.ts\b/.test(command)) assert.match(command, /^node scripts\/run\.mjs /, name);
  }
});

test('a service whose packages are not installed says that npm ci is missing', () => {
  const error = Object.assign(new Error("Cannot find package 'pino'"), { code: 'ERR_MODULE_NOT_FOUND' });
  assert.match(startFailure(error), /Run "npm ci" first\.$/);
});
