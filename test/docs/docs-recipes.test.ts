/**
 * Tests that docs/recipes.md is true: the files that it shows are created, its requests are sent to the running service, and the
 * answers and the rows are those that it shows.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { followRecipe } from '../support/follow-recipe.ts';
import { recipesOf, type Step } from '../support/recipes.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { sendByFetch } from '../support/shell-examples.ts';

const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'recipes.md'), 'utf8');
const recipes = recipesOf(page);

let service: TestService;
let token: string;
let folder: string;

before(async () => {
  service = await startTestService();
  token = await service.token();
  folder = await mkdtemp(join(tmpdir(), 'tablewright-recipes-'));
  // A reader has followed README.md before.
  const readme = await readFile(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  const tables = new Set([...readme.matchAll(/\/api\/v1\/table\/(\w+)/g)].map(([, name]) => name!));
  assert.ok(tables.has('orders'));
  for (const name of tables) await service.rows(`CREATE TABLE ${name} (from_readme text)`);
});

after(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

test('there are at least fifteen recipes, each with a file, a request, and an answer or rows', () => {
  assert.ok(recipes.length >= 15, `there are ${recipes.length}`);
  for (const { title, steps } of recipes) {
    const kinds = steps.map(({ kind }) => kind);
    assert.ok(kinds.includes('file') && kinds.includes('request'), title);
    assert.ok(
      steps.some((step) => step.kind === 'query' || (step.kind === 'request' && step.shown !== undefined)),
      title,
    );
  }
});

test('every block of code and every query is a step of a recipe', () => {
  const steps = recipes.flatMap((recipe) => recipe.steps);
  const count = (...kinds: Step['kind'][]) => steps.filter(({ kind }) => kinds.includes(kind)).length;
  const answers = steps.filter((step) => step.kind === 'request' && step.shown !== undefined).length;
  const sheets = page.match(/sheet `[^`]+`.*:$/gm)!.length;
  assert.equal(count('file', 'request', 'statement') - sheets + answers, page.split(/^```\w+$/m).length - 1);
  assert.equal(count('query'), page.match(/^`SELECT /gm)!.length);
});

for (const recipe of recipes) {
  test(recipe.title, () =>
    followRecipe(recipe, { url: service.url, token, folder, pool: service.database.pool }),
  );
}

test('the requests are understood without curl, too', async () => {
  const commands = recipes.flatMap(({ steps }) =>
    steps.flatMap((step) => (step.kind === 'request' ? step.command : [])),
  );
  const form = commands.find((command) => command.includes('inspect/excel'))!;
  const packed = commands.find((command) => command.startsWith('gzip'))!.replace('/table/', '/table/more_');
  for (const command of [form, packed]) {
    const here = command.replaceAll('http://127.0.0.1:8080', service.url);
    const { status, body } = await sendByFetch(here, token, folder);
    assert.ok([200, 201].includes(status), body);
  }
});
