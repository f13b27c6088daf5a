/** Sends several statements in one round trip. */
import type { ClientBase, QueryResult } from 'pg';
import { internalsOf } from './driver-internals.ts';
import { toQuery } from './own-session.ts';
import type { Statement } from './sql.ts';

/** A query to send. A text without values may contain several statements. */
export type Query = string | Statement;

/**
 * Sends all queries before PostgreSQL answers the first one (PostgreSQL 54.2.4, "Pipelining"). If one query fails, PostgreSQL still runs
 * the queries after it; inside a transaction these fail, too. The connection must be idle.
 *
 * @param onFirst called when the first query is answered, with true if it succeeded
 * @returns the results, in order
 * @throws the first error, after all queries are answered
 */
export async function pipeline(
  client: ClientBase,
  queries: Query[],
  onFirst: (hasSucceeded: boolean) => void = () => {},
): Promise<QueryResult[]> {
  const { results } = await pipelineWithTail(client, queries, undefined, { onFirst });
  return results();
}

export interface PipelineWithTail {
  /** Returns the results of the queries, in order. It throws the first error of them. */
  results(): QueryResult[];
  /** The result of the tail; undefined: it failed, or there was no tail. */
  tail: QueryResult | undefined;
}

interface PipelineEvents {
  /** Called when the first query is answered, with true if it succeeded. */
  onFirst?: (hasSucceeded: boolean) => void;
  /** Called when all queries except the last one (and the tail) have been answered. */
  onLast?: () => void;
}

/**
 * Sends queries like `pipeline`, and one more query after the others (the tail). A failure of the tail does not change the
 * results of the others.
 */
export async function pipelineWithTail(
  client: ClientBase,
  queries: Query[],
  tail: Query | undefined,
  { onFirst, onLast }: PipelineEvents = {},
): Promise<PipelineWithTail> {
  // Pipelining is on only for these queries, because a COPY cannot be sent in this mode.
  setPipelining(client, true);
  const send = (query: Query) => client.query(typeof query === 'string' ? query : toQuery(client, query));
  // The socket is corked so that all messages leave in one system call.
  const { stream } = internalsOf(client).connection;
  stream.cork();
  const sent = queries.map(send);
  const sentTail = tail === undefined ? undefined : send(tail).catch(() => undefined);
  stream.uncork();
  if (onFirst)
    sent[0]!.then(
      () => onFirst(true),
      () => onFirst(false),
    );
  if (onLast) Promise.allSettled(sent.slice(0, -1)).then(onLast);
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

/** Switches pipelining on or off. While it is on, closing the connection waits for the answers to all statements. */
export function setPipelining(client: ClientBase, isOn: boolean): void {
  internalsOf(client).pipeline = isOn;
}
