/** The processes of a run: PostgreSQL and the service, each of which can be killed and started again. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/postgres/embedded.ts';
import { type ChildService, startChildService } from '../test/support/child-service.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

export interface Machinery {
  /** Undefined where nothing can be mounted. */
  disks: { spool: SmallDisk; data: SmallDisk } | undefined;
  /** The folder for the temporary files of the service. */
  spoolFolder: string;
  service: ChildService;
  /** Waits until PostgreSQL answers; starts it if it has ended. */
  restorePostgres(): Promise<void>;
  /** Starts the service again, which has ended. */
  restartService(): Promise<void>;
  /** The number of PostgreSQL's first process. */
  postmaster(): Promise<number>;
  /** For a superuser, in the database of the service. */
  connect(): Promise<pg.Client>;
  end(): Promise<void>;
}

/** Settings of the service that differ from the defaults, so that waits are short. */
export const serviceSettings = {
  LOG_LEVEL: 'info',
  BODY_IDLE_TIMEOUT_MS: '2500',
  STOP_TIMEOUT_MS: '2000',
  DATABASE_POOL_SIZE: '12',
  MAX_UPLOADS: '8',
  MAX_UPLOADS_PER_SUBJECT: '7',
};

const postgresTimeoutMs = 60_000;
const quiet = { info: () => {}, warn: () => {} };

export async function startMachinery(): Promise<Machinery> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-soak-'));
  await chmod(folder, 0o711);
  const spoolFolder = join(folder, 'spool');
  const dataFolder = join(folder, 'data');
  const spool = await mountSmallDisk(spoolFolder);
  const data = await mountSmallDisk(dataFolder);

  let postgres: EmbeddedPostgres | undefined;
  let hasEnded = true;
  const startPostgres = async () => {
    hasEnded = false;
    const onExit = (): void => {
      hasEnded = true;
    };
    // Durable: what was committed must be there after a kill.
    const dataDir = join(dataFolder, 'postgres');
    try {
      postgres = await startEmbeddedPostgres({ dataDir, log: quiet, onExit, durable: true });
    } catch (error) {
      hasEnded = true;
      throw error;
    }
  };
  const connect = async (): Promise<pg.Client> => {
    const url = new URL(postgres!.adminUrl);
    url.pathname = '/tablewright';
    const client = new pg.Client({ connectionString: url.href, application_name: 'soak' });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const restorePostgres = async () => {
    const giveUpAt = performance.now() + postgresTimeoutMs;
    for (;;) {
      try {
        if (hasEnded) await startPostgres();
        const client = await connect();
        await client.query('SELECT 1').finally(() => client.end());
        return;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await sleep(50);
      }
    }
  };
  const startService = () =>
    startChildService({ serviceUrl: postgres!.url }, { ...serviceSettings, TMPDIR: spoolFolder });

  const unmount = async () => {
    await spool?.unmount();
    await data?.unmount();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await startPostgres();
    const machinery: Machinery = {
      disks: spool && data && { spool, data },
      spoolFolder,
      service: await startService(),
      restorePostgres,
      restartService: async () => {
        machinery.service = await startService();
      },
      postmaster: async () =>
        Number(
          (await readFile(join(dataFolder, 'postgres', 'postgres', 'postmaster.pid'), 'utf8')).split('\n', 1),
        ),
      connect,
      end: async () => {
        await machinery.service.end('SIGKILL');
        await postgres!.stop();
        await unmount();
      },
    };
    return machinery;
  } catch (error) {
    await postgres?.stop();
    await unmount();
    throw error;
  }
}
