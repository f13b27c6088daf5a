/**
 * Runs tests: without an argument the first tier (`npm test`), with `rest` the second tier in its full size and then the matrix
 * (`npm run test:rest`), and with names of groups these groups (`npm test events http`). `TEST_SIZE=whole` runs all in their full size.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { allGroups, type Group, processesOf, root, writeModules } from '../test/support/groups.ts';

/** The longest time of a test that says none itself, so that a test which waits for ever is named. */
const testTimeoutMs = 600_000;

const names = process.argv.slice(2);
/** A signal has ended a run. */
let isStopped = false;
const groups = allGroups();

if (names.length === 0) await runGroups(groups.filter(({ tier }) => tier === 1));
else if (names[0] === 'rest') {
  await runGroups(
    groups.filter(({ tier }) => tier === 2),
    { TEST_SIZE: 'whole' },
  );
  // Each file of the matrix runs several processes itself, but most of them wait for a browser, a server or npm.
  if (!isStopped) await runNode(2, ['test/matrix/*.matrix.ts']);
} else {
  const unknown = names.filter((name) => !groups.some((group) => group.name === name));
  if (unknown.length === 0) await runGroups(groups.filter(({ name }) => names.includes(name)));
  else {
    console.error(
      `There is no group ${unknown.join(', ')}. The groups are ${groups.map(({ name }) => name).join(', ')}.`,
    );
    process.exitCode = 1;
  }
}

async function runGroups(chosen: Group[], environment: Record<string, string> = {}): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-groups-'));
  try {
    await runNode(3, await writeModules(folder, processesOf(chosen)), environment);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the test runner. If a test fails, this process ends with an error after all other tests have run. */
async function runNode(
  concurrency: number,
  files: string[],
  environment: Record<string, string> = {},
): Promise<void> {
  const options = [
    '--test',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${testTimeoutMs}`,
    '--test-global-setup=test/support/whole-run-setup.ts',
  ];
  const child = spawn(process.execPath, [...options, ...files], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  const stop = (signal: NodeJS.Signals) => {
    isStopped = true;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  const [code] = await once(child, 'exit');
  for (const signal of signals) process.off(signal, stop);
  if (code !== 0) process.exitCode = 1;
}
