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
  const { results } = await pipelineWithTail(client, queries, undefined, onLast);
  return results();
}

export interface PipelineWithTail {
  /** Returns the results of the queries, in order. It throws the first error of them. */
  results(): QueryResult[];
  /** The answer to the tail. undefined: it failed, or there was no tail. */
  tail: QueryResult | undefined;
}

/**
 * Does what `pipeline` does, and sends one query more behind the others. Its failure changes nothing about their results.
 *
 * @param onLast called when all queries but the last have been answered; the tail does not count
 */
export async function pipelineWithTail(
  client: ClientBase,
  queries: Query[],
  tail: Query | undefined,
  onLast: (haveSucceeded: boolean) => void = () => {},
): Promise<PipelineWithTail> {
  // Not for good: a COPY could not be sent then.
  setPipelining(client, true);
  const send = (query: Query) => client.query(typeof query === 'string' ? query : toQuery(client, query));
  const sent = queries.map(send);
  const sentTail = tail === undefined ? undefined : send(tail).catch(() => undefined);
  Promise.allSettled(sent.slice(0, -1)).then((answers) =>
    onLast(answers.every(({ status }) => status === 'fulfilled')),
  );
  const answers = await Promise.allSettled(sent);
  const answerToTail = await sentTail;
  setPipelining(client, false);
  const results = () =>
    answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    });
  return { results, tail: answerToTail };
}

/** While it is on, the connection's end waits for the answer of every statement; otherwise it breaks them off. */
export function setPipelining(client: ClientBase, isOn: boolean): void {
  (client as unknown as { pipeline: boolean }).pipeline = isOn;
}
