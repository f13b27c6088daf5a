/**
 * The two npm packages are complete: they are built, checked, packed, installed into empty folders, and used there by an ordinary user, also
 * with the oldest Node.js. The client also works in Deno and Bun, which are installed into a temporary folder.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, glob, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { databaseUser } from '../../src/postgres/embedded/system-user.ts';
import { freePort } from '../support/free-port.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { installPackage, majors, nodeOf } from './older-node.ts';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);
const startTimeoutMs = 120_000;
/** The most bytes of the command, of the client and of everything that npm installs with them. */
const maxCommandBytes = 5_000_000;
const names = ['tablewright', 'tablewright-server'] as const;
const packages = join(root, 'dist', 'packages');

let folder: string;
let tarballs: Record<(typeof names)[number], string>;
let version: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-package-'));
  await chmod(folder, 0o755);
  await run(process.execPath, [join(root, 'scripts', 'build.ts'), 'package'], { cwd: root });
  const places = names.map((name) => join(packages, name));
  await run('npm', ['pack', '--pack-destination', folder, ...places]);
  version = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version;
  const [command, server] = names.map((name) => join(folder, `${name}-${version}.tgz`));
  tarballs = { tablewright: command!, 'tablewright-server': server! };
});

after(async () => {
  await rm(folder, { recursive: true, force: true });
});

for (const name of names) {
  test(`publint finds nothing wrong in ${name}, and npm would publish it without a warning`, async () => {
    const content = new Uint8Array(await readFile(tarballs[name]));
    const { messages } = await publint({ pack: { tarball: content.buffer }, strict: true });
    assert.deepEqual(messages, []);
    const { stdout, stderr } = await run('npm', ['publish', '--dry-run', '--json'], {
      cwd: join(packages, name),
    });
    assert.match(stdout, new RegExp(`"${name}@${version}"`));
    const warnings = stderr.split('\n').filter((line) => /warn|error/i.test(line));
    // Only an account could avoid this one.
    assert.deepEqual(
      warnings.filter((line) => !/requires you to be logged in/.test(line)),
      [],
    );
  });

  test(`${name} says where it comes from, is published with provenance, and runs nothing at its installation`, async () => {
    const manifest = JSON.parse(await readFile(join(packages, name, 'package.json'), 'utf8'));
    assert.deepEqual([manifest.name, manifest.version], [name, version]);
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
    assert.equal(manifest.repository.directory, `packages/${name}`);
    assert.equal(manifest.private, undefined);
    assert.equal(manifest.scripts, undefined);
    assert.ok((await readFile(join(packages, name, 'README.md'), 'utf8')).startsWith(`# ${name}\n`));
  });
}

test('arethetypeswrong finds nothing wrong in the client', async () => {
  const checked = await checkPackage(
    createPackageFromTarballData(new Uint8Array(await readFile(tarballs.tablewright))),
  );
  assert.ok(checked.types);
  // The package has ES modules only, and needs a resolver that knows `exports`.
  const expected = (kind: string, resolution: unknown) =>
    kind === 'CJSResolvesToESM' || (kind === 'NoResolution' && resolution === 'node10');
  const problems = checked.problems.filter(
    (problem) => !expected(problem.kind, 'resolutionKind' in problem && problem.resolutionKind),
  );
  assert.deepEqual(problems, []);
});

test('the packages have compiled modules, and no test, benchmark, TypeScript or file of the service in the command', async () => {
  for (const name of names) {
    const files = await filesOf(tarballs[name]);
    const wrong = files.filter((file) =>
      /\.test\.|\/(test|bench|soak|scripts|src)\/|(?<!\.d)\.ts$|\.tsbuildinfo$/.test(file),
    );
    assert.deepEqual(wrong, []);
  }
  const files = await filesOf(tarballs.tablewright);
  const modules = files.filter((file) => file.startsWith('package/client/') && file.endsWith('.js'));
  assert.ok(modules.length > 10);
  for (const path of modules) {
    for (const other of [`${path}.map`, path.replace(/js$/, 'd.ts')]) assert.ok(files.includes(other), other);
  }
});

for (const major of majors) {
  suite(`the command alone with Node.js ${major}`, () => {
    let service: TestService;
    let place: string;
    let node: string | undefined;

    before(async () => {
      service = await startTestService();
      node = await nodeOf(major, folder);
      place = await installed(`alone-${major}`, [tarballs.tablewright]);
    });

    after(() => service?.stop());

    /** Runs the command, and returns its output also if it fails. */
    async function command(parameters: string[], variables: Record<string, string> = {}): Promise<Outcome> {
      const bin = join(place, 'node_modules', '.bin');
      const PATH = [dirname(node!), bin, '/usr/bin', '/bin'].join(delimiter);
      return outcomeOf('tablewright', parameters, { cwd: place, env: { PATH, HOME: place, ...variables } });
    }

    test('is small, is one package, and runs nothing at its installation', async () => {
      const packages = (await readdir(join(place, 'node_modules'))).filter((name) => !name.startsWith('.'));
      assert.deepEqual(packages, ['tablewright']);
      const bytes = await bytesIn(join(place, 'node_modules'));
      assert.ok(bytes < maxCommandBytes, `${bytes} bytes`);
    });

    test('loads a file into a service, shows its rows, and shows the help of each command', async (context) => {
      if (node === undefined) return context.skip(`Node.js ${major} cannot be installed on this machine`);
      const at = { TABLEWRIGHT_URL: service.url, TABLEWRIGHT_TOKEN: await service.token() };
      assert.deepEqual(await command(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
      await cp(join(root, 'examples', 'orders.xlsx'), join(place, 'orders.xlsx'));
      const loaded = await command(['load', 'orders.xlsx', '--table', `orders_${major}`, '--json'], at);
      assert.equal(JSON.parse(loaded.stdout).load.rows, 300, loaded.stderr);
      await writeFile(join(place, 'bad.csv'), 'n\n1\nx\n');
      await writeFile(join(place, 'bad.json'), '{"columns": [{"name": "n", "type": "integer"}]}');
      const refused = await command(['load', 'bad.csv', '--definition', 'bad.json'], at);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /A3 +n +x +not a whole number/);
      const rows = await command(['rows', `orders_${major}`, '--limit', '1'], at);
      assert.match(rows.stdout, /Desk lamp/);
      for (const name of ['load', 'inspect', 'serve', 'token', 'loads'])
        assert.match((await command([name, '--help'])).stdout, new RegExp(`^Usage: tablewright ${name}`));
      const pattern = await command(['load', 'orders*.xlsx', '--dry-run', '--if-exists', 'append'], at);
      if (major < 22) assert.match(pattern.stderr, /A pattern in quotes needs Node\.js 22/);
      else assert.equal(pattern.code, 0, pattern.stderr);
    });

    test('says how to install the service where a command needs it', async (context) => {
      if (node === undefined) return context.skip(`Node.js ${major} cannot be installed on this machine`);
      await writeFile(join(place, 'one.csv'), 'n\n1\n');
      for (const parameters of [['serve'], ['token'], ['load', 'one.csv'], ['tables']]) {
        const { code, stderr } = await command(parameters);
        assert.equal(code, 2, parameters.join(' '));
        assert.ok(stderr.includes(`Run: npm install tablewright-server@${version}\n`), stderr);
        assert.match(stderr, /set TABLEWRIGHT_URL and TABLEWRIGHT_TOKEN/);
      }
    });
  });
}

test('the installed packages serve, make a token, load and tell their version, for an ordinary user', async () => {
  const user = await databaseUser(undefined);
  const place = await installed('both', [tarballs.tablewright, tarballs['tablewright-server']]);
  if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, place]);
  const port = await freePort();
  const PATH = [join(place, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  const environment = { PATH, HOME: place, PORT: String(port) };
  const inPlace = { cwd: place, env: environment, ...user };
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
    assert.match(output, /@node_modules\/tablewright-server\/examples\/orders\.xlsx/);
    assert.doesNotMatch(output, /npm (run|start)/);
    assert.equal((await fetch(`${url}/docs/loading`)).status, 200);
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
    const [, script = 'none'] = /<script type="module" src="([^"]+)"/.exec(page) ?? [];
    assert.equal((await fetch(url + script)).status, 200, 'the console has no script');

    const token = (await run('tablewright', ['token'], inPlace)).stdout.trim();
    const withToken = { TABLEWRIGHT_URL: url, TABLEWRIGHT_TOKEN: token };
    const asClient = { ...inPlace, env: { ...environment, ...withToken } };
    const examples = join(place, 'node_modules', 'tablewright-server', 'examples');
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
  const again = ['load', join(place, 'node_modules', 'tablewright-server', 'examples', 'orders.xlsx')];
  const alone = await run('tablewright', [...again, '--if-exists', 'append'], inPlace);
  assert.match(alone.stdout, /→ public\.orders: 300 rows loaded/);
});

/** The packages with the programs of the other runtimes, and the parameters before the program of a user. */
const runtimes = [
  { name: 'Node.js', parameters: [] },
  { name: 'Node.js 20', major: 20, parameters: [] },
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
    await run('tar', ['--extract', '--gzip', '--strip-components=1', '--file', tarballs.tablewright], {
      cwd: installed,
    });
    const manifest = { private: true, type: 'module', dependencies: { tablewright: '*' } };
    await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
    await cp(join(import.meta.dirname, 'runtimes', 'use-client.mjs'), join(place, 'use-client.mjs'));
  });

  after(() => service?.stop());

  for (const { name, major, packages, path = '', parameters } of runtimes) {
    test(`loads rows, tells the progress, names problems and ends with an abort in ${name}`, async (context) => {
      const program = await programOf(major, packages, path);
      if (program === undefined) return context.skip(`${name} cannot be installed with npm on this machine`);
      const prefix = name.toLowerCase().replace(/\W/g, '_');
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
});

/** Returns the program of a runtime; undefined: npm cannot install it. */
async function programOf(
  major: number | undefined,
  packages: Record<string, string> | undefined,
  path: string,
): Promise<string | undefined> {
  if (major !== undefined) return nodeOf(major, folder);
  if (packages === undefined) return process.execPath;
  const place = await installPackage(packages[`${process.platform}-${process.arch}`], folder);
  return place && join(place, path);
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Installs packed packages into an empty folder, as a user does, and returns the folder. */
async function installed(name: string, packed: string[]): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  await writeFile(join(place, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packed], { cwd: place });
  return place;
}

async function outcomeOf(program: string, parameters: string[], options: object): Promise<Outcome> {
  try {
    return { code: 0, ...(await run(program, parameters, { ...options, encoding: 'utf8' })) };
  } catch (error) {
    return error as Outcome;
  }
}

async function filesOf(tarball: string): Promise<string[]> {
  const { stdout } = await run('tar', ['--list', '--gzip', '--file', tarball]);
  return stdout.trim().split('\n');
}

async function bytesIn(place: string): Promise<number> {
  let bytes = 0;
  for await (const path of glob('**', { cwd: place })) bytes += (await lstat(join(place, path))).size;
  return bytes;
}

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
