/**
 * The files of the console, which are made at the first request. A thread makes them, because removing the types takes tenths of a
 * second of processor time, and the service must answer other requests meanwhile. The container image and the npm package have no
 * TypeScript, so they contain the files that `npm run build` has made.
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
    // stripTypeScriptTypes is experimental, so Node.js would print a warning at each start.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [result] = await once(worker, 'message');
  return result as PackedConsole;
}
