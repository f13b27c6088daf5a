import type { SourceWarning } from '../sources/row-source.ts';
import type { CellPlaces } from './staged/staged-load.ts';
import type { SentRows } from './staged/violation-queries.ts';

/** What became of the rows of an upload. */
export interface LoadedRows {
  inserted: number;
  updated: number;
  /** Left out, because another row had the key. */
  skipped: number;
  /** Left out by a trigger or a rule of the table. */
  suppressed: number;
  /** The columns of the key by which rows were compared; none: the data brings no key; undefined: without `on_conflict`. */
  conflictKey?: string[];
  warnings: SourceWarning[];
  places: CellPlaces;
  /** The rows in a new table, whose keys come next. */
  sent: SentRows;
}
