/**
 * Starts and stops everything: PostgreSQL (unless a URL is given), the pool, the HTTP server.
 */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Config, Environment } from './config.ts';
import { resolveTokenSettings } from './dev-token.ts';
import { AppError } from './errors.ts';
import { EventFeed } from './events/event-feed.ts';
import { WebhookAddresses } from './events/webhook-addresses.ts';
import { Webhooks } from './events/webhooks.ts';
import { fittingConnections, openFileLimit } from './http/connections.ts';
import type { HttpContext, RecordContext } from './http/context.ts';
import { createLines } from './http/lines.ts';
import { abandonedAnswer } from './http/load-end.ts';
import { noMeasures } from './http/measures.ts';
import { buildServer, type TableServer } from './http/server.ts';
import { startTokenVerifier } from './http/tokens/token-verifier.ts';
import type { Tracing } from './http/trace-requests.ts';
import { AwayLog, StopLog } from './life-log.ts';
import { defaultLeaseMs, Loads } from './loads/loads.ts';
import { QueuedLoads } from './loads/queued-loads.ts';
import { noServiceSchema, prepareServiceSchema } from './loads/service-schema.ts';
import { spoolFolder, spoolProblem } from './loads/spool-folder.ts';
import { StoredBodies } from './loads/stored-bodies.ts';
import type { Watched } from './metrics/metrics.ts';
import { type MetricsServer, startMetricsServer } from './metrics/metrics-server.ts';
import { startEmbeddedPostgres } from './postgres/embedded.ts';
import type { Log } from './postgres/log.ts';
import { createDatabaseCheck, createPool, createSinglePool } from './postgres/pool.ts';
import { excessiveRights } from './postgres/role-rights.ts';
import { checkServerVersion } from './postgres/server-version.ts';
import type { ServiceSchema } from './postgres/service-schema.ts';
import { whenDatabaseIsThere } from './postgres/wait-for-database.ts';
import { version } from './program-files.ts';
import { createLog } from './service-log.ts';
import { ReaderSlots } from './sources/spreadsheet/reader-slots.ts';
import { startBanner } from './start-banner.ts';
import { startFailure } from './start-failure.ts';
import { startTracing } from './tracing/tracing.ts';

/** How long connections to a database that does not answer may delay the end. A COMMIT that was sent is never cancelled. */
const poolEndMs = 5_000;

/** The longest time at the start before the service listens although the database has not answered. */
const firstAnswerMs = 10_000;

export interface Service {
  url: string;
  /** Returns the text for the person who started the service. @param showsSecrets adds the database's password and a token, if the service generated them */
  banner(showsSecrets: boolean): Promise<string>;
  /** Resolves with the reason when no request can succeed any more: the embedded PostgreSQL has ended, or the database refuses the service. */
  failed: Promise<string>;
  /** Resolves when the service is ready. It is ready already, unless it waits for its database. */
  ready: Promise<void>;
  /** Whether the service listens, but waits for its database. */
  isWaiting(): boolean;
  /** Returns the id under which this process has its lease; undefined: the service keeps no records, or waits for its database. */
  leaseId(): string | undefined;
  /** The address of the metrics; undefined: there are none, or the primary process of the workers serves them. */
  metricsUrl: string | undefined;
  /** Returns the metrics as text; undefined: there are none. */
  metricsText: (() => Promise<string>) | undefined;
  /**
   * Waits at most SHUTDOWN_GRACE_MS for running requests, rolls the other requests back, and releases everything.
   *
   * @param cause the signal, for the log
   */
  stop(cause?: string): Promise<void>;
}

/** The place of this process among the workers of a service with several processes (`WORKERS`). */
export interface WorkerPlace {
  /** From 1 on. */
  number: number;
  /** The ids of the leases of workers that have ended by themselves. */
  deadLeases: string[];
}

/**
 * Starts the service: PostgreSQL if it is embedded, the connections and the HTTP server. When this resolves, the service listens. It is also
 * ready, unless the database of DATABASE_URL is not there yet: then the service waits for it.
 *
 * @param environment the standard variables of OpenTelemetry; default: no traces are sent
 * @param worker undefined: the service is one process
 * @throws Error with a message for the person who starts the service
 */
export async function startService(
  config: Config,
  environment: Environment = {},
  worker?: WorkerPlace,
): Promise<Service> {
  const { database, http } = config;
  const log = createLog(config.logLevel, worker?.number);
  log.info({ version }, 'Tablewright starts');
  const stopping = new AbortController();
  /** Aborted when the stop of the service begins. */
  const ending = new AbortController();
  let isReady = false;
  let isWaiting = false;
  const ready = Promise.withResolvers<void>();
  const tokenSettings = await resolveTokenSettings(config);
  const tokens = await startTokenVerifier(tokenSettings, log);
  const failed = Promise.withResolvers<string>();
  const onExit = (detail: string) =>
    failed.resolve(`Tablewright ends: the embedded PostgreSQL ended by itself: ${detail}`);
  const lines = createLines(config);
  const maxConnections = chooseMaxConnections(config, log);
  const readerSlots = new ReaderSlots(config.limits.maxLegacyReaders);
  const embedded =
    database.url === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, log, onExit })
      : undefined;
  const databaseUrl = embedded?.url ?? database.url!;
  const pool = createPool({ ...database, url: databaseUrl }, log);
  const recordPool = createPool({ url: databaseUrl, poolSize: 2, statementTimeoutMs: recordTimeoutMs }, log);
  // If a renewal gets no answer, there is time for another one before the lease expires.
  const leasePool = createSinglePool(databaseUrl, defaultLeaseMs / 3, log);
  const databaseCheck = createDatabaseCheck(databaseUrl, log);
  let metricsServer: MetricsServer | undefined;
  let tracing: Tracing | undefined;
  let opened = noRecords;
  try {
    const readQueue = async () => opened.queuedLoads?.counts();
    const watched = { pool, poolSize: database.poolSize, lines, readQueue };
    const metrics = await openMetrics(config, watched, log, worker);
    metricsServer = metrics?.server;
    tracing = await startTracing(environment, log);
    const context: Omit<HttpContext, 'quotas'> = {
      config,
      pool,
      databaseCheck,
      ...noRecords,
      tokens,
      lines,
      measures: metrics?.measures ?? noMeasures,
      tracing,
      readerSlots,
      maxConnections,
      isReady: () => isReady,
      isWaitingForDatabase: () => isWaiting,
      stopping: stopping.signal,
    };
    const pools = { pool, recordPool, leasePool };
    const open = () => openRecords(config, pools, log, worker?.deadLeases);
    const away = new AwayLog(log);
    const opening = embedded
      ? open()
      : whenDatabaseIsThere(open, { signal: ending.signal, onAway: (error) => away.note(error) });
    // It may fail before anybody waits for it.
    opening.catch(() => {});
    const isThere = embedded !== undefined || (await succeedsSoon(opening, away));
    const server = await buildServer(context, log);
    const begin = async (records: RecordContext) => {
      if (ending.signal.aborted) return;
      Object.assign(context, records);
      opened = records;
      away.end();
      isWaiting = false;
      isReady = true;
      await server.takeQueuedLoads();
      // The stop may have begun meanwhile, and has stopped the webhooks.
      if (ending.signal.aborted) return;
      records.webhooks?.start();
      ready.resolve();
    };
    let url: string;
    if (isThere) {
      const records = await opening;
      url = await server.listen({ host: http.host, port: http.port });
      await begin(records);
    } else {
      isWaiting = true;
      const begun = opening.then(begin);
      begun.catch((error) => {
        if (!ending.signal.aborted) failed.resolve(startFailure(error));
      });
      url = await server.listen({ host: http.host, port: http.port });
    }
    return {
      url,
      banner: (showsSecrets) =>
        startBanner(
          { url, hasConsole: config.console.isOn, tokenSettings, embedded, isWaiting },
          showsSecrets,
        ),
      failed: failed.promise,
      ready: ready.promise,
      isWaiting: () => isWaiting,
      leaseId: () => context.loads?.process,
      metricsUrl: metricsServer?.url,
      metricsText: metrics?.text,
      stop: async (cause) => {
        const stopLog = new StopLog(log, server, { cause, graceMs: http.shutdownGraceMs });
        isReady = false;
        isWaiting = false;
        ending.abort(shuttingDown());
        await endRequests(server, stopping, stopLog, http.shutdownGraceMs);
        context.events?.stop();
        // Asynchronous loads wait for the next start.
        stopping.abort(shuttingDown());
        const stopLoads = async (): Promise<true> => {
          await context.queuedLoads?.stop();
          await Promise.all([context.loads?.stop(), context.webhooks?.stop()]);
          await Promise.all([leasePool.end(), recordPool.end(), pool.end()]);
          return true;
        };
        const haveEnded = await Promise.race([
          Promise.all([stopLoads(), databaseCheck.end(), metricsServer?.close(), tracing?.stop()]),
          sleep(poolEndMs, undefined, { ref: false }),
        ]);
        await embedded?.stop();
        stopLog.ended(haveEnded !== undefined);
      },
    };
  } catch (error) {
    ending.abort(error);
    await Promise.all([
      pool.end(),
      recordPool.end(),
      leasePool.end(),
      databaseCheck.end(),
      metricsServer?.close(),
      tracing?.stop(),
    ]);
    await embedded?.stop();
    throw error;
  }
}

/** Waits for the running requests, at most for the grace period, and rolls the others back. */
async function endRequests(
  server: TableServer,
  stopping: AbortController,
  stopLog: StopLog,
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => {
    stopLog.graceEnded();
    stopping.abort(shuttingDown());
  }, graceMs);
  // Meanwhile the service still listens, so /readyz and new requests get the answer that it is stopping.
  await server.requestsEnded();
  await server.close();
  clearTimeout(timer);
}

/** Returns false if the database is away, or does not answer. @throws the error of a database that refuses the service */
async function succeedsSoon(opening: Promise<unknown>, away: AwayLog): Promise<boolean> {
  const timer = new AbortController();
  const late = sleep(firstAnswerMs, undefined, { signal: timer.signal }).then(
    () => away.note(new Error(`it has not answered for ${firstAnswerMs / 1000} seconds`)),
    () => {},
  );
  try {
    await Promise.race([opening, away.first, late]);
  } finally {
    timer.abort();
  }
  return !away.isAway;
}

const noRecords: RecordContext = {
  serviceSchema: undefined,
  loads: undefined,
  events: undefined,
  queuedLoads: undefined,
  webhooks: undefined,
};

interface Pools {
  /** For requests. */
  pool: Pool;
  /** For the records of the service. */
  recordPool: Pool;
  leasePool: Pool;
}

/** Opens the parts of the service that need the database. @throws Error if the server cannot be used; PostgreSQL's errors */
async function openRecords(
  config: Config,
  pools: Pools,
  log: Log,
  deadLeases: string[] = [],
): Promise<RecordContext> {
  const { pool, recordPool } = pools;
  await checkServerVersion(pool);
  if (config.tokens.requireRole) await warnOfRights(pool, log);
  const serviceSchema = await openServiceSchema(pool, config.database.serviceSchema, log);
  if (serviceSchema === undefined) return noRecords;
  const loads = openLoads(serviceSchema, pools, config, log);
  const queuedLoads = await openQueuedLoads(loads, pools, config, log);
  await loads.abandoned.endLeases(deadLeases);
  await loads.start();
  const events = new EventFeed(serviceSchema, recordPool, log);
  events.start();
  const addresses = new WebhookAddresses(config.webhooks.privateNetworks);
  const webhooks = new Webhooks({ schema: serviceSchema, pool, recordPool, feed: events, addresses, log });
  return { serviceSchema, loads, events, queuedLoads, webhooks };
}

/** Loads the library for metrics only if they are wanted. */
async function openMetrics(
  { metrics: { host, port } }: Config,
  watched: Watched,
  log: Log,
  worker: WorkerPlace | undefined,
) {
  if (port === undefined) return undefined;
  const { createMetrics } = await import('./metrics/metrics.ts');
  const { registry, measures } = createMetrics(watched, worker?.number);
  const text = () => registry.metrics();
  // The primary process of the workers serves the metrics of all.
  const server = worker ? undefined : await startMetricsServer(text, { host, port }, log);
  return { measures, server, text };
}

function chooseMaxConnections(config: Config, log: Log): number {
  const openFiles = openFileLimit();
  const fitting = fittingConnections(config, openFiles);
  if (fitting < config.http.maxConnections) {
    log.warn(
      { openFiles, maxConnections: fitting },
      'The process may open too few files for MAX_CONNECTIONS, so the service allows fewer connections; raise the limit of files (ulimit -n, LimitNOFILE) or lower MAX_CONNECTIONS',
    );
  }
  return fitting;
}

/** The longest time for a statement that records loads. */
const recordTimeoutMs = 10_000;

function openLoads(schema: ServiceSchema, pools: Pools, { loads }: Config, log: Log): Loads {
  return new Loads({
    schema,
    ...pools,
    log,
    historyDays: loads.historyDays,
    abandonedAnswer: abandonedAnswer(),
  });
}

async function openQueuedLoads(
  loads: Loads,
  { pool, recordPool }: Pools,
  config: Config,
  log: Log,
): Promise<QueuedLoads> {
  const base = config.loads.spoolDir ?? join(config.dataDir, 'spool');
  const folder = await spoolFolder(pool, loads.schema, base);
  await StoredBodies.check(folder);
  const problem = await spoolProblem(folder);
  if (problem !== undefined) {
    log.warn(
      { reason: problem },
      'The service cannot write to the folder for asynchronous uploads (SPOOL_DIR), so Prefer: respond-async is ignored: uploads are answered when they are loaded',
    );
  }
  return new QueuedLoads({
    loads,
    recordPool,
    folder,
    canAccept: problem === undefined,
    // The other places are for requests that wait for their answer.
    places: Math.ceil(config.limits.maxUploads / 2),
    limits: config.limits,
    lostAnswer: abandonedAnswer(),
    leaseMs: loads.lease.ms,
    log,
  });
}

/** Returns the service's own schema; undefined: there is none, and the log says why. */
async function openServiceSchema(pool: Pool, name: string, log: Log): Promise<ServiceSchema | undefined> {
  const { schema, reason } = await prepareServiceSchema(pool, name);
  if (schema === undefined && name !== noServiceSchema) {
    log.warn(
      { reason },
      'The service has no schema of its own (SERVICE_SCHEMA), so the endpoints for loads answer 501 not-enabled, and everything else works',
    );
  }
  return schema;
}

async function warnOfRights(pool: Pool, log: Log): Promise<void> {
  const rights = await excessiveRights(pool);
  if (rights.length === 0) return;
  log.warn(
    { rights },
    'The role that the service connects as has rights of its own. Functions of tables can use these rights, whatever role the access token names. docs/postgresql.md describes how to set up the role',
  );
}

function shuttingDown(): AppError {
  return new AppError(
    'shutting-down',
    'The service is stopping; nothing was changed. Send the request again later.',
    {
      headers: { 'retry-after': '10' },
    },
  );
}
