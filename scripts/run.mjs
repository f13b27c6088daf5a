/**
 * `node scripts/run.mjs [options of Node.js] <file.ts> [arguments]`: runs Node.js 24, which runs the TypeScript as it is, or
 * says in one sentence what is missing. This file is plain JavaScript because an older Node.js must be able to run it.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

const neededMajor = 24;

const parentCheckMs = 1000;

const parameters = process.argv.slice(2);
const isRecent = Number.parseInt(process.versions.node, 10) >= neededMajor;
const runtime = isRecent ? process.execPath : findInstalledRuntime();

if (runtime === undefined) {
  fail(
    `Tablewright needs Node.js ${neededMajor} or newer and this is ${process.version}: run "npm ci" (without --omit=optional), which also installs the right Node.js, or install Node.js ${neededMajor}.`,
  );
} else if (isRecent && !parameters[0]?.startsWith('-')) {
  await runHere(resolve(parameters[0] ?? ''));
} else {
  runAsChild(runtime);
}

/** The Node.js that npm installed for this platform. It may be missing from the PATH: npm 10 does not link it. */
function findInstalledRuntime() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const program = platform === 'win' ? 'node.exe' : 'node';
  const name = `${platform}-${process.arch}`;
  const packages = join(fileURLToPath(import.meta.url), '..', '..', 'node_modules');
  return [`node-${name}`, `node-bin-${name}`]
    .map((folder) => join(packages, folder, 'bin', program))
    .find((path) => existsSync(path));
}

/** Runs the file in this process. It sees the arguments as if it had been started directly. */
async function runHere(file) {
  process.argv.splice(1, 2, file);
  whenNpmEnds(() => process.kill(process.pid, 'SIGTERM'));
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    const missing = /^Cannot find package '([^']+)'/.exec(error?.message ?? '');
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !missing) throw error;
    fail(`The package "${missing[1]}" is not installed: run "npm ci" first.`);
  }
}

/** Ends with the exit code or signal of the child, and passes on the signals that stop a process. */
function runAsChild(program) {
  const child = spawn(program, parameters, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  whenNpmEnds(() => child.kill('SIGTERM'));
  child.on('error', (error) => fail(`${program} cannot be started: ${error.message}`));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

/**
 * Calls `stop` once after the parent process has ended, if the parent is npm or the shell of an npm script: npm passes a signal
 * to its shell only, and some shells end without passing it on. Without npm, the parent may end first: a shell that started
 * this process in the background.
 */
function whenNpmEnds(stop) {
  const isScriptOfNpm = process.env.npm_lifecycle_script?.includes(`scripts/run.mjs ${parameters[0]}`);
  if (!isScriptOfNpm) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop();
  }, parentCheckMs);
  timer.unref();
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
