/** The processes of a run: PostgreSQL and the service, each of which can be killed and started again. */
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/postgres/embedded.ts';
import { type ChildService, startChildService } from '../test/support/child-service.ts';
import { type Clock, makeClock } from './clock.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { openWay, type Way } from './way.ts';

/**
 * How the service runs: one process that reaches PostgreSQL directly, or by a name whose address changes, behind which a PgBouncer may be; or two
 * replicas that share PostgreSQL and the folder of stored uploads.
 */
export type WayKind = (typeof wayKinds)[number];

export const wayKinds = ['direct', 'name', 'name-and-pooler', 'replicas'] as const;

export function isWayKind(text: string): text is WayKind {
  return (wayKinds as readonly string[]).includes(text);
}

export interface Machinery {
  /** Undefined: the service reaches PostgreSQL directly. */
  way: Way | undefined;
  /** Undefined if no file system can be mounted. */
  disks: { spool: SmallDisk; data: SmallDisk } | undefined;
  /** The folder for the temporary files of the service. */
  spoolFolder: string;
  /** The replicas of the service. */
  services: ChildService[];
  /** The replicas that do not run, because a fault has stopped their processes for some time. */
  hung: Set<ChildService>;
  /** The clock of the last replica; undefined: it cannot be set. */
  clock: Clock | undefined;
  /** A token that is valid for longer than any clock is wrong. */
  token: string;
  /** Waits until PostgreSQL answers, and starts it if it has ended. */
  restorePostgres(): Promise<void>;
  /** Starts a replica after it has ended. */
  restartService(number: number): Promise<void>;
  /** Returns everything that the service has printed, in all of its processes. */
  output(): string;
  /** The id of PostgreSQL's main process. */
  postmaster(): Promise<number>;
  /** A connection URL for a superuser, in the database of the service. */
  connect(): Promise<pg.Client>;
  end(): Promise<void>;
}

/** Settings of the service that differ from the defaults, so that waits are short. */
export const serviceSettings = {
  LOG_LEVEL: 'info',
  BODY_IDLE_TIMEOUT_MS: '2500',
  SHUTDOWN_GRACE_MS: '2000',
  DATABASE_POOL_SIZE: '12',
  MAX_UPLOADS: '8',
  MAX_UPLOADS_PER_SUBJECT: '7',
  WEBHOOK_PRIVATE_NETWORKS: '127.0.0.1',
};

/** For two replicas. Their clients send three copies of some requests at the same time. */
const replicaSettings = {
  DATABASE_POOL_SIZE: '24',
  MAX_UPLOADS: '20',
  MAX_UPLOADS_PER_SUBJECT: '18',
};

/** The connections of each replica: there are separate ones for health checks, for the lease and for the records of loads. */
export function connectionsOf({ services }: Machinery): number {
  const { DATABASE_POOL_SIZE } = services.length > 1 ? replicaSettings : serviceSettings;
  return services.length * (Number(DATABASE_POOL_SIZE) + 3);
}

/** The folder in the folder of temporary files in which replicas store asynchronous uploads. */
export const storedFolder = 'stored';

const tokenSeconds = 30 * 86_400;
const postgresTimeoutMs = 60_000;
const quiet = { info: () => {}, warn: () => {} };

export async function startMachinery(wayKind: WayKind): Promise<Machinery> {
  const folder = await mkdtemp(join(tmpdir(), 'tablewright-soak-'));
  await chmod(folder, 0o711);
  const spoolFolder = join(folder, 'spool');
  const dataFolder = join(folder, 'data');
  const spool = await mountSmallDisk(spoolFolder);
  const data = await mountSmallDisk(dataFolder);

  // The port is the same each time, so that the URL of the service remains right.
  const dataDir = join(dataFolder, 'postgres');
  await mkdir(dataDir);
  await chmod(dataDir, 0o711);
  await writeFile(join(dataDir, 'postgres-port'), `${await findPort()}\n`);

  let postgres: EmbeddedPostgres | undefined;
  let hasEnded = true;
  const startPostgres = async () => {
    hasEnded = false;
    const onExit = (): void => {
      hasEnded = true;
    };
    try {
      // The server is durable, because committed data must survive a kill.
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
    const address = postgres!.url;
    for (;;) {
      try {
        if (hasEnded) await startPostgres();
        const client = await connect();
        await client.query('SELECT 1').finally(() => client.end());
        break;
      } catch (error) {
        if (performance.now() > giveUpAt) throw error;
        await sleep(50);
      }
    }
    if (postgres!.url !== address) throw new Error('PostgreSQL was started again at another address');
  };
  let way: Way | undefined;
  const isReplicated = wayKind === 'replicas';
  const clock = isReplicated ? await makeClock(folder) : undefined;
  const outputs: (() => string)[] = [];
  const startService = async (number: number): Promise<ChildService> => {
    const service = await startChildService(
      { serviceUrl: way?.serviceUrl ?? postgres!.url },
      {
        ...serviceSettings,
        ...way?.environment,
        TMPDIR: spoolFolder,
        ...(isReplicated && { ...replicaSettings, SPOOL_DIR: join(spoolFolder, storedFolder) }),
        ...(number > 0 && clock?.environment),
      },
    );
    outputs.push(service.output);
    return service;
  };

  const unmount = async () => {
    await spool?.unmount();
    await data?.unmount();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await startPostgres();
    if (wayKind === 'name' || wayKind === 'name-and-pooler')
      way = await openWay(postgres!.url, folder, wayKind === 'name-and-pooler');
    const services = [await startService(0)];
    if (isReplicated) services.push(await startService(1));
    const machinery: Machinery = {
      way,
      disks: spool && data && { spool, data },
      spoolFolder,
      services,
      hung: new Set(),
      clock,
      token: await services[0]!.token({ ttlSeconds: tokenSeconds }),
      output: () => outputs.map((output) => output()).join('\n'),
      restorePostgres,
      restartService: async (number) => {
        services[number] = await startService(number);
      },
      postmaster: async () =>
        Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n', 1)),
      connect,
      end: async () => {
        for (const service of services) await service.end('SIGKILL');
        await way?.end();
        await postgres!.stop();
        await unmount();
      },
    };
    return machinery;
  } catch (error) {
    await way?.end();
    await postgres?.stop();
    await unmount();
    throw error;
  }
}

/**
 * Returns a free port below those that operating systems use for outgoing connections. Otherwise, while PostgreSQL is stopped,
 * one of the service's own attempts to connect might use the port.
 */
async function findPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
      return port;
    } catch {
      // Another program listens on the port.
    } finally {
      server.close();
    }
  }
}
