/** Collects what the load of rows needs from the request, the limits and the table. */

import type { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import type { WrittenLimits } from '../../encoding/encoders/written-bytes.ts';
import { Misfits } from '../../encoding/widening/misfits.ts';
import { FaultyRows } from './judging/faulty-rows.ts';
import { missingOption } from './missing/missing-option.ts';
import type { ChangingTypes, TableTypes } from './one-pass/one-pass.ts';
import type { Provenance } from './provenance/provenance.ts';
import type { LoadProgress } from './request/load-progress.ts';
import type { LoadContext, MissingRows } from './request/load-request.ts';
import type { ConflictOption } from './staged/conflict-rule.ts';
import { conflictOption } from './target/conflict-option.ts';
import type { LoadTarget } from './target/load-target.ts';
import type { TargetOptions } from './target/open-target.ts';

/**
 * The shortest body whose rows are copied into a new table with FREEZE. For a shorter one FREEZE costs more than it saves, because
 * the table must be truncated first, which makes new files for it.
 */
const minFrozenBytes = 1024 * 1024;

export interface RowOptions {
  matcher: ColumnMatcher;
  conflict: ConflictOption | undefined;
  /** See `LoadRequest.provenance`. */
  provenance: Provenance | undefined;
  maxRows: number;
  maxRowBytes: number;
  writtenLimits: WrittenLimits;
  /** The types of the columns were inferred, not chosen by the caller. */
  typesAreInferred: boolean;
  /** undefined: the types of the columns cannot change while the rows are read. */
  changingTypes: ChangingTypes | undefined;
  /** The rows are copied with FREEZE. See `CopySessionOptions`. */
  freezes: boolean;
  /** The timeout of each statement except COPY, because COPY takes as long as the client takes to send. */
  statementTimeoutMs: number;
  /** The rows are stored while they are read, so that those with problems can be kept. */
  keepsRows: boolean;
  /** Counts the rows with problems, which may be left out; undefined: no row may be left out. */
  faulty: FaultyRows | undefined;
  /** What happens to rows of the table that the upload does not have; undefined: they are neither counted nor changed. */
  missing: MissingRows | undefined;
  /** Looks for wider types for values that do not fit; undefined: such values are only problems. */
  misfits: Misfits | undefined;
  /** See `EncodingOptions`. */
  mayWiden: boolean;
  /** See `LoadContext`. */
  enterLongRow: LoadContext['enterLongRow'];
  signal: AbortSignal;
  progress: LoadProgress;
}

/** @throws AppError `invalid-parameter` if the table has no key for `on_conflict` */
export function rowOptions(
  { context, request, input, widening }: TargetOptions,
  target: LoadTarget,
  matcher: ColumnMatcher,
  progress: LoadProgress,
  { changing: changingTypes }: TableTypes,
): RowOptions {
  const hasDefinition = input.definition !== undefined;
  return {
    matcher,
    conflict: conflictOption(request, target, hasDefinition),
    provenance: request.provenance,
    maxRows: context.limits.maxRows,
    maxRowBytes: context.limits.maxRowBytes,
    writtenLimits: context.limits,
    typesAreInferred: target.isNew && !hasDefinition,
    changingTypes,
    freezes: target.isNew && (request.bytes ?? Number.POSITIVE_INFINITY) >= minFrozenBytes,
    keepsRows: request.dryRun,
    faulty: request.maxFaultyRows === undefined ? undefined : new FaultyRows(request.maxFaultyRows),
    missing: missingOption(request, target),
    misfits: widening === 'seek' && !target.isNew ? new Misfits(request.misfits === 'widen_text') : undefined,
    mayWiden: request.misfits === 'fail' && !target.isNew,
    statementTimeoutMs: context.transaction.statementTimeoutMs ?? 0,
    enterLongRow: context.enterLongRow,
    signal: request.signal,
    progress,
  };
}
