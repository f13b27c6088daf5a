/**
 * The connections to PostgreSQL. Settings are not made for a whole connection but for each transaction (`transaction-settings.ts` has the reason).
 */

import type pg from 'pg';
import { noteErrorsOfSocket } from './broken-connection.ts';
import { hideWorker } from './citus/worker-errors.ts';
import { deadlineClient } from './deadline-client.ts';
import { type GuardedClient, internalsOf } from './driver-internals.ts';
import type { Log } from './log.ts';
import { MessageTooLong, UnreadableMessage } from './server-messages.ts';
import { ServerPool, Servers } from './servers.ts';
import { isUnknownInternalError } from './sqlstate.ts';
import { connectionOptions } from './tls.ts';
import { inTransaction } from './transaction.ts';

export interface PoolOptions {
  /** A PostgreSQL connection URL, or the servers of such a URL that several pools share. */
  url: string | Servers;
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
/** How long the service waits for an answer after the server's own time limit for a statement. Then the connection is closed. */
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
export function createSinglePool(url: string | Servers, answerMs: number, log: Log): pg.Pool {
  return openPool(url, 1, answerMs, answerMs, log);
}

export interface DatabaseCheck {
  /** Resolves if the database accepts changes, and rejects if it does not. Always settles within two seconds. */
  run(): Promise<void>;
  end(): Promise<void>;
}

/**
 * Begins a transaction that may write, as requests do, over a separate connection, so that requests cannot make a health check wait. A
 * standby refuses it.
 */
export function createDatabaseCheck(url: string | Servers, log: Log): DatabaseCheck {
  const pool = openPool(url, 1, checkTimeoutMs, checkTimeoutMs, log);
  let running: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    const tooLate = Promise.withResolvers<never>();
    const timer = setTimeout(() => tooLate.reject(new Error('timeout expired')), checkTimeoutMs);
    const asked = inTransaction(pool, { rollback: true }, async () => {});
    asked.catch(() => {});
    try {
      await Promise.race([asked, tooLate.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    // Calls at the same time wait for the same check.
    run: () => {
      running ??= ask().finally(() => {
        running = undefined;
      });
      return running;
    },
    end: () => pool.end(),
  };
}

function openPool(
  url: string | Servers,
  max: number,
  connectMs: number,
  answerMs: number,
  log: Log,
): pg.Pool {
  const servers = typeof url === 'string' ? new Servers(url) : url;
  const options = {
    Client: connectingTo(servers, deadlineClient(answerMs), log),
    max,
    application_name: 'tablewright',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
  };
  const pool = new ServerPool(options, servers);
  // Only the message is logged, because the error object contains the whole client.
  pool.on('error', ({ message }) => log.warn({ reason: message }, 'An idle connection to PostgreSQL broke'));
  return pool;
}

/** Returns a class of clients that connect to one of the servers. Each client reads the TLS certificates from their files again. */
function connectingTo(servers: Servers, Guarded: typeof GuardedClient, log: Log): typeof pg.Client {
  return class extends Guarded {
    readonly #host: number;
    #unusable: Error | undefined;

    constructor({ connectionTimeoutMillis = 0, ...options }: pg.ClientConfig) {
      const { host, url } = servers.next();
      let connection: pg.ClientConfig = {};
      let unusable: Error | undefined;
      try {
        connection = connectionOptions(url);
      } catch (error) {
        // The error is kept for `connect`, because the pool also makes clients outside of any request, and an exception of the constructor would then end the process.
        unusable = error as Error;
      }
      // The time limit is divided by the number of hosts, so that there is time for the others if one does not answer.
      super({ ...options, ...connection, connectionTimeoutMillis: connectionTimeoutMillis / servers.count });
      this.#host = host;
      this.#unusable = unusable;
      // These listeners are called before those of pg, because pg adds its own only when the client connects.
      const { connection: messages } = internalsOf(this);
      messages.on('errorMessage', hideWorker);
      let lastLogged = '';
      messages.on('errorMessage', (error: pg.DatabaseError) => {
        // An error with the same message is logged only once, because the search for the row that caused it repeats it many times.
        if (!isUnknownInternalError(error) || error.message === lastLogged) return;
        lastLogged = error.message;
        log.warn({ err: error }, 'PostgreSQL reported an internal error');
      });
      noteErrorsOfSocket(this);
      messages.on('error', (error: Error) => logMessage(error, log));
      servers.watch(this);
    }

    // biome-ignore lint/suspicious/noExplicitAny: the method of pg has two forms
    override connect(callback?: any): any {
      const opened = this.#open();
      if (callback === undefined) return opened;
      opened.then(callback, callback);
    }

    async #open(): Promise<void> {
      if (this.#unusable !== undefined) throw this.#unusable;
      // Until the connection is open the pool does not listen for errors, and an error without a listener would end the process.
      const ignore = () => {};
      this.on('error', ignore);
      try {
        await super.connect();
        await servers.checkSession(this);
      } catch (error) {
        servers.noteFailure(this.#host, error);
        this.end().catch(ignore);
        throw error;
      }
      this.off('error', ignore);
    }
  };
}

/** Logs that a message of PostgreSQL has closed its connection. It is logged here because the statement may not belong to a request that would be logged. */
function logMessage(error: Error, log: Log): void {
  if (error instanceof MessageTooLong || error instanceof UnreadableMessage)
    log.warn({ err: error }, 'A message of PostgreSQL closed its connection');
}
