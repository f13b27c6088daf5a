/**
 * Chooses the folder for the bodies of asynchronous loads. Services with different databases may share `SPOOL_DIR`: each database has a
 * sub-folder, because a service removes the bodies of loads that its database does not know.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Pool } from 'pg';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { inTransaction } from '../../postgres/transaction.ts';

/**
 * Returns the sub-folder for a schema of the service in a database. A database that is restored from a dump has another sub-folder than the
 * original, although both have the same records of loads.
 */
export async function spoolFolder(pool: Pool, { name }: ServiceSchema, base: string): Promise<string> {
  const { system, database, schema } = await inTransaction(pool, { readOnly: true }, async (client) => {
    const found = await client.query<SchemaIdentity>(identityOf, [name]);
    // The administrator of a server may have revoked this function from ordinary roles.
    const system = found.rows[0]!.maySeeSystem ? await client.query(systemIdentifier) : undefined;
    return { ...found.rows[0]!, system: system?.rows[0].system ?? '' };
  });
  const identity = createHash('sha256').update(JSON.stringify([system, database, schema, name]));
  return join(base, identity.digest('hex').slice(0, 32));
}

interface SchemaIdentity {
  database: string;
  schema: string;
  maySeeSystem: boolean;
}

const identityOf = `SELECT d.oid::text AS database, n.oid::text AS schema,
    has_function_privilege('pg_control_system()', 'EXECUTE') AS "maySeeSystem"
  FROM pg_database d, pg_namespace n
  WHERE d.datname = current_database() AND n.nspname = $1`;

/** A query of the identifier of the cluster, which its standby servers share. */
const systemIdentifier = 'SELECT system_identifier::text AS system FROM pg_control_system()';

/** Returns why the folder, or the nearest one above it that exists, cannot be written to; undefined: it can. */
export async function spoolProblem(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const above = dirname(folder);
    return code === 'ENOENT' && above !== folder ? spoolProblem(above) : message;
  }
}
