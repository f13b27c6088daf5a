/**
 * `node scripts/run.mjs <file.ts> [arguments]`: runs a TypeScript file of this project, or says in one sentence what is
 * missing. This file is plain JavaScript because a Node.js that is too old must be able to read it.
 */
import { resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const neededMajor = 24;

const file = resolve(process.argv[2] ?? '');
// The file sees the arguments as if it had been started directly.
process.argv.splice(1, 2, file);

if (Number.parseInt(process.versions.node, 10) < neededMajor) {
  fail(
    `Tablewright needs Node.js ${neededMajor} or newer and this is ${process.version}: run "npm ci" without --omit=optional, which installs the right one for the npm scripts, or install Node.js ${neededMajor}.`,
  );
} else {
  await import(pathToFileURL(file).href).catch((error) => {
    const missing = /^Cannot find package '([^']+)'/.exec(error?.message ?? '');
    if (error?.code !== 'ERR_MODULE_NOT_FOUND' || !missing) throw error;
    fail(`The package "${missing[1]}" is not installed: run "npm ci" first.`);
  });
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exitCode = 1;
}
