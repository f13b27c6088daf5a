/**
 * The connections to PostgreSQL. Nothing is set in their sessions: `transaction-settings.ts` says why.
 */

import pg from 'pg';
import { toConnectionString } from '../database-url.ts';
import { deadlineClient } from './deadline-client.ts';
import type { Log } from './log.ts';

export interface PoolOptions {
  /** A PostgreSQL connection URL. */
  url: string;
  /** The most connections. */
  poolSize: number;
  /** The server's own limit for a statement; 0: none. */
  statementTimeoutMs: number;
}

/** How long to wait for a connection: for a free one of the pool's as for a new one. */
const connectTimeoutMs = 10_000;
const idleTimeoutMs = 60_000;
/** What a statement may take beyond the server's own limit, until the server counts as not answering. */
const answerGraceMs = 10_000;
/** How long a health check may take. */
const checkTimeoutMs = 1500;

/**
 * Opens no connection yet. The pool's owner ends it. Results of `bigint` and `numeric` are strings: no digit is lost.
 * A connection that breaks while nobody uses it is told to the log and replaced when it is needed.
 */
export function createPool(options: PoolOptions, log: Log): pg.Pool {
  const { url, poolSize, statementTimeoutMs } = options;
  const answerMs = statementTimeoutMs === 0 ? 0 : statementTimeoutMs + answerGraceMs;
  return openPool(url, poolSize, connectTimeoutMs, answerMs, log);
}

export interface DatabaseCheck {
  /** Resolves if the database answers; rejects if it does not, within two seconds whatever happens. */
  run(): Promise<void>;
  end(): Promise<void>;
}

/** Asks the database over a connection of its own, so that no request can make a health check wait. */
export function createDatabaseCheck(url: string, log: Log): DatabaseCheck {
  const pool = openPool(url, 1, checkTimeoutMs, checkTimeoutMs, log);
  let running: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    const tooLate = Promise.withResolvers<never>();
    const timer = setTimeout(() => tooLate.reject(new Error('timeout expired')), checkTimeoutMs);
    const asked = pool.query('SELECT 1');
    asked.catch(() => {});
    try {
      await Promise.race([asked, tooLate.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    // Checks at the same moment are one.
    run: () => {
      running ??= ask().finally(() => {
        running = undefined;
      });
      return running;
    },
    end: () => pool.end(),
  };
}

function openPool(url: string, max: number, connectMs: number, answerMs: number, log: Log): pg.Pool {
  const pool = new pg.Pool({
    Client: deadlineClient(answerMs),
    connectionString: toConnectionString(url),
    max,
    application_name: 'tablewright',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
  });
  // The error has the whole client in it: more than a log should hold.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'An idle connection to PostgreSQL broke'));
  return pool;
}
