/** A difference between the rows of an upload and the rows of the table before it. A load lists only the first ones (difference/list-changes.ts). */

/** The maximum number of differences of one load that are listed. */
export const maxListedChanges = 10_000;

/** How many rows were added, changed and so on. */
export interface RowCounts {
  inserted: number;
  /** See `LoadedRows`. */
  changed: number;
  unchanged: number;
  /** The number of rows of the table that the upload does not have, and how many of them were deleted or marked; undefined: not asked for. */
  missing?: number | undefined;
  deleted?: number | undefined;
  marked?: number | undefined;
  /** The number of marked rows that the upload has again; undefined: none. */
  unmarked?: number | undefined;
}

export interface RowChange {
  /** `missing`, `deleted` and `marked`: a row of the table that the upload does not have. */
  kind: 'inserted' | 'changed' | 'missing' | 'deleted' | 'marked';
  /** The number of the data row; undefined: the upload does not have the row. */
  row?: number;
  /** The columns of the key by which rows were compared. */
  key: Record<string, string | null>;
  /** The cells that differ. Of an inserted row: all cells that were sent, without those of the key. */
  cells: ChangedCell[];
}

/** The values are PostgreSQL's texts, cut as values of problems are. */
export interface ChangedCell {
  column: string;
  /** undefined: the row is new, or the role may not read the column. */
  old?: string | null;
  /** undefined: the row is missing or was deleted. */
  new?: string | null;
}
