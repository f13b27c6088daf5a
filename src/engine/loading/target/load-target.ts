import type { NewTable } from './new-table.ts';
import type { RowTarget } from './row-target.ts';

/** A table that rows are loaded into, within the transaction that made or opened it. */
export type LoadTarget = NewTable | ExistingTable;

/** A table that existed before the upload, and has its keys. */
export interface ExistingTable extends RowTarget {
  readonly isNew: false;
  readonly oid: number;
}
