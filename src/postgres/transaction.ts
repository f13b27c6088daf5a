/**
 * Runs one transaction on one connection. After a success, after a failure, and after the client has disconnected, the
 * connection is returned to the pool clean, or it is closed.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import { type BegunWith, begin, beginWith, type First, unusableRole } from './begin-transaction.ts';
import { type CallersStatement, type OwnStatement, toPrepared, withLiterals } from './callers-statement.ts';
import { sendCancelRequest } from './cancel-request.ts';
import { isLateCommit, type Notice } from './citus/worker-errors.ts';
import { limitsFor } from './deadline-client.ts';
import { GuardedClient } from './driver-internals.ts';
import { executePrepared } from './own-session.ts';
import { type PipelineWithTail, pipeline, pipelineWithTail, type Query, setPipelining } from './pipeline.ts';
import { MessageTooLong } from './server-messages.ts';
import { isSpent } from './servers.ts';
import type { Statement } from './sql.ts';
import { isBrokenConnection, isUnusableRole, toAppError } from './sqlstate.ts';
import { isTidy, tidySession, tidyUp } from './tidy-session.ts';
import { type TransactionSettings, tryRole, underOwnRole } from './transaction-settings.ts';

/** A statement that is sent just before the COMMIT (`beforeCommit`). */
export type LastStatement = CallersStatement | OwnStatement;

export interface TransactionOptions extends TransactionSettings {
  /** Aborts the transaction, also while it waits for a connection, but not after its COMMIT was sent. */
  signal?: AbortSignal | undefined;
  /** true: a dry run. Everything is done, and then rolled back. */
  rollback?: boolean | undefined;
  /**
   * Returns statements of the service itself that are sent in the same message before the COMMIT. They run under the role that the
   * service connects as, also if the transaction has another role. A function of a table may have changed the settings of the
   * transaction, so they must qualify all names and contain only ASCII characters (`asciiLiteral`).
   *
   * It is called for each attempt to commit, but not for a dry run or in a read-only transaction.
   */
  beforeCommit?: (() => LastStatement[]) | undefined;
  /**
   * The work runs no code of other users. So the statements of `beforeCommit` may be prepared, and the session need not be cleaned up. Default: false.
   */
  runsNoCode?: boolean | undefined;
  /** Called if an attempt to commit failed but the transaction has not ended, so that it can be tried again (`endAtOnce`). */
  onCommitRefused?: (() => void) | undefined;
  /** Called if the transaction is committed, but a worker of Citus has not confirmed it (`isLateCommit`). */
  onLateCommit?: (() => void) | undefined;
}

/** How long aborted work may take to end by itself. Nearly always it needs one round trip. */
const graceMs = 100;
/** How long a cancelled statement may take to end. */
const cancelMs = 2000;
const rollbackMs = 5000;
/** If a message or a row of a COPY was longer than this (in bytes), the connection is closed after its transaction. */
const maxKeptBytes = 16 * 1024 * 1024;

/** Functions with which the work of a transaction can save round trips. */
export interface TransactionEdges extends BegunWith {
  /**
   * Runs the last statements, ends the transaction in the same round trip, and returns the results.
   *
   * @param runsNoCode see `TransactionOptions`; the statements must fail if code of other people has run
   */
  endWith(statements: Query[], runsNoCode?: boolean): Promise<pg.QueryResult[]>;
  /**
   * Runs statements without values and ends the transaction, all in one message, so PostgreSQL does not wait for this process
   * between them. If one statement fails, the statements after it do not run, and the transaction has not ended: the caller can
   * roll back to a savepoint and continue.
   *
   * @param areApart true: each statement has a message of its own, as Citus needs it (`apartInCallersPath`). Ending the transaction then
   *   takes a second round trip
   */
  endAtOnce(statements: string[], areApart?: boolean): Promise<void>;
}

/**
 * Runs `work` in a transaction and commits. If `work` throws, the transaction is rolled back, and the error is thrown again. `work` must
 * not use the client after it has returned or has called `endWith`, or if the transaction has ended with its first statement (`hasEnded`).
 *
 * When the signal aborts, the running statement is cancelled, the transaction is rolled back, and the signal's reason is thrown. A COMMIT
 * that was sent is never cancelled.
 *
 * @param first a statement that is sent together with BEGIN, even if BEGIN or SET ROLE then fails. It must do no harm outside the
 *   transaction or under another role. Or a function that chooses what is sent on this connection
 * @throws AppError `permission-denied` if the role does not exist or the service may not use it, also if this has changed during the work
 */
export async function inTransaction<T>(
  pool: pg.Pool,
  options: TransactionOptions,
  work: (client: pg.PoolClient, edges: TransactionEdges) => Promise<T>,
  first?: First,
): Promise<T> {
  const client = await acquire(pool, options.signal);
  // A broken connection fails the query that runs on it. The event without a listener would end the process.
  client.on('error', ignore);
  const stopListening = listenForLateCommit(client, options.onLateCommit);
  let isClean = false;
  let isEnding = false;
  let hasEnded = false;
  // A read-only transaction of the service does not run code of other people.
  let isTidied = options.readOnly === true || options.runsNoCode === true;
  const ending: Ending = {
    command: options.rollback ? 'ROLLBACK' : 'COMMIT',
    ownStatements: () => ownStatements(client, options),
    tidies: !isTidied,
    onEnding: () => {
      isEnding = true;
    },
    onEnded: (sessionIsTidy) => {
      hasEnded = true;
      isTidied ||= sessionIsTidy;
    },
  };
  const endWith = (statements: Query[], runsNoCode = false) =>
    end(client, statements, runsNoCode ? withoutCode(client, options, ending) : ending);
  const endAtOnce = async (statements: string[], areApart = false) => {
    try {
      await endInOneMessage(client, statements, areApart, ending);
    } finally {
      isEnding = hasEnded;
      if (!hasEnded) options.onCommitRefused?.();
    }
  };
  const running = begin(client, options, first, () => ending.onEnded(false)).then((one) =>
    work(client, { ...one, endWith, endAtOnce }),
  );
  try {
    const result = await untilAborted(running, options.signal, () => settle(client, running, () => isEnding));
    if (!hasEnded) await endWith([]);
    isClean = true;
    return result;
  } catch (error) {
    isClean = hasEnded && !(error instanceof Abandoned);
    if (hasEnded) return running;
    // The error may mean that code of other users did run.
    isTidied &&= options.readOnly === true;
    let isRoleLost = false;
    if (!(error instanceof Abandoned)) ({ isClean, isRoleLost } = await rollBack(client, options.role));
    if (options.signal?.aborted) throw options.signal.reason;
    throw isRoleLost ? unusableRole(options.role!, error) : error;
  } finally {
    stopListening();
    // If the transaction has ended and still left something in the session, cleaning up was already tried and is not repeated.
    await giveBack(client, isClean && (isTidied || (!hasEnded && (await tidySession(client)))));
  }
}

/** @returns a function that ends the listening */
function listenForLateCommit(client: pg.PoolClient, onLateCommit: (() => void) | undefined): () => void {
  const onNotice = (notice: Notice): void => {
    if (isLateCommit(notice)) onLateCommit?.();
  };
  if (onLateCommit) client.on('notice', onNotice);
  return () => client.off('notice', onNotice);
}

/**
 * Runs statements of the service itself in their own transaction, in one round trip, with their own time limits (`ownLimits`). They
 * must not run code of other users, because the session is not cleaned up after them.
 *
 * @param statements are sent even if BEGIN then fails, as it does on a standby. A standby then refuses to change anything
 * @returns their results
 */
export async function runStatements(pool: pg.Pool, statements: Query[]): Promise<pg.QueryResult[]> {
  return runAtOnce(pool, {}, statements);
}

/** Runs a statement like `runStatements`. @returns its result */
export async function runStatement(pool: pg.Pool, statement: Statement): Promise<pg.QueryResult> {
  return (await runStatements(pool, [statement]))[0]!;
}

/** Runs a query of the service itself like `runStatements`, in a read-only transaction. @returns its rows */
export async function readRows<Row>(pool: pg.Pool, query: Statement): Promise<Row[]> {
  const [result] = await runAtOnce(pool, { readOnly: true }, [query]);
  return result!.rows;
}

/** Runs a whole transaction in one round trip. */
async function runAtOnce(
  pool: pg.Pool,
  settings: TransactionSettings,
  statements: Query[],
): Promise<pg.QueryResult[]> {
  const client = await acquire(pool, undefined);
  client.on('error', ignore);
  let isClean = false;
  try {
    const { results } = await beginWith(client, { ...limitsFor(client), ...settings }, [
      ...statements,
      'COMMIT',
    ]);
    isClean = true;
    return results.slice(0, -1);
  } catch (error) {
    ({ isClean } = await rollBack(client));
    const isKnown = settings.readOnly || error instanceof AppError || !isBrokenConnection(error);
    throw isKnown ? error : unknownOutcome(error);
  } finally {
    giveBack(client, isClean);
  }
}

/** How a transaction ends. */
interface Ending {
  command: 'COMMIT' | 'ROLLBACK';
  /** Returns the last statements before the command. */
  ownStatements: () => Query[];
  /** Whether the session is cleaned up in the same round trip. */
  tidies: boolean;
  /** Called when only the command must still be sent. */
  onEnding: () => void;
  /**
   * Called after the command has succeeded.
   *
   * @param sessionIsTidy whether the session can be used again
   */
  onEnded: (sessionIsTidy: boolean) => void;
}

/** Returns how the transaction ends if its work has run no code of other people. */
function withoutCode(client: pg.PoolClient, options: TransactionOptions, ending: Ending): Ending {
  return {
    ...ending,
    ownStatements: () => ownStatements(client, { ...options, runsNoCode: true }),
    tidies: false,
    onEnded: () => ending.onEnded(true),
  };
}

/**
 * Returns the statements of `beforeCommit`: as one text, or to be prepared. The role of the transaction is set again after them, because
 * deferred triggers run at the COMMIT and must not have the rights of the service.
 */
function ownStatements(client: pg.PoolClient, options: TransactionOptions): Query[] {
  const { rollback, readOnly, role, beforeCommit, runsNoCode } = options;
  const statements = rollback || readOnly ? [] : (beforeCommit?.() ?? []);
  if (statements.length === 0) return [];
  if (runsNoCode) {
    const own = statements.map((one) => (typeof one === 'string' ? one : toPrepared(one)));
    const all = role === undefined ? own : underOwnRole(role, own);
    const texts = all.map((one) => (typeof one === 'string' ? one : executePrepared(client, one)));
    return texts.includes(undefined) ? all : [texts.join(';\n')];
  }
  const texts = statements.map((one) => (typeof one === 'string' ? one : withLiterals(one)));
  return [(role === undefined ? texts : underOwnRole(role, texts)).join(';\n')];
}

function giveBack(client: pg.PoolClient, isClean: boolean): void {
  noteKeptBytes(client, bytesOfTransaction);
  const isReusable = isClean && !hasGrown(client) && !isSpent(client);
  if (!isReusable) setPipelining(client, false);
  client.release(!isReusable);
  if (isReusable) client.off('error', ignore);
}

/**
 * Returns whether the server process may have kept memory for a long value or for many descriptions. It would keep it as long as
 * the connection is open, so the connection is then closed.
 */
function hasGrown(client: pg.PoolClient): boolean {
  return client instanceof GuardedClient && Math.max(client.longestBytes, client.keptBytes) > maxKeptBytes;
}

/** Counts memory that the server process keeps until the connection ends. If it becomes too much, the connection is closed after its transaction. */
export function noteKeptBytes(client: pg.ClientBase, bytes: number): void {
  if (client instanceof GuardedClient) client.keptBytes += bytes;
}

/** Returns the number of bytes that `noteKeptBytes` has counted for the connection. */
export function notedBytes(client: pg.ClientBase): number {
  return client instanceof GuardedClient ? client.keptBytes : 0;
}

/**
 * Counts the memory in which the server process keeps the description of a table for later statements: up to 1 KB for a column, and
 * 12 KB for a foreign key with its statement. PostgreSQL forgets only the descriptions of tables that are changed.
 *
 * @param rules the number of keys, foreign keys and checks
 */
export function noteTable(client: pg.ClientBase, { columns = 0, rules = 0 }): void {
  noteKeptBytes(client, bytesOfTable + columns * bytesOfColumn + rules * bytesOfRule);
}

/** PostgreSQL also keeps some hundred bytes for each name that it did not find. */
const bytesOfTransaction = 1024;
const bytesOfTable = 8192;
const bytesOfColumn = 1024;
const bytesOfRule = 12_288;

/** Reports that the work was stopped in the middle of a statement, so the state of the connection is not known. */
class Abandoned extends Error {}

async function acquire(pool: pg.Pool, signal: AbortSignal | undefined): Promise<pg.PoolClient> {
  signal?.throwIfAborted();
  const connecting = pool.connect();
  return untilAborted(connecting, signal, async () => {
    connecting.then((client) => client.release(), ignore);
    throw signal!.reason;
  });
}

/**
 * Runs the last statements and ends the transaction.
 *
 * @throws the first error; the session has not been cleaned up then
 */
async function end(client: pg.PoolClient, statements: Query[], ending: Ending): Promise<pg.QueryResult[]> {
  const results = await sendEnd(client, [...statements, ...ending.ownStatements(), ending.command], ending);
  return results.slice(0, statements.length);
}

async function endInOneMessage(
  client: pg.PoolClient,
  statements: string[],
  areApart: boolean,
  ending: Ending,
): Promise<void> {
  if (areApart) await pipeline(client, statements);
  ending.onEnding();
  const all = [...(areApart ? [] : statements), ...ending.ownStatements(), ending.command];
  await sendEnd(client, [all.join(';\n')], { ...ending, onEnding: ignore });
}

/**
 * Sends queries whose last statement is the command, and after them the statements that clean up the session.
 *
 * @returns all results
 */
async function sendEnd(client: pg.PoolClient, queries: Query[], ending: Ending): Promise<pg.QueryResult[]> {
  const { command, tidies, onEnding, onEnded } = ending;
  const tail = tidies ? tidyUp(client) : undefined;
  const sent = await pipelineWithTail(client, queries, tail, { onLast: onEnding });
  const results = resultsOf(sent, command);
  const last = results.at(-1);
  // pg returns a list of results for a text with several statements.
  const ended = Array.isArray(last) ? last.at(-1) : last;
  // If the transaction has failed, PostgreSQL answers COMMIT with ROLLBACK and not with an error.
  if (ended?.command !== command)
    throw new Error(
      `a statement failed, and its error was not reported: ${command} was answered with ${ended?.command}`,
    );
  onEnded(isTidy(client, sent.tail));
  return results;
}

function resultsOf(sent: PipelineWithTail, command: Ending['command']): pg.QueryResult[] {
  try {
    return sent.results();
  } catch (error) {
    if (command === 'COMMIT' && isBrokenConnection(error)) throw unknownOutcome(error);
    throw error;
  }
}

/** Returns the error for a connection that broke between the COMMIT and its answer. */
function unknownOutcome(cause: unknown): AppError {
  if (cause instanceof MessageTooLong) {
    const known = toAppError(cause) as AppError;
    const detail = `${known.detail} It is not known whether the changes of the request were kept. Check the table before you send the request again.`;
    return known.with({ detail, isOutcomeUnknown: true });
  }
  return new AppError(
    'database-unavailable',
    'The connection to the database broke at the end of the request, so it is not known whether its changes were kept. Check the table before you send the request again.',
    { cause, isOutcomeUnknown: true },
  );
}

interface RolledBack {
  /** The connection can be used again. */
  isClean: boolean;
  /**
   * The role of the transaction can no longer be used. If a role is dropped during a transaction, the next statements fail with
   * errors of many kinds, such as one for a type that does not exist.
   */
  isRoleLost: boolean;
}

/** Rolls back, and tries the role of the transaction. */
async function rollBack(client: pg.PoolClient, role?: string): Promise<RolledBack> {
  const isRoleLost = async (): Promise<boolean> =>
    role !== undefined && client.query(tryRole(role)).then(() => false, isUnusableRole);
  const unusable = { isClean: false, isRoleLost: false };
  const rolledBack = client.query('ROLLBACK').then(
    async () => ({ isClean: true, isRoleLost: await isRoleLost() }),
    () => unusable,
  );
  return settledWithin(rolledBack, rollbackMs, unusable);
}

/** Waits for the end of the work after an abort. If it takes too long, its statement is cancelled, unless that is the COMMIT. */
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
  // The cancel request may arrive late and cancel the next statement on this connection, so the connection is not used again.
  throw new Abandoned();
}

/** Returns the promise's result. If the signal aborts first, it waits for `onAbort` and then throws the signal's reason. */
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
