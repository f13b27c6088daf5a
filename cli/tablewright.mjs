#!/usr/bin/env node
/**
 * `tablewright`: runs the command line on Node.js 24, or says in one sentence what is missing. This file is plain JavaScript
 * because an older Node.js must be able to run it. Then the Node.js that npm has installed with the package does the work.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;

const runtime = hasNeededVersion() ? process.execPath : findInstalledRuntime();
if (runtime === undefined) {
  process.stderr.write(
    `Tablewright needs Node.js ${neededMajor} or newer and this is ${process.version}: install the package again without --omit=optional, so that npm also installs the right Node.js, or install Node.js ${neededMajor}.\n`,
  );
  process.exitCode = 1;
} else if (runtime === process.execPath) {
  await import(mainModule());
} else {
  runAsChild(runtime);
}

function hasNeededVersion() {
  return Number.parseInt(process.versions.node, 10) >= neededMajor;
}

/** npm may have installed it beside this package or inside it. */
function findInstalledRuntime() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const program = platform === 'win' ? 'node.exe' : 'node';
  const { resolve } = createRequire(import.meta.url);
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

/** Returns the TypeScript of a clone, or the compiled module of the package. */
function mainModule() {
  const source = new URL('main.ts', import.meta.url);
  return (existsSync(source) ? source : new URL('../dist/cli/main.js', import.meta.url)).href;
}

/** Ends with the exit code of the child, and passes on the signals that stop a process. */
function runAsChild(program) {
  const parameters = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(program, parameters, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`${program} cannot be started: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}
