/** The types of an upload: its request, the resources that it uses, and its result. */

import type { Pool } from 'pg';
import type { Problem, ProblemGroup, Warning } from '../../../core/errors.ts';
import type { ExtraColumns } from '../../../encoding/columns/column-matching.ts';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { WrittenLimits } from '../../../encoding/encoders/written-bytes.ts';
import type { TypeChoices } from '../../../encoding/infer/infer-types.ts';
import type { ProblemCollector } from '../../../encoding/problems/problems.ts';
import type { NotationOf } from '../../../encoding/text-reading/natural/natural-reading.ts';
import type { TransactionOptions } from '../../../postgres/transaction.ts';
import type { TableDescription } from '../../tables/definition.ts';
import type { NeededRights } from '../../tables/loading/find-load-target.ts';
import type { HeadSize, LoadInput } from '../inputs/load-input.ts';
import type { Provenance } from '../provenance/provenance.ts';
import type { RowChange, RowCounts } from './row-change.ts';
import type { RowLimit } from './row-limit.ts';

export type IfExists = 'fail' | 'append' | 'truncate' | 'replace';
export type OnConflict = 'fail' | 'skip' | 'update';
export type OnMisfit = 'fail' | 'widen' | 'widen_text';

/** What happens to rows of the table that the upload does not have (`missing_rows`). */
export interface MissingRows {
  action: 'keep' | 'delete' | 'mark';
  /** The column in which missing rows are marked. */
  column?: string;
  /** The maximum number of missing rows (`max_missing_rows`). A percentage is a share of the rows that are compared (`missing_within`). */
  max: RowLimit;
  /** Only rows whose combination of values in these columns occurs in the upload can be missing (`missing_within`). Empty: all rows can. */
  within: readonly string[];
  /** The caller may see values of the table. */
  areKeysShown: boolean;
}

export interface LoadRequest {
  schema: string;
  name: string;
  ifExists: IfExists;
  /** The upload creates no table: it is refused if the table does not exist (`if_missing=fail`). */
  mustExist?: boolean;
  extraColumns: ExtraColumns;
  /** The columns that say where each row came from; undefined: none. */
  provenance?: Provenance | undefined;
  /** What to do with values that do not fit the types of an existing table. */
  misfits: OnMisfit;
  /** How types are inferred. */
  types: TypeChoices;
  /** What to do with a row if another row already has its key. */
  onConflict: OnConflict;
  /** The columns of the key by which `onConflict` compares rows; undefined: the first key whose columns the data has. */
  conflictKey?: readonly string[] | undefined;
  /** undefined: rows that the upload does not have are kept, and not counted. */
  missing?: MissingRows | undefined;
  /** The columns of the primary key for a table that is created without a definition, or that an existing table must have. */
  primaryKey?: readonly string[] | undefined;
  /** The maximum number of rows with problems that are left out (`faulty_rows=leave_out`); undefined: no row may be left out. */
  maxFaultyRows?: RowLimit | undefined;
  /** Receives all problems. The answer lists only the first of them. */
  collector?: ProblemCollector | undefined;
  /** Keeps the rows with problems before the rows without are committed. */
  keepFaultyRows?: ((input: LoadInput) => Promise<void>) | undefined;
  /** The length of the body as it is sent; undefined: it is not known. */
  bytes?: number | undefined;
  /** The load is done and checked, and then rolled back. */
  dryRun: boolean;
  signal: AbortSignal;
  /** Throws if the caller may not create a table. */
  requireCreation: () => void;
  /** Throws if the caller may not refer to the tables of the schema. */
  admitSchema: (schema: string) => void;
}

/** Observes the progress of a load. The load knows only this interface. */
export interface LoadObserver {
  /** Returns the number of rows read so far. The load sets it, so that it need not report each row. */
  rows: () => number;
  /** Returns the number of problems found so far. The load sets it. */
  problems: () => number;
  /** The columns of the table. The load sets them. */
  columns: readonly LoadColumn[];
  /** The notations that `values=natural` has found. The load sets them. */
  notationOf: NotationOf | undefined;
  /** Called with the oid of an existing table into which rows are loaded. @param part the index of the table, if the load has several */
  opened(oid: number, part?: number): void;
  /** Called with the result before the transaction ends. It may be called again with another result. */
  committing(result: LoadResult): void;
}

/** `inference`: rows are read only to infer their types. `copy`: rows are written, and perhaps their types are inferred meanwhile. */
export type LoadPhase = 'inference' | 'copy';

export interface LoadContext {
  pool: Pool;
  transaction: TransactionOptions;
  /** The functions that a default may call in addition to the built-in functions. */
  extraFunctions: readonly string[];
  limits: { maxColumns: number; maxRows: number; maxRowBytes: number } & WrittenLimits;
  /**
   * Waits for a place for a row that takes much memory, and returns a function that gives the place back; undefined: such rows need none.
   *
   * @throws AppError if the wait is too long; the signal's reason
   */
  enterLongRow?: ((signal: AbortSignal) => Promise<() => void>) | undefined;
  /** How many of the first rows give the types with which a load in one pass begins. Default: `usualHead`. */
  headSize?: HeadSize;
  observer?: LoadObserver | undefined;
  /** Returns warnings that are known only when all rows have been read. It is called for existing tables, perhaps more than once, and never rejects. */
  lateWarnings?: () => Promise<Warning[]>;
  /** Called with the duration of each phase of the load, also of one that failed. */
  onPhase?: (phase: LoadPhase, seconds: number) => void;
  /** Called with the error if the service could not read the facts about the table of a small append. The upload is then loaded by `loadTable`. */
  onUnlearnt?: (error: unknown) => void;
}

export interface LoadResult {
  /** The table was created or replaced. Otherwise rows were added to an existing table. */
  isNew: boolean;
  /** What happened to the table besides new rows. */
  tableChange: 'created' | 'replaced' | 'emptied' | undefined;
  table: TableDescription;
  /** The oid of the table. */
  tableOid: number | undefined;
  counts: RowCounts;
  skipped: number;
  /** The number of rows that met a row of the table or of the same upload: `changed` and `unchanged`. */
  updated: number;
  /** The first differences; undefined: the rows were not compared with those of the table. */
  changes?: RowChange[] | undefined;
  /** The columns of an existing table that got wider types. */
  widened: WidenedColumn[];
  /** See `LoadedRows.conflictKey`. */
  conflictKey?: string[];
  /** undefined: no row may be left out. */
  leftOut?: LeftOut;
  warnings: Warning[];
  /** true: the last warning was found after the COMMIT (`recovery-pending`), so the answer that was stored at the COMMIT does not have it. */
  isLate?: boolean;
}

/** A column with the names of its types before and after the load. */
export interface WidenedColumn {
  column: string;
  from: string;
  to: string;
}

/** The rows that were left out because they have problems. */
export interface LeftOut {
  rows: number;
  /** The first problems. */
  problems: Problem[];
  problemCount: number;
  groups: ProblemGroup[] | undefined;
}

/** Returns whether rows are added to an existing table. The table is then the definition. */
export function addsRows({ ifExists }: LoadRequest): boolean {
  return ifExists === 'append' || ifExists === 'truncate';
}

/** Returns whether the load changes rows of the table that are not in the upload, so that no other session may write to the table meanwhile. */
export function changesMissingRows({ missing }: LoadRequest): boolean {
  return missing !== undefined && missing.action !== 'keep';
}

/** Returns whether the load removes or changes stored rows that it does not have. They may be in partitions in other schemas, which the token must be able to use. */
export function changesOtherRows(request: LoadRequest): boolean {
  return request.ifExists === 'truncate' || changesMissingRows(request);
}

/** Returns the rights that the role needs on an existing table. */
export function neededRights({
  ifExists,
  extraColumns,
  misfits,
  onConflict,
  maxFaultyRows,
  missing,
}: LoadRequest): NeededRights {
  const none = { privileges: [], ownership: undefined, temporary: undefined };
  if (ifExists === 'fail') return none;
  if (ifExists === 'replace') return { ...none, ownership: 'if_exists=replace' };
  return {
    privileges: [
      ...(ifExists === 'truncate' ? ['TRUNCATE'] : []),
      'INSERT',
      // Documentation of INSERT: the columns of the key are read.
      ...(onConflict === 'fail' ? [] : ['SELECT']),
      ...(onConflict === 'update' || missing?.action === 'mark' ? ['UPDATE'] : []),
      ...(missing?.action === 'delete' ? ['DELETE'] : []),
    ],
    ownership: needsOwnership(extraColumns, misfits),
    temporary: needsTemporary(onConflict, maxFaultyRows),
  };
}

/** Returns the parameter that may change the definition of the table. */
function needsOwnership(extraColumns: ExtraColumns, misfits: OnMisfit): string | undefined {
  if (extraColumns === 'add') return 'extra_columns=add';
  return misfits === 'fail' ? undefined : `misfits=${misfits}`;
}

/** Returns the parameter that needs a temporary table. */
function needsTemporary(onConflict: OnConflict, maxFaultyRows: RowLimit | undefined): string | undefined {
  if (onConflict !== 'fail') return `on_conflict=${onConflict}`;
  return maxFaultyRows === undefined ? undefined : 'faulty_rows=leave_out';
}
