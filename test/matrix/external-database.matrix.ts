/**
 * A PostgreSQL on another machine goes away and comes back, hangs, or moves to another address behind its name, also behind a
 * PgBouncer. The service is not restarted.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { kill } from 'node:process';
import { suite, test } from 'node:test';
import pg from 'pg';
import type { FaultKind } from '../../soak/faults.ts';
import { childProcesses } from '../../soak/leftovers.ts';
import { runSoak } from '../../soak/run-soak.ts';
import { findBinaries } from '../../src/postgres/embedded/binaries.ts';
import { startChildService } from '../support/child-service.ts';
import { findPgBouncer } from '../support/pooler.ts';
import { assertProblem } from '../support/problem.ts';
import { startThrowAwayServer } from '../support/throw-away-server.ts';
import { until } from '../support/until.ts';

const table = { columns: [{ name: 'n', type: 'integer' }] };

test('while the database hangs, requests get 503 in bounded time, /readyz says so, and SIGTERM ends the service', {
  timeout: 120_000,
}, async () => {
  const server = await startThrowAwayServer(await findBinaries());
  const admin = new pg.Client(server.adminUrl);
  await admin.connect();
  const { rows } = await admin.query(
    `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`,
  );
  await admin.end();
  const postmaster: number = rows[0].pid;
  const service = await startChildService(
    { serviceUrl: server.url },
    { SHUTDOWN_GRACE_MS: '500', METRICS_PORT: '0' },
  );
  try {
    assert.equal((await service.post('/table/before', { table })).status, 201);
    for (const seconds of keepAliveTimers(server.port))
      assert.ok(seconds <= 10, `it asks after ${seconds} s`);
    const resume = hang(postmaster);
    assertProblem(await service.get('/readyz'), 503, 'database-unavailable');
    assertProblem(await service.post('/table/meanwhile', { table }), 503, 'database-unavailable');
    resume();
    await until('the service to be ready again', async () => (await service.get('/readyz')).status === 200);
    assert.equal((await service.get('/table/before')).status, 200);
    assertProblem(await service.get('/table/meanwhile'), 404, 'table-not-found');

    const resumeAgain = hang(postmaster);
    const waiting = service.post('/table/after/upload/json', { data: [{ n: 1 }] });
    waiting.catch(() => {});
    const [metricsUrl] = /http:\/\/[\d.]+:\d+\/metrics/.exec(service.output())!;
    await until('the upload to run', async () =>
      /^tablewright_requests_running\{line="uploads"\} 1$/m.test(await (await fetch(metricsUrl)).text()),
    );
    assert.equal(await service.end('SIGTERM'), 0);
    assertProblem(await waiting, 503, 'shutting-down');
    resumeAgain();
  } finally {
    kill(postmaster, 'SIGCONT');
    await service.end('SIGKILL');
    await server.stop();
  }
});

/** Returns after how many seconds the operating system asks whether the server of each connection to a port is still there. */
function keepAliveTimers(port: number): number[] {
  if (process.platform !== 'linux') return [];
  // proc(5), tcp: the remote address, and a timer of the kind 2 with its rest in hundredths of a second, all in hexadecimal.
  const entry = new RegExp(`: \\S+ 0100007F:${port.toString(16).toUpperCase()} 01 \\S+ (\\w+):(\\w+) `, 'g');
  const timers = [...readFileSync('/proc/net/tcp', 'latin1').matchAll(entry)];
  assert.ok(timers.length > 0);
  return timers.map(([, kind, rest]) => (kind === '02' ? Number.parseInt(rest!, 16) / 100 : Infinity));
}

/** Stops all processes of a server. Returns a function that lets them continue. */
function hang(postmaster: number): () => void {
  const pids = [postmaster, ...childProcesses(postmaster)];
  for (const pid of pids) kill(pid, 'SIGSTOP');
  return () => {
    for (const pid of pids) kill(pid, 'SIGCONT');
  };
}

const kinds: FaultKind[] = [
  'postgres-away',
  'postgres-hung',
  'postgres-moved',
  'postmaster-killed',
  'backends-terminated',
  'service-stopped',
];
const seed = Number(process.env.SOAK_SEED ?? 1);
const onLinux = process.platform !== 'linux' && 'the loopback of this system has only one address';
const withPooler = onLinux || (findPgBouncer() === undefined && 'this machine has no pgbouncer');

// Each run has processes of its own, which wait most of the time, so the runs are made together.
suite('faults of an external database', { concurrency: true }, () => {
  for (const [way, skip] of [
    ['name', onLinux],
    ['name-and-pooler', withPooler],
  ] as const) {
    test(`every acknowledged operation is there and no other is after faults of an external database (${way})`, {
      skip,
      timeout: 600_000,
    }, async (context) => {
      context.diagnostic(`SOAK_SEED=${seed}`);
      const log = (line: string) => context.diagnostic(line);
      const options = { operations: 15 * kinds.length, faults: kinds.length, clients: 5, kinds, log };
      const figures = await runSoak({ seed, way, ...options });
      assert.deepEqual(figures.violations, [], `with SOAK_SEED=${seed}`);
      assert.equal(Object.keys(figures.faults).length, kinds.length);
      assert.ok(figures.acknowledged > 0 && figures.failed + figures.unanswered > 0, JSON.stringify(figures));
      context.diagnostic(`${Math.round(figures.durationMs / 1000)} s, ${JSON.stringify(figures.faults)}`);
    });
  }
});
