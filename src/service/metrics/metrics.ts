/**
 * Keeps the metrics of one service for Prometheus. Only this folder uses prom-client.
 *
 * Each label has few values: patterns of routes, statuses, codes of the catalogues, formats. No value comes from a request.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { errorCatalogue } from '../../core/errors.ts';
import type { Lines } from '../http/admission/lines.ts';
import type { Measures } from '../http/observing/measures.ts';
import { tokenRefusals } from '../http/tokens/invalid-token.ts';
import type { QueueCounts } from '../loads/queue-statements.ts';

export interface Metrics {
  registry: Registry;
  measures: Measures;
}

/** The parts of the service whose state is read each time the metrics are requested. */
export interface Watched {
  pool: Pool;
  /** The maximum number of connections of the pool. */
  poolSize: number;
  lines: Lines;
  /** Reads the counts of the queue of asynchronous loads from the database; undefined: the service has no queue. */
  readQueue: () => Promise<QueueCounts | undefined>;
}

/** The buckets of durations in seconds. Descriptions take milliseconds, uploads up to hours. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600];
const phaseBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1800];

/** @param worker the number of the worker, which is added to each series as a label; undefined: the service is one process */
export function createMetrics(watched: Watched, worker?: number): Metrics {
  const registry = new Registry();
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker) });
  // Memory, processor time, garbage collection, and the delay of the event loop (nodejs_eventloop_lag_…).
  collectDefaultMetrics({ register: registry });
  watchDatabase(registry, watched);
  watchLines(registry, watched.lines);
  watchQueue(registry, watched);
  return { registry, measures: createMeasures(registry) };
}

function createMeasures(registry: Registry): Measures {
  const registers = [registry];
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });

  const requests = new Histogram({
    name: 'tablewright_http_request_duration_seconds',
    help: 'Duration of requests in seconds. The status "disconnected" means that the client left before the answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: requestBuckets,
    registers,
  });
  const refused = counter(
    'tablewright_errors_total',
    'Error answers, and ends of asynchronous loads with an error, by the code of docs/errors.md.',
    'code',
  );
  // Each series starts with 0. If it appeared with its first error, Prometheus would compute a rate of zero.
  for (const code of Object.keys(errorCatalogue)) refused.inc({ code }, 0);
  const problems = counter(
    'tablewright_problems_total',
    'Problems in the rows, definitions and parameters of refused requests, by their code.',
    'code',
  );
  const tokens = counter('tablewright_tokens_refused_total', 'Refused access tokens by reason.', 'reason');
  for (const reason of ['missing', ...tokenRefusals]) tokens.inc({ reason }, 0);
  const rows = counter(
    'tablewright_rows_loaded_total',
    'Rows of committed uploads: added and updated ones.',
    'format',
  );
  const bytes = counter(
    'tablewright_bytes_loaded_total',
    'Received bytes of the bodies of committed uploads.',
    'format',
  );
  const givenUp = counter(
    'tablewright_loads_given_up_total',
    'Asynchronous loads that failed because they were begun too often without an end. Each of them may end the process.',
  );
  return {
    answered: ({ method, route = 'none', status = 'disconnected', seconds }) =>
      requests.observe({ method, route, status }, seconds),
    refused: (code) => refused.inc({ code }),
    problems: (code, count) => problems.inc({ code }, count),
    tokenRefused: (reason) => tokens.inc({ reason }),
    loaded: (format, rowCount, byteCount) => {
      rows.inc({ format }, rowCount);
      bytes.inc({ format }, byteCount);
    },
    exported: measureExports(registry),
    loadGivenUp: () => givenUp.inc(),
    phase: measurePhases(registry),
  };
}

function measureExports(registry: Registry): Measures['exported'] {
  const options = { labelNames: ['format'], registers: [registry] };
  const rows = new Counter({
    name: 'tablewright_rows_exported_total',
    help: 'Rows of exports that were sent whole.',
    ...options,
  });
  const bytes = new Counter({
    name: 'tablewright_bytes_exported_total',
    help: 'Bytes of exports that were sent whole.',
    ...options,
  });
  return (format, rowCount, byteCount) => {
    rows.inc({ format }, rowCount);
    bytes.inc({ format }, byteCount);
  };
}

function measurePhases(registry: Registry): Measures['phase'] {
  const options = { buckets: phaseBuckets, registers: [registry] };
  const phases = {
    inference: new Histogram({
      name: 'tablewright_inference_duration_seconds',
      help: 'Seconds in which an upload reads rows to infer their types before it loads them.',
      ...options,
    }),
    copy: new Histogram({
      name: 'tablewright_copy_duration_seconds',
      help: 'Seconds in which an upload copies its rows into PostgreSQL. Rows that arrive meanwhile are waited for.',
      ...options,
    }),
  };
  return (phase, seconds) => phases[phase].observe(seconds);
}

function watchDatabase(registry: Registry, { pool, poolSize }: Watched): void {
  const registers = [registry];
  const connections = new Gauge({
    name: 'tablewright_database_connections',
    help: 'Connections to PostgreSQL by state: in_use or idle.',
    labelNames: ['state'],
    registers,
    collect: () => {
      connections.set({ state: 'in_use' }, pool.totalCount - pool.idleCount);
      connections.set({ state: 'idle' }, pool.idleCount);
    },
  });
  new Gauge({
    name: 'tablewright_database_connections_max',
    help: 'The maximum number of connections to PostgreSQL (DATABASE_POOL_SIZE).',
    registers,
  }).set(poolSize);
  const waiting: Gauge = new Gauge({
    name: 'tablewright_database_waiting',
    help: 'Requests that wait for a connection to PostgreSQL.',
    registers,
    collect: () => {
      waiting.set(pool.waitingCount);
    },
  });
}

function watchLines(registry: Registry, lines: Lines): void {
  const registers = [registry];
  const running = new Gauge({
    name: 'tablewright_requests_running',
    help: 'Requests that have a place in a waiting line: uploads (with inspections), creates, large creates, bodies of definitions and plans, describes, exports.',
    labelNames: ['line'],
    registers,
    collect: () => {
      for (const [line, { runningCount }] of Object.entries(lines)) running.set({ line }, runningCount);
    },
  });
  const waiting = new Gauge({
    name: 'tablewright_requests_waiting',
    help: 'Requests that wait for a place: uploads (with inspections), creates, large creates, bodies of definitions and plans, describes, exports.',
    labelNames: ['line'],
    registers,
    collect: () => {
      for (const [line, { waitingCount }] of Object.entries(lines)) waiting.set({ line }, waitingCount);
    },
  });
}

/** How long reading the queue may take. The other metrics must be answered even if the database does not answer. */
const queueMs = 1000;

/** Registers the two metrics of the queue. They have no series if the database does not answer. */
function watchQueue(registry: Registry, { readQueue }: Watched): void {
  let reading: Promise<QueueCounts | undefined> | undefined;
  /** Reads the queue once for both metrics. */
  const read = (): Promise<QueueCounts | undefined> => {
    const late = sleep(queueMs, undefined, { ref: false });
    reading ??= Promise.race([readQueue().catch(() => undefined), late]).finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const gauge = (name: string, help: string, valuesOf: (counts: QueueCounts) => Record<string, number>) => {
    const one: Gauge = new Gauge({
      name,
      help,
      labelNames: ['state'],
      registers: [registry],
      collect: async () => {
        const counts = await read();
        one.reset();
        for (const [state, value] of Object.entries(counts ? valuesOf(counts) : {}))
          one.set({ state }, value);
      },
    });
  };
  gauge(
    'tablewright_queued_loads',
    'Asynchronous loads of the folder of stored bodies (SPOOL_DIR) by state: queued or running.',
    ({ queued, running }) => ({ queued, running }),
  );
  gauge(
    'tablewright_queued_bytes',
    'Bytes of the stored bodies of these loads (SPOOL_DIR) by state: queued or running.',
    ({ queuedBytes, runningBytes }) => ({ queued: queuedBytes, running: runningBytes }),
  );
}
