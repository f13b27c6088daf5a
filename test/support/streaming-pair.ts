/** A primary server and a standby that receives its changes (streaming replication), for tests of a failover. */
import { rm } from 'node:fs/promises';
import pg from 'pg';
import type { Binaries } from '../../src/postgres/embedded/binaries.ts';
import { freePort } from './free-port.ts';
import {
  type Cluster,
  connectWhenReady,
  copyCluster,
  makeCluster,
  password,
  provision,
  type RunningCluster,
  startCluster,
  urlOf,
} from './throw-away-server.ts';
import { until } from './until.ts';

export interface StreamingServer {
  port: number;
  /** Opens a connection as a superuser. */
  connect(database: string): Promise<pg.Client>;
  /** Runs a query as a superuser. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends the server as a crash of its machine does. */
  crash(): Promise<void>;
  /** Ends the server in order, after the standby has received everything, and starts it again as a standby of the other server. */
  demote(): Promise<void>;
  /** Makes the standby the primary server, and waits until it accepts changes. */
  promote(): Promise<void>;
}

export interface StreamingPair {
  primary: StreamingServer;
  standby: StreamingServer;
  /** The part of a URL before the hosts, and the part after them. */
  urlOf(hosts: string): string;
  stop(): Promise<void>;
}

/** @param isSynchronous true: a commit waits until the standby has stored it */
export async function startStreamingPair(found: Binaries, isSynchronous: boolean): Promise<StreamingPair> {
  const hostRules =
    'host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n';
  const first = await makeCluster(found, { hostRules });
  const second = await copyCluster(first, 'standby');
  const ports = [await freePort(), await freePort()] as const;
  const primary = await startServer(first, ports[0], ports[1], false);
  await provision(urlOf(ports[0], 'postgres', 'postgres'));
  const standby = await startServer(second, ports[1], ports[0], true);
  await until('the standby to receive changes', async () => {
    return (await primary.rows(`SELECT FROM pg_stat_replication WHERE state = 'streaming'`)).length > 0;
  });
  if (isSynchronous) {
    await primary.rows(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await primary.rows('SELECT pg_reload_conf()');
    await until('the standby to be synchronous', async () => {
      return (await primary.rows(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)).length > 0;
    });
  }
  return {
    primary,
    standby,
    urlOf: (hosts) => `postgresql://tablewright:${encodeURIComponent(password)}@${hosts}/tablewright`,
    stop: async () => {
      await Promise.all([primary.crash(), standby.crash()]);
      await rm(first.folder, { recursive: true, force: true });
    },
  };
}

async function startServer(
  cluster: Cluster,
  port: number,
  otherPort: number,
  isStandby: boolean,
): Promise<StreamingServer> {
  const settings = {
    port,
    synchronous_commit: 'on',
    wal_keep_size: '512MB',
    hot_standby: 'on',
    primary_conninfo: `host=127.0.0.1 port=${otherPort} user=postgres password='${password}'`,
    recovery_target_timeline: 'latest',
  };
  const adminUrl = urlOf(port, 'postgres', 'postgres');
  const begin = async (asStandby: boolean): Promise<RunningCluster> => {
    if (asStandby) await cluster.writeFile('standby.signal', '');
    const running = await startCluster(cluster, settings);
    await (await connectWhenReady(adminUrl)).end();
    return running;
  };
  let running = await begin(isStandby);
  const connect = async (database: string): Promise<pg.Client> => {
    const client = new pg.Client(urlOf(port, 'postgres', database));
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const rows = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = await connect('postgres');
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  let hasEnded = false;
  return {
    port,
    connect,
    rows,
    crash: async () => {
      if (hasEnded) return;
      hasEnded = true;
      await running.crash();
    },
    demote: async () => {
      await running.end('SIGINT');
      running = await begin(true);
    },
    promote: async () => {
      await rows('SELECT pg_promote()');
    },
  };
}
