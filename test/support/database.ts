/** Creates a separate database for a test file. */

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { atPort } from './pooler.ts';

export interface TestDatabase {
  /** The URL for the role that the service connects as, which owns the database. */
  url: string;
  /** The URL for the service: the same, or through the pooler of the test run (`TEST_POOLER`). */
  serviceUrl: string;
  /** The URL for a superuser in the same database; undefined if the test server has none. */
  adminUrl: string | undefined;
  pool: pg.Pool;
  drop(): Promise<void>;
}

const emptyTemplate = process.env.TEST_TEMPLATE ?? 'template0';

/**
 * Creates the database on the server of the test run (`test/support/global-setup.ts`).
 *
 * @param template the database to copy; default: that of the variable `TEST_TEMPLATE`, or an empty one
 */
export async function createTestDatabase(template = emptyTemplate): Promise<TestDatabase> {
  const server = process.env.TEST_DATABASE_URL;
  if (!server) throw new Error('no test server: run with --test-global-setup=test/support/global-setup.ts');
  const name = `test_${randomBytes(8).toString('hex')}`;
  // Measured: copying the files takes a fifth of the processor time of the default strategy, which writes every page to the WAL.
  await runStatement(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = inDatabase(server, name);
  const admin = process.env.TEST_ADMIN_DATABASE_URL;
  const pool = new pg.Pool({ connectionString: url });
  // Connections that end with the database must not fail a test.
  pool.on('error', () => {});
  const poolerPort = process.env.TEST_POOLER_PORT;
  return {
    url,
    serviceUrl: poolerPort ? atPort(url, Number(poolerPort)) : url,
    adminUrl: admin ? inDatabase(admin, name) : undefined,
    pool,
    drop: async () => {
      await pool.end();
      // An autovacuum worker may use the database. Only a superuser can end this worker.
      await runStatement(admin ?? server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Returns the URL of another database of the server. */
export function inDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** The longest time of a statement that a hook runs. A hook has no other limit, and the error names its file. */
export const statementTimeoutMs = 120_000;

/** Runs one statement in a connection of its own. */
export async function runStatement(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server, statement_timeout: statementTimeoutMs });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
