/**
 * The servers that DATABASE_URL names, and which connections to them may still be used. All pools of the service share this
 * knowledge, so that what one connection finds out after a failover applies to all others.
 *
 * - A new connection first tries the host of the last success. If that host cannot be reached, or its session is not what
 * `target_session_attrs` demands, the next host is tried. - If a server refuses to begin a transaction that may write, it is a
 * standby, or an administrator has made it read-only. All connections that were opened before may lead to the same server, also
 * through a proxy, so each of them is closed before it would be used again. A new connection may reach the new primary server. When
 * one does, the connections that were opened meanwhile are closed in the same way. - If a server refuses a write for another
 * reason, for example because a function has made its transaction read-only, only this connection is closed.
 */
import pg from 'pg';
import { type DatabaseHosts, databaseHosts } from '../core/settings/database-url.ts';
import { isPoolExhausted } from './connection-errors.ts';
import { isDatabaseAway } from './database-away.ts';
import { internalsOf } from './driver-internals.ts';
import { conditionOf, isReadOnlyDatabase, readOnlyDatabase } from './sqlstate.ts';
import { isWritable } from './transaction-settings.ts';

export class Servers {
  readonly #hosts: DatabaseHosts;
  #current = 0;
  /** Whether the last attempt to begin a transaction that may write was refused. */
  #isReadOnly = false;
  /** How many times a server was found to be read-only, or to accept changes again. */
  #discoveries = 0;
  /** The value of `#discoveries` when the connection was made. */
  readonly #openedAt = new WeakMap<pg.ClientBase, number>();
  readonly #spent = new WeakSet<pg.ClientBase>();

  /** @param databaseUrl a URL without problems (`databaseUrlProblem`) */
  constructor(databaseUrl: string) {
    this.#hosts = databaseHosts(databaseUrl);
  }

  /** The number of hosts. */
  get count(): number {
    return this.#hosts.urls.length;
  }

  /** Returns the number of the host for a new connection, and a URL with this host only. */
  next(): { host: number; url: string } {
    return { host: this.#current, url: this.#hosts.urls[this.#current]! };
  }

  /** Watches a connection that is not open yet. */
  watch(client: pg.ClientBase): void {
    this.#openedAt.set(client, this.#discoveries);
    serversOf.set(client, this);
    const { connection } = internalsOf(client);
    connection.on('errorMessage', (error: pg.DatabaseError) => {
      if (conditionOf(error) === 'read_only_sql_transaction') this.#spent.add(client);
    });
  }

  /** Whether a server must not be used if `default_transaction_read_only` is on, because `target_session_attrs` demands sessions that may write. */
  get heedsReadOnlyDefault(): boolean {
    return this.#hosts.sessionKind === 'read-write';
  }

  /** Checks a new session, if `target_session_attrs` demands something. @throws AppError for a database that is read-only */
  checkSession(client: pg.ClientBase): Promise<void> | undefined {
    const { sessionKind } = this.#hosts;
    return sessionKind === 'any' ? undefined : refuseUnfit(client, sessionKind);
  }

  /** If the error means that the host cannot be used now, the next connection begins with another host. */
  noteFailure(host: number, error: unknown): void {
    if (isDatabaseAway(error) && this.#current === host) this.#current = (host + 1) % this.count;
  }

  noteReadOnlyServer(client: pg.ClientBase): void {
    // A connection that was opened before the last discovery tells nothing about the servers of newer connections.
    if (this.#openedAt.get(client) !== this.#discoveries) return;
    this.#isReadOnly = true;
    this.#discoveries++;
  }

  /** Call this when a server accepts changes. If a server was read-only before, this one is another server, or the same one after its promotion. */
  noteWritableServer(client: pg.ClientBase): void {
    if (!this.#isReadOnly) return;
    this.#isReadOnly = false;
    this.#discoveries++;
    this.#openedAt.set(client, this.#discoveries);
  }

  /** Returns whether the connection must not be used again. */
  isSpent(client: pg.ClientBase): boolean {
    return this.#spent.has(client) || this.#openedAt.get(client) !== this.#discoveries;
  }
}

const serversOf = new WeakMap<pg.ClientBase, Servers>();

/** Remembers that the server of this connection is a standby, or that an administrator has made it read-only. */
export function noteReadOnlyServer(client: pg.ClientBase): void {
  serversOf.get(client)?.noteReadOnlyServer(client);
}

/** Remembers that the server of this connection has begun a transaction that may write. */
export function noteWritableServer(client: pg.ClientBase): void {
  serversOf.get(client)?.noteWritableServer(client);
}

/** Returns whether the transactions of this connection must be refused if `default_transaction_read_only` makes them read-only. */
export function heedsReadOnlyDefault(client: pg.ClientBase): boolean {
  return serversOf.get(client)?.heedsReadOnlyDefault === true;
}

/** Returns whether the connection must be closed instead of being used again. */
export function isSpent(client: pg.ClientBase): boolean {
  return serversOf.get(client)?.isSpent(client) === true;
}

async function refuseUnfit(client: pg.ClientBase, kind: 'read-write' | 'primary'): Promise<void> {
  // All sessions of a standby are read-only. Other sessions are read-only if default_transaction_read_only is on.
  const isFit = kind === 'primary' ? 'NOT pg_catalog.pg_is_in_recovery()' : isWritable;
  const { rows } = await client.query<{ isFit: boolean }>(`SELECT ${isFit} AS "isFit"`);
  if (!rows[0]!.isFit) throw readOnlyDatabase();
}

/** A pool that hands out no connection which must not be used again, and that tries all hosts for a new connection. */
export class ServerPool extends pg.Pool {
  readonly #servers: Servers;
  readonly #used = new WeakSet<pg.PoolClient>();

  constructor(options: pg.PoolConfig, servers: Servers) {
    super(options);
    this.#servers = servers;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the method of pg has two forms
  override connect(callback?: any): any {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    connected.then((client) => callback(undefined, client, client.release), callback);
  }

  async #connect(): Promise<pg.PoolClient> {
    let failure: unknown;
    for (let failures = 0; ; ) {
      try {
        const client = await super.connect();
        // A new connection is used even if a server was found to be read-only while it was being opened. Otherwise this loop might never end.
        if (!this.#used.has(client) || !isSpent(client)) {
          this.#used.add(client);
          return client;
        }
        client.release(true);
      } catch (error) {
        if (!isDatabaseAway(error) || isPoolExhausted(error)) throw error;
        failures++;
        // If several hosts fail, the error of a read-only server is kept, because it says more than that another host cannot be reached.
        if (!isReadOnlyDatabase(failure)) failure = error;
        if (failures >= this.#servers.count) throw failure;
      }
    }
  }
}
