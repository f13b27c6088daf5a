/** Runs the tests that `npm test` runs in a small size (`test/support/sized.ts`) in their full size, and the long tests, which it leaves out. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root, runTests } from './run-tests.ts';

/** The longest time of a run, which is several times that on two quiet cores. */
const timeoutMs = 1_800_000;

test('the tests pass in their full size', { timeout: timeoutMs }, async (t) => {
  const files = globSync(['src/**/*.test.ts', 'test/*.test.ts'], { cwd: root }).filter(hasTwoSizes);
  const long = globSync('test/long/*.test.ts', { cwd: root });
  await runTests(t.name, { TEST_SIZE: 'whole' }, [...files, ...long]);
});

function hasTwoSizes(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8');
  return text.includes('support/sized.ts') || text.includes('support/hostile-workbooks.ts');
}
