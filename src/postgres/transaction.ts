/**
 * One transaction on one connection, which goes back to the pool clean or is thrown away: on success, on failure, and
 * where the caller of the service has gone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { AppError } from '../errors.ts';
import { sendCancelRequest } from './cancel-request.ts';
import { breakConnection } from './deadline-client.ts';
import { noteSession, ownSession } from './own-session.ts';
import { type PipelineWithTail, pipeline, pipelineWithTail, type Query, setPipelining } from './pipeline.ts';
import type { Statement } from './sql.ts';
import { conditionOf, isUnusableRole, readOnlyDatabase } from './sqlstate.ts';
import { isTidy, tidySession, tidyUp } from './tidy-session.ts';
import { beginStatements, type TransactionSettings } from './transaction-settings.ts';

export interface TransactionOptions extends TransactionSettings {
  /** Ends the transaction wherever it is. */
  signal?: AbortSignal | undefined;
  /** Do everything and keep nothing: a dry run. */
  rollback?: boolean | undefined;
}

/** What an aborted piece of work gets to end by itself; nearly always it is a matter of one round trip. */
const graceMs = 100;
/** What a cancelled statement gets to end. */
const cancelMs = 2000;
const rollbackMs = 5000;
/** What the server gets to begin a transaction, which waits for nothing; a pooler may need it to find a connection. */
const beginMs = 15_000;

/** How work saves round trips. */
export interface TransactionEdges {
  /** What `first` answered. */
  begun: pg.QueryResult | undefined;
  /** Runs the last statements and ends the transaction with them; answers their results. */
  endWith(statements: Query[]): Promise<pg.QueryResult[]>;
  /**
   * Runs statements without values and ends the transaction, all in one message: between them nothing waits for this
   * process. When one of them fails, those after it are not run and nothing has ended: roll back to a savepoint and go on.
   */
  endAtOnce(statements: string[]): Promise<void>;
}

/**
 * Runs `work` in a transaction and commits; whatever it throws rolls back and is thrown on. `work` must not use the
 * client once it has answered, or has called `endWith`.
 *
 * When the signal aborts, the running statement is cancelled, nothing is kept, and the signal's reason is thrown; but a
 * commit under way is never broken off.
 *
 * @param first a statement to be sent together with BEGIN, and so whatever comes of that: it must do no harm outside
 *   the transaction and the role
 * @throws AppError `permission-denied` where the role does not exist or is not open to the service
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  options: TransactionOptions,
  work: (client: pg.PoolClient, edges: TransactionEdges) => Promise<T>,
  first?: Statement,
): Promise<T> {
  const { signal } = options;
  const client = await acquire(pool, signal);
  // A broken connection fails the query that runs on it. The event without a listener would end the process.
  client.on('error', ignore);
  let isClean = false;
  let isEnding = false;
  let hasEnded = false;
  // A read-only transaction of the service runs no code of others.
  let isTidied = options.readOnly === true;
  const ending: Ending = {
    command: options.rollback ? 'ROLLBACK' : 'COMMIT',
    tidies: !isTidied,
    onEnding: () => {
      isEnding = true;
    },
    onEnded: (sessionIsTidy) => {
      hasEnded = true;
      isTidied ||= sessionIsTidy;
    },
  };
  const endWith = (statements: Query[]) => end(client, statements, ending);
  const endAtOnce = async (statements: string[]) => {
    isEnding = true;
    try {
      await endInOneMessage(client, statements, ending);
    } finally {
      isEnding = hasEnded;
    }
  };
  const edges = (begun: pg.QueryResult | undefined) => ({ begun, endWith, endAtOnce });
  const running = begin(client, options, first).then((begun) => work(client, edges(begun)));
  try {
    const result = await untilAborted(running, signal, () => settle(client, running, () => isEnding));
    if (!hasEnded) await endWith([]);
    isClean = true;
    return result;
  } catch (error) {
    isClean = !(error instanceof Abandoned) && (hasEnded || (await rollBack(client)));
    if (hasEnded) return running;
    throw signal?.aborted ? signal.reason : error;
  } finally {
    // An end that left something in the session is not tried again.
    await giveBack(client, isClean && (isTidied || (!hasEnded && (await tidySession(client)))));
  }
}

/** How a transaction ends. */
interface Ending {
  command: 'COMMIT' | 'ROLLBACK';
  /** The session is tidied in the same round trip. */
  tidies: boolean;
  /** Called when nothing is left but the command. */
  onEnding: () => void;
  /** Called when the command has done what it says, with whether the session was tidied and nothing was left in it. */
  onEnded: (sessionIsTidy: boolean) => void;
}

function giveBack(client: pg.PoolClient, isReusable: boolean): void {
  if (!isReusable) setPipelining(client, false);
  client.release(!isReusable);
  if (isReusable) client.off('error', ignore);
}

/** The work was cut off in the middle of something: the connection's state is not known. */
class Abandoned extends Error {}

async function acquire(pool: pg.Pool, signal: AbortSignal | undefined): Promise<pg.PoolClient> {
  signal?.throwIfAborted();
  const connecting = pool.connect();
  return untilAborted(connecting, signal, async () => {
    connecting.then((client) => client.release(), ignore);
    throw signal!.reason;
  });
}

/** All in one round trip. */
async function begin(
  client: pg.PoolClient,
  options: TransactionOptions,
  first: Statement | undefined,
): Promise<pg.QueryResult | undefined> {
  const session = ownSession(client);
  const queries: Query[] = [beginStatements(options, session)];
  if (first !== undefined) queries.push(first);
  const deadline = setTimeout(() => breakConnection(client), beginMs);
  let hasBegun = false;
  const onLast = (haveSucceeded: boolean): void => {
    if (first === undefined) return;
    // The first statement may wait for locks.
    clearTimeout(deadline);
    hasBegun = haveSucceeded;
  };
  try {
    const [began, begun] = await pipeline(client, queries, onLast);
    // A text with several statements has a list of results.
    if (session === undefined) noteSession(client, (began as unknown as pg.QueryResult[]).at(-1)!.rows[0]);
    return begun;
  } catch (error) {
    if (hasBegun) throw error;
    // Of a standby: it refuses READ WRITE as a feature that it does not have.
    if (conditionOf(error) === 'feature_not_supported') throw readOnlyDatabase(error as pg.DatabaseError);
    const { role } = options;
    if (role === undefined || !isUnusableRole(error)) throw error;
    throw new AppError(
      'permission-denied',
      `The access token's role "${role}" does not exist or is not open to this service.`,
      {
        cause: error,
      },
    );
  } finally {
    clearTimeout(deadline);
  }
}

/** @throws the first error; the session has not been tidied then */
async function end(client: pg.PoolClient, statements: Query[], ending: Ending): Promise<pg.QueryResult[]> {
  const results = await sendEnd(client, [...statements, ending.command], ending);
  return results.slice(0, -1);
}

async function endInOneMessage(client: pg.PoolClient, statements: string[], ending: Ending): Promise<void> {
  await sendEnd(client, [[...statements, ending.command].join(';\n')], { ...ending, onEnding: ignore });
}

/** Sends queries whose last statement is the command, and behind them what tidies the session. @returns all results */
async function sendEnd(client: pg.PoolClient, queries: Query[], ending: Ending): Promise<pg.QueryResult[]> {
  const { command, tidies, onEnding, onEnded } = ending;
  const tail = tidies ? tidyUp(client) : undefined;
  const sent = await pipelineWithTail(client, queries, tail, onEnding);
  const results = resultsOf(sent, command);
  const last = results.at(-1);
  // A text with several statements has a list of results.
  const ended = Array.isArray(last) ? last.at(-1) : last;
  // PostgreSQL answers the COMMIT of a failed transaction with a rollback, not with an error.
  if (ended?.command !== command)
    throw new Error(
      `a statement failed and its error was lost: ${command} was answered with ${ended?.command}`,
    );
  onEnded(isTidy(client, sent.tail));
  return results;
}

function resultsOf(sent: PipelineWithTail, command: Ending['command']): pg.QueryResult[] {
  try {
    return sent.results();
  } catch (error) {
    if (command === 'COMMIT' && !(error instanceof pg.DatabaseError)) throw unknownOutcome(error);
    throw error;
  }
}

/** The connection broke between the COMMIT and its answer. */
function unknownOutcome(cause: unknown): AppError {
  return new AppError(
    'database-unavailable',
    'The connection to the database broke at the end of the request: whether its changes were kept is not known. Look before you send it again.',
    { cause },
  );
}

/** Whether the connection can be used again. */
async function rollBack(client: pg.PoolClient): Promise<boolean> {
  const rolledBack = client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
  return settledWithin(rolledBack, rollbackMs, false);
}

/** After an abort: waits for the work's end, at last by cancelling its statement, unless that is the commit. */
async function settle(
  client: pg.PoolClient,
  running: Promise<unknown>,
  isEnding: () => boolean,
): Promise<void> {
  const settled = running.then(
    () => true,
    () => true,
  );
  if (await settledWithin(settled, graceMs, false)) return;
  if (isEnding()) {
    await settled;
    return;
  }
  await sendCancelRequest(client, cancelMs);
  await settledWithin(settled, cancelMs, false);
  // A cancel that comes late would hit the next one's statement: this connection is not used again.
  throw new Abandoned();
}

/** The promise's result; when the signal aborts first, what `onAbort` does, and then the signal's reason. */
async function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  onAbort: () => Promise<void>,
): Promise<T> {
  if (signal === undefined) return promise;
  const aborted = Promise.withResolvers<typeof abortedFirst>();
  const listener = () => aborted.resolve(abortedFirst);
  signal.addEventListener('abort', listener, { once: true });
  try {
    if (signal.aborted) listener();
    const first = await Promise.race([promise, aborted.promise]);
    if (first !== abortedFirst) return first as T;
    promise.catch(ignore);
    await onAbort();
    throw signal.reason;
  } finally {
    signal.removeEventListener('abort', listener);
  }
}

const abortedFirst = Symbol('aborted');

async function settledWithin<T>(promise: Promise<T>, timeoutMs: number, otherwise: T): Promise<T> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, sleep(timeoutMs, otherwise, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}

function ignore(): void {}
