import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { ConflictRule } from './conflict-rule.ts';
import type { Shapes } from './shapes.ts';

/** The rows in the staging table, and the table into which they will be moved. */
export interface StagedLoad {
  /** The target table, quoted. */
  relation: string;
  /** See `stagedColumns`. */
  columns: LoadColumn[];
  /** The table is new and has no keys yet, so no row can conflict with another one while it is moved. */
  isBare: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  /** Citus stores the table at its workers. */
  isSharded: boolean;
  /** Moves the rows of a new table into the staging table, which is a view of them until then; undefined: it has its rows. */
  fill?: () => Promise<void>;
  /** The quoted name of the table with the rows that are moved; undefined: the staging table. */
  source?: string;
  shapes: Shapes;
  conflict: ConflictRule | undefined;
  places: CellPlaces;
}
