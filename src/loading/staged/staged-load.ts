import type { LocateCell } from '../../sources/cell-sink.ts';
import type { LoadColumn } from '../../tables/load-column.ts';
import type { ConflictRule } from './conflict-rule.ts';
import type { Shapes } from './shapes.ts';

/** Rows in the staging table, and the table that they are for. */
export interface StagedLoad {
  /** Quoted; the table that the rows are moved into. */
  relation: string;
  /** See `stagedColumns`. */
  columns: LoadColumn[];
  /** The table is empty, and its keys come after the rows. */
  isBare: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  shapes: Shapes;
  conflict: ConflictRule | undefined;
  places: CellPlaces;
}

/** How a problem's place is found from the number of a data row. */
export interface CellPlaces {
  locate: LocateCell;
  /** The data's column that goes into the table's column; -1: none. */
  sourceColumn: (name: string) => number;
}
