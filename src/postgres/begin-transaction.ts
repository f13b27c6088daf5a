/** Begins a transaction, together with its first statements. */
import type pg from 'pg';
import { AppError } from '../core/errors.ts';
import { copyAtOnce } from './copy.ts';
import { breakConnection } from './deadline-client.ts';
import { noteSession, ownSession, type SessionFacts } from './own-session.ts';
import { pipeline, type Query } from './pipeline.ts';
import { wasRefused } from './refuse-unless.ts';
import { heedsReadOnlyDefault, noteReadOnlyServer, noteWritableServer } from './servers.ts';
import type { Statement } from './sql.ts';
import { conditionOf, isUnusableRole, readOnlyDatabase } from './sqlstate.ts';
import { beginStatements, settingsOfWorkers, type TransactionSettings } from './transaction-settings.ts';

/** How long the server may take to begin a transaction. BEGIN waits for no lock, but a pooler may need time to find a connection. */
const beginMs = 15_000;

/**
 * Statements without values, one of them a COPY, and all rows of that COPY. They are sent in one message with BEGIN, so they do not run if BEGIN fails.
 * The statements before the COPY may wait for locks at most for `lockTimeoutMs`, which must be set. The session must be known (`ownSession`).
 */
export interface FirstCopy {
  text: string;
  rows: Buffer;
}

/** The only statement of a transaction. The COMMIT is sent in the same message. */
export interface OnlyStatement {
  only: Statement;
}

/** What is sent together with BEGIN: a statement, or a function that chooses what is sent on this connection. */
export type First = Statement | ((client: pg.PoolClient) => Statement | OnlyStatement | FirstCopy);

export interface BegunWith {
  /** The transaction has ended, because an `OnlyStatement` was sent. */
  hasEnded: boolean;
  /** The result of the statement. */
  begun: pg.QueryResult | undefined;
  /** The rows that PostgreSQL stored, if a `FirstCopy` was sent. */
  copied: number | undefined;
}

/**
 * Begins the transaction and runs `first`, in one round trip.
 *
 * @param onEnded called if the transaction has ended with its only statement
 */
export async function begin(
  client: pg.PoolClient,
  options: TransactionSettings,
  first: First | undefined,
  onEnded: () => void,
): Promise<BegunWith> {
  const sent = typeof first === 'function' ? first(client) : first;
  if (sent !== undefined && 'rows' in sent)
    return { begun: undefined, copied: await beginWithCopy(client, options, sent), hasEnded: false };
  if (sent !== undefined && 'only' in sent) {
    const { results } = await beginWith(client, options, [sent.only, 'COMMIT']);
    onEnded();
    return { begun: results[0], copied: undefined, hasEnded: true };
  }
  const { results, needsSettings } = await beginWith(client, options, sent === undefined ? [] : [sent]);
  if (needsSettings) await client.query(settingsOfWorkers(options));
  return { begun: results[0], copied: undefined, hasEnded: false };
}

/**
 * Begins the transaction and copies rows, in one message. PostgreSQL answers only when the COPY begins, so the time until its
 * answer may include waiting for a lock.
 *
 * @returns the number of rows that PostgreSQL stored
 */
async function beginWithCopy(
  client: pg.PoolClient,
  options: TransactionSettings,
  { text, rows }: FirstCopy,
): Promise<number> {
  const begin = beginStatements(options, ownSession(client), heedsReadOnlyDefault(client));
  const deadline = setTimeout(() => breakConnection(client), beginMs + options.lockTimeoutMs!);
  const copy = copyAtOnce(client, `${begin};\n${text}`, rows);
  try {
    await copy.started;
    clearTimeout(deadline);
    const copied = await copy.answered;
    noteWritableServer(client);
    return copied;
  } catch (error) {
    // A standby refuses BEGIN itself with this SQLSTATE. If BEGIN has succeeded, the error is about another statement.
    if (copy.hasSucceeded && conditionOf(error) === 'feature_not_supported') throw error;
    throw refusedByReadOnly(client, error) ?? error;
  } finally {
    clearTimeout(deadline);
  }
}

interface Begun {
  /** The results of the queries. */
  results: pg.QueryResult[];
  /** The settings of the Citus workers were not sent with BEGIN, because the session was not known. They must be sent if the database has Citus. */
  needsSettings: boolean;
}

/** Begins a transaction and runs queries, in one round trip. */
export async function beginWith(
  client: pg.PoolClient,
  settings: TransactionSettings,
  queries: Query[],
): Promise<Begun> {
  const session = ownSession(client);
  const deadline = setTimeout(() => breakConnection(client), beginMs);
  let hasBegun = false;
  const onBegun = (hasSucceeded: boolean): void => {
    // The time limit applies to BEGIN only, because the queries may wait for locks.
    clearTimeout(deadline);
    hasBegun = hasSucceeded;
  };
  try {
    const all = [beginStatements(settings, session, heedsReadOnlyDefault(client)), ...queries];
    const [began, ...results] = await pipeline(client, all, onBegun);
    if (!settings.readOnly) noteWritableServer(client);
    // pg returns a list of results for a text with several statements.
    if (session !== undefined) return { results, needsSettings: false };
    const facts: SessionFacts = (began as unknown as pg.QueryResult[]).at(-1)!.rows[0];
    noteSession(client, facts);
    return { results, needsSettings: facts.hasCitus };
  } catch (error) {
    if (hasBegun) throw error;
    const refusal = refusedByReadOnly(client, error);
    if (refusal) throw refusal;
    const { role } = settings;
    throw role === undefined || !isUnusableRole(error) ? error : unusableRole(role, error);
  } finally {
    clearTimeout(deadline);
  }
}

/** Returns the error for the caller if the server is read-only, and remembers that it is. Otherwise it returns undefined. */
function refusedByReadOnly(client: pg.PoolClient, error: unknown): AppError | undefined {
  // With this SQLSTATE a standby refuses to begin a transaction that may write (READ WRITE).
  if (conditionOf(error) !== 'feature_not_supported' && !wasRefused(error, 'the server is read-only'))
    return undefined;
  noteReadOnlyServer(client);
  return readOnlyDatabase(error as pg.DatabaseError);
}

/** Returns the error for a role that does not exist or that the service may not use. */
export function unusableRole(role: string, cause: unknown): AppError {
  const detail = `The access token's role "${role}" does not exist, or this service may not use it.`;
  return new AppError('permission-denied', detail, { cause });
}
