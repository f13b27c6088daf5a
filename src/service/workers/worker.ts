/** A worker: a complete service that the primary process starts and stops. If the primary process ends, Node.js ends the worker at once. */
import process from 'node:process';
import type { Config, Environment } from '../../core/settings/config.ts';
import { type Service, startService } from '../service.ts';
import { exitAfterLog } from '../start/service-log.ts';
import { startFailure } from '../start/start-failure.ts';
import { stopAfterUnhandledError } from '../start/unhandled-error.ts';
import type { StartFacts, ToPrimary, ToWorker } from './messages.ts';

/** Handles the messages of the primary process from now on. */
export function runWorker(config: Config, environment: Environment): void {
  let starting: Promise<Service> | undefined;
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'start') {
      starting = start(config, environment, message);
      starting.catch(fail);
    } else if (message.kind === 'stop') {
      if (starting === undefined) process.exit(0);
      stop(starting, message.cause);
    } else if (message.kind === 'read-metrics') {
      if (starting !== undefined) sendMetrics(starting, message.request);
    }
  });
  send({ kind: 'begun' });
}

async function start(
  config: Config,
  environment: Environment,
  { number, databaseUrl = config.database.url, deadLeases }: StartFacts,
): Promise<Service> {
  const database = { ...config.database, url: databaseUrl };
  const service = await startService({ ...config, database }, environment, { number, deadLeases });
  service.failed.then(endWith);
  // The process ends, and the primary process starts another worker.
  const exit = () => exitAfterLog(1);
  stopAfterUnhandledError(service, config.http.shutdownGraceMs, exit);
  send({ kind: 'listening', url: service.url, isWaiting: service.isWaiting() });
  service.ready.then(() => send({ kind: 'ready', lease: service.leaseId() }));
  return service;
}

async function stop(starting: Promise<Service>, cause: string | undefined): Promise<void> {
  try {
    const service = await starting;
    await service.stop(cause);
    await exitAfterLog(0);
  } catch (error) {
    fail(error);
  }
}

async function sendMetrics(starting: Promise<Service>, request: number): Promise<void> {
  try {
    const { metricsText } = await starting;
    send({ kind: 'metrics', request, text: (await metricsText?.()) ?? '' });
  } catch {
    // The primary process then answers without the metrics of this worker.
  }
}

function fail(error: unknown): void {
  endWith(startFailure(error));
}

function endWith(detail: string): void {
  send({ kind: 'failed', detail }, () => exitAfterLog(1));
}

function send(message: ToPrimary, sent: () => void = () => {}): void {
  process.send!(message, undefined, undefined, sent);
}
