/**
 * The database that the databases of test services are copies of. It already has the service's own schema, because running all migrations
 * takes more processor time than copying their tables. `service-schema.test.ts` and all tests that start the service as a process
 * use empty databases, so that the service makes its schema there.
 */
import { randomBytes } from 'node:crypto';
import { readConfig } from '../../src/core/settings/config.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { prepareServiceSchema } from '../../src/service/loads/service-schema.ts';
import { inDatabase, runStatement } from './database.ts';

/** Creates the database on a server, and returns its name. */
export async function createTemplate(server: string): Promise<string> {
  const name = `template_${randomBytes(8).toString('hex')}`;
  await runStatement(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const log = { info: () => {}, warn: () => {} };
  const pool = createPool({ url: inDatabase(server, name), poolSize: 1, statementTimeoutMs: 0 }, log);
  try {
    const { reason } = await prepareServiceSchema(pool, readConfig({}).database.serviceSchema);
    if (reason !== undefined) throw new Error(`the template database has no schema: ${reason}`);
  } finally {
    await pool.end();
  }
  // PostgreSQL copies a database only while nobody is connected to it.
  await runStatement(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  return name;
}
