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
 * Returns the path of a Node.js that is new enough: this one, or the one that npm has installed. Undefined: there is none.
 *
 * @param place the file of the package with which npm installs it; undefined: that package is not installed
 */
export function findNode(place) {
  const isRecent = Number.parseInt(process.versions.node, 10) >= neededMajor;
  return isRecent ? process.execPath : place && findInstalledNode(place);
}

/** npm may have installed it beside this package or inside it. It may be missing from the PATH, because npm 10 does not link it. */
function findInstalledNode(place) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const program = platform === 'win' ? 'node.exe' : 'node';
  const { resolve } = createRequire(place);
  for (const name of ['node', 'node-bin'].map((prefix) => `${prefix}-${platform}-${process.arch}`)) {
    try {
      const path = join(dirname(resolve(`${name}/package.json`)), 'bin', program);
      if (existsSync(path)) return path;
    } catch {
      // It is not installed.
    }
  }
  return undefined;
}

/** Runs the program. This process ends with its exit code, and passes on the signals that stop a process. */
export async function runAsChild(program, parameters) {
  // The help is printed without a child, and starts faster without this module.
  const { spawn } = await import('node:child_process');
  // The handlers are set before the start, because a signal must not end this process alone.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'])
    process.on(signal, () => child.kill(signal));
  const child = spawn(program, parameters, { stdio: 'inherit' });
  child.on('error', (error) => fail(`${program} cannot be started: ${error.message}`));
  child.on('exit', (code, signal) => {
    // As shells count the end by a signal.
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
  return child;
}

/** Prints why nothing was run. @param remedy what the user can do, which completes the sentence */
export function failWithoutNode(remedy) {
  fail(
    `Tablewright needs Node.js ${neededMajor} or newer and this is ${process.version}: ${remedy}, or install Node.js ${neededMajor}.`,
  );
}

export function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
