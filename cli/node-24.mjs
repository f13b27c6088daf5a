/**
 * Finds Node.js 24 for `tablewright` and for `scripts/run.mjs`, and runs it. This file is plain JavaScript because an older Node.js must be
 * able to run it.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';

export const neededMajor = 24;

/**
 * Returns the path of a Node.js that is new enough: the running one, or the one that npm has installed. Undefined: there is none.
 *
 * @param place a file of the package that depends on Node.js 24; undefined: that package is not installed
 */
export function findNode(place) {
  const isRecent = Number.parseInt(process.versions.node, 10) >= neededMajor;
  return isRecent ? process.execPath : place && findInstalledNode(place);
}

/** npm may have installed Node.js beside this package or inside it. Its path is searched, because npm 10 does not link it in the PATH. */
function findInstalledNode(place) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const program = platform === 'win' ? 'node.exe' : 'node';
  const { resolve } = createRequire(place);
  for (const name of ['node', 'node-bin'].map((prefix) => `${prefix}-${platform}-${process.arch}`)) {
    try {
      const path = join(dirname(resolve(`${name}/package.json`)), 'bin', program);
      if (existsSync(path)) return path;
    } catch {
      // This package is not installed. The next place is tried.
    }
  }
  return undefined;
}

/** Runs the program as a child process. Passes signals on to it, and ends with its exit code. */
export async function runAsChild(program, parameters) {
  // Imported here, because `--help` runs no child and starts faster without this module.
  const { spawn } = await import('node:child_process');
  // The handlers are installed before the child starts, because a signal must never end only this process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
    process.on(signal, () => child.kill(signal));
  const child = spawn(program, parameters, { stdio: 'inherit' });
  child.on('error', (error) => fail(`${program} cannot be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    // As in shells, the end by a signal is 128 plus its number.
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
  return child;
}

/** Prints why nothing was run. @param remedy the end of the sentence: what the user can do */
export function failWithoutNode(remedy) {
  fail(
    `Tablewright needs Node.js ${neededMajor} or newer and this is ${process.version}: ${remedy}, or install Node.js ${neededMajor}.`,
  );
}

export function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
