/**
 * The npm package is complete: it is packed, checked, installed into an empty folder, and used there by an ordinary user. Its client also
 * works in Deno and Bun, which are installed into a temporary folder.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { databaseUser } from '../../src/service/postgres/embedded/system-user.ts';
import { freePort } from '../support/free-port.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);
const startTimeoutMs = 120_000;

let folder: string;
let tarball: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-package-'));
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root });
  // The build may print lines before the list.
  const packed = JSON.parse(stdout.slice(stdout.search(/^[[{]$/m)));
  const [{ filename }] = Object.values<{ filename: string }>(packed) as [{ filename: string }];
  tarball = join(folder, basename(filename));
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('publint and arethetypeswrong find nothing wrong in the package', async () => {
  const content = new Uint8Array(await readFile(tarball));
  const { messages } = await publint({ pack: { tarball: content.buffer }, strict: true });
  assert.deepEqual(messages, []);
  const checked = await checkPackage(createPackageFromTarballData(content));
  assert.ok(checked.types);
  // The package has ES modules only, and needs a resolver that knows `exports`.
  const expected = (kind: string, resolution: unknown) =>
    kind === 'CJSResolvesToESM' || (kind === 'NoResolution' && resolution === 'node10');
  const problems = checked.problems.filter(
    (problem) => !expected(problem.kind, 'resolutionKind' in problem && problem.resolutionKind),
  );
  assert.deepEqual(problems, []);
});

test('the package has compiled modules with types and source maps, and no test, benchmark or TypeScript', async () => {
  const { stdout } = await run('tar', ['--list', '--gzip', '--file', tarball]);
  const files = stdout.trim().split('\n');
  const wrong = files.filter((file) =>
    /\.test\.|\/(test|bench|soak|scripts)\/|(?<!\.d)\.ts$|^package\/src/.test(file),
  );
  assert.deepEqual(wrong, []);
  const modules = files.filter((file) => file.endsWith('.js'));
  assert.ok(modules.length > 300);
  for (const path of modules) {
    for (const other of [`${path}.map`, path.replace(/js$/, 'd.ts')]) assert.ok(files.includes(other), other);
  }
});

test('the installed package serves, makes a token, loads and tells its version, for an ordinary user', async () => {
  const user = await databaseUser(undefined);
  const place = join(folder, 'installed');
  await mkdir(place);
  await writeFile(join(place, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', tarball], { cwd: place });
  await chmod(folder, 0o755);
  if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, place]);
  const port = await freePort();
  const PATH = [join(place, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  const environment = { PATH, HOME: place, PORT: String(port) };
  const inPlace = { cwd: place, env: environment, ...user };
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  assert.equal((await run('tablewright', ['--version'], inPlace)).stdout, `${version}\n`);
  assert.match((await run('tablewright', ['--help'], inPlace)).stdout, /^Usage: tablewright COMMAND/m);

  const service = spawn('tablewright', ['serve'], { ...inPlace, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(service, 'close');
  let output = '';
  for (const stream of [service.stdout, service.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  }
  const isRunning = () => service.exitCode === null;
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url, isRunning, () => output);
    assert.deepEqual(await (await fetch(`${url}/version`)).json(), { name: 'tablewright', version });
    assert.equal(JSON.parse(output.slice(0, output.indexOf('\n'))).version, version);
    // What is printed to copy works without a clone of the repository. It may be printed after the first answer.
    await until('the commands to copy', () => output.includes('orders.xlsx'));
    assert.match(output, /TOKEN=\$\(npx tablewright token\)/);
    assert.match(output, /@node_modules\/tablewright\/examples\/orders\.xlsx/);
    assert.doesNotMatch(output, /npm (run|start)/);
    assert.equal((await fetch(`${url}/docs/loading`)).status, 200);
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
    const [, script = 'none'] = /<script type="module" src="([^"]+)"/.exec(page) ?? [];
    assert.equal((await fetch(url + script)).status, 200, 'the console has no script');

    const token = (await run('tablewright', ['token'], inPlace)).stdout.trim();
    const withToken = { TABLEWRIGHT_URL: url, TABLEWRIGHT_TOKEN: token };
    const asClient = { ...inPlace, env: { ...environment, ...withToken } };
    const examples = join(place, 'node_modules', 'tablewright', 'examples');
    for (const [file, rows] of [
      ['rows.json', 20],
      ['orders.xlsx', 300],
    ] as const) {
      const loaded = await run('tablewright', ['load', join(examples, file), '--json'], asClient);
      assert.equal(JSON.parse(loaded.stdout).load.rows, rows);
    }
    const program = `
      import { readFileSync } from 'node:fs';
      import { createClient } from 'tablewright/client';
      import { xhrTransport } from 'tablewright/client/xhr-transport';
      const client = createClient(${JSON.stringify({ url, token })});
      const file = readFileSync(${JSON.stringify(await legacyWorkbook())});
      const { load } = await client.load({ table: 'kinds', name: 'kinds.xls', file, cell_errors: 'null' });
      console.log(load.rows > 0, typeof xhrTransport);`;
    const loaded = await run('node', ['--input-type=module', '--eval', program], inPlace);
    assert.equal(loaded.stdout, 'true function\n');
    const tables = await run('tablewright', ['tables', '--json'], asClient);
    for (const table of ['rows', 'orders', 'kinds']) assert.ok(tables.stdout.includes(`"${table}"`), table);
  } finally {
    service.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null], output);

  // Without an address the command starts a service for itself.
  const again = ['load', join(place, 'node_modules', 'tablewright', 'examples', 'orders.xlsx')];
  const alone = await run('tablewright', [...again, '--if-exists', 'append'], inPlace);
  assert.match(alone.stdout, /→ public\.orders: 300 rows loaded/);
});

/** The packages with the programs of the other runtimes, and the parameters before the program of a user. */
const runtimes = [
  { name: 'Node.js', parameters: [] },
  {
    name: 'Deno',
    packages: {
      'linux-x64': '@deno/linux-x64-glibc',
      'linux-arm64': '@deno/linux-arm64-glibc',
      'darwin-x64': '@deno/darwin-x64',
      'darwin-arm64': '@deno/darwin-arm64',
    },
    path: 'deno',
    parameters: ['run', '--node-modules-dir=manual', '--allow-net'],
  },
  {
    name: 'Bun',
    packages: {
      'linux-x64': '@oven/bun-linux-x64-baseline',
      'linux-arm64': '@oven/bun-linux-aarch64',
      'darwin-x64': '@oven/bun-darwin-x64',
      'darwin-arm64': '@oven/bun-darwin-aarch64',
    },
    path: join('bin', 'bun'),
    parameters: [],
  },
];

suite('the client of the package', () => {
  let service: TestService;
  let place: string;

  before(async () => {
    service = await startTestService();
    place = join(folder, 'client');
    const installed = join(place, 'node_modules', 'tablewright');
    await mkdir(installed, { recursive: true });
    await run('tar', ['--extract', '--gzip', '--strip-components=1', '--file', tarball], { cwd: installed });
    const manifest = { private: true, type: 'module', dependencies: { tablewright: '*' } };
    await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
    await cp(join(import.meta.dirname, 'runtimes', 'use-client.mjs'), join(place, 'use-client.mjs'));
  });

  after(() => service?.stop());

  for (const { name, packages, path = '', parameters } of runtimes) {
    test(`loads rows, tells the progress, names problems and ends with an abort in ${name}`, async (context) => {
      let program = process.execPath;
      if (packages) {
        const found = await install(
          (packages as Record<string, string>)[`${process.platform}-${process.arch}`],
        );
        if (found === undefined) {
          context.skip(`${name} cannot be installed with npm on this machine`);
          return;
        }
        program = join(found, path);
      }
      const prefix = name.toLowerCase().replace('.', '_');
      const parameter = JSON.stringify({ url: service.url, token: await service.token(), prefix });
      const all = [...parameters, 'use-client.mjs', parameter];
      const { stdout } = await run(program, all, { cwd: place, timeout: 60_000 });
      assert.deepEqual(JSON.parse(stdout), {
        rows: 20_000,
        wasToldOfSending: true,
        iterator: 20_000,
        file: 2,
        stream: 3,
        watched: ['committed', 2],
        problem: [true, 422, 1, 'n', 'noon'],
        aborted: 'enough',
        abortEndsRows: true,
        abortCancels: true,
        refused: 'table-exists',
        refusalEndsRows: true,
        errorOfRows: 'RangeError: my own error',
        isUnreachable: true,
      });
      const [row] = await service.rows(`SELECT count(*)::int, min(long)::text AS long FROM ${prefix}_rows`);
      assert.deepEqual(row, { count: 20_000, long: '9007199254740993' });
    });
  }

  /** Installs a package into a folder of its own, and returns its folder; undefined: this is not possible. */
  async function install(name: string | undefined): Promise<string | undefined> {
    if (name === undefined) return undefined;
    const target = await mkdtemp(join(folder, 'runtime-'));
    await writeFile(join(target, 'package.json'), '{ "private": true }');
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--fetch-retries=0'];
    try {
      await run('npm', ['install', ...options, name], { cwd: target, timeout: 60_000 });
    } catch {
      return undefined;
    }
    return join(target, 'node_modules', name);
  }
});

/** A process of its own reads it. */
async function legacyWorkbook(): Promise<string> {
  const path = join(folder, 'kinds.xls');
  await writeFile(path, await readFile(join(root, 'test', 'fixtures', 'kinds.xls')));
  return path;
}

async function untilReady(url: string, runs: () => boolean, output: () => string): Promise<void> {
  const giveUpAt = performance.now() + startTimeoutMs;
  while (runs() && performance.now() < giveUpAt) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await sleep(50);
  }
  throw new Error(`the service was not ready: ${output()}`);
}
