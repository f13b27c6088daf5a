import type { ClientBase } from 'pg';
import type { Warning } from '../../../core/errors.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { RowRule } from '../../tables/rules/row-rules.ts';
import type { ConflictKey } from '../staged/conflict-rule.ts';

/** What new and existing tables have in common, as a relation that rows are loaded into. */
export interface RowTarget {
  /** The name of the relation, quoted. */
  readonly relation: string;
  /** The relation as a query reads its own rows: with ONLY, unless it is partitioned. */
  readonly stored: string;
  readonly columns: LoadColumn[];
  /** The names of columns that were added to the table. */
  readonly added: string[];
  /**
   * PostgreSQL may refuse a row because of a rule of the table, such as a key or a check. Then the rows must be kept, to find all
   * refused rows and the reasons.
   */
  readonly mayRefuseRows: boolean;
  /** The table has triggers that run for each row. */
  readonly hasRowTriggers: boolean;
  /** The table has triggers that may change rows before they are stored. */
  readonly changesRows: boolean;
  /** The table has triggers that may prevent the update of a row. */
  readonly mayPreventUpdates: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  readonly hasRules: boolean;
  /** The table may refuse rows for a reason that `readRules` does not read, such as a trigger or a policy. */
  readonly hasOtherRules: boolean;
  /** Citus stores the table at its workers. */
  readonly isSharded: boolean;
  /** COPY is not possible, because PostgreSQL does not support it for a role to which row-level security applies. */
  readonly takesNoCopy: boolean;
  /** The columns of the primary key. */
  readonly primaryKey: readonly string[] | undefined;
  /** The columns of all primary keys and unique keys. */
  readonly keyColumns: readonly string[];
  /** The keys that ON CONFLICT can use: the primary key, then each unique constraint. */
  readonly keys: ConflictKey[];
  /** Warnings about the table. */
  readonly warnings: Warning[];
  /** The table takes the place of an existing table at the end. */
  readonly replaces: boolean;
  /** Reads every rule that the rows must meet. */
  readRules(client: ClientBase): Promise<RowRule[]>;
}
