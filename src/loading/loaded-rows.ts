import type { Warning } from '../errors.ts';
import type { CellPlaces } from './staged/staged-load.ts';
import type { SentRows } from './staged/violation-queries.ts';

/** The result of loading the rows of an upload. */
export interface LoadedRows {
  inserted: number;
  updated: number;
  /** Rows that were left out because another row had the key. */
  skipped: number;
  /** Rows that a trigger or a rule of the table left out. */
  suppressed: number;
  /** The columns of the key by which rows were compared; empty: the data has no complete key; undefined: there is no `on_conflict`. */
  conflictKey?: string[];
  warnings: Warning[];
  places: CellPlaces;
  /** The rows in a new table, whose keys come next. */
  sent: SentRows;
}
