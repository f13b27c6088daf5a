/** Opens the parts of the service that need the database: its schema, its loads, their queue, the events and the webhooks. */
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Config } from '../../core/settings/config.ts';
import { EventFeed } from '../events/event-feed.ts';
import { WebhookAddresses } from '../events/webhook-addresses.ts';
import { Webhooks } from '../events/webhooks.ts';
import type { RecordContext } from '../http/context.ts';
import { abandonedAnswer, failedAnswer, givenUpAnswer } from '../http/uploads/load-end.ts';
import { Loads } from '../loads/loads.ts';
import { QueuedLoads } from '../loads/queued-loads.ts';
import { noServiceSchema, prepareServiceSchema } from '../loads/service-schema.ts';
import { spoolFolder, spoolProblem } from '../loads/spool-folder.ts';
import { StoredBodies } from '../loads/stored-bodies.ts';
import type { Log } from '../postgres/log.ts';
import { excessiveRights } from '../postgres/role-rights.ts';
import { checkServerVersion } from '../postgres/server-version.ts';
import type { ServiceSchema } from '../postgres/service-schema.ts';
import type { ServiceState } from './service-state.ts';

export interface RecordPools {
  /** For requests. */
  pool: Pool;
  /** For the records of loads and events, so that no request makes them wait. */
  recordPool: Pool;
  /** For the renewal of the lease of this process, so that slow records do not make it wait. */
  leasePool: Pool;
}

/** The records of a service without a schema of its own, and of one that waits for its database. */
export const noRecords: RecordContext = {
  serviceSchema: undefined,
  loads: undefined,
  events: undefined,
  queuedLoads: undefined,
  webhooks: undefined,
};

/**
 * Opens the records. The caller must call `stopRecords`.
 *
 * @param deadLeases the leases of other workers that have ended by themselves
 * @throws Error if the server cannot be used; PostgreSQL's errors
 */
export async function openRecords(
  config: Config,
  pools: RecordPools,
  log: Log,
  deadLeases: string[] = [],
): Promise<RecordContext> {
  const { pool, recordPool } = pools;
  await checkServerVersion(pool);
  if (config.tokens.requireRole) await warnOfRights(pool, log);
  const serviceSchema = await openServiceSchema(pool, config.database.serviceSchema, log);
  if (serviceSchema === undefined) return noRecords;
  const events = new EventFeed(serviceSchema, recordPool, log);
  const loads = openLoads(serviceSchema, pools, config, events, log);
  const queuedLoads = await openQueuedLoads(loads, pools, config, log);
  await loads.abandoned.endLeases(deadLeases);
  await loads.start();
  events.start();
  const addresses = new WebhookAddresses(config.webhooks.privateNetworks);
  const webhooks = new Webhooks({ schema: serviceSchema, pool, recordPool, feed: events, addresses, log });
  return { serviceSchema, loads, events, queuedLoads, webhooks };
}

/** Ends the running asynchronous loads, and writes the records that were not written yet. */
export async function stopRecords(
  { events, queuedLoads, loads, webhooks }: RecordContext,
  state: ServiceState,
): Promise<void> {
  events?.stop();
  // Asynchronous loads wait for the next start.
  state.endRequests();
  await queuedLoads?.stop();
  await Promise.all([loads?.stop(), webhooks?.stop()]);
  await events?.end();
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

function openLoads(
  schema: ServiceSchema,
  { pool, recordPool, leasePool }: RecordPools,
  { loads: { historyDays } }: Config,
  events: EventFeed,
  log: Log,
): Loads {
  const pools = { pool, recordPool, leasePool };
  const onEvents = () => events.noteCommit();
  return new Loads({ schema, ...pools, log, historyDays, abandonedAnswer: abandonedAnswer(), onEvents });
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
    // The other places are for requests that wait for their answer.
    places: Math.ceil(config.limits.maxUploads / 2),
    limits: config.limits,
    lostAnswer: abandonedAnswer(),
    givenUpAnswer: givenUpAnswer(),
    failedAnswer,
    leaseMs: loads.lease.ms,
    log,
  });
}
