/**
 * The connections to PostgreSQL. Their sessions have no settings of the service; `transaction-settings.ts` says why.
 */

import pg from 'pg';
import { noteErrorsOfSocket } from './broken-connection.ts';
import { hideWorker } from './citus/worker-errors.ts';
import { deadlineClient } from './deadline-client.ts';
import { internalsOf } from './driver-internals.ts';
import type { Log } from './log.ts';
import { connectionOptions } from './tls.ts';

export interface PoolOptions {
  /** A PostgreSQL connection URL. */
  url: string;
  /** The maximum number of connections. */
  poolSize: number;
  /** The time limit for a statement, which the server enforces; 0: none. */
  statementTimeoutMs: number;
}

/** How long to wait for a free connection of the pool, or for a new connection. */
const connectTimeoutMs = 10_000;
const idleTimeoutMs = 60_000;
/**
 * After this time without a packet the operating system asks whether the other machine is still there. Node.js asks ten times, once
 * a second, so connections to a machine that has vanished end after 20 seconds. The default of Linux is more than two hours.
 */
const keepAliveMs = 10_000;
/** How long after the server's own time limit a statement may stay without an answer. Then the connection is closed. */
const answerGraceMs = 10_000;
/** How long a health check may take. */
const checkTimeoutMs = 1500;

/**
 * Creates a pool, which opens connections when they are needed. The caller must end the pool. Values of `bigint` and `numeric` are
 * strings, so they keep every digit. If an idle connection breaks, it is logged, and a new one replaces it when it is needed.
 */
export function createPool(options: PoolOptions, log: Log): pg.Pool {
  const { url, poolSize, statementTimeoutMs } = options;
  const answerMs = statementTimeoutMs === 0 ? 0 : statementTimeoutMs + answerGraceMs;
  return openPool(url, poolSize, connectTimeoutMs, answerMs, log);
}

/** Creates a pool with one connection for short statements. A statement without an answer after `answerMs` fails, and so does a new connection. */
export function createSinglePool(url: string, answerMs: number, log: Log): pg.Pool {
  return openPool(url, 1, answerMs, answerMs, log);
}

export interface DatabaseCheck {
  /** Resolves if the database answers, and rejects if it does not. Always settles within two seconds. */
  run(): Promise<void>;
  end(): Promise<void>;
}

/** Queries the database over a separate connection, so that requests cannot make a health check wait. */
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
    // Calls at the same time share one check.
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
    Client: connectingTo(url, deadlineClient(answerMs)),
    max,
    application_name: 'tablewright',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
  });
  // Only the message is logged, because the error contains the whole client.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'An idle connection to PostgreSQL broke'));
  return pool;
}

/** Returns a class whose clients connect to the URL. Each client reads the certificates of TLS anew. */
function connectingTo(url: string, Client: typeof pg.Client): typeof pg.Client {
  return class extends Client {
    #unusable: Error | undefined;

    constructor(options: pg.ClientConfig) {
      let connection: pg.ClientConfig = {};
      let unusable: Error | undefined;
      try {
        connection = connectionOptions(url);
      } catch (error) {
        // The pool also makes clients outside of any request. An error of the constructor would then end the process.
        unusable = error as Error;
      }
      super({ ...options, ...connection });
      this.#unusable = unusable;
      // These listeners are called before those of pg, which are added when the client connects.
      internalsOf(this).connection.on('errorMessage', hideWorker);
      noteErrorsOfSocket(this);
    }

    // biome-ignore lint/suspicious/noExplicitAny: the method of pg has two forms
    override connect(callback?: any): any {
      if (this.#unusable === undefined) return super.connect(callback);
      if (callback === undefined) return Promise.reject(this.#unusable);
      process.nextTick(callback, this.#unusable);
    }
  };
}
