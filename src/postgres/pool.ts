/**
 * The connections to PostgreSQL. Nothing is set in their sessions: `transaction-settings.ts` says why.
 */

import pg from 'pg';
import { toConnectionString } from '../database-url.ts';
import type { Log } from './log.ts';

export interface PoolOptions {
  /** A PostgreSQL connection URL. */
  url: string;
  /** The most connections. */
  poolSize: number;
}

/** How long to wait for a connection: for a free one of the pool's as for a new one. */
const connectTimeoutMs = 10_000;
const idleTimeoutMs = 60_000;

/**
 * Opens no connection yet. The pool's owner ends it. Results of `bigint` and `numeric` are strings: no digit is lost.
 * A connection that breaks while nobody uses it is told to the log and replaced when it is needed.
 */
export function createPool(options: PoolOptions, log: Log): pg.Pool {
  const pool = new pg.Pool({
    connectionString: toConnectionString(options.url),
    max: options.poolSize,
    application_name: 'tablewright',
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
  });
  // The error has the whole client in it: more than a log should hold.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'An idle connection to PostgreSQL broke'));
  return pool;
}
