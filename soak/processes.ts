/** The processes of the service and of PostgreSQL that faults kill or stop. */
import { kill } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultContext } from './faults.ts';
import { childProcesses, isRunning } from './leftovers.ts';
import type { Machinery } from './machinery.ts';

const leftoverTimeoutMs = 15_000;

const serviceBackends = `SELECT pid FROM pg_stat_activity WHERE application_name = 'tablewright' ORDER BY state = 'idle', random()`;

/** Sends a signal to a process, unless it has ended meanwhile. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the backends of the service, those that work first. */
export async function backends(machinery: Machinery): Promise<number[]> {
  const client = await machinery.connect();
  const { rows } = await client.query(serviceBackends);
  await client.end();
  return rows.map(({ pid }) => pid);
}

/** Kills a replica, and waits for the end of the processes that it has started. */
export async function killService({ machinery, report }: FaultContext, number: number): Promise<void> {
  const service = machinery.services[number]!;
  const children = childProcesses(service.child.pid!);
  await service.end('SIGKILL');
  await endOf(children, report);
}

/** The processes that a service has started end with it. */
export async function endOf(children: number[], report: (violation: string) => void): Promise<void> {
  const giveUpAt = performance.now() + leftoverTimeoutMs;
  while (children.some(isRunning)) {
    if (performance.now() > giveUpAt) {
      report(`processes that the service had started did not end with it: ${children.filter(isRunning)}`);
      return;
    }
    await sleep(10);
  }
}
