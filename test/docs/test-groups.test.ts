/** Tests that `npm test` runs every test file. It runs the groups in test/groups/, each in one process. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');

test('every test file is in exactly one group', () => {
  const groups = globSync('test/groups/*.test.ts', { cwd: root });
  const patterns = groups.flatMap((group) =>
    [...readFileSync(join(root, group), 'utf8').matchAll(/'([^']+\.test\.ts)'/g)].map(
      ([, pattern]) => pattern!,
    ),
  );
  const inGroups = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }));
  const files = globSync(['src/**/*.test.ts', 'test/*.test.ts'], { cwd: root });
  assert.deepEqual(inGroups.toSorted(), files.toSorted());
});
