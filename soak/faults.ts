/** The faults of a run: what they break, and how it is repaired. */
import { kill } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChildService } from '../test/support/child-service.ts';
import { childProcesses } from './leftovers.ts';
import type { Machinery, WayKind } from './machinery.ts';
import { backends, endOf, killService, signal } from './processes.ts';
import type { Random } from './random.ts';
import { replicaFaults } from './replica-faults.ts';

export interface FaultContext {
  machinery: Machinery;
  random: Random;
  /** Settles when an operation has ended that is chosen or sent in this way. */
  ask(wish: Wish): Promise<void>;
  /** Reports an error that no operation shows. */
  report(violation: string): void;
}

/** How the next operation is chosen or sent. */
export interface Wish {
  /** The operation needs a temporary file. */
  isLarge?: boolean;
  failure?: 'vanish' | 'stall';
}

export interface Fault {
  title: string;
  /** Until the repair, operations may be answered with 503, or not at all. */
  failsOthers: boolean;
  needsDisks?: boolean;
  /** It needs a clock that can be set. */
  needsClock?: boolean;
  /** The ways in which it is possible. Default: all. */
  ways?: WayKind[];
  /** How often it occurs in a run. Default: as often as others. */
  mostTimes?: number;
  /** Breaks something and repairs it. */
  strike(context: FaultContext): Promise<void>;
}

const fullDiskMs = 10_000;
const readinessTimeoutMs = 30_000;

export const faults = {
  'service-killed': {
    title: 'kill -9 of the service',
    failsOthers: true,
    strike: async (context) => {
      const { machinery, random } = context;
      const number = random.integer(0, machinery.services.length - 1);
      await killService(context, number);
      await sleep(random.integer(0, 100));
      await machinery.restartService(number);
    },
  },
  'service-stopped': {
    title: 'SIGTERM to the service under load',
    failsOthers: true,
    strike: async ({ machinery, random, report }) => {
      const number = random.integer(0, machinery.services.length - 1);
      const service = machinery.services[number]!;
      const children = childProcesses(service.child.pid!);
      const end = await service.end('SIGTERM');
      if (end !== 0) report(`after SIGTERM the service ended with ${end}: ${service.output()}`);
      await endOf(children, report);
      await machinery.restartService(number);
    },
  },
  'backend-killed': {
    title: 'kill -9 of a PostgreSQL backend',
    failsOthers: true,
    strike: async ({ machinery }) => {
      const [pid] = await backends(machinery);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      await machinery.restorePostgres();
    },
  },
  'backends-terminated': {
    title: '`pg_terminate_backend`',
    failsOthers: true,
    strike: async ({ machinery, random }) => {
      const all = await backends(machinery);
      const some = random.chance(0.5) ? all : all.slice(0, 1);
      const client = await machinery.connect();
      await client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [some]);
      await client.end();
    },
  },
  'postmaster-killed': {
    title: "kill -9 of PostgreSQL's first process",
    failsOthers: true,
    strike: async ({ machinery, random }) => {
      kill(await machinery.postmaster(), 'SIGKILL');
      await sleep(random.integer(0, 200));
      await machinery.restorePostgres();
    },
  },
  'postgres-stopped': {
    title: 'immediate stop of PostgreSQL',
    failsOthers: true,
    strike: async ({ machinery, random }) => {
      kill(await machinery.postmaster(), 'SIGQUIT');
      await sleep(random.integer(0, 200));
      await machinery.restorePostgres();
    },
  },
  'postgres-hung': {
    title: 'all processes of PostgreSQL hang for some seconds (SIGSTOP)',
    failsOthers: true,
    ways: ['name', 'name-and-pooler', 'replicas'],
    strike: async ({ machinery, random }) => {
      const postmaster = await machinery.postmaster();
      const stopped = [postmaster];
      kill(postmaster, 'SIGSTOP');
      try {
        for (const pid of childProcesses(postmaster)) {
          signal(pid, 'SIGSTOP');
          stopped.push(pid);
        }
        // After 15 seconds without an answer to BEGIN the service gives a connection up.
        await sleep(random.chance(0.3) ? 17_000 : random.integer(500, 4000));
      } finally {
        for (const pid of stopped) signal(pid, 'SIGCONT');
      }
      await machinery.restorePostgres();
    },
  },
  'postgres-away': {
    title: 'PostgreSQL is stopped for some seconds',
    failsOthers: true,
    ways: ['name', 'name-and-pooler', 'replicas'],
    strike: async ({ machinery, random, report }) => {
      kill(await machinery.postmaster(), 'SIGINT');
      await readinessBecomes(503, machinery, report);
      await sleep(random.integer(0, 2000));
      await machinery.restorePostgres();
      await readinessBecomes(200, machinery, report);
    },
  },
  'postgres-moved': {
    title: 'PostgreSQL moves to another address behind its name',
    failsOthers: true,
    ways: ['name', 'name-and-pooler'],
    strike: async ({ machinery, random, report }) => {
      await machinery.way!.move(random.chance(0.5) ? 0 : random.integer(500, 3000));
      await readinessBecomes(200, machinery, report);
    },
  },
  'client-vanished': {
    title: 'a client that disconnects in the middle of its body, or directly after it',
    failsOthers: false,
    strike: ({ ask }) => ask({ failure: 'vanish' }),
  },
  'client-stalled': {
    title: 'a client that stops sending',
    failsOthers: false,
    strike: ({ ask }) => ask({ failure: 'stall' }),
  },
  'spool-full': {
    title: 'a full disk for the temporary files of the service',
    failsOthers: true,
    needsDisks: true,
    strike: async ({ machinery, random, ask }) => {
      const { spool } = machinery.disks!;
      await spool.fill(random.integer(1, 400) * 1024);
      await Promise.race([ask({ isLarge: true }), sleep(fullDiskMs, undefined, { ref: false })]);
      await spool.empty();
    },
  },
  'data-full': {
    title: 'a full disk for the data of PostgreSQL',
    failsOthers: true,
    needsDisks: true,
    strike: async ({ machinery, random, ask }) => {
      const { data } = machinery.disks!;
      await data.fill(random.integer(1, 400) * 1024);
      await Promise.race([ask({ isLarge: true }), sleep(fullDiskMs, undefined, { ref: false })]);
      await data.empty();
      await machinery.restorePostgres();
    },
  },
  ...replicaFaults,
} satisfies Record<string, Fault>;

export type FaultKind = keyof typeof faults;

/** /readyz tells whether the database answers, without a restart of the service. */
async function readinessBecomes(
  status: number,
  { services }: Machinery,
  report: (violation: string) => void,
): Promise<void> {
  for (const service of services) await readinessOf(service, status, report);
}

async function readinessOf(
  service: ChildService,
  status: number,
  report: (violation: string) => void,
): Promise<void> {
  const giveUpAt = performance.now() + readinessTimeoutMs;
  for (;;) {
    const answer = await service.get('/readyz');
    if (answer.status === status) return;
    if (performance.now() > giveUpAt) {
      report(`/readyz does not become ${status}: ${JSON.stringify(answer.body)}`);
      return;
    }
    await sleep(50);
  }
}
