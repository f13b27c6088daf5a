/**
 * Loads the service, which is a separate package. The package of the command contains neither PostgreSQL nor Node.js, so it stays small for users
 * who only call a service (docs/decisions/0055-two-packages.md). package.json maps `#server` to this package, and in a clone to a file of `src/`.
 */
import { createRequire } from 'node:module';
import { sep } from 'node:path';
import process from 'node:process';
import { WrongUse } from './exit-codes.ts';
import { neededMajor } from './node-24.mjs';
import { programFolder, version } from './program.ts';

export type Server = typeof import('#server');

const name = 'tablewright-server';

/** @throws WrongUse with the command that installs what is missing */
export async function loadServer(): Promise<Server> {
  if (!isInstalled()) {
    throw new WrongUse(
      `The service is not installed. It is in the package ${name}, with PostgreSQL and Node.js. Run: ${installation()}\nTo use a service that runs, set TABLEWRIGHT_URL and TABLEWRIGHT_TOKEN.`,
    );
  }
  if (Number.parseInt(process.versions.node, 10) < neededMajor) {
    throw new WrongUse(
      `The service needs Node.js ${neededMajor} or newer and this is ${process.version}. Install ${name} again without --omit=optional, so that npm also installs the right Node.js, or install Node.js ${neededMajor}.`,
    );
  }
  return import('#server');
}

function isInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('#server');
    return true;
  } catch {
    return false;
  }
}

/** Returns the command that installs the service at a place where `tablewright` finds it. */
function installation(): string {
  const wanted = `${name}@${version}`;
  if (programFolder.includes(`${sep}_npx${sep}`)) return `npx --package=${wanted} tablewright …`;
  const [project] = programFolder.split(`${sep}node_modules${sep}`);
  const isInProject = `${process.cwd()}${sep}`.startsWith(`${project}${sep}`);
  return `npm install ${isInProject ? '' : '--global '}${wanted}`;
}
