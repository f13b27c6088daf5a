import type { TransactionEdges } from '../postgres/transaction.ts';
import type { SourceWarning } from '../sources/row-source.ts';
import type { TableDescription } from '../tables/definition.ts';
import type { LoadColumn } from '../tables/load-column.ts';
import type { LoadedRows } from './load-rows.ts';
import type { ConflictKey } from './staged/staging-table.ts';

/** A relation that rows are loaded into, within the transaction that made or opened it. */
export interface LoadTarget {
  /** Quoted. */
  relation: string;
  columns: LoadColumn[];
  /** Names of columns that it did not have before. */
  added: string[];
  /** It is empty, and its keys come after the rows. */
  isBare: boolean;
  /** A row may break a rule while it is copied. */
  keepRows: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  /** Row-level security is in force for the role. */
  takesNoCopy: boolean;
  /** The primary key, then each unique constraint. */
  keys: ConflictKey[];
  /**
   * What is to be done after the rows.
   *
   * @returns what the caller should know of it
   * @throws AppError `invalid-data` with all problems of the upload; `dependent-objects`
   */
  finish: (rows: LoadedRows) => Promise<SourceWarning[]>;
  /**
   * Ends the transaction. Only for a target that has something to do together with the commit.
   *
   * @throws AppError `dependent-objects`, `database-busy`, `write-conflict`
   */
  end?: (endAtOnce: TransactionEdges['endAtOnce']) => Promise<EndedLoad>;
}

export interface EndedLoad {
  table: TableDescription;
  warnings: SourceWarning[];
}
