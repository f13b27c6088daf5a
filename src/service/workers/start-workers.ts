/**
 * Serves one port with several processes (`WORKERS`). The first process is the primary one: it runs the embedded PostgreSQL, starts the
 * workers, gives each of them connections of clients in turn, and serves their metrics. It reads no request. Each worker is a complete
 * service, like a replica. Workers share nothing but the database and the folder of the stored bodies.
 */
import cluster from 'node:cluster';
import type { Config, Environment } from '../../core/settings/config.ts';
import type { Program } from './primary.ts';

/** Returns the service; undefined: this process is a worker, which its primary process starts and stops. */
export async function startWorkers(config: Config, environment: Environment): Promise<Program | undefined> {
  if (cluster.isPrimary) {
    const { startPrimary } = await import('./primary.ts');
    return startPrimary(config);
  }
  const { runWorker } = await import('./worker.ts');
  runWorker(config, environment);
  return undefined;
}
