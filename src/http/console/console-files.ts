/**
 * The files of the console, which are made at the first request. A thread makes them, because removing the types takes tenths of a second
 * of processor time, and the service must answer other requests meanwhile.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PackedConsole } from './pack-console.ts';

let packed: Promise<PackedConsole> | undefined;

/** Returns the files. After a failure the next call tries again. */
export function consoleFiles(): Promise<PackedConsole> {
  packed ??= packInThread().catch((error) => {
    packed = undefined;
    throw error;
  });
  return packed;
}

async function packInThread(): Promise<PackedConsole> {
  const entry = join(import.meta.dirname, `pack-worker${extname(import.meta.filename)}`);
  const worker = new Worker(entry, {
    workerData: projectFolder(),
    // stripTypeScriptTypes is experimental, and says so with each start.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const [result] = await once(worker, 'message');
  return result as PackedConsole;
}

/** Returns the nearest folder above that has the console. Compiled code is one folder deeper than its source. */
function projectFolder(): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'console', 'main.ts')) && !existsSync(join(folder, 'console', 'main.js'))) {
    const above = dirname(folder);
    if (above === folder) throw new Error('the files of the console are not installed');
    folder = above;
  }
  return folder;
}
