import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { CellPlaces } from '../../../encoding/problems/cell-places.ts';
import type { ComputedBytes } from './computed-bytes.ts';
import type { ConflictRule } from './conflict-rule.ts';
import type { Shapes } from './shapes.ts';

/** The rows in the staging table, and the table into which they will be moved. */
export interface StagedLoad {
  /** The target table, quoted. */
  relation: string;
  /** The target table as a query reads its own rows: with ONLY, unless it is partitioned. */
  stored: string;
  /** The columns with the types that the staging table has (`stagedColumns`). */
  columns: LoadColumn[];
  /** The table is new and has no keys yet, so no row can conflict with another one while it is moved. */
  isBare: boolean;
  /** The table has triggers that may change rows before they are stored. */
  changesRows: boolean;
  /** The table has triggers that may prevent the update of a row. */
  mayPreventUpdates: boolean;
  /** The table has rules (CREATE RULE) that may do something else than insert a row. */
  hasRules: boolean;
  /** Citus stores the table at its workers. */
  isSharded: boolean;
  /** Copies the rows of a new table into the staging table, which is a view of these rows until then; undefined: the staging table has the rows already. */
  fill?: () => Promise<void>;
  /** The quoted name of a table from which the rows are moved; undefined: the staging table. */
  source?: string;
  /** See `computed-bytes.ts`. */
  mostAdded: number;
  /** What is measured while the rows are moved; undefined: the values of generated columns are short, or cannot be measured. */
  computed?: ComputedBytes | undefined;
  shapes: Shapes;
  conflict: ConflictRule | undefined;
  /** The columns that decide whether a row with an existing key is changed; undefined: rows are not compared, and all of them count as changed. */
  compared: LoadColumn[] | undefined;
  /** Called in each attempt when the unchanged rows are known, before the others are moved. */
  beforeMove?: () => Promise<void>;
  places: CellPlaces;
}
