/** Runs test files in a separate test runner, for another server or another size of the tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { root, writeModules } from '../support/groups.ts';

/**
 * The files of one process. A process for each file would start Node.js and load the service again for each. With many files in a process,
 * the last processes would run alone.
 */
const filesPerProcess = 4;

/** The longest time of a test that says none itself, so that a test which waits for ever is named before the whole run ends. */
const testTimeoutMs = 400_000;

/**
 * Runs the files, a few in each process, and prints what fails and the closing lines.
 *
 * @throws Error if a test fails, or when the signal of the test `t` says that its time is over
 */
export async function runTests(
  t: TestContext,
  name: string,
  environment: Record<string, string>,
  files: string[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-groups-'));
  try {
    await runGroups(t.signal, name, environment, await writeGroups(folder, files));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Divides the files among processes, writes a module for each, and returns the paths of the modules. */
function writeGroups(folder: string, files: string[]): Promise<string[]> {
  const groups: { name: string; files: string[] }[] = [];
  // Unit tests do not share a process with a service, because they may leave something in the modules that they test.
  for (const part of [files.filter((file) => !isUnitTest(file)), files.filter(isUnitTest)]) {
    // The long files are beside each other, in the folders of the models. Each of them goes to another process.
    const count = Math.ceil(part.length / filesPerProcess);
    for (let first = 0; first < count; first++)
      groups.push({ name: 'group', files: part.filter((_, index) => index % count === first) });
  }
  return writeModules(folder, groups);
}

function isUnitTest(file: string): boolean {
  return !file.startsWith('test/');
}

async function runGroups(
  signal: AbortSignal,
  name: string,
  environment: Record<string, string>,
  groups: string[],
): Promise<void> {
  // The first variable tells a test runner that it is part of another one. The second names a database of this server.
  const { NODE_TEST_CONTEXT: _context, TEST_TEMPLATE_DATABASE: _template, ...inherited } = process.env;
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-concurrency=3',
      `--test-timeout=${testTimeoutMs}`,
      '--test-reporter=spec',
      '--test-global-setup=test/support/global-setup.ts',
      ...groups,
    ],
    {
      cwd: root,
      env: { ...inherited, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const closed = once(child, 'close');
  const stop = () => child.kill();
  process.once('exit', stop);
  signal.addEventListener('abort', stop);
  let isTail = false;
  for await (const line of createInterface({ input: child.stdout })) {
    isTail ||= line.startsWith('✖ failing tests');
    if (isTail || /^ℹ |✖/.test(line)) console.log(`${name}: ${line}`);
  }
  const [code] = await closed;
  process.off('exit', stop);
  if (code !== 0) throw new Error(`the tests failed on ${name}`);
}
