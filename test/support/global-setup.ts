/**
 * Starts one PostgreSQL for the whole test run: an embedded one in a temporary folder, or the server in TEST_DATABASE_URL (a
 * role that may create databases and roles) and TEST_ADMIN_DATABASE_URL (a superuser). If TEST_POOLER is `session` or
 * `transaction`, the services reach it through a PgBouncer in that mode.
 */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { runStatement } from './database.ts';
import { type Pooler, type PoolMode, startPooler } from './pooler.ts';
import { makeRunFolder } from './run-folder.ts';
import { createTemplate } from './template-database.ts';

const root = join(import.meta.dirname, '..', '..');

let server: EmbeddedPostgres | undefined;
let folder: string | undefined;
let pooler: Pooler | undefined;

export async function globalSetup(): Promise<void> {
  // Each group of test files is a separate process, and compiling takes most of its start.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'node-compile');
  folder = await makeRunFolder();
  process.env.TMPDIR = folder;
  if (!process.env.TEST_DATABASE_URL) await startServer(folder);
  // Citus keeps a connection to each database that was used, and PostgreSQL copies no database with a connection.
  if (!process.env.TEST_TEMPLATE)
    process.env.TEST_TEMPLATE_DATABASE = await createTemplate(process.env.TEST_DATABASE_URL!);
  const mode = process.env.TEST_POOLER as PoolMode | undefined;
  if (!mode) return;
  pooler = await startPooler(mode, process.env.TEST_DATABASE_URL!);
  process.env.TEST_POOLER_PORT = String(pooler.port);
}

async function startServer(parent: string): Promise<void> {
  const quiet = { info: () => {}, warn: () => {} };
  server = await startEmbeddedPostgres({ dataDir: join(parent, 'server'), log: quiet, durable: false });
  const admin = new pg.Client(server.adminUrl);
  await admin.connect();
  await admin.query('ALTER ROLE tablewright CREATEDB');
  // The tests open thousands of connections. Both sides compute less with one iteration than with 4096.
  const { password } = new URL(server.url);
  await admin.query('SET scram_iterations = 1');
  await admin.query(`ALTER ROLE tablewright PASSWORD ${pg.escapeLiteral(decodeURIComponent(password))}`);
  await admin.end();
  process.env.TEST_DATABASE_URL = server.url;
  process.env.TEST_ADMIN_DATABASE_URL = server.adminUrl;
}

/** Never throws, because the test runner of Node.js 24 runs a teardown that failed again, for ever. What fails here is left behind. */
export async function globalTeardown(): Promise<void> {
  const { TEST_DATABASE_URL, TEST_TEMPLATE_DATABASE } = process.env;
  await attempt(() => pooler?.stop());
  if (!server && TEST_TEMPLATE_DATABASE)
    await attempt(() =>
      runStatement(TEST_DATABASE_URL!, `DROP DATABASE IF EXISTS ${TEST_TEMPLATE_DATABASE} WITH (FORCE)`),
    );
  await attempt(() => server?.stop());
  // A process that is ending may still write into the folder.
  if (folder !== undefined) await attempt(() => rm(folder!, { recursive: true, force: true, maxRetries: 5 }));
}

async function attempt(work: () => Promise<void> | undefined): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error('After the tests, something was not cleaned up.', error);
  }
}
