/**
 * Kills the service at random moments while asynchronous loads and keyed requests run, and starts it again. The short run has 18 loads
 * and 2 kills (LOAD_FAULT_LOADS, LOAD_FAULT_KILLS). The whole run (`TEST_SIZE=whole`) has a PostgreSQL of its own, whose processes it kills too.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { type ChildService, startChildService } from '../support/child-service.ts';
import { createTestDatabase } from '../support/database.ts';
import { hasEnded } from '../support/load-ends.ts';
import { assertTransitions, recordTransitions } from '../support/load-transitions.ts';
import { sized } from '../support/sized.ts';
import { startThrowAwayServer } from '../support/throw-away-server.ts';
import { until } from '../support/until.ts';

const schema = 'tablewright_service';
const later = { prefer: 'respond-async' };
const rowsOfWork = 500;

test('each load and each key does its work once, and each event is delivered and true, however often the service is killed', async () => {
  const loads = Number(process.env.LOAD_FAULT_LOADS ?? sized(18, 100));
  const kills = Number(process.env.LOAD_FAULT_KILLS ?? sized(2, 10));
  const database = await startDatabase(loads > 100);
  const { rows } = database;
  const own = await mkdtemp(join(tmpdir(), 'tablewright-faults-'));
  const receiver = await startReceiver();
  const settings = { SPOOL_DIR: own, WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };
  const start = () => startChildService(database, settings);
  let child: ChildService = await start();
  await recordTransitions(rows);
  await rows('CREATE TABLE public.works (work text)');
  const webhook = await child.post('/api/v1/webhooks', { url: receiver.url });
  assert.equal(webhook.status, 201, JSON.stringify(webhook.body));
  const isDone = new Set<string>();
  const ids = new Map<string, string>();
  /** Sends one request until it is answered. */
  const send = async (work: string, headers: Record<string, string>): Promise<void> => {
    for (;;) {
      const path = '/table/works/upload/json?if_exists=append';
      const body = { data: Array.from({ length: rowsOfWork }, () => ({ work })) };
      const answer = await child
        .post(path, body, { headers: { ...headers, 'idempotency-key': work.replace(' ', '-') } })
        .catch(() => undefined);
      if (answer?.status === 202) ids.set(work, answer.body.id);
      if (answer && answer.status < 300) break;
      assert(answer === undefined || [409, 429, 503].includes(answer.status), JSON.stringify(answer?.body));
      await sleep(50);
    }
    isDone.add(work);
  };
  try {
    const works = Array.from({ length: loads }, (_, n) => `${n % 2 ? 'keyed' : 'later'} ${n}`);
    const sending = (async () => {
      for (let n = 0; n < works.length; n += 3) {
        const some = works.slice(n, n + 3);
        await Promise.all(some.map((work) => send(work, work.startsWith('later') ? later : {})));
      }
    })();
    for (let kill = 0; kill < kills; kill++) {
      const enough = (loads * (kill + 1)) / (kills + 1);
      await Promise.race([sending, until('some requests', () => isDone.size >= enough)]);
      await sleep(Math.random() * 30);
      if (database.kill && kill % 3 === 2) {
        await database.kill();
        continue;
      }
      await child.end('SIGKILL');
      // A killed process has no lease. The test does not wait until it expires.
      await rows(`UPDATE ${schema}.processes SET seen_at = now() - interval '1 minute'`);
      child = await start();
    }
    await sending;
    await rows(`UPDATE ${schema}.processes SET seen_at = seen_at - interval '1 minute' WHERE id <> (
      SELECT id FROM ${schema}.processes ORDER BY started_at DESC LIMIT 1)`);
    for (const id of ids.values()) {
      let state = '';
      await until('the end of the load', async () => {
        state = (await child.get(`/api/v1/loads/${id}`)).body.state;
        return hasEnded(state);
      });
      assert.equal(state, 'committed');
    }
    const counted = await rows('SELECT work, count(*)::int AS n FROM public.works GROUP BY work');
    assert.deepEqual(
      counted.map(({ work, n }) => `${work}: ${n}`).sort(),
      works.map((work) => `${work}: ${rowsOfWork}`).sort(),
    );
    const transitions = await assertTransitions(rows);
    await assertEvents(rows, receiver);
    console.log(
      `${loads} loads, ${kills} kills, ${receiver.received.size} events; ${transitions.join(', ')}`,
    );
  } finally {
    await child.end('SIGTERM');
    receiver.stop();
    await rm(own, { recursive: true, force: true });
    await database.stop();
  }
});

type Rows = (sql: string) => Promise<Record<string, unknown>[]>;

/** Checks that the events are exactly those of the loads by their records, and that the receiver of the webhook gets each of them. */
async function assertEvents(rows: Rows, { received }: Receiver): Promise<void> {
  const happened =
    await rows(`SELECT CASE state WHEN 'committed' THEN 'rows.loaded' ELSE 'load.' || state END || ' ' || id AS event
    FROM ${schema}.loads WHERE state IN ('committed', 'refused', 'failed') ORDER BY 1`);
  const written = await rows(
    `SELECT (event ->> 'type') || ' ' || (event -> 'data' ->> 'load') AS event FROM ${schema}.events ORDER BY 1`,
  );
  assert.deepEqual(written, happened);
  await until('all events to be delivered', async () => {
    // The test does not wait for the pauses between attempts.
    await rows(
      `UPDATE ${schema}.deliveries SET next_at = now() WHERE state = 'pending' AND next_at > now() + interval '20 seconds'`,
    );
    return received.size >= written.length;
  });
  assert.deepEqual([...received].sort(), written.map(({ event }) => event).sort());
}

interface Receiver {
  url: string;
  /** Type and load of each event. */
  received: Set<string>;
  stop(): void;
}

async function startReceiver(): Promise<Receiver> {
  const received = new Set<string>();
  const server = createServer(async (request, response) => {
    const { type, data } = (await json(request)) as { type: string; data: { load: string } };
    received.add(`${type} ${data.load}`);
    response.writeHead(204).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    received,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface FaultDatabase {
  serviceUrl: string;
  rows: Rows;
  /** Kills a process of PostgreSQL, so that PostgreSQL ends all others and recovers; undefined: others use the server, too. */
  kill: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
}

async function startDatabase(isOwn: boolean): Promise<FaultDatabase> {
  if (!isOwn) {
    const { serviceUrl, pool, drop } = await createTestDatabase();
    return { serviceUrl, rows: async (sql) => (await pool.query(sql)).rows, kill: undefined, stop: drop };
  }
  const server = await startThrowAwayServer(await findBinaries(), { settings: { synchronous_commit: 'on' } });
  const pool = new pg.Pool({ connectionString: server.url });
  pool.on('error', () => {});
  /** Runs statements again until PostgreSQL has recovered. */
  const rows: Rows = async (sql) => {
    for (;;) {
      const found = await pool.query(sql).catch((error: { code?: string }) => {
        const isGone = error.code === undefined || /^(57P|08|ECONN)/.test(error.code);
        if (!isGone) throw error;
      });
      if (found) return found.rows;
      await sleep(50);
    }
  };
  return {
    serviceUrl: server.url,
    rows,
    kill: async () => {
      const [row] = await rows('SELECT pg_backend_pid() AS pid');
      process.kill(row!.pid as number, 'SIGKILL');
    },
    stop: async () => {
      await pool.end();
      await server.stop();
    },
  };
}
