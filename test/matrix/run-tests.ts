/** Runs test files in a separate test runner, for another server or another size of the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';

export const root = join(import.meta.dirname, '..', '..');

/**
 * Runs the files, and prints what fails and the closing lines.
 *
 * @throws Error if a test fails
 */
export async function runTests(
  name: string,
  environment: Record<string, string>,
  files: string[],
): Promise<void> {
  // This variable tells a test runner that it is part of another one.
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-concurrency=3',
      '--test-reporter=spec',
      '--test-global-setup=test/support/global-setup.ts',
      ...files,
    ],
    { cwd: root, env: { ...inherited, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const closed = once(child, 'close');
  const stop = () => child.kill();
  process.once('exit', stop);
  let isTail = false;
  for await (const line of createInterface({ input: child.stdout })) {
    isTail ||= line.startsWith('✖ failing tests');
    if (isTail || /^ℹ |✖/.test(line)) console.log(`${name}: ${line}`);
  }
  const [code] = await closed;
  process.off('exit', stop);
  if (code !== 0) throw new Error(`the tests failed on ${name}`);
}
