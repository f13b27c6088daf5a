/**
 * The process: environment → settings → service → signals. Nothing else decides when it ends.
 */

import { existsSync } from 'node:fs';
import process from 'node:process';
import { ConfigError, readConfig } from './config.ts';
import { type Service, startService } from './service.ts';

let service: Service | undefined;
let isStopping = false;

// Before the start, which takes a moment: a Ctrl-C in it must not leave half a service behind.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
await start();

async function start(): Promise<void> {
  try {
    // What the environment has already goes before the file.
    if (existsSync('.env')) process.loadEnvFile('.env');
    service = await startService(readConfig(process.env));
  } catch (error) {
    fail(error);
    return;
  }
  if (isStopping) await end();
  else if (service.banner !== undefined) process.stdout.write(`${service.banner}\n`);
}

function stop(): void {
  if (isStopping) process.exit(1);
  isStopping = true;
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

/** For a person at a terminal: what is wrong, and no stack where it is the settings or the surroundings. */
function fail(error: unknown): void {
  const isPlain = error instanceof ConfigError || (error instanceof Error && error.constructor === Error);
  process.stderr.write(
    `${isPlain ? `Tablewright cannot start: ${error.message}` : (error as Error).stack}\n`,
  );
  process.exit(1);
}
