#!/usr/bin/env node
/**
 * `tablewright`: runs the command line. This file is plain JavaScript because an older Node.js must be able to run it.
 *
 * The service needs Node.js 24. If npm has installed that one with the service, it does the work. A package without the service runs on the
 * Node.js of the machine, because calling a service needs no newer one.
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

// Without the cache, most of a start in a clone is the conversion of TypeScript. Node.js 20 does not have it.
if (isClone)
  module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)));

const node = isClone ? findNode(import.meta.url) : findNode(placeOfServer());
// An older Node.js can print the help of the package, which is faster than the start of another Node.js.
if (node === process.execPath || (!isClone && (node === undefined || isHelp()))) {
  if (isTooOld())
    fail(`Tablewright needs Node.js ${oldest.join('.')} or newer and this is ${process.version}.`);
  else await import((isClone ? source : compiled).href);
} else if (node === undefined) {
  failWithoutNode('run "npm ci" without --omit=optional, which also installs the right Node.js');
} else {
  await runAsChild(node, [fileURLToPath(import.meta.url), ...parameters]);
}

/** Undefined: the package of the service is not installed. */
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
