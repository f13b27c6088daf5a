/**
 * Starts and stops everything: PostgreSQL (unless a URL is given), the connections to it, and the HTTP server. `service/` has the
 * states of the service and the parts that it opens and ends.
 */

import type { Config, Environment } from '../core/settings/config.ts';
import { KnownTables } from '../engine/loading/known/known-tables.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded.ts';
import type { Log } from '../postgres/log.ts';
import { version } from '../program-files.ts';
import { createLines, createMemoryBudget } from './http/admission/lines.ts';
import type { HttpContext } from './http/context.ts';
import { noMeasures } from './http/observing/measures.ts';
import { buildServer, type TableServer } from './http/server.ts';
import { startTokenVerifier } from './http/tokens/token-verifier.ts';
import { chooseMaxConnections } from './http/wire/connections.ts';
import type { Records } from './loads/records.ts';
import { AllowedAddresses } from './outgoing/allowed-addresses.ts';
import { resolveTokenSettings } from './start/dev-token.ts';
import { FirstOpening } from './start/first-opening.ts';
import { StopLog, unhandledError } from './start/life-log.ts';
import { openRecords } from './start/open-records.ts';
import { OpenedParts, openMetrics } from './start/opened-parts.ts';
import { createLog } from './start/service-log.ts';
import { ServiceState } from './start/service-state.ts';
import { startBanner } from './start/start-banner.ts';
import { startFailure } from './start/start-failure.ts';
import { onlyOnce } from './start/unhandled-error.ts';
import { startTracing } from './tracing/tracing.ts';

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
  /** Logs an error that nobody has handled, and what was running then. The caller stops the service, because its state is unknown. */
  logUnhandled(error: unknown): void;
  /**
   * Waits at most SHUTDOWN_GRACE_MS for running requests, rolls the other requests back, and releases everything.
   *
   * A second call returns the promise of the first one.
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
  const log = createLog(config.logLevel, worker?.number);
  log.info({ version }, 'Tablewright starts');
  const tokenSettings = await resolveTokenSettings(config);
  const tokens = await startTokenVerifier(tokenSettings, log);
  const state = new ServiceState();
  const embedded = await startEmbedded(config, state, log);
  const parts = new OpenedParts(config.database, embedded, log);
  try {
    const lines = createLines(config);
    parts.metrics = await openMetrics(config, parts, lines, log, worker?.number);
    parts.tracing = await startTracing(environment, log);
    const context = contextOf(config, parts, state, log, { tokens, lines });
    // If the service cannot listen, the records are ended, too.
    const open = async () => parts.records.open(await openRecords(config, parts, log, worker?.deadLeases));
    const opening = new FirstOpening(open, { isEmbedded: embedded !== undefined, signal: state.ending, log });
    const isThere = await opening.succeedsSoon();
    if (!isThere) state.waitForDatabase();
    const server = await buildServer(context, log);
    const url = await server.listen(config.http);
    const begun = opening.opened.then(async () => {
      if (state.ending.aborted) return;
      opening.logEnd();
      await begin(state, server, parts.records);
    });
    if (isThere) await begun;
    else begun.catch((error) => failUnlessEnding(state, error));
    await embedded?.announce(url);
    const bannerFacts = { url, hasConsole: config.console.isOn, tokenSettings, embedded };
    return {
      url,
      banner: (showsSecrets) => startBanner({ ...bannerFacts, isWaiting: state.isWaiting }, showsSecrets),
      failed: state.whenFailed,
      ready: state.whenReady,
      isWaiting: () => state.isWaiting,
      leaseId: () => parts.records.leaseId,
      metricsUrl: parts.metrics?.server?.url,
      metricsText: parts.metrics?.text,
      logUnhandled: (error) => {
        const running = { requests: server.listRunning(), loads: parts.records.runningIds() };
        log.fatal({ err: error, running }, unhandledError);
      },
      stop: onlyOnce(async (cause) => {
        const stopLog = new StopLog(log, server, { cause, graceMs: config.http.shutdownGraceMs });
        state.beginEnd();
        await endRequests(server, state, stopLog, config.http.shutdownGraceMs);
        stopLog.ended(await parts.end(state));
      }),
    };
  } catch (error) {
    state.beginEnd();
    await parts.end(state);
    throw error;
  }
}

/** Returns undefined if DATABASE_URL names the database. */
async function startEmbedded(
  { database, dataDir }: Config,
  state: ServiceState,
  log: Log,
): Promise<EmbeddedPostgres | undefined> {
  if (database.url !== undefined) return undefined;
  const onExit = (detail: string) =>
    state.fail(`Tablewright ends: the embedded PostgreSQL ended by itself: ${detail}`);
  return startEmbeddedPostgres({ dataDir, log, onExit });
}

function contextOf(
  config: Config,
  { pool, exportPool, databaseCheck, metrics, tracing, records }: OpenedParts,
  state: ServiceState,
  log: Log,
  admission: Pick<HttpContext, 'tokens' | 'lines'>,
): Omit<HttpContext, 'quotas'> {
  return {
    ...admission,
    config,
    pool,
    exportPool,
    databaseCheck,
    records,
    measures: metrics?.measures ?? noMeasures,
    tracing,
    knownTables: new KnownTables(),
    addresses: new AllowedAddresses(config.webhooks.privateNetworks),
    memoryBudget: createMemoryBudget(config.limits),
    maxConnections: chooseMaxConnections(config, log),
    isReady: () => state.isReady,
    isWaitingForDatabase: () => state.isWaiting,
    stopping: state.stopping,
  };
}

/** Begins the work on requests and on what waits in the database. */
async function begin(state: ServiceState, server: TableServer, records: Records): Promise<void> {
  state.acceptRequests();
  await server.takeQueuedLoads();
  // The stop may have begun meanwhile, and has stopped the webhooks.
  if (state.ending.aborted) return;
  records.startWebhooks();
  state.announceReady();
}

function failUnlessEnding(state: ServiceState, error: unknown): void {
  if (!state.ending.aborted) state.fail(startFailure(error));
}

/** Waits for the running requests, at most for the grace period, and rolls the others back. */
async function endRequests(
  server: TableServer,
  state: ServiceState,
  stopLog: StopLog,
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => {
    stopLog.graceEnded();
    state.endRequests();
  }, graceMs);
  // Meanwhile the service still listens, so /readyz and new requests get the answer that it is stopping.
  await server.requestsEnded();
  await server.close();
  clearTimeout(timer);
}
