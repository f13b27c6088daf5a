/** Runs the tests of the first tier that `npm test` runs in a small size (`test/support/sized.ts`) in their full size. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allGroups, root } from '../support/groups.ts';
import { runTests } from './run-tests.ts';

/** The longest time of a run, which is several times that on two quiet cores. */
const timeoutMs = 1_800_000;

test('the tests pass in their full size', { timeout: timeoutMs }, async (t) => {
  const files = allGroups().flatMap((group) => (group.tier === 1 ? group.files : []));
  await runTests(t, t.name, { TEST_SIZE: 'whole' }, files.filter(hasTwoSizes));
});

function hasTwoSizes(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes('support/sized.ts');
}
