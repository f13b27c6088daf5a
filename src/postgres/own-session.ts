/**
 * Finds out whether a connection leads directly to PostgreSQL or to a pooler. Only a direct connection gives the service a session
 * of its own, in which a prepared statement can be used again.
 */
import type { ClientBase, QueryConfig } from 'pg';
import { hasCitus } from './citus/session-settings.ts';
import { internalsOf } from './driver-internals.ts';
import { quoteLiteral, type Statement } from './sql.ts';

export interface SessionFacts {
  /** The server process. */
  pid: number;
  /** The server has the setting `transaction_timeout`, which PostgreSQL 17 introduced. */
  limitsTransactions: boolean;
  /** The database has Citus. */
  hasCitus: boolean;
}

const ownSessions = new WeakMap<ClientBase, SessionFacts>();

/** A query that returns one row, the `SessionFacts`. */
export const askForSession = `SELECT pg_catalog.pg_backend_pid() AS pid,
  pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL AS "limitsTransactions",
  ${hasCitus} AS "hasCitus"`;

/**
 * Remembers the connection if it leads directly to PostgreSQL. The server sends the id of its process to each new connection (PostgreSQL
 * 54.2.1, BackendKeyData), and `facts` has the id of the process that answered. Behind a pooler the two differ, because the process can change.
 */
export function noteSession(client: ClientBase, facts: SessionFacts): void {
  if (facts.pid === internalsOf(client).processID) ownSessions.set(client, facts);
}

/** Returns the facts about the session of a direct connection; undefined: the connection is new or leads to a pooler. */
export function ownSession(client: ClientBase): SessionFacts | undefined {
  return ownSessions.get(client);
}

/** Returns the query for this connection. The statement is prepared under its name if the service has the session for itself. */
export function toQuery(client: ClientBase, statement: Statement): QueryConfig {
  const { preparedName, ...query } = statement;
  return preparedName !== undefined && ownSessions.has(client) ? { ...query, name: preparedName } : query;
}

/**
 * Returns SQL that executes a statement which this connection has already prepared, so that it can be part of a longer text;
 * undefined: it is not prepared. The values of the statement must be texts or bytes.
 */
export function executePrepared(
  client: ClientBase,
  { preparedName, text, values = [] }: Statement,
): string | undefined {
  const { parsedStatements } = internalsOf(client).connection;
  if (preparedName === undefined || !ownSessions.has(client) || parsedStatements[preparedName] !== text)
    return undefined;
  return `EXECUTE "${preparedName}"(${(values as (string | Buffer | null)[]).map(literal).join(', ')})`;
}

function literal(value: string | Buffer | null): string {
  if (value === null) return 'NULL';
  return typeof value === 'string' ? quoteLiteral(value) : `E'\\\\x${value.toString('hex')}'`;
}
