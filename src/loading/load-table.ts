/**
 * Runs the whole load in one transaction: read the input, infer types if needed, encode, COPY, add constraints, describe, commit.
 */
import type { ClientBase } from 'pg';
import { inTransaction, type TransactionEdges } from '../postgres/transaction.ts';
import { withSecondReading } from '../sources/row-source.ts';
import { tableExists, uploadRemedies } from '../tables/create-table.ts';
import { describeTable } from '../tables/describe-table.ts';
import { warnOfDottedName } from '../tables/dotted-name.ts';
import { findLoadTarget } from '../tables/find-load-target.ts';
import { refuseDependents } from '../tables/replace-table.ts';
import { ColumnMatcher } from './column-matching.ts';
import { inferWhereNeeded } from './infer-definition.ts';
import type { LoadInput } from './load-input.ts';
import {
  addsRows,
  type LeftOut,
  type LoadContext,
  type LoadPhase,
  type LoadRequest,
  type LoadResult,
  neededRights,
} from './load-request.ts';
import { loadRows } from './load-rows.ts';
import type { EndedLoad, LoadTarget } from './load-target.ts';
import { loadWarnings } from './load-warnings.ts';
import { receivedRows } from './loaded-rows.ts';
import { nothingToLoad } from './nothing-to-load.ts';
import { loadInOnePass, type Outcome, type TableTypes, usualHead } from './one-pass/one-pass.ts';
import { openTarget, refuseDisagreement, type TargetOptions } from './open-target.ts';
import { Problems } from './problems.ts';
import { rowOptions } from './row-options.ts';

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
): Promise<LoadResult> {
  const { signal, ifExists, extraColumns, dryRun: rollback } = request;
  const exists = await findTable(context, request);
  if (!exists) request.requireCreation();
  await input.open();
  const mayBeNew = !exists || !addsRows(request);
  const load = (from: LoadInput, types: TableTypes) =>
    inTransaction(context.pool, { ...context.transaction, rollback }, (client, edges) =>
      loadWithin(client, edges, { context, request, input: from, mayBeNew }, types),
    );
  const isAllInferred = mayBeNew && input.definition === undefined && (!exists || extraColumns !== 'add');
  const { limits, headSize = usualHead } = context;
  const outcome: Outcome<LoadResult> = isAllInferred
    ? await loadInOnePass(input, { headSize, limits, signal }, load)
    : { inferred: undefined };
  if ('result' in outcome) return outcome.result;
  const infer = () => inferWhereNeeded(context, request, input, mayBeNew);
  const inferred = outcome.inferred ?? (await timed(context, 'inference', infer));
  // An emptied table is locked until the end. So the whole upload is received first, because a client may be slow.
  if (ifExists === 'truncate' && !inferred) await input.keep(signal);
  return withSecondReading(() => load(input, { inferred }));
}

/**
 * Returns whether the table exists, before its rows are received.
 *
 * @throws AppError `table-exists`, `permission-denied`, `dependent-objects`
 */
async function findTable({ pool, transaction }: LoadContext, request: LoadRequest): Promise<boolean> {
  const { schema, name, ifExists } = request;
  return inTransaction(pool, { ...transaction, readOnly: true }, async (client) => {
    const exists = await findLoadTarget(client, schema, name, neededRights(request));
    if (exists && ifExists === 'fail') throw tableExists(schema, name, { kind: 'r' }, uploadRemedies);
    // The swap checks this again. The early check gives the answer before the rows are sent.
    if (exists && ifExists === 'replace') await refuseDependents(client, schema, name);
    return exists;
  });
}

async function loadWithin(
  client: ClientBase,
  edges: TransactionEdges,
  upload: TargetOptions,
  types: TableTypes,
): Promise<LoadResult> {
  const { context, request, input } = upload;
  const { schema, name, extraColumns, admitSchema, collector } = request;
  collector?.clear();
  const problems = new Problems(collector);
  const { observer } = context;
  if (observer) observer.problems = () => problems.count;
  const target = await openTarget(client, upload, types.inferred);
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, extraColumns);
  const copy = () => loadRows(client, input, target, rowOptions(upload, target, matcher), problems);
  const loaded = await timed(context, 'copy', copy);
  await target.finish(client, loaded, problems);
  if (loaded.leftOut === undefined) problems.throwIfAny();
  if (!target.isBare) await refuseDisagreement(client, upload);
  const received = receivedRows(loaded);
  if (received === 0 && input.definition === undefined) throw nothingToLoad(input);
  if (received > 0) matcher.refuseExtraColumns();

  const ofName = target.isBare ? await warnOfDottedName(client, schema, name, admitSchema) : [];
  const { inserted: rows, skipped, updated, conflictKey, leftOut } = loaded;
  const { inferred } = types;
  const resultOf = ({ table, warnings: ofEnd }: EndedLoad): LoadResult => ({
    isNew: target.isBare,
    tableChange: tableChangeOf(request, target),
    table,
    rows,
    skipped,
    updated,
    ...(conflictKey && { conflictKey }),
    ...(leftOut !== undefined && { leftOut: leftOutRows(leftOut, problems) }),
    warnings: loadWarnings({ request, input, inferred, target, matcher, loaded, ofName, ofEnd }),
  });
  const committing = (ended: EndedLoad): LoadResult => {
    const result = resultOf(ended);
    observer?.committing(result);
    return result;
  };
  const ended = await target.end(client, edges.endAtOnce, committing);
  if (ended !== undefined) return resultOf(ended);
  const table = await describeTable(client, schema, name, context.extraFunctions);
  return committing({ table, warnings: [] });
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

function tableChangeOf({ ifExists }: LoadRequest, target: LoadTarget): LoadResult['tableChange'] {
  if (target.replaces) return 'replaced';
  if (target.isBare) return 'created';
  return ifExists === 'truncate' ? 'emptied' : undefined;
}

function leftOutRows(rows: number, problems: Problems): LeftOut {
  return { rows, problems: problems.listed(), problemCount: problems.count, groups: problems.groups() };
}
