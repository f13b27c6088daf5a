/** Runs several test files in this process. A process for each file would start Node.js and load the service again for each. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { after, suite } from 'node:test';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..', '..');

/** How long the process may live after its last test, for connections that end by themselves. */
const lastingMs = 60_000;

/**
 * Makes each file a suite with the path of the file as its name, so the hooks of a file run before and after its own tests only.
 * The suites run one after another, in the order of their names.
 *
 * A failed test may leave a socket or a child process open, which would keep this process, and so the whole run, from ending. So this process
 * ends itself a minute after its last test, with an error that names what was left.
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
  after(() => setTimeout(endWithError, lastingMs).unref());
}

function endWithError(): void {
  console.error(
    `The tests have ended, but this process has not: ${process.getActiveResourcesInfo().join(', ')}`,
  );
  process.exit(1);
}
