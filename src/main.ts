/**
 * The process: environment → settings → service → signals. Nothing else decides when it ends.
 */

import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { readConfig } from './config.ts';
import type { Service } from './service.ts';
import { startFailure } from './start-failure.ts';

// Loading the modules is most of a start; compiled once, it takes half the time. Not where others could write.
enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', 'compiled'));

// A young generation that stays small stays in the processor's cache: measured, an upload takes a quarter less processor
// time so, and 60 MB less memory.
setFlagsFromString('--semi-space-growth-factor=1');
// What zlib and sockets hand over counts as heap, too, and comes by the megabyte in every millisecond: with the engine's own
// measure, some percent of a small heap, it collects all of it twenty times a second, a fifth of a workbook's loading.
setFlagsFromString('--heap-growing-percent=50');

const sameSignalMs = 500;

let service: Service | undefined;
/** When the first signal came; undefined: none. */
let stoppingSinceMs: number | undefined;

// Before the start, which takes a moment: a Ctrl-C in it must not leave half a service behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
await start();

async function start(): Promise<void> {
  try {
    // What the environment has already goes before the file.
    if (existsSync('.env')) process.loadEnvFile('.env');
    const config = readConfig(process.env);
    const { startService } = await import('./service.ts');
    service = await startService(config);
  } catch (error) {
    fail(error);
    return;
  }
  if (stoppingSinceMs !== undefined) {
    await end();
    return;
  }
  // What is no terminal is often kept: the log of a process manager, for example.
  const showsSecrets = process.stdout.isTTY === true || process.argv.includes('--show-secrets');
  process.stdout.write(`${await service.banner(showsSecrets)}\n`);
  // Without its database it can only be started anew: by whoever watches over the process.
  service.failed.then((detail) => {
    process.stderr.write(`Tablewright ends: ${detail}\n`);
    process.exit(1);
  });
}

function stop(signal: NodeJS.Signals): void {
  if (stoppingSinceMs !== undefined) {
    // One Ctrl-C under npm arrives twice, from the terminal and from npm. Then scripts/run.mjs sends SIGTERM, because npm has
    // ended. Only a second Ctrl-C ends the process at once.
    if (signal === 'SIGINT' && performance.now() - stoppingSinceMs > sameSignalMs) process.exit(1);
    return;
  }
  stoppingSinceMs = performance.now();
  // While it starts there is nothing to stop yet: `start` goes on from here.
  if (service !== undefined) end();
}

async function end(): Promise<void> {
  try {
    await service!.stop();
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

function fail(error: unknown): void {
  process.stderr.write(`${startFailure(error)}\n`);
  process.exit(1);
}
