/**
 * An ordinary user installs the repository, starts the service with the commands of README.md, and sends the requests of README.md and of
 * docs/recipes.md one after the other in one database, with each Node.js that users have.
 */
import assert from 'node:assert/strict';
import { execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import { isLocked } from '../../src/postgres/embedded/folder-lock.ts';
import { databaseUser } from '../../src/postgres/embedded/system-user.ts';
import { followRecipe, type RecipePlace, sendShown } from '../support/follow-recipe.ts';
import { freePort } from '../support/free-port.ts';
import { recipesOf } from '../support/recipes.ts';
import { shellExamples } from '../support/shell-examples.ts';
import { until } from '../support/until.ts';
import { majors, nodeOf } from './older-node.ts';

const root = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

/** How npm reaches its registry. */
const ofRegistry = /^(npm_config_registry|(https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i;

let folder: string;
let clone: string;
let user: { uid: number; gid: number } | undefined;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-newcomer-'));
  await chmod(folder, 0o755);
  clone = join(folder, 'clone');
  const listed = await run('git', ['ls-files', '-z'], { cwd: root });
  for (const path of listed.stdout.split('\0').filter((one) => one !== ''))
    await cp(join(root, path), join(clone, path));
  await mkdir(join(clone, 'recipes'));
  user = await databaseUser(undefined);
  if (user) await run('chown', ['-R', `${user.uid}:${user.gid}`, clone]);
  const variables = Object.entries(process.env).filter(([name]) => ofRegistry.test(name));
  const options = await environmentFor(majors[0]!, Object.fromEntries(variables) as Record<string, string>);
  await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options);
});

after(() => rm(folder, { recursive: true, force: true }));

/** Returns how the user starts programs with a Node.js. */
async function environmentFor(major: number, variables: Record<string, string> = {}): Promise<SpawnOptions> {
  const node = await nodeOf(major, folder);
  assert.ok(node !== undefined, `Node.js ${major} cannot be installed`);
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  return { cwd: clone, env: { PATH, HOME: clone, ...variables }, ...user };
}

for (const major of majors) {
  test(`README and all recipes work one after the other with Node.js ${major}`, async () => {
    const port = await freePort();
    const dataDir = join(clone, `.tablewright-${major}`);
    const options = await environmentFor(major, { PORT: String(port), DATA_DIR: dataDir });
    const service = spawn('npm', ['start', '--', '--show-secrets'], {
      ...options,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(service, 'exit');
    let output = '';
    service.stdout!.on('data', (chunk) => {
      output += chunk;
    });
    try {
      await until('the service', () => output.includes('Ctrl-C stops both'));
      const [, databaseUrl = ''] = /psql "([^"]+)"/.exec(output) ?? [];
      const printed = await run('npm', ['run', '-s', 'token'], { ...options, encoding: 'utf8' });
      const pool = new pg.Pool({ connectionString: databaseUrl });
      const place = { url: `http://127.0.0.1:${port}`, token: printed.stdout.trim(), pool };
      await followAll({ ...place, folder: join(clone, 'recipes') }, options).finally(() => pool.end());
    } finally {
      service.kill('SIGTERM');
      await ended;
      // npm ends before the service.
      await until('the end of the service', async () => !isLocked(dataDir));
    }
  });
}

async function followAll(place: RecipePlace, options: SpawnOptions): Promise<void> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const [command] = /^npx tablewright load .*$/m.exec(readme)!;
  const loaded = await run('sh', ['-c', command], { ...options, encoding: 'utf8' });
  assert.match(loaded.stdout, /→ public\.first_orders: 300 rows loaded/);
  for (const { command, shown } of shellExamples(readme)) {
    await sendShown(command, shown, { ...place, folder: clone });
  }
  for (const recipe of recipesOf(await readFile(join(root, 'docs', 'recipes.md'), 'utf8')))
    await followRecipe(recipe, place);
}
