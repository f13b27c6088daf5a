/** A replica of the service: a process of its own, which the demo can kill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';

export interface Replica {
  number: number;
  url: string;
  hasEnded(): boolean;
  /** Ends the process and resolves when it has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

/** @param settings the settings of the service. The connections of the replica to PostgreSQL have the name of the replica */
export async function startReplica(number: number, settings: Record<string, string>): Promise<Replica> {
  const databaseUrl = new URL(settings.DATABASE_URL!);
  databaseUrl.searchParams.set('application_name', `replica ${number}`);
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env.PATH, ...settings, DATABASE_URL: databaseUrl.href, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A Ctrl-C in the terminal goes to the whole process group. The demo itself ends the replicas.
    detached: true,
  });
  const ended = once(child, 'exit');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    number,
    url: await urlOf(child),
    hasEnded,
    end: async (signal) => {
      if (hasEnded()) return;
      child.kill(signal);
      await ended;
    },
  };
}

async function urlOf(child: ChildProcess): Promise<string> {
  let output = '';
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    output += chunk;
    const url = /^ {2}Service +(http:\S+)$/m.exec(output)?.[1];
    if (url === undefined) continue;
    child.stdout!.resume();
    return url;
  }
  throw new Error(`a replica ended: ${output}`);
}
