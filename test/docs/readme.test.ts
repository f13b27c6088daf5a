/** Tests that the README is true: its requests get the answers that it shows. Tests the links and settings of all pages, too. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { settings } from '../../src/core/settings/config.ts';
import { scriptEnvironment } from '../support/child-environment.ts';
import { sendShown } from '../support/follow-recipe.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sendByFetch, sendExample, shellExamples } from '../support/shell-examples.ts';

const root = join(import.meta.dirname, '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const examples = shellExamples(readme);
const secret = 'a secret for the README, of more than 32 bytes';

let service: TestService;
let token: string;

before(async () => {
  service = await startTestService({ TOKEN_SECRET: secret });
  token = await printedToken();
});

after(() => service.stop());

/** Creates the token with the README's own command, with the settings of the service. */
async function printedToken(): Promise<string> {
  const command = /^TOKEN=\$\((npm run -s token)\)$/m.exec(readme)?.[1];
  assert(command !== undefined);
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    cwd: root,
    env: { ...scriptEnvironment(), HOME: process.env.HOME, TOKEN_SECRET: secret },
  });
  return stdout.trim();
}

test('README has an example of each operation, and one of cells with problems', () => {
  const paths = examples.map(({ command }) => /api\/v1(\/[^'"\s]*)/.exec(command)?.[1]);
  assert.deepEqual(paths, [
    '/table/customers',
    '/table/shipments/upload/json',
    '/table/orders/upload/excel?primary_key=Order%20no&if_exists=append&on_conflict=update',
    '/table/shipments/upload/json?if_exists=append',
    '/tables',
    '/table/shipments/rows?limit=5',
  ]);
  assert(examples.filter(({ shown }) => shown !== undefined).length >= 4);
});

// The examples below meet the table that this line has created.
test('the line for one file loads it', async () => {
  const [command] = /^npx tablewright load .*$/m.exec(readme)!;
  const { stdout } = await runLine(command!);
  assert.match(stdout, /→ public\.first_orders: 300 rows loaded/);
});

test('the line for a file with a wrong cell shows the problem', async () => {
  const [, command, shown] =
    /^```sh\n(npx tablewright load .* --header-row 3)\n```\n\n```text\n(.*?)^```/ms.exec(readme)!;
  const { stderr } = await runLine(command!).then(
    () => assert.fail('the file was loaded'),
    (error: { stderr: string }) => error,
  );
  assert.ok(stderr.includes(shown!), stderr);
});

/** Runs a command line of the README against the service. */
function runLine(command: string): Promise<{ stdout: string }> {
  return promisify(execFile)('sh', ['-c', command], {
    cwd: root,
    env: {
      ...scriptEnvironment(),
      HOME: process.env.HOME,
      TABLEWRIGHT_URL: service.url,
      TABLEWRIGHT_TOKEN: token,
    },
  });
}

for (const [index, { command, shown }] of examples.entries()) {
  test(`example ${index + 1} is answered as README shows`, async () => {
    await sendShown(command, shown, { url: service.url, token, folder: root });
  });
}

test('the command for a monthly workbook updates the rows of the month before', async () => {
  const { command } = examples.find((example) => example.command.includes('on_conflict=update'))!;
  const { status, body } = await sendExample(command, service.url, token, root);
  const { load } = JSON.parse(body);
  assert.deepEqual([status, load.rows, load.updated], [200, 0, 300], body);
});

test('an example works if it is sent by another client than curl', async () => {
  const example = examples.find(({ command }) => command.includes("--data-binary '{"))!;
  const command = example.command.replaceAll('http://127.0.0.1:8080', service.url);
  const { status, body } = await sendByFetch(command, token, root);
  assert.deepEqual([status, JSON.parse(body).error_count], [422, 2], body);
});

test('docs/settings.md and docs/limits.md have the settings of config.ts with their defaults', () => {
  const [general, limits] = ['settings.md', 'limits.md'].map((page) =>
    readFileSync(join(root, 'docs', page), 'utf8'),
  );
  const rows = [...`${general}\n${limits}`.matchAll(/^\| `([A-Z_]+)` \| (?:`(.*?)`|none|–) \|/gm)];
  const documented = rows.map(([, name, byDefault]) => [name, byDefault?.replaceAll(',', '')]);
  const expected = settings.map((setting) => [setting.name, setting.default]);
  assert.deepEqual(documented.toSorted(), expected.toSorted());
});

test('README names exactly the npm scripts that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const words = `${readme}\n${readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')}`;
  const named = [...words.matchAll(/npm (?:run (?:-s )?([\w:]+)|(start|test)\b(?!:))/g)].map(
    (match) => match[1] ?? match[2],
  );
  assert.deepEqual([...new Set(named)].sort(), Object.keys(scripts).sort());
});

test('links within the repository have existing targets', () => {
  const pages = ['*.md', 'docs/**/*.md', 'packages/*/README.md', 'src/*/README.md', 'console/README.md'];
  for (const file of globSync(pages, { cwd: root })) {
    const links = readFileSync(join(root, file), 'utf8').matchAll(
      /\]\((?!https?:|\/)([^)#\s]*)(?:#([^)\s]+))?\)/g,
    );
    for (const [, path, place] of links) {
      const target = path === '' ? join(root, file) : join(root, dirname(file), path!);
      assert(existsSync(target), `${file}: ${path}`);
      if (place !== undefined) assert(placesOf(target).includes(place), `${file}: ${path}#${place}`);
    }
  }
});

/** Returns the fragments of the headings of a page, as GitHub and the service make them. */
function placesOf(path: string): string[] {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}
