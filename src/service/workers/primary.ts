/** The primary process of a service with several workers. */
import type { Config } from '../../core/settings/config.ts';
import { startEmbeddedPostgres } from '../../postgres/embedded.ts';
import { version } from '../../program-files.ts';
import { startMetricsServer } from '../metrics/metrics-server.ts';
import type { Service } from '../service.ts';
import { resolveTokenSettings } from '../start/dev-token.ts';
import { unhandledError } from '../start/life-log.ts';
import { createLog } from '../start/service-log.ts';
import { startBanner } from '../start/start-banner.ts';
import { onlyOnce } from '../start/unhandled-error.ts';
import { WorkerGroup } from './worker-group.ts';

/** What the process of `main.ts` starts and stops. */
export type Program = Pick<Service, 'banner' | 'failed' | 'logUnhandled' | 'stop'>;

/** The connections of a worker in addition to DATABASE_POOL_SIZE: four for exports, two for the records of loads, one for its lease, one for health checks. */
const otherConnections = 8;

/** Starts the workers, and returns when all of them listen. @throws Error with a message for the person who starts the service */
export async function startPrimary(config: Config): Promise<Program> {
  const { database, metrics, http, workers: count } = config;
  const log = createLog(config.logLevel);
  log.info({ version, workers: count }, 'Tablewright starts its workers');
  const failed = Promise.withResolvers<string>();
  // The primary process creates the secret, so that the workers do not create it at the same time.
  const tokenSettings = await resolveTokenSettings(config);
  const embedded =
    database.url === undefined
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir,
          log,
          onExit: (detail) =>
            failed.resolve(`Tablewright ends: the embedded PostgreSQL ended by itself: ${detail}`),
          connections: count * (database.poolSize + otherConnections),
        })
      : undefined;
  const group = new WorkerGroup({
    count,
    databaseUrl: embedded?.url,
    graceMs: http.shutdownGraceMs,
    log,
    onFailure: failed.resolve,
  });
  let metricsServer: Awaited<ReturnType<typeof startMetricsServer>> | undefined;
  const stop = onlyOnce(async (cause?: string) => {
    try {
      await group.stop(cause);
    } finally {
      await metricsServer?.close();
      await embedded?.stop();
    }
  });
  try {
    if (metrics.port !== undefined) {
      const place = { host: metrics.host, port: metrics.port };
      metricsServer = await startMetricsServer(() => group.metrics(), place, log);
    }
    const { url, isWaiting } = await group.start();
    await embedded?.announce(url);
    const facts = { url, hasConsole: config.console.isOn, tokenSettings, embedded, isWaiting };
    return {
      banner: (showsSecrets) => startBanner(facts, showsSecrets),
      failed: failed.promise,
      logUnhandled: (error) => log.fatal({ err: error }, unhandledError),
      stop,
    };
  } catch (error) {
    // The error of `stop` is ignored, because `error` says more than a worker that ends because of it.
    await stop().catch(() => {});
    throw error;
  }
}
