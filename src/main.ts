/**
 * The entry point of the process. It reads the settings, starts the service, and handles signals. Only this file decides when the
 * process ends.
 */

import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { type Config, readConfig } from './core/settings/config.ts';
import { programFolder } from './program-files.ts';
import { startFailure } from './service/start/start-failure.ts';
import type { Program } from './service/workers/primary.ts';

// Loading the modules takes most of the time of a start. This cache halves it. Other users cannot write to the folder.
enableCompileCache(join(programFolder, 'node_modules', '.cache', 'compiled'));

// A small young generation. Measured: an upload needs 20 to 50 MiB less memory (docs/decisions/0025-v8-flags.md).
setFlagsFromString('--semi-space-growth-factor=1');
// Buffers of zlib and sockets count as heap, and megabytes of them arrive in each millisecond. By default V8 then collects the
// whole heap twenty times in a second, because its limit is a percentage of a small heap. Measured: without the flag a workbook takes
// a third more processor time.
setFlagsFromString('--heap-growing-percent=50');

const sameSignalMs = 500;

/** What this process starts and stops. A worker has none: its primary process starts and stops it (`WORKERS`). */
let service: Program | undefined;
/** The time of the first signal; undefined: none has arrived. */
let stoppingSinceMs: number | undefined;

// The service continues if nobody reads its output any more, for example because the process that started it has ended.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
// The handlers are set before the start, because a Ctrl-C during the start must not leave a server running.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, stop);
await start();

async function start(): Promise<void> {
  try {
    // Variables that are already in the environment have priority over the file.
    if (existsSync('.env')) process.loadEnvFile('.env');
    const config = readConfig(process.env);
    service = await startProgram(config);
    if (service !== undefined) {
      const { stopAfterUnhandledError } = await import('./service/start/unhandled-error.ts');
      stopAfterUnhandledError(service, config.http.shutdownGraceMs, () => exit(1));
    }
  } catch (error) {
    await fail(error);
    return;
  }
  if (service === undefined) return;
  if (stoppingSinceMs !== undefined) {
    await end(undefined);
    return;
  }
  // Output that is not a terminal is often stored, for example in the log of a process manager.
  const showsSecrets = process.stdout.isTTY === true || process.argv.includes('--show-secrets');
  process.stdout.write(`${await service.banner(showsSecrets)}\n`);
  // The service cannot continue. A process manager can start it again.
  service.failed.then((detail) => {
    process.stderr.write(`${detail}\n`);
    return exit(1);
  });
}

/** Returns undefined in a worker. */
async function startProgram(config: Config): Promise<Program | undefined> {
  if (config.workers === 1) {
    const { startService } = await import('./service/service.ts');
    return startService(config, process.env);
  }
  const { startWorkers } = await import('./service/workers/start-workers.ts');
  return startWorkers(config, process.env);
}

function stop(signal: NodeJS.Signals): void {
  if (stoppingSinceMs !== undefined) {
    // One Ctrl-C under npm arrives twice, from the terminal and from npm. Then scripts/run.mjs sends SIGTERM, because npm has
    // ended. Only a second Ctrl-C ends the process at once.
    if (signal === 'SIGINT' && performance.now() - stoppingSinceMs > sameSignalMs) exit(1);
    return;
  }
  stoppingSinceMs = performance.now();
  // If the service is still starting, `start` ends it later.
  if (service !== undefined) end(signal);
}

async function end(signal: NodeJS.Signals | undefined): Promise<void> {
  try {
    await service!.stop(signal);
    await exit(0);
  } catch (error) {
    await fail(error);
  }
}

async function fail(error: unknown): Promise<void> {
  process.stderr.write(`${startFailure(error)}\n`);
  await exit(1);
}

async function exit(code: number): Promise<void> {
  // The modules may be missing, which is then the failure.
  const log = await import('./service/start/service-log.ts').catch(() => undefined);
  await log?.exitAfterLog(code);
  process.exit(code);
}
