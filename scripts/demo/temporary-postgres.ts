/** Starts a PostgreSQL for a demo, in a temporary folder, which is removed at the end. */
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded.ts';

export interface TemporaryPostgres extends EmbeddedPostgres {
  /** A folder that is removed at the end, for the DATA_DIR of services. */
  dataDir: string;
}

/** @param endings gets what ends and removes everything, to be run in reverse order, also if this function throws */
export async function startTemporaryPostgres(
  endings: (() => Promise<unknown>)[],
): Promise<TemporaryPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-demo-'));
  endings.push(() => removeFolder(folder));
  // If root starts this, another user runs PostgreSQL and must be able to enter the folder.
  await chmod(folder, 0o711);
  const dataDir = join(folder, 'data');
  endings.push(() => removeClusterOf(dataDir));
  const quiet = { info: () => {}, warn: () => {} };
  const postgres = await startEmbeddedPostgres({ dataDir, log: quiet, durable: false });
  endings.push(() => postgres.stop());
  return { ...postgres, dataDir };
}

/** Removes the cluster. It is in another folder if the user that runs it cannot reach this one. */
async function removeClusterOf(dataDir: string): Promise<void> {
  const cluster = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (cluster !== undefined) await removeFolder(dirname(cluster));
}

function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
