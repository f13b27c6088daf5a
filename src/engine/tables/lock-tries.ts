/** Runs statements that need an exclusive lock of a table in short attempts, so that the readers of the table never wait long. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { rollBackAndRelease, savepoint } from '../../postgres/savepoints.ts';
import { conditionOf } from '../../postgres/sqlstate.ts';

/** The time limit for one attempt to lock the table. It is short, because while a session waits for this lock, every later reader must wait, too. */
const lockTryMs = 50;
const lockPauseMs = 100;
/** How long an automatic VACUUM or ANALYZE with a conflicting lock may take to end by itself. */
const vacuumWaitMs = 1000;

export interface LockOptions {
  /** The time limit for all attempts to lock the table; 0: none. */
  lockTimeoutMs: number;
  signal: AbortSignal;
}

/** Runs statements that lock tables. Other sessions that use the table never wait long for them. */
export class LockTries {
  readonly #client: ClientBase;
  readonly #relations: readonly string[];
  readonly #options: LockOptions;
  readonly #startedAt = performance.now();
  #hasInsisted = false;

  /** @param relations quoted */
  constructor(client: ClientBase, relations: readonly string[], options: LockOptions) {
    this.#client = client;
    this.#relations = relations;
    this.#options = options;
  }

  /**
   * Sends the statements until they get their locks.
   *
   * @param send runs the given statements, which limit the time that it waits for a lock, and then its own
   * @throws AppError `database-busy`; the signal's reason; the error of a statement, after which the savepoint "lock" still exists
   */
  async run<Result>(send: (first: string[]) => Promise<Result>): Promise<Result> {
    const { signal } = this.#options;
    let tryMs = lockTryMs;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await send([savepoint('lock'), `SET LOCAL lock_timeout = ${tryMs}`]);
      } catch (error) {
        if (conditionOf(error) !== 'lock_not_available') throw error;
        await rollBackAndRelease(this.#client, 'lock', error);
        tryMs = await this.#nextTryMs(error);
      }
      await sleep(lockPauseMs, undefined, { signal });
    }
  }

  async #nextTryMs(error: unknown): Promise<number> {
    const { lockTimeoutMs } = this.#options;
    const elapsedMs = performance.now() - this.#startedAt;
    if (lockTimeoutMs > 0 && elapsedMs > lockTimeoutMs) {
      const detail =
        'Other transactions kept the table locked for too long (LOCK_TIMEOUT_MS), so it was not changed. Try again later.';
      throw new AppError('database-busy', detail, { headers: { 'retry-after': '10' }, cause: error });
    }
    if (this.#hasInsisted || elapsedMs < vacuumWaitMs) return lockTryMs;
    const waitMs = await maintenanceWaitMs(this.#client, this.#relations);
    this.#hasInsisted = waitMs > 0;
    return lockTryMs + waitMs;
  }
}

/**
 * Returns how long an attempt must wait until PostgreSQL cancels an automatic VACUUM or ANALYZE of one of the tables, which may otherwise take
 * hours. PostgreSQL cancels it for a session that has waited for `deadlock_timeout`, and never for shorter attempts. 0: none runs.
 */
async function maintenanceWaitMs(client: ClientBase, relations: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ wait: number }>(maintenanceWait, [relations]);
  return rows[0]!.wait;
}

/** Returns `deadlock_timeout` if another session has the lock of VACUUM and ANALYZE (SHARE UPDATE EXCLUSIVE) on one of the tables, and otherwise 0. Not every role may see what that session does. */
const maintenanceWait = `
SELECT coalesce((
  SELECT s.setting::int FROM pg_settings s WHERE s.name = 'deadlock_timeout' AND EXISTS (
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.relation IN (SELECT to_regclass(name) FROM unnest($1::text[]) name) AND l.granted
      AND l.mode = 'ShareUpdateExclusiveLock' AND l.pid <> pg_backend_pid())), 0) AS wait`;
