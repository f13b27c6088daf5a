/** Runs several test files in this process. A process for each file would start Node.js and load the service again for each. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..', '..');

/**
 * Makes each file a suite with the path of the file as its name, so the hooks of a file run before and after its own tests only.
 * The suites run one after another, in the order of their names.
 *
 * With `TEST_SEED` all random cases are the same in each run: CI sets it, so that a change does not fail because of a case that nobody has
 * seen yet. Without it each run tries new ones.
 *
 * @param patterns patterns of paths from the root of the project
 */
export function runFiles(...patterns: string[]): void {
  const seed = process.env.TEST_SEED;
  const files = globSync(patterns, { cwd: root }).toSorted();
  assert.ok(files.length > 0, `no file matches ${patterns.join(' or ')}`);
  for (const file of files) {
    suite(file, async () => {
      if (seed !== undefined) (await import('fast-check')).default.configureGlobal({ seed: Number(seed) });
      await import(pathToFileURL(join(root, file)).href);
    });
  }
}
