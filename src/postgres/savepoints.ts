/**
 * Sets savepoints and rolls back to them. Only the function that has set a savepoint rolls back to it.
 *
 * If a savepoint or its transaction does not exist any more, the transaction was lost, for example because a server of a cluster was ended. The
 * request is then answered with 503, and the log has the first error.
 */
import type { ClientBase, QueryResult } from 'pg';
import { AppError } from '../core/errors.ts';
import { pipeline } from './pipeline.ts';
import { quoteIdentifier } from './sql.ts';
import { isBrokenConnection, isLostTransaction, lostTransaction } from './sqlstate.ts';

/** Runs the work. If it throws, everything that it did is undone, and the error is thrown again. */
export async function withSavepoint<Result>(
  client: ClientBase,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await setSavepoint(client, name);
  const result = await undoOnError(client, name, work);
  await run(client, release(name));
  return result;
}

/** Runs the work and undoes everything that it did, also if it throws. */
export async function runAndUndo<Result>(
  client: ClientBase,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await setSavepoint(client, name);
  const result = await undoOnError(client, name, work);
  await rollBackAndRelease(client, name);
  return result;
}

/**
 * Sends statements without values in one message, and returns their results. If one fails, all are undone, and its error is thrown.
 */
export async function queryWithSavepoint(
  client: ClientBase,
  name: string,
  statements: string[],
): Promise<QueryResult[]> {
  const text = [savepoint(name), ...statements, release(name)].join(';\n');
  const results = await undoOnError(client, name, () => client.query(text));
  // pg returns a list of results for a text with several statements.
  return (results as unknown as QueryResult[]).slice(1, -1);
}

/**
 * Sends statements without values in one round trip. If one fails, all are undone, and its error is thrown.
 *
 * @param areApart true: each statement has a message of its own. Citus needs this for a table that it distributes (`apartInCallersPath`)
 */
export async function runWithSavepoint(
  client: ClientBase,
  name: string,
  statements: string[],
  areApart: boolean,
): Promise<void> {
  const all = [savepoint(name), ...statements, release(name)];
  const messages = areApart ? all : [all.join(';\n')];
  await undoOnError(client, name, () => pipeline(client, messages));
}

/** Sets a savepoint. The caller must later undo the work after it with `rollBackTo`, or release it. */
export async function setSavepoint(client: ClientBase, name: string): Promise<void> {
  await run(client, savepoint(name));
}

/** Returns the statement that sets a savepoint, for a message with other statements. */
export function savepoint(name: string): string {
  return `SAVEPOINT ${quoteIdentifier(name)}`;
}

/**
 * Undoes everything since the savepoint, and keeps the savepoint.
 *
 * @param error why it is undone, for the log if it cannot be undone
 */
export async function rollBackTo(client: ClientBase, name: string, error?: unknown): Promise<void> {
  await run(client, `ROLLBACK TO SAVEPOINT ${quoteIdentifier(name)}`, error);
}

/** Undoes everything since the savepoint, and removes it. `error` is that of `rollBackTo`. */
export async function rollBackAndRelease(client: ClientBase, name: string, error?: unknown): Promise<void> {
  await run(client, `ROLLBACK TO SAVEPOINT ${quoteIdentifier(name)}; ${release(name)}`, error);
}

/** @throws AppError `database-unavailable` if the transaction or the savepoint does not exist any more */
async function run(client: ClientBase, text: string, error?: unknown): Promise<void> {
  try {
    await client.query(text);
  } catch (failure) {
    throw isLostTransaction(failure) ? lostTransaction(error ?? failure) : failure;
  }
}

async function undoOnError<Result>(
  client: ClientBase,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await rollBackAndRelease(client, name, error).catch((failure: unknown) => {
      // The transaction cannot continue, so the failure is thrown: the caller must not treat `error` as undone. An example is a rollback
      // that an administrator has cancelled. If the connection is broken, `error` says more, and the caller's next statement fails anyway.
      if (failure instanceof AppError || !isBrokenConnection(failure)) throw failure;
    });
    throw error;
  }
}

function release(name: string): string {
  return `RELEASE SAVEPOINT ${quoteIdentifier(name)}`;
}
