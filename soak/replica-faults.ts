/** Faults of a service with two replicas: processes that hang, a clock that jumps, and a load that kills its process. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Fault, FaultContext } from './faults.ts';
import { sessionsTable } from './ledger.ts';
import type { WayKind } from './machinery.ts';
import { backends, killService, signal } from './processes.ts';

const ways: WayKind[] = ['replicas'];

/** When a replica has not renewed its lease for 15 seconds, the other one ends or takes its loads. */
const longHangMs: [number, number] = [17_000, 26_000];
const shortHangMs: [number, number] = [1000, 7000];
/** How wrong the clock of a replica becomes, in seconds. */
const jumps = [0, -600, 600, -3600, 3600, -90_000, 90_000];
/** A load that was begun five times without an end must become `failed`. */
const mostBeginnings = 8;
/** Before the last beginning a load waits for a minute. */
const takenTimeoutMs = 180_000;
const schema = 'tablewright_service';

export const replicaFaults = {
  'services-killed': {
    title: 'kill -9 of both replicas',
    failsOthers: true,
    ways,
    strike: async (context) => {
      await killAll(context);
      await restartAll(context);
    },
  },
  'service-hung': {
    title: 'a replica hangs for some seconds (SIGSTOP)',
    failsOthers: true,
    ways,
    strike: (context) => hang(context, shortHangMs),
  },
  'service-hung-long': {
    title: 'a replica hangs for longer than its lease (SIGSTOP)',
    failsOthers: true,
    ways,
    strike: (context) => hang(context, longHangMs),
  },
  'backend-hung': {
    title: 'a PostgreSQL backend hangs for some seconds (SIGSTOP)',
    failsOthers: true,
    ways,
    strike: async ({ machinery, random }) => {
      const [pid] = await backends(machinery);
      if (pid === undefined) return;
      signal(pid, 'SIGSTOP');
      try {
        await sleep(random.integer(1000, 5000));
      } finally {
        signal(pid, 'SIGCONT');
      }
    },
  },
  'clock-jumped': {
    title: 'the clock of a replica jumps',
    failsOthers: false,
    needsClock: true,
    ways,
    strike: async ({ machinery, random }) => {
      await machinery.clock!.jumpTo(random.pick(jumps));
      await sleep(random.integer(1000, 3000));
    },
  },
  'load-kills': {
    title: 'an asynchronous load that kills its process each time that it runs',
    failsOthers: true,
    ways,
    mostTimes: 2,
    strike: (context) => runDeadlyLoad(context),
  },
} satisfies Record<string, Fault>;

async function hang({ machinery, random }: FaultContext, [from, to]: [number, number]): Promise<void> {
  const service = random.pick(machinery.services);
  machinery.hung.add(service);
  service.child.kill('SIGSTOP');
  try {
    await sleep(random.integer(from, to));
  } finally {
    service.child.kill('SIGCONT');
    machinery.hung.delete(service);
  }
}

async function killAll(context: FaultContext): Promise<void> {
  await Promise.all(context.machinery.services.map((_, number) => killService(context, number)));
}

async function restartAll({ machinery }: FaultContext): Promise<void> {
  await Promise.all(machinery.services.map((_, number) => machinery.restartService(number)));
}

/**
 * Sends a load that can never end, because its table is locked, and kills the replicas each time that its record says that it runs. It must become
 * `failed`, and the service must then run on.
 */
async function runDeadlyLoad(context: FaultContext): Promise<void> {
  const { machinery, random, report } = context;
  const [holder, client] = [await machinery.connect(), await machinery.connect()];
  try {
    await holder.query(`BEGIN; LOCK TABLE public.${sessionsTable} IN SHARE ROW EXCLUSIVE MODE`);
    const { status, body } = await random
      .pick(machinery.services)
      .post(
        `/table/${sessionsTable}/upload/json?if_exists=append`,
        { data: [{ id: -1 }] },
        { token: machinery.token, headers: { prefer: 'respond-async' } },
      );
    if (status !== 202) throw new Error(`the load was answered with ${status}: ${JSON.stringify(body)}`);
    for (let deaths = 0; ; deaths += 1) {
      const state = await stateWhenTaken(client, body.id, deaths);
      if (state === 'running' && deaths < mostBeginnings) {
        await killAll(context);
        // The next processes need not wait until the leases of these have expired.
        await client.query(`UPDATE ${schema}.processes SET seen_at = '-infinity'`);
        await restartAll(context);
        continue;
      }
      if (state !== 'failed') {
        report(`the load ${body.id} is ${state} after ${deaths} deaths of its process`);
        await client.query(`UPDATE ${schema}.loads SET cancel_requested = true WHERE id = $1`, [body.id]);
      }
      return;
    }
  } finally {
    await holder.end();
    await client.end();
  }
}

/**
 * Returns the state of a load when it was begun again or has ended, or as it is after some time. Until a new process has looked at it, its record
 * still says that the process that was killed runs it.
 *
 * @param beginnings how often it was begun before
 */
async function stateWhenTaken(client: Client, load: string, beginnings: number): Promise<string> {
  const giveUpAt = performance.now() + takenTimeoutMs;
  for (;;) {
    const { rows } = await client.query(
      `SELECT state, (request->>'attempts')::int AS attempts FROM ${schema}.loads WHERE id = $1`,
      [load],
    );
    const { state, attempts } = rows[0];
    const waits = state === 'queued' || (state === 'running' && attempts <= beginnings);
    if (!waits || performance.now() > giveUpAt) return state;
    await sleep(20);
  }
}
