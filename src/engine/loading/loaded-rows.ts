import type { Warning } from '../../core/errors.ts';
import type { CellPlaces } from '../../encoding/problems/cell-places.ts';
import type { CopiedRows } from './copying/copy-rows.ts';
import type { MissingResult } from './missing/remove-missing-rows.ts';
import type { RowChange } from './request/row-change.ts';

/** The result of loading the rows of an upload. */
export interface LoadedRows {
  inserted: number;
  /** The number of rows of the table that got other values. In a sharded table, where rows are not compared, it includes rows that have the same values. */
  changed: number;
  /** The number of rows that changed nothing: an existing row has the same values, or a later row of the upload has the same key. */
  unchanged: number;
  /** The number of rows that were left out because another row already has the key. */
  skipped: number;
  /** The number of rows that a trigger or a rule of the table left out. */
  suppressed: number;
  /** The columns of the key by which rows were compared; empty: the data has no complete key; undefined: there is no `on_conflict`. */
  conflictKey?: string[];
  /** The number of rows that were left out because they have problems; undefined: no row may be left out. */
  leftOut?: number;
  /** The first differences; undefined: the rows were not compared with those of the table. */
  changes?: RowChange[] | undefined;
  /** undefined: rows of the table that the upload does not have were neither counted nor changed. */
  missing?: MissingResult | undefined;
  warnings: Warning[];
  /** The rows did not all have the same columns. */
  hasSeveralLists: boolean;
  places: CellPlaces;
}

/** Returns the number of rows that had no problem. */
export function receivedRows({ inserted, skipped, changed, unchanged, suppressed }: LoadedRows): number {
  return inserted + skipped + changed + unchanged + suppressed;
}

/** Returns the result for rows that were copied straight into the table, without the staging table. */
export function straightRows({
  sent,
  taken,
  places,
  warnings,
  hasSeveralLists,
}: Pick<CopiedRows, 'sent' | 'taken' | 'places' | 'warnings' | 'hasSeveralLists'>): LoadedRows {
  return {
    inserted: taken,
    changed: 0,
    unchanged: 0,
    skipped: 0,
    suppressed: sent - taken,
    warnings,
    hasSeveralLists,
    places,
  };
}
