/** Several statements in one round trip. */
import type { ClientBase, QueryResult } from 'pg';
import type { Statement } from './sql.ts';

/** Text without values may hold several statements. */
export type Query = string | Statement;

/**
 * Sends all of them before the first is answered (PostgreSQL 54.2.4, "Pipelining"). Each is still on its own: where one
 * fails, those after it are run all the same, and fail in their turn inside a transaction. The connection must be idle.
 *
 * @returns their results, in order
 * @throws the first error, when all have been answered
 */
export async function pipeline(client: ClientBase, queries: Query[]): Promise<QueryResult[]> {
  // Not for good: a COPY could not be sent then.
  setPipelining(client, true);
  const answers = await Promise.allSettled(queries.map((query) => client.query(query)));
  setPipelining(client, false);
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}

/** While it is on, the connection's end waits for the answer of every statement; otherwise it breaks them off. */
export function setPipelining(client: ClientBase, isOn: boolean): void {
  (client as unknown as { pipeline: boolean }).pipeline = isOn;
}
