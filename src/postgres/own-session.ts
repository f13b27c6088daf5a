/**
 * Tells connections that reach PostgreSQL from those that reach a pooler. Only in the first kind is a session the
 * service's alone, so that a statement that was prepared in it is found again.
 */
import type { ClientBase, QueryConfig } from 'pg';
import type { Statement } from './sql.ts';

export interface SessionFacts {
  /** The server process. */
  pid: number;
  /** The server knows the setting `transaction_timeout`, which PostgreSQL 17 introduced. */
  limitsTransactions: boolean;
}

const ownSessions = new WeakMap<ClientBase, SessionFacts>();

/** Answers one row, the `SessionFacts`. */
export const askForSession = `SELECT pg_catalog.pg_backend_pid() AS pid,
  pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL AS "limitsTransactions"`;

/**
 * Remembers the connection if it reaches PostgreSQL. The server tells each connection the number of the process that
 * serves it (54.2.1, BackendKeyData). A pooler tells a number of its own, because the process can change.
 */
export function noteSession(client: ClientBase, facts: SessionFacts): void {
  const { processID } = client as unknown as { processID: number | null };
  if (facts.pid === processID) ownSessions.set(client, facts);
}

/** undefined: the connection is new or reaches a pooler. */
export function ownSession(client: ClientBase): SessionFacts | undefined {
  return ownSessions.get(client);
}

/** The query for this connection: prepared under its name if the session is the service's alone. */
export function toQuery(client: ClientBase, statement: Statement): QueryConfig {
  const { preparedName, ...query } = statement;
  return preparedName !== undefined && ownSessions.has(client) ? { ...query, name: preparedName } : query;
}
