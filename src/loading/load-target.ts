import type { LoadColumn } from '../tables/load-column.ts';
import type { LoadedRows } from './load-rows.ts';

/** A relation that rows are loaded into, within the transaction that made or opened it. */
export interface LoadTarget {
  /** Quoted. */
  relation: string;
  columns: LoadColumn[];
  /** PostgreSQL may refuse a row while it is copied. */
  keepRows: boolean;
  /**
   * What is to be done after the rows.
   *
   * @throws AppError `invalid-data` with all problems of the upload; `dependent-objects`
   */
  finish: (rows: LoadedRows) => Promise<void>;
}
