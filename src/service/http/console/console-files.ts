/**
 * Provides the files of the console, which are made at the first request. Removing the types takes some tenths of a second of
 * processor time, so a thread does it, and the service can answer other requests meanwhile. The container image and the npm package
 * contain no TypeScript, but the files that `npm run build` has made.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { moduleFolder, modulePath, programFolder } from '../../../program-files.ts';
import { fromText, type PackedConsole } from './pack-console.ts';

/** The name of the file that `npm run build` writes. */
const builtFile = 'console.json';

let packed: Promise<PackedConsole> | undefined;

/** Returns the files. After a failure the next call tries again. */
export function consoleFiles(): Promise<PackedConsole> {
  packed ??= readOrPack().catch((error) => {
    packed = undefined;
    throw error;
  });
  return packed;
}

async function readOrPack(): Promise<PackedConsole> {
  const built = join(moduleFolder(''), builtFile);
  return existsSync(built) ? fromText(await readFile(built, 'utf8')) : packInThread();
}

async function packInThread(): Promise<PackedConsole> {
  const worker = new Worker(modulePath('service/http/console/pack-worker'), {
    workerData: programFolder,
    // The warning about the experimental function stripTypeScriptTypes is switched off, because Node.js would print it at each start.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [result] = await once(worker, 'message');
  return result as PackedConsole;
}
