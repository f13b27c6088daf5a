import type { ClientBase } from 'pg';
import type { Warning } from '../errors.ts';
import type { TransactionEdges } from '../postgres/transaction.ts';
import type { TableDescription } from '../tables/definition.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { LoadedRows } from './loaded-rows.ts';
import type { Problems } from './problems.ts';
import type { ConflictKey } from './staged/conflict-rule.ts';
import type { RowRule } from './staged/row-rules.ts';

/** A relation that rows are loaded into, within the transaction that made or opened it. */
export interface LoadTarget {
  /** The name of the relation, quoted. */
  relation: string;
  columns: LoadColumn[];
  /** The names of columns that were added to the table. */
  added: string[];
  /** The table is empty, and its keys are created after the rows are copied. */
  isBare: boolean;
  /**
   * The table has rules by which PostgreSQL may refuse a row. Then the rows must be kept, to find all refused rows and the
   * reasons.
   */
  mayRefuseRows: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  /** COPY is not possible, because row-level security applies to the role. */
  takesNoCopy: boolean;
  /** The columns of the primary key. */
  primaryKey: readonly string[] | undefined;
  /** The keys that ON CONFLICT can use: the primary key, then each unique constraint. */
  keys: ConflictKey[];
  /** Warnings about the table. */
  warnings: Warning[];
  /** The table takes the place of an existing table at the end. */
  replaces: boolean;
  /** Reads every rule that the rows must meet. */
  readRules(client: ClientBase): Promise<RowRule[]>;
  /**
   * Adds the keys and references of a new table. If PostgreSQL refuses them, they are undone, and the error is returned. An existing
   * table has them already.
   */
  addKeys(client: ClientBase): Promise<Error | undefined>;
  /**
   * Does the work that follows the rows of a new table, such as adding keys.
   *
   * @throws AppError `invalid-data` with all problems of the upload; `write-conflict`
   */
  finish(client: ClientBase, rows: LoadedRows, problems: Problems): Promise<void>;
  /**
   * Replaces the existing table, if the table is to replace one, and ends the transaction. Otherwise does nothing.
   *
   * @throws AppError `dependent-objects`, `database-busy`, `write-conflict`
   */
  end(
    client: ClientBase,
    endAtOnce: TransactionEdges['endAtOnce'],
    /** Called before the transaction ends. It may be called again with another result. */
    onPlanned: (ended: EndedLoad) => void,
  ): Promise<EndedLoad | undefined>;
}

export interface EndedLoad {
  table: TableDescription;
  warnings: Warning[];
}
