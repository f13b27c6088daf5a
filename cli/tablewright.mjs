#!/usr/bin/env node
/**
 * `tablewright`: starts the command line. This file is plain JavaScript because an older Node.js must be able to run it.
 *
 * The service needs Node.js 24. If npm has installed one together with the service, the command line runs on it. Without the
 * service, it runs on the Node.js of the machine, which need not be that new.
 */
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { fail, failWithoutNode, findNode, runAsChild } from './node-24.mjs';

/** The oldest Node.js that can run the command (`engines` in package.json). */
const oldest = [20, 20];

const source = new URL('main.ts', import.meta.url);
const compiled = new URL('main.js', import.meta.url);
const isClone = existsSync(source);
const parameters = process.argv.slice(2);

// In a clone most of the start time is the conversion of TypeScript, so the result is cached. Node.js 20 has no such cache.
if (isClone)
  module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

const node = isClone ? findNode(import.meta.url) : findNode(placeOfServer());
// The running Node.js is used if it is the right one. An installed package also uses it without the service, and for the help, which starts faster.
if (node === process.execPath || (!isClone && (node === undefined || isHelp()))) {
  if (isTooOld())
    fail(`Tablewright needs Node.js ${oldest.join('.')} or newer and this is ${process.version}.`);
  else await import((isClone ? source : compiled).href);
} else if (node === undefined) {
  failWithoutNode('run "npm ci" without --omit=optional, which also installs the right Node.js');
} else {
  await runAsChild(node, [fileURLToPath(import.meta.url), ...parameters]);
}

/** Returns a file of the package of the service. Undefined: that package is not installed. */
function placeOfServer() {
  try {
    return createRequire(import.meta.url).resolve('tablewright-server/package.json');
  } catch {
    return undefined;
  }
}

function isTooOld() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1]);
}

function isHelp() {
  return parameters.length === 0 || ['help', '-h'].includes(parameters[0]) || parameters.includes('--help');
}
