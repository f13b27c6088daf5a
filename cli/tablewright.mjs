#!/usr/bin/env node
/**
 * `tablewright`: runs the command line on Node.js 24, or says in one sentence what is missing. This file is plain JavaScript
 * because an older Node.js must be able to run it. Then the Node.js that npm has installed with the package does the work.
 */
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { failWithoutNode, findNode, runAsChild } from './node-24.mjs';

const node = findNode();
if (node === undefined) {
  failWithoutNode(
    'install the package again without --omit=optional, so that npm also installs the right Node.js',
  );
} else if (node === process.execPath) {
  await import(mainModule());
} else {
  runAsChild(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
}

/** Returns the TypeScript of a clone, or the compiled module of the package. */
function mainModule() {
  const source = new URL('main.ts', import.meta.url);
  return (existsSync(source) ? source : new URL('../dist/cli/main.js', import.meta.url)).href;
}
