/**
 * Runs the whole load in one transaction: read the input, infer types if needed, encode, COPY, add constraints, describe, commit.
 */
import type { ClientBase } from 'pg';
import { AppError, wrongParameter } from '../errors.ts';
import { inTransaction, type TransactionEdges } from '../postgres/transaction.ts';
import { withSecondReading } from '../sources/row-source.ts';
import { compareWithExisting } from '../tables/compare-definition.ts';
import { tableExists, uploadRemedies } from '../tables/create-table.ts';
import { describeTable, isTable } from '../tables/describe-table.ts';
import { warnOfDottedName } from '../tables/dotted-name.ts';
import { findLoadTarget } from '../tables/find-load-target.ts';
import { prepareTable } from '../tables/prepare-table.ts';
import { refuseDependents } from '../tables/replace-table.ts';
import { ColumnMatcher } from './column-matching.ts';
import { conflictOption, sameNames } from './conflict-option.ts';
import { openExistingTable } from './existing-table.ts';
import {
  asKeyProblem,
  beginInference,
  columnsBeside,
  definitionToMake,
  endInference,
  inferredColumnWarnings,
  inferWhereNeeded,
} from './infer-definition.ts';
import type { TypeInference } from './infer-types.ts';
import { FaultyRows } from './left-out/faulty-rows.ts';
import type { LoadInput } from './load-input.ts';
import {
  addsRows,
  type LeftOut,
  type LoadContext,
  type LoadRequest,
  type LoadResult,
  neededRights,
} from './load-request.ts';
import { loadRows } from './load-rows.ts';
import type { LoadTarget } from './load-target.ts';
import {
  createdTable,
  ignoredColumns,
  noRows,
  ownNumbers,
  rowsLeftOut,
  suppressedRows,
} from './load-warnings.ts';
import { openNewTable } from './new-table.ts';
import { nothingToLoad } from './nothing-to-load.ts';
import { loadInOnePass, type OnePassOptions, type Outcome, usualHead } from './one-pass/one-pass.ts';
import { Problems } from './problems.ts';

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
  const exists = await findTable(context, request);
  if (!exists) request.requireCreation();
  await input.open();
  const mayBeNew = !exists || !addsRows(request);
  const options = { ...context.transaction, rollback: request.dryRun };
  const load = (from: LoadInput, inferred: () => TypeInference | undefined) =>
    inTransaction(context.pool, options, (client, edges) =>
      loadWithin(client, { context, request, input: from, inferred, mayBeNew }, edges),
    );
  const isAllInferred =
    mayBeNew && input.definition === undefined && (!exists || request.extraColumns !== 'add');
  const outcome: Outcome<LoadResult> = isAllInferred
    ? await loadInOnePass(input, onePassOptions(context, request, input), load)
    : { inferred: undefined };
  if ('result' in outcome) return outcome.result;
  const inferred = outcome.inferred ?? (await inferWhereNeeded(context, request, input, mayBeNew));
  // An emptied table is locked until the end. So the whole upload is received first, because a client may be slow.
  if (request.ifExists === 'truncate' && !inferred) await input.keep(request.signal);
  return withSecondReading(() => load(input, () => inferred));
}

function onePassOptions(context: LoadContext, request: LoadRequest, input: LoadInput): OnePassOptions {
  return {
    headSize: context.headSize ?? usualHead,
    signal: request.signal,
    beginInference: () => beginInference(context, input),
    endInference: (inferring) => endInference(inferring, input, true),
  };
}

interface Upload {
  context: LoadContext;
  request: LoadRequest;
  input: LoadInput;
  /** Returns the inferred types. Before the rows are loaded these may be the types of the first rows. */
  inferred: () => TypeInference | undefined;
  /** A table may be created. */
  mayBeNew: boolean;
}

async function loadWithin(client: ClientBase, upload: Upload, edges: TransactionEdges): Promise<LoadResult> {
  const { context, request, input } = upload;
  const { schema, name } = request;
  request.collector?.clear();
  const problems = new Problems(request.collector);
  const target = await openTarget(client, upload);
  requirePrimaryKey(request, target);
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, request.extraColumns);
  const loaded = await loadRows(client, input, target, rowOptions(upload, target, matcher), problems);
  await target.finish(client, loaded, problems);
  if (loaded.leftOut === undefined) problems.throwIfAny();
  if (!target.isBare) await refuseDisagreement(client, upload);

  const { inserted: rows, skipped, updated, suppressed, conflictKey } = loaded;
  const received = rows + skipped + updated + suppressed;
  if (received === 0 && input.definition === undefined) throw nothingToLoad(input);
  if (received > 0) matcher.refuseExtraColumns();
  const dotted = target.isBare ? await warnOfDottedName(client, schema, name, request.admitSchema) : [];
  const ended = await target.end(client, edges.endAtOnce);
  return {
    isNew: target.isBare,
    table: ended?.table ?? (await describeTable(client, schema, name, context.extraFunctions)),
    rows,
    skipped,
    updated,
    ...(conflictKey && { conflictKey }),
    ...(loaded.leftOut !== undefined && { leftOut: leftOutRows(loaded.leftOut, problems) }),
    warnings: [
      ...input.warnings,
      ...(target.isBare && addsRows(request) ? [createdTable(schema, name)] : []),
      ...dotted,
      ...target.warnings,
      ...(received === 0 ? noRows(input) : []),
      ...ignoredColumns(matcher),
      ...inferredColumnWarnings(upload.inferred(), input, target),
      ...suppressedRows(suppressed),
      ...rowsLeftOut(loaded.leftOut ?? 0),
      ...ownNumbers(target, matcher),
      ...loaded.warnings,
      ...(ended?.warnings ?? []),
    ],
  };
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

async function openTarget(client: ClientBase, upload: Upload): Promise<LoadTarget> {
  const { context, request, input, mayBeNew } = upload;
  const inferred = upload.inferred();
  const { extraFunctions, transaction } = context;
  const { schema, name, admitSchema, signal, ifExists } = request;
  const options = { schema, name, admitSchema, extraFunctions };
  const prepared = mayBeNew
    ? await prepareTable(client, { ...options, table: definitionToMake(request, input, inferred) }).catch(
        (error: unknown) => {
          throw request.primaryKey === undefined ? error : asKeyProblem(error);
        },
      )
    : undefined;
  // Another session may have created the table meanwhile: `append` and `truncate` then use it.
  if (prepared === undefined || (addsRows(request) && isTable(prepared.existing?.kind ?? ''))) {
    const truncate = ifExists === 'truncate';
    const addColumns = inferred && ((known: string[]) => columnsBeside(known, inferred.columns(), input));
    return openExistingTable(client, { schema, name, truncate, addColumns });
  }
  // Another session may have dropped the table that was to be replaced.
  if (prepared.existing === undefined) request.requireCreation();
  const mayReplace = ifExists === 'replace';
  const lockTimeoutMs = transaction.lockTimeoutMs ?? 0;
  return openNewTable(client, prepared, { mayReplace, lockTimeoutMs, signal, extraFunctions });
}

/**
 * Refuses the upload if the existing table has another primary key than the request names.
 *
 * @throws AppError `invalid-parameter`
 */
function requirePrimaryKey({ primaryKey }: LoadRequest, target: LoadTarget): void {
  if (primaryKey === undefined || target.isBare) return;
  if (target.primaryKey !== undefined && sameNames(target.primaryKey, primaryKey)) return;
  const has = target.primaryKey ? `the primary key (${target.primaryKey.join(', ')})` : 'no primary key';
  throw wrongParameter('primary_key', `The existing table has ${has}.`);
}

function rowOptions({ context, request, input }: Upload, target: LoadTarget, matcher: ColumnMatcher) {
  const hasDefinition = input.definition !== undefined;
  return {
    matcher,
    conflict: conflictOption(request, target, hasDefinition),
    maxRows: context.limits.maxRows,
    maxRowBytes: context.limits.maxRowBytes,
    writtenLimits: context.limits,
    typesAreInferred: target.isBare && !hasDefinition,
    faulty: request.maxFaultyRows === undefined ? undefined : new FaultyRows(request.maxFaultyRows),
    statementTimeoutMs: context.transaction.statementTimeoutMs ?? 0,
    signal: request.signal,
  };
}

function leftOutRows(rows: number, problems: Problems): LeftOut {
  return { rows, problems: problems.listed(), problemCount: problems.count, groups: problems.groups() };
}

const maxListed = 100;

/**
 * Refuses a definition that was sent with the rows and differs from the existing table.
 *
 * @throws AppError `invalid-definition`
 */
async function refuseDisagreement(client: ClientBase, { context, request, input }: Upload): Promise<void> {
  if (input.definition === undefined) return;
  const { schema, name, admitSchema } = request;
  const { extraFunctions } = context;
  const table = input.definition;
  const isPartial = request.extraColumns === 'add';
  const options = { schema, name, table, admitSchema, extraFunctions };
  const errors = await compareWithExisting(client, options, isPartial);
  if (errors.length === 0) return;
  throw new AppError('invalid-definition', 'The definition does not agree with the existing table.', {
    errors: errors.slice(0, maxListed),
    errorCount: errors.length,
  });
}
