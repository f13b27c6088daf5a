/** Tests that every test file is run: `npm test` runs the first tier, and `npm run test:rest` the second one. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { allGroups, filesNamed, processesOf, root } from '../support/groups.ts';

test('every test file is in a folder of test/, or beside the source, and is run once', () => {
  const outside = ['node_modules', 'dist', 'test/citus'];
  const all = globSync('**/*.test.ts', { cwd: root, exclude: outside });
  const run = processesOf(allGroups()).flatMap(({ files }) => files);
  assert.deepEqual(run.toSorted(), all.toSorted());
  assert.deepEqual(globSync('test/*.test.ts', { cwd: root }), []);
});

test('no two test files in test/ have the same name, because other test runs choose files by name', () => {
  const names = globSync('test/*/*.test.ts', { cwd: root, exclude: ['test/citus'] }).map((path) =>
    basename(path),
  );
  assert.deepEqual(names.toSorted(), [...new Set(names)].toSorted());
});

test('both tiers have files, and each folder of the second tier exists', () => {
  const tiers = Object.groupBy(allGroups(), ({ tier }) => tier);
  assert.ok(tiers[1]!.length > 10);
  assert.deepEqual(
    tiers[2]!.map(({ name }) => name),
    ['attacks', 'cli', 'concurrency', 'faults', 'process', 'security'],
  );
});

for (const matrix of ['all-servers', 'citus']) {
  test(`the test files that ${matrix}.matrix.ts lists by name exist`, () => {
    const source = readFileSync(join(root, 'test', 'matrix', `${matrix}.matrix.ts`), 'utf8');
    const lists = source.matchAll(/^const \w+ = \[([^\]]*)\];$/gm);
    const names = [...lists].flatMap(([, list]) =>
      [...list!.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!),
    );
    assert.ok(names.length > 20);
    filesNamed(names);
  });
}
