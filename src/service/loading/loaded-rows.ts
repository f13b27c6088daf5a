import type { Warning } from '../../core/errors.ts';
import type { CellPlaces } from '../../encoding/problems/cell-places.ts';
import type { CopiedRows } from './copying/copy-rows.ts';

/** The result of loading the rows of an upload. */
export interface LoadedRows {
  inserted: number;
  updated: number;
  /** The number of rows that were left out because another row already has the key. */
  skipped: number;
  /** The number of rows that a trigger or a rule of the table left out. */
  suppressed: number;
  /** The columns of the key by which rows were compared; empty: the data has no complete key; undefined: there is no `on_conflict`. */
  conflictKey?: string[];
  /** The number of rows that were left out because they have problems; undefined: no row may be left out. */
  leftOut?: number;
  warnings: Warning[];
  /** The rows did not all have the same columns. */
  hasSeveralLists: boolean;
  places: CellPlaces;
}

/** Returns the number of rows that had no problem. */
export function receivedRows({ inserted, skipped, updated, suppressed }: LoadedRows): number {
  return inserted + skipped + updated + suppressed;
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
    updated: 0,
    skipped: 0,
    suppressed: sent - taken,
    warnings,
    hasSeveralLists,
    places,
  };
}
