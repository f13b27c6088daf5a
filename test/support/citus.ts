/**
 * The service on a database of its own in a cluster of Citus: a coordinator and two workers. `CITUS_URL` is that of the service's role
 * at the coordinator, and `CITUS_SUPERUSER_URL` that of a superuser. The workers have the two ports after that of the coordinator.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { readConfig } from '../../src/core/settings/config.ts';
import { startService } from '../../src/service/service.ts';
import { runStatement, statementTimeoutMs } from './database.ts';
import { type ServiceClient, serviceClient, testEnvironment } from './service.ts';
import { until } from './until.ts';

export interface CitusService extends ServiceClient {
  /** The URL of the service's role in the database at the coordinator. */
  databaseUrl: string;
  /** The rows of a query at the coordinator, under the role of the service. */
  rows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** The rows of a query at the coordinator, under a superuser. */
  adminRows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/** Starts a service on a new database, which has Citus on all three nodes. */
export async function startCitusService(environment: Record<string, string> = {}): Promise<CitusService> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const ports = [0, 1, 2].map((node) => Number(clusterUrl('CITUS_URL').port) + node);
  await Promise.all(ports.map((port) => createDatabase(port, name)));
  const admin = openPool(superuserUrl(ports[0]!, name));
  // Fewer shards than usual, because each of them is a table at a worker.
  await admin.query(`ALTER DATABASE ${name} SET citus.shard_count = 4`);
  const databaseUrl = urlOf('CITUS_URL', ports[0]!, name);
  const pool = openPool(databaseUrl);
  await oneAtATime(superuserUrl(ports[0]!, 'postgres'), async () => {
    await admin.query(`SELECT citus_set_coordinator_host('127.0.0.1', $1)`, [ports[0]]);
    for (const port of ports.slice(1)) await admin.query(`SELECT citus_add_node('127.0.0.1', $1)`, [port]);
    await pool.query(
      `CREATE TABLE first (a integer); SELECT create_reference_table('first'); DROP TABLE first`,
    );
  });

  const dataDir = await mkdtemp(join(tmpdir(), 'tablewright-service-'));
  const config = readConfig(testEnvironment({ serviceUrl: databaseUrl }, dataDir, environment));
  const service = await startService(config);
  await until('the service to reach its database', () => !service.isWaiting());
  return {
    ...(await serviceClient(service.url, config.tokens)),
    databaseUrl,
    rows: async (sql, values) => (await pool.query(sql, values)).rows,
    adminRows: async (sql, values) => (await admin.query(sql, values)).rows,
    stop: async () => {
      await service.stop();
      await Promise.all([pool.end(), admin.end()]);
      // The nodes keep connections to each other.
      await Promise.all(
        ports.map((port) =>
          runStatement(superuserUrl(port, 'postgres'), `DROP DATABASE ${name} WITH (FORCE)`),
        ),
      );
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * Waits until no other test file does such work. A new node and the first distributed table of a database make Citus alter the roles of
 * the cluster at the workers, which fails if two databases do so at the same moment.
 */
async function oneAtATime(url: string, work: () => Promise<void>): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock(7)');
    await work();
  } finally {
    await client.end();
  }
}

async function createDatabase(port: number, name: string): Promise<void> {
  const owner = clusterUrl('CITUS_URL').username;
  await runStatement(
    superuserUrl(port, 'postgres'),
    `CREATE DATABASE ${name} OWNER ${owner} STRATEGY file_copy`,
  );
  await runStatement(superuserUrl(port, name), 'CREATE EXTENSION citus');
}

function superuserUrl(port: number, database: string): string {
  return urlOf('CITUS_SUPERUSER_URL', port, database);
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, statement_timeout: statementTimeoutMs });
  // Connections that end with the database must not fail a test.
  pool.on('error', () => {});
  return pool;
}

function urlOf(variable: ClusterVariable, port: number, database: string): string {
  const url = clusterUrl(variable);
  url.port = String(port);
  url.pathname = `/${database}`;
  return url.href;
}

type ClusterVariable = 'CITUS_URL' | 'CITUS_SUPERUSER_URL';

function clusterUrl(variable: ClusterVariable): URL {
  const url = process.env[variable];
  if (!url) throw new Error(`no cluster: set ${variable} (test/matrix/citus.matrix.ts starts one)`);
  return new URL(url);
}
