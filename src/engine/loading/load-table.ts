/**
 * Runs the whole load in one transaction: read the input, infer types if needed, encode, COPY, add constraints, describe, commit.
 */
import type { ClientBase } from 'pg';
import { withSecondReading } from '../../core/cells/row-source.ts';
import type { Warning } from '../../core/errors.ts';
import { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import type { TypeInference } from '../../encoding/infer/infer-types.ts';
import { Problems } from '../../encoding/problems/problems.ts';
import type { Widening } from '../../encoding/widening/misfits.ts';
import { inTransaction, type TransactionEdges } from '../../postgres/transaction.ts';
import { suggestTables } from '../tables/describe-table.ts';
import { warnOfDottedName } from '../tables/dotted-name.ts';
import { readSchemaVersion } from '../tables/loading/schema-version.ts';
import { endLoad, type LoadedUpload } from './end-load.ts';
import type { LoadInput } from './inputs/load-input.ts';
import { nothingToLoad } from './inputs/nothing-to-load.ts';
import { findNotations, readNaturally } from './inputs/read-naturally.ts';
import type { KnownTables } from './known/known-tables.ts';
import { isSmallAppend, knownTable, loadKnown } from './load-known.ts';
import { loadRows } from './load-rows.ts';
import { receivedRows } from './loaded-rows.ts';
import { loadInOnePass, type Outcome, type TableTypes, usualHead } from './one-pass/one-pass.ts';
import { originNames } from './provenance/provenance.ts';
import { LoadProgress } from './request/load-progress.ts';
import {
  addsRows,
  changesMissingRows,
  type LoadContext,
  type LoadPhase,
  type LoadRequest,
  type LoadResult,
  type WidenedColumn,
} from './request/load-request.ts';
import { rowOptions } from './row-options.ts';
import { expectedBeforeInference, expectedOf } from './target/expected-columns.ts';
import { inferWhereNeeded } from './target/infer-definition.ts';
import type { LoadTarget } from './target/load-target.ts';
import {
  findTable,
  openTarget,
  refuseDisagreement,
  refuseEarlyDisagreement,
  type TargetOptions,
} from './target/open-target.ts';
import { type WideningStep, widenWhereNeeded } from './widening/widen-where-needed.ts';

/**
 * Loads an upload: all its rows and the table, or nothing.
 *
 * @throws AppError `invalid-data` with every problem, `invalid-definition`, `table-exists`, `nothing-to-load`, … ;
 *   PostgreSQL's errors; the signal's reason
 */
export async function loadTable(
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  tables: KnownTables,
): Promise<LoadResult> {
  const { signal, ifExists, extraColumns, dryRun: rollback } = request;
  const known = isSmallAppend(request) ? await knownTable(tables, context, request, input) : undefined;
  if (known !== undefined) {
    await input.open();
    const result = await timed(context, 'copy', () => loadKnown(context, request, input, known));
    if (result !== undefined) return result;
  }
  const exists = await findTable(context, request);
  if (known === undefined) await input.open();
  const mayBeNew = !exists || !addsRows(request);
  let isLate = false;
  const onLateCommit = (): void => {
    isLate = true;
  };
  const load = async (from: LoadInput, types: TableTypes, widening?: WideningStep): Promise<LoadResult> => {
    const result = await inTransaction(
      context.pool,
      { ...context.transaction, rollback, onLateCommit },
      (client, edges) =>
        loadWithin(client, edges, { context, request, input: from, mayBeNew, widening }, types),
      readSchemaVersion(request.schema),
    );
    return isLate ? asLate(result) : result;
  };
  const isAllInferred = mayBeNew && input.definition === undefined && (!exists || extraColumns !== 'add');
  const { limits, headSize = usualHead } = context;
  const outcome: Outcome<LoadResult> = isAllInferred
    ? await loadInOnePass(input, { headSize, limits, choices: request.types, signal }, load)
    : { inferred: undefined };
  if ('result' in outcome) return outcome.result;
  if (ifExists === 'truncate' && exists && extraColumns !== 'add' && request.provenance === undefined)
    await refuseEarlyDisagreement({ context, request, input, mayBeNew });
  if (input.expectColumns && (extraColumns === 'add' || (request.types.isNatural && !isAllInferred)))
    input.expectColumns(await expectedBeforeInference(context, request, input, exists));
  const infer = () => inferWhereNeeded(context, request, input, mayBeNew);
  const inferred = outcome.inferred ?? (await timed(context, 'inference', infer));
  // The table is then locked until the transaction ends. So the whole upload is received first, because a client may be slow.
  if ((ifExists === 'truncate' || changesMissingRows(request)) && !inferred) await input.keep(signal);
  const read = await inNotations(request, input, inferred, !exists || !addsRows(request));
  const reload = (step: WideningStep) => withSecondReading(() => load(read, { inferred }, step));
  return exists && request.misfits !== 'fail' ? widenWhereNeeded(reload) : reload(undefined);
}

/**
 * Returns the input with each column read in its notation (`values=natural`). If the types come from a definition or an existing
 * table, the rows are read once more to find the notations.
 */
export async function inNotations(
  { types, signal }: LoadRequest,
  input: LoadInput,
  inferred: TypeInference | undefined,
  mayBeNew: boolean,
): Promise<LoadInput> {
  if (!types.isNatural) return input;
  const isAllInferred = mayBeNew && input.definition === undefined;
  if (isAllInferred && inferred !== undefined) return readNaturally(input, inferred, types);
  return withSecondReading(() => findNotations(input, types, signal));
}

/** Returns the result of a load that a worker of Citus has not confirmed (`onLateCommit`). */
export function asLate(result: LoadResult): LoadResult {
  return { ...result, warnings: [...result.warnings, recoveryPending], isLate: true };
}

const recoveryPending: Warning = {
  code: 'recovery-pending',
  detail:
    'The load is committed, but a server of the database cluster has not confirmed it. Its rows appear when the cluster has recovered the transaction, usually within a minute.',
};

/** Loads the rows within a transaction, and ends it. */
async function loadWithin(
  client: ClientBase,
  edges: TransactionEdges,
  upload: TargetOptions,
  types: TableTypes,
): Promise<LoadResult> {
  return endLoad(client, edges, upload.context, await fillTable(client, upload, types));
}

/** Makes or opens the table within a transaction, and loads the rows. */
export async function fillTable(
  client: ClientBase,
  upload: TargetOptions,
  types: TableTypes,
): Promise<LoadedUpload> {
  const { context, request, input } = upload;
  request.collector?.clear();
  const problems = new Problems(request.collector);
  const progress = new LoadProgress(problems, context.observer);
  const target = await openTarget(client, upload, types.inferred);
  // If the types may still change (one pass), the columns of the target are only those of the first rows, so the input is not told about them.
  if (types.changing === undefined) input.expectColumns?.(expectedOf(target.columns));
  if (!target.isNew) context.observer?.opened(target.oid);
  if (context.observer) {
    context.observer.columns = target.columns;
    context.observer.notationOf = input.notationOf;
  }
  const filled = originNames(request.provenance);
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, request.extraColumns, filled);
  const options = rowOptions(upload, target, matcher, progress, types);
  // A table that was widened has been compared before.
  const widenings = Array.isArray(upload.widening) ? upload.widening : [];
  const isCompared = input.definition !== undefined || target.isNew || widenings.length > 0;
  if (!target.isNew && widenings.length === 0) await refuseDisagreement(client, upload);

  const copy = () => loadRows(client, input, target, options, problems);
  const loaded = await timed(context, 'copy', copy);
  // The definition came after the rows, so it is compared only now. Its difference from the table is often the cause of the problems.
  if (!isCompared) await refuseDisagreement(client, upload);
  if (loaded.leftOut === undefined) problems.throwIfAny();
  if (target.isNew) await target.continueNumbering(client, loaded.places);

  const received = receivedRows(loaded);
  const hasDefinition = input.definition !== undefined && input.isDefinitionOfProfile !== true;
  if (received === 0 && !hasDefinition) requireRowList(request, input, target, matcher);
  if (received > 0) matcher.refuseExtraColumns();
  const ofName = target.isNew ? await warnOfNewName(client, request) : [];
  if ((loaded.leftOut ?? 0) > 0) await request.keepFaultyRows?.(input);
  // In a load in one pass, the inference has seen all rows only now.
  const { inferred } = types;
  const widened = widenings.map(widenedColumn);
  return { request, input, inferred, target, matcher, loaded, problems, ofName, widened };
}

function widenedColumn({ column, to }: Widening): WidenedColumn {
  return { column: column.name, from: column.type.name, to: to.name };
}

/**
 * Refuses an upload without rows, unless it appends an empty list of rows to an existing table that has all of its columns, as a job does
 * whose export is empty today. Nothing can be lost then.
 *
 * @throws AppError `nothing-to-load`, `invalid-data`
 */
function requireRowList(
  { ifExists }: LoadRequest,
  input: LoadInput,
  target: LoadTarget,
  matcher: ColumnMatcher,
): void {
  const isAppended = ifExists === 'append' && !target.isNew && target.added.length === 0;
  if (!isAppended || !input.hasRowList) throw nothingToLoad(input);
  matcher.refuseExtraColumns();
}

/** Warns of the name of a new table, because the name of an existing table may have been misspelled. */
async function warnOfNewName(client: ClientBase, request: LoadRequest): Promise<Warning[]> {
  const { schema, name, admitSchema } = request;
  const dotted = await warnOfDottedName(client, schema, name, admitSchema);
  if (!addsRows(request)) return dotted;
  const hint = dotted.length > 0 ? '' : await suggestTables(client, schema, name);
  const detail = `There was no table "${name}" in the schema "${schema}"; it was created.${hint}`;
  return [{ code: 'table-created', detail }, ...dotted];
}

/** Does the work of a phase and reports its duration. Nothing is reported if there was nothing to do. */
async function timed<Result>(
  { onPhase }: LoadContext,
  phase: LoadPhase,
  work: () => Promise<Result>,
): Promise<Result> {
  const since = performance.now();
  let isDone = true;
  try {
    const result = await work();
    isDone = result !== undefined;
    return result;
  } finally {
    if (isDone) onPhase?.(phase, (performance.now() - since) / 1000);
  }
}
