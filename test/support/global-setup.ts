/**
 * Starts one PostgreSQL for the whole test run: an embedded one in a temporary folder, or the server in TEST_DATABASE_URL (a
 * role that may create databases and roles) and TEST_ADMIN_DATABASE_URL (a superuser). If TEST_POOLER is `session` or
 * `transaction`, the services reach it through a PgBouncer in that mode.
 */

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded.ts';
import { type Pooler, type PoolMode, startPooler } from './pooler.ts';

const root = join(import.meta.dirname, '..', '..');

let server: EmbeddedPostgres | undefined;
let folder: string | undefined;
let pooler: Pooler | undefined;

export async function globalSetup(): Promise<void> {
  // Each group of test files, and each service that a test starts, is a separate process. Compiling takes most of its start.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'node-compile');
  if (!process.env.TEST_DATABASE_URL) await startServer();
  const mode = process.env.TEST_POOLER as PoolMode | undefined;
  if (!mode) return;
  pooler = await startPooler(mode, process.env.TEST_DATABASE_URL!);
  process.env.TEST_POOLER_PORT = String(pooler.port);
}

async function startServer(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'tablewright-test-'));
  // Under root another user runs PostgreSQL, who must be able to enter the folder.
  await chmod(folder, 0o711);
  const quiet = { info: () => {}, warn: () => {} };
  server = await startEmbeddedPostgres({ dataDir: join(folder, 'data'), log: quiet, durable: false });
  const admin = new pg.Client(server.adminUrl);
  await admin.connect();
  await admin.query('ALTER ROLE tablewright CREATEDB');
  await admin.end();
  process.env.TEST_DATABASE_URL = server.url;
  process.env.TEST_ADMIN_DATABASE_URL = server.adminUrl;
}

export async function globalTeardown(): Promise<void> {
  await pooler?.stop();
  await server?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
}
