/**
 * Tells connections that reach PostgreSQL from those that reach a pooler. Only in the first kind is a session the
 * service's alone, so that a statement that was prepared in it is found again.
 */
import type { ClientBase, QueryConfig } from 'pg';
import type { Statement } from './sql.ts';

const ownSessions = new WeakSet<ClientBase>();

/** One row for `noteSession`. */
export const askForProcess = 'pg_catalog.pg_backend_pid() AS pid';

/**
 * Remembers whether the connection reaches PostgreSQL. The server tells each connection the number of the process that
 * serves it (54.2.1, BackendKeyData). A pooler tells a number of its own, because the process can change.
 *
 * @param answer the row with `askForProcess`
 */
export function noteSession(client: ClientBase, answer: { pid: number }): void {
  const { processID } = client as unknown as { processID: number | null };
  if (answer.pid === processID) ownSessions.add(client);
}

/** The query for this connection: prepared under its name if the session is the service's alone. */
export function toQuery(client: ClientBase, statement: Statement): QueryConfig {
  const { preparedName, ...query } = statement;
  return preparedName !== undefined && ownSessions.has(client) ? { ...query, name: preparedName } : query;
}
