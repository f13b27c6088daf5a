/**
 * The connections to PostgreSQL, all with the same fixed session settings.
 */

import pg from 'pg';
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
 * What text means must not depend on the server's or the role's defaults. `search_path` stays theirs: it is how an
 * administrator makes types of an extension known by their bare names.
 */
const sessionSettings: Record<string, string> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO,YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  xmloption: 'content',
  standard_conforming_strings: 'on',
  // Our statements are short; compiling one takes longer than running it.
  jit: 'off',
  // What our plans look up, the catalogue and rows just loaded, is in memory. A prepared plan that reads a small
  // catalogue as a whole would go on doing so when it has grown.
  random_page_cost: '1.1',
};

/**
 * Opens no connection yet. The pool's owner ends it. Results of `bigint` and `numeric` are strings: no digit is lost.
 * A connection that breaks while nobody uses it is told to the log and replaced when it is needed.
 */
export function createPool(options: PoolOptions, log: Log): pg.Pool {
  const pool = new pg.Pool({
    connectionString: withSessionSettings(options.url),
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

/** The settings travel in the startup message (PostgreSQL 54.7): no round trip, and `RESET` leads back to them. */
function withSessionSettings(url: string): string {
  const result = new URL(url);
  const ours = Object.entries(sessionSettings).map(([name, value]) => `-c ${name}=${value}`);
  const theirs = result.searchParams.get('options');
  result.searchParams.set('options', [...(theirs ? [theirs] : []), ...ours].join(' '));
  return result.href;
}
