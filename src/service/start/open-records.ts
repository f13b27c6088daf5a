/** Opens the parts of the service that need the database: its schema, its loads, their queue, the events and the webhooks. */
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Config } from '../../core/settings/config.ts';
import type { Log } from '../../postgres/log.ts';
import { excessiveRights } from '../../postgres/role-rights.ts';
import { checkServerVersion } from '../../postgres/server-version.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { EventFeed } from '../events/event-feed.ts';
import { Webhooks } from '../events/webhooks.ts';
import { abandonedAnswer, failedAnswer, givenUpAnswer } from '../http/uploads/load-end.ts';
import { Loads, type RecordPools } from '../loads/loads.ts';
import { QueuedLoads } from '../loads/queued-loads.ts';
import type { OpenedRecords } from '../loads/records.ts';
import { noServiceSchema, prepareServiceSchema } from '../loads/service-schema.ts';
import { spoolFolder, spoolProblem } from '../loads/spool-folder.ts';
import { StoredBodies } from '../loads/stored-bodies.ts';
import { AllowedAddresses } from '../outgoing/allowed-addresses.ts';
import { Profiles } from '../profiles/profiles.ts';

/**
 * Opens the records. The caller must end them with `Records.stop`.
 *
 * @param deadLeases the leases of other workers that have ended by themselves
 * @returns undefined if the service has no schema of its own
 * @throws Error if the server cannot be used; PostgreSQL's errors
 */
export async function openRecords(
  config: Config,
  pools: RecordPools,
  log: Log,
  deadLeases: string[] = [],
): Promise<OpenedRecords | undefined> {
  const { pool, recordPool, leasePool } = pools;
  await checkServerVersion(pool);
  if (config.tokens.requireRole) await warnOfRights(pool, log);
  const serviceSchema = await openServiceSchema(pool, config.database.serviceSchema, log);
  if (serviceSchema === undefined) return undefined;
  const events = new EventFeed(serviceSchema, recordPool, log);
  const loads = new Loads({
    schema: serviceSchema,
    pool,
    recordPool,
    leasePool,
    log,
    historyDays: config.loads.historyDays,
    abandonedAnswer: abandonedAnswer(),
    onEvents: () => events.noteCommit(),
  });
  const queuedLoads = await openQueuedLoads(loads, pools, config, log);
  await loads.abandoned.endLeases(deadLeases);
  await loads.start();
  events.start();
  const addresses = new AllowedAddresses(config.webhooks.privateNetworks);
  const webhooks = new Webhooks({ schema: serviceSchema, pool, recordPool, feed: events, addresses, log });
  const profiles = new Profiles(serviceSchema, pool);
  return { loads, events, queuedLoads, webhooks, profiles };
}

async function warnOfRights(pool: Pool, log: Log): Promise<void> {
  const rights = await excessiveRights(pool);
  if (rights.length === 0) return;
  log.warn(
    { rights },
    'The role that the service connects as has rights of its own. Functions of tables can use these rights, whatever role the access token names. docs/postgresql.md describes how to set up the role',
  );
}

/** Returns the service's own schema; undefined: there is none, and the log says why. */
async function openServiceSchema(pool: Pool, name: string, log: Log): Promise<ServiceSchema | undefined> {
  const { schema, reason } = await prepareServiceSchema(pool, name);
  if (schema === undefined && name !== noServiceSchema) {
    log.warn(
      { reason },
      'The service has no schema of its own (SERVICE_SCHEMA), so the endpoints for loads answer 501 not-enabled, and everything else works',
    );
  }
  return schema;
}

async function openQueuedLoads(
  loads: Loads,
  { pool, recordPool }: RecordPools,
  config: Config,
  log: Log,
): Promise<QueuedLoads> {
  const base = config.loads.spoolDir ?? join(config.dataDir, 'spool');
  const folder = await spoolFolder(pool, loads.schema, base);
  await StoredBodies.check(folder);
  const problem = await spoolProblem(folder);
  if (problem !== undefined) {
    log.warn(
      { reason: problem },
      'The service cannot write to the folder for asynchronous uploads (SPOOL_DIR), so Prefer: respond-async is ignored: uploads are answered when they are loaded',
    );
  }
  return new QueuedLoads({
    loads,
    recordPool,
    folder,
    canAccept: problem === undefined,
    // The other half of the places is for requests that wait for their answer.
    places: Math.ceil(config.limits.maxUploads / 2),
    limits: config.limits,
    lostAnswer: abandonedAnswer(),
    givenUpAnswer: givenUpAnswer(),
    failedAnswer,
    log,
  });
}
