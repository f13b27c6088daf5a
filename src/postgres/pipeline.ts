/** Several statements in one round trip. */
import type { ClientBase, QueryResult } from 'pg';
import { toQuery } from './own-session.ts';
import type { Statement } from './sql.ts';

/** Text without values may hold several statements. */
export type Query = string | Statement;

/**
 * Sends all of them before the first is answered (PostgreSQL 54.2.4, "Pipelining"). Each is still on its own: where one
 * fails, those after it are run all the same, and fail in their turn inside a transaction. The connection must be idle.
 *
 * @param onLast called when all but the last have been answered, with whether all of these succeeded
 * @returns their results, in order
 * @throws the first error, when all have been answered
 */
export async function pipeline(
  client: ClientBase,
  queries: Query[],
  onLast: (haveSucceeded: boolean) => void = () => {},
): Promise<QueryResult[]> {
  // Not for good: a COPY could not be sent then.
  setPipelining(client, true);
  const sent = queries.map((query) =>
    client.query(typeof query === 'string' ? query : toQuery(client, query)),
  );
  Promise.allSettled(sent.slice(0, -1)).then((answers) =>
    onLast(answers.every(({ status }) => status === 'fulfilled')),
  );
  const answers = await Promise.allSettled(sent);
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
