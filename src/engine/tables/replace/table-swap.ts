/**
 * Replaces a table by another one at the end of a load (the swap). The replacement was built under a temporary name. It gets
 * the name, the owner, the grants, the storage parameters and the comments of the existing table, and the names of its parts.
 * Readers of the existing table wait only for these few statements and the commit.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import {
  isNameClash,
  isOtherKindOfObject,
  isUndefinedObject,
  isUndefinedTable,
} from '../../../postgres/named-objects.ts';
import { wasRefused } from '../../../postgres/refuse-unless.ts';
import { rollBackTo, setSavepoint } from '../../../postgres/savepoints.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { isCatalogueRace } from '../../../postgres/sqlstate.ts';
import type { TransactionEdges } from '../../../postgres/transaction.ts';
import { nameConflict } from '../create-table.ts';
import { type LockOptions, LockTries } from '../lock-tries.ts';
import { droppedMeanwhile, planSwap, type Replacement, type Swapped } from './plan-swap.ts';

/** The maximum number of attempts to plan the swap, because the old table may change between the plan and the lock. */
const maxTries = 10;

/**
 * Replaces the existing table with the new one and ends the transaction. Call `plan` and `commit` in turn until `commit` returns true.
 *
 * Readers wait only while PostgreSQL runs the single message of `commit`. It locks the old table, checks that nothing about it has
 * changed since the plan was made, drops it, renames the new table, and commits. Everything else is done before.
 */
export class TableSwap {
  readonly #client: ClientBase;
  readonly #replacement: Replacement;
  readonly #relation: string;
  readonly #lock: LockTries;
  #statements: string[] = [];
  #tries = 0;

  constructor(client: ClientBase, replacement: Replacement, options: LockOptions) {
    this.#client = client;
    this.#replacement = replacement;
    const { schema, name } = replacement.table;
    this.#relation = quoteQualified(schema, name);
    this.#lock = new LockTries(client, [this.#relation], options);
  }

  /**
   * Does the part of the swap that needs no lock on the old table.
   *
   * @returns what `commit` will do
   * @throws AppError `dependent-objects`, `write-conflict` (the table was dropped or renamed, or it changed again and again)
   */
  async plan(): Promise<Swapped> {
    for (;;) {
      this.#tries += 1;
      await setSavepoint(this.#client, 'swap');
      try {
        const { statements, swapped } = await planSwap(this.#client, this.#replacement);
        this.#statements = statements;
        return swapped;
      } catch (error) {
        await this.#undo(error);
      }
    }
  }

  /**
   * Swaps the tables as planned, and ends the transaction.
   *
   * @returns false: the plan is no longer valid, and nothing was swapped
   * @throws AppError `database-busy` (the table stayed locked), `write-conflict`; the signal's reason
   */
  async commit(edges: Pick<TransactionEdges, 'endAtOnce'>): Promise<boolean> {
    try {
      const lock = `LOCK TABLE ${this.#relation} IN ACCESS EXCLUSIVE MODE`;
      const isCitus = this.#replacement.table.placement !== undefined;
      await this.#lock.run((first) => edges.endAtOnce([...first, lock, ...this.#statements], isCitus));
      return true;
    } catch (error) {
      await this.#undo(error);
      return false;
    }
  }

  /** Rolls back to the state before the plan, so that a new plan can be made. Throws the error if a new plan cannot help. */
  async #undo(error: unknown): Promise<void> {
    if (isUndefinedTable(error) || isOtherKindOfObject(error)) throw droppedMeanwhile(error);
    const isClash = isNameClash(error);
    if (!isClash && !isChange(error)) throw error;
    const isLast = this.#tries === maxTries;
    if (isLast && !isClash) throw changedMeanwhile(error);
    await rollBackTo(this.#client, 'swap', error);
    if (!isClash) return;
    const { table } = this.#replacement;
    table.names = await table.chooseNamesAgain(this.#client);
    if (isLast) throw nameConflict(error);
  }
}

function changedMeanwhile(cause: unknown): AppError {
  const detail = 'Other sessions kept changing the definition of the table. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}

/**
 * Returns whether the error means that the old table has changed since the plan was made. Either the first statement of the swap
 * has found this, or PostgreSQL has: another session may have dropped a role that had privileges on the table.
 */
function isChange(error: unknown): boolean {
  return isCatalogueRace(error) || isUndefinedObject(error) || wasRefused(error, 'the table has changed');
}
