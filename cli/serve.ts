/** `tablewright serve`: starts the service and keeps it running until it is stopped. */
import process from 'node:process';
import type { CommandLine } from './commands.ts';
import { leaveEndSignals } from './end-signals.ts';
import { WrongUse } from './exit-codes.ts';
import { loadServer } from './load-server.ts';

export async function serve({ positionals, options }: CommandLine): Promise<undefined> {
  if (positionals.length > 0)
    throw new WrongUse('The settings of the service are options and environment variables.');
  const { runService } = await loadServer();
  leaveEndSignals();
  if (options.host !== undefined) process.env.HOST = options.host as string;
  if (options.port !== undefined) process.env.PORT = options.port as string;
  // The service reads the environment and `--show-secrets` itself, and decides when the process ends.
  await runService();
}
