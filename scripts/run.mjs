/**
 * `node scripts/run.mjs [options of Node.js] <file.ts> [arguments]`: runs Node.js 24, which runs the TypeScript as it is, or
 * says in one sentence what is missing. This file is plain JavaScript because an older Node.js must be able to run it.
 */
import { resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { fail, failWithoutNode, findNode, runAsChild } from '../cli/node-24.mjs';

const parentCheckMs = 1000;

const parameters = process.argv.slice(2);
const node = findNode(import.meta.url);

if (node === undefined) {
  failWithoutNode('run "npm ci" (without --omit=optional), which also installs the right Node.js');
} else if (node === process.execPath && !parameters[0]?.startsWith('-')) {
  await runHere(resolve(parameters[0] ?? ''));
} else {
  const child = await runAsChild(node, parameters);
  whenNpmEnds(() => child.kill('SIGTERM'));
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
