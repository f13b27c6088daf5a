#!/usr/bin/env node
/**
 * `tablewright`: runs the command line on Node.js 24, or says in one sentence what is missing. This file is plain JavaScript
 * because an older Node.js must be able to run it. Then the Node.js that npm has installed with the package does the work.
 */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { failWithoutNode, findNode, runAsChild } from './node-24.mjs';

const source = new URL('main.ts', import.meta.url);
const compiled = new URL('../dist/cli/main.js', import.meta.url);
const parameters = process.argv.slice(2);

const node = findNode();
// An older Node.js can print the help of the package, which is faster than the start of another Node.js.
if (node === process.execPath || (isHelp() && !existsSync(source) && existsSync(compiled))) {
  await import((existsSync(source) ? source : compiled).href);
} else if (node === undefined) {
  failWithoutNode(
    'install the package again without --omit=optional, so that npm also installs the right Node.js',
  );
} else {
  await runAsChild(node, [fileURLToPath(import.meta.url), ...parameters]);
}

function isHelp() {
  return parameters.length === 0 || ['help', '-h'].includes(parameters[0]) || parameters.includes('--help');
}
