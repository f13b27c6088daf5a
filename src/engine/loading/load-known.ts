/**
 * Appends a small upload to a table that the service knows (`known/`), in two round trips. The rows are encoded first. Then one
 * message begins a transaction, locks the table, proves that it has not changed and copies the rows. A second message commits.
 *
 * If anything is not simple, the upload is loaded by `loadTable`, which reads all facts anew and finds every problem: if a row has
 * a problem, if PostgreSQL refuses a row, or if the table has changed.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../core/errors.ts';
import { ColumnMatcher } from '../../encoding/columns/column-matching.ts';
import { Problems } from '../../encoding/problems/problems.ts';
import type { EncodingSink } from '../../encoding/sink/encoding-sink.ts';
import type { FirstCopy } from '../../postgres/begin-transaction.ts';
import { copyAtOnce } from '../../postgres/copy.ts';
import { isOtherKindOfObject, isUndefinedTable } from '../../postgres/named-objects.ts';
import { executePrepared, toQuery } from '../../postgres/own-session.ts';
import { wasRefused } from '../../postgres/refuse-unless.ts';
import { inCallersPath } from '../../postgres/search-path.ts';
import type { Statement } from '../../postgres/sql.ts';
import { conditionOf, isFailureOfExpression, isLackOfPrivilege } from '../../postgres/sqlstate.ts';
import { inTransaction, noteKeptBytes, type TransactionEdges } from '../../postgres/transaction.ts';
import { copyInto, copyRowByRow, lockTable } from '../tables/loading/load-statements.ts';
import { proveSchema } from '../tables/loading/schema-version.ts';
import { proveIndexes, proveTable } from '../tables/loading/table-proof.ts';
import { readInto, rowsOf, sinkOf } from './copying/copy-rows.ts';
import { EncodedRows } from './copying/encoded-rows.ts';
import { isStoredRowByRow, mostUnmeasuredRows } from './copying/long-expressions.ts';
import { resultOf } from './end-load.ts';
import type { LoadInput } from './inputs/load-input.ts';
import type { KnownTable, KnownTables } from './known/known-tables.ts';
import { learnTable } from './known/learn-table.ts';
import { straightRows } from './loaded-rows.ts';
import { LoadProgress } from './request/load-progress.ts';
import type { LoadContext, LoadRequest, LoadResult } from './request/load-request.ts';
import { rowOptions } from './row-options.ts';
import { checkConstraintsNow } from './staged/merge-statements.ts';
import { expectedOf } from './target/expected-columns.ts';
import type { TargetOptions } from './target/open-target.ts';

/** The maximum length of the body of a small upload in bytes, as it is sent. */
export const maxSmallBytes = 128 * 1024;

/** Returns whether an upload only appends few rows to a table, all of them or none. */
export function isSmallAppend(request: LoadRequest): boolean {
  const { ifExists, extraColumns, onConflict, maxFaultyRows, primaryKey, dryRun, bytes, types } = request;
  // With `values=natural`, all rows must be read before the notations of the columns are known.
  if (types.isNatural || request.provenance !== undefined) return false;
  if (ifExists !== 'append' || extraColumns === 'add' || onConflict !== 'fail') return false;
  if (maxFaultyRows !== undefined || primaryKey !== undefined || dryRun) return false;
  return bytes !== undefined && bytes <= maxSmallBytes;
}

/** Returns the table of a small upload; undefined: the table does not exist, or the upload must be loaded by `loadTable`. */
export async function knownTable(
  tables: KnownTables,
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
): Promise<KnownTable | undefined> {
  const isSheet = input.nameMatching === 'loose';
  // No name contains NUL.
  const key = [context.transaction.role ?? '', request.schema, request.name, isSheet].join('\0');
  let known = tables.get(key);
  if (known === undefined) {
    known = await learnTable(context, request, isSheet);
    if (known !== undefined) tables.set(key, known === 'unsuitable' ? undefined : known);
  }
  if (known === undefined || known === 'unsuitable') return undefined;
  return request.misfits === 'fail' || known.isOwned ? known : undefined;
}

/**
 * Loads the opened input. The input keeps its rows, so that `loadTable` can read them again.
 *
 * @returns undefined: nothing was changed, and the upload must be loaded by `loadTable`
 * @throws what the input throws; PostgreSQL's errors that are not about the rows or the table; the signal's reason
 */
export async function loadKnown(
  context: LoadContext,
  request: LoadRequest,
  input: LoadInput,
  known: KnownTable,
): Promise<LoadResult | undefined> {
  if (input.definition !== undefined) return undefined;
  const { target, targets } = known;
  const problems = new Problems();
  const matcher = new ColumnMatcher(target.columns, input.nameMatching, request.extraColumns);
  const progress = new LoadProgress(problems, context.observer);
  const widening = request.misfits === 'fail' ? undefined : 'seek';
  const upload: TargetOptions = { context, request, input, mayBeNew: false, widening };
  const options = rowOptions(upload, target, matcher, progress, { inferred: undefined });
  input.expectColumns?.(expectedOf(target.columns));
  const rows = new EncodedRows(mostUnmeasuredRows(target.columns));
  const sink = sinkOf(input, { ...options, mayUpdate: false }, { targets, output: rows, problems });
  progress.pass = sink;
  await encode(known, sink, request, input, problems);
  // A definition that comes after the rows must be compared with the table, which only `loadTable` does.
  if (input.definition !== undefined || problems.count > 0) return undefined;
  if (options.misfits?.areAny) return undefined;
  if (rows.columns === undefined || rows.needsUsualWay || hasExtraColumns(matcher)) return undefined;
  const loaded = straightRows({ ...rowsOf(input, sink), taken: sink.loaded, hasSeveralLists: false });
  const facts = { request, input, target, matcher, loaded, problems };
  const ended = { ...facts, inferred: undefined, widened: [], ofName: [] };
  const result = resultOf(ended, known, (await context.lateWarnings?.()) ?? []);
  const names = rows.columns.map((column) => target.columns[column]!.name);
  const lock = lockTable(target.relation, 'ROW EXCLUSIVE');
  const proof = proveTable(target.relation, known.fingerprint);
  const isRowByRow = isStoredRowByRow(target.columns);
  const copyRows = copyInto(target.relation, names);
  const copy = [
    inCallersPath(isRowByRow ? copyRowByRow(copyRows) : copyRows, checkConstraintsNow),
    ...(known.runsNoCode ? [proveIndexes(known.oid)] : []),
    proveSchema(request.schema, known.schemaVersion),
  ].join(';\n');
  const first = (client: ClientBase): Statement | FirstCopy => {
    const proved = context.transaction.lockTimeoutMs ? executePrepared(client, proof) : undefined;
    if (proved === undefined) return { text: lock };
    return { text: [lock, proved, copy].join(';\n'), rows: rows.toCopyData() };
  };
  const work = async (client: ClientBase, { copied }: TransactionEdges): Promise<LoadResult> => {
    if (copied === undefined) await client.query(toQuery(client, proof));
    const taken = copied ?? (await copyAtOnce(client, copy, rows.toCopyData()).answered);
    noteKeptBytes(client, sink.keptBytes + known.keptBytes);
    if (taken !== sink.loaded) throw new Error(`PostgreSQL stored ${taken} of ${sink.loaded} rows`);
    context.observer?.committing(result);
    return result;
  };
  try {
    const { runsNoCode } = known;
    return await inTransaction(context.pool, { ...context.transaction, runsNoCode }, work, first);
  } catch (error) {
    if (!needsUsualWay(error)) throw error;
    known.isStale ||= wasRefused(error, 'the table has changed');
    context.transaction.onCommitRefused?.();
    return undefined;
  }
}

async function encode(
  known: KnownTable,
  sink: EncodingSink,
  { signal }: LoadRequest,
  input: LoadInput,
  problems: Problems,
): Promise<void> {
  try {
    await readInto(sink, input, true, signal, problems);
  } catch (error) {
    // The limit may be that of an older table with this name. Rows that were read in part cannot be read again, but the next upload learns the table anew.
    known.isStale ||= error instanceof AppError;
    throw error;
  } finally {
    sink.close();
  }
}

/** Returns whether the error may be about the rows or about a change of the table. The upload is then loaded by `loadTable`, which finds the cause. */
function needsUsualWay(error: unknown): boolean {
  if (wasRefused(error, 'the load has ended or is cancelled')) return false;
  if (wasRefused(error, 'another request has the idempotency key')) return false;
  return (
    // In `loadTable` no statement timeout applies to a COPY.
    conditionOf(error) === 'query_canceled' ||
    isFailureOfExpression(error) ||
    isLackOfPrivilege(error) ||
    isUndefinedTable(error) ||
    isOtherKindOfObject(error)
  );
}

function hasExtraColumns(matcher: ColumnMatcher): boolean {
  try {
    matcher.refuseExtraColumns();
    return false;
  } catch (error) {
    if (error instanceof AppError) return true;
    throw error;
  }
}
