/** Ends the transaction of a load whose rows are in the table, and returns the result of the load. */
import type { ClientBase } from 'pg';
import type { Warning } from '../../core/errors.ts';
import { AppError } from '../../core/errors.ts';
import type { Problems } from '../../encoding/problems/problems.ts';
import { wasRefused } from '../../postgres/refuse-unless.ts';
import type { TransactionEdges } from '../../postgres/transaction.ts';
import { hiddenTable } from '../tables/create-table.ts';
import type { TableDescription } from '../tables/definition.ts';
import { describeFound, readTable } from '../tables/describe-table.ts';
import { proveSchema } from '../tables/loading/schema-version.ts';
import { type EndedUpload, loadWarnings } from './load-warnings.ts';
import { numbersTaken } from './numbers-taken.ts';
import type { LeftOut, LoadContext, LoadRequest, LoadResult } from './request/load-request.ts';
import { maxListedChanges } from './request/row-change.ts';
import type { LoadTarget } from './target/load-target.ts';

/** A load that will be committed. */
export interface LoadedUpload extends Omit<EndedUpload, 'ofEnd'> {
  problems: Problems;
}

/**
 * Replaces the existing table, if the upload is to replace it, and commits.
 *
 * @throws AppError `dependent-objects`, `database-busy`, `write-conflict`, `permission-denied`
 */
export async function endLoad(
  client: ClientBase,
  edges: TransactionEdges,
  { observer, extraFunctions, lateWarnings }: LoadContext,
  upload: LoadedUpload,
): Promise<LoadResult> {
  const { request, target } = upload;
  const isExisting = !target.isNew || target.replaces;
  const late = isExisting ? ((await lateWarnings?.()) ?? []) : [];
  if (!target.isNew || !target.replaces) {
    const result = resultOf(upload, await describeLoaded(client, request, extraFunctions), late);
    observer?.committing(result);
    const [found] = edges.begun!.rows as { version: string }[];
    await endUnlessRenamed(edges, new Map([[request.schema, found?.version]]));
    return result;
  }
  const swap = target.swap(client);
  for (;;) {
    const swapped = await swap.plan();
    const result = resultOf(upload, swapped, [...lostObjects(swapped.lost), ...late]);
    observer?.committing(result);
    if (await swap.commit(edges)) return result;
  }
}

/**
 * Ends the transaction.
 *
 * @param versions the versions of the schemas when the load began. There is none if another session created the schema after that
 * @throws AppError `write-conflict` if a schema was renamed since the load began, so that the name may mean another table
 */
export async function endUnlessRenamed(
  edges: TransactionEdges,
  versions: ReadonlyMap<string, string | undefined>,
): Promise<void> {
  try {
    await edges.endWith([...versions].map(([schema, version = '0 0']) => proveSchema(schema, version)));
  } catch (error) {
    if (!wasRefused(error, 'the table has changed')) throw error;
    const schemas = [...versions.keys()].map((schema) => `"${schema}"`).join(', ');
    const detail = `Another session renamed the schema ${schemas}, or changed its owner or its privileges, while the rows were loaded, so nothing was loaded. Send the request again.`;
    throw new AppError('write-conflict', detail, { cause: error });
  }
}

interface DescribedTable {
  description: TableDescription;
  oid: number | undefined;
}

/** Returns the description of a table whose rows are loaded. @throws AppError `permission-denied` */
export async function describeLoaded(
  client: ClientBase,
  { schema, name }: LoadRequest,
  extraFunctions: readonly string[],
): Promise<DescribedTable> {
  const facts = await readTable(client, schema, name);
  // The role has lost its privileges during the load, so it may not see the description of the table.
  if (facts?.maySee === false) throw hiddenTable(schema, name);
  const description = await describeFound(client, schema, name, facts, extraFunctions);
  return { description, oid: facts?.oid };
}

/** @param ofEnd warnings that only the end of the load has found */
export function resultOf(
  upload: LoadedUpload,
  { description: table, oid }: DescribedTable,
  ofEnd: Warning[],
): LoadResult {
  const { request, target, loaded, problems, widened } = upload;
  const isTaking = request.dryRun && !target.isNew;
  const numbers = isTaking ? numbersTaken(table, upload.matcher, loaded) : [];
  const { inserted, skipped, changed, unchanged, conflictKey, leftOut, missing } = loaded;
  return {
    isNew: target.isNew,
    tableChange: tableChangeOf(request, target),
    table,
    tableOid: oid,
    counts: { inserted, changed, unchanged, ...missing?.counts },
    skipped,
    updated: changed + unchanged,
    changes: changesOf(loaded),
    widened,
    ...(conflictKey && { conflictKey }),
    ...(leftOut !== undefined && { leftOut: leftOutRows(leftOut, problems) }),
    warnings: loadWarnings({ ...upload, ofEnd: [...numbers, ...ofEnd] }),
  };
}

/** Returns the first differences between the upload and the table; undefined: they were not compared. */
function changesOf({ changes, missing }: LoadedUpload['loaded']): LoadResult['changes'] {
  if (missing?.changes === undefined) return changes;
  return [...missing.changes, ...(changes ?? [])].slice(0, maxListedChanges);
}

function tableChangeOf({ ifExists }: LoadRequest, target: LoadTarget): LoadResult['tableChange'] {
  if (target.replaces) return 'replaced';
  if (target.isNew) return 'created';
  return ifExists === 'truncate' ? 'emptied' : undefined;
}

function leftOutRows(rows: number, problems: Problems): LeftOut {
  return { rows, problems: problems.listed(), problemCount: problems.count, groups: problems.groups() };
}

const maxLostObjects = 100;

/** Returns one warning for each object of the old table that the new table does not have. */
export function lostObjects(lost: string[]): Warning[] {
  const listed = lost.slice(0, maxLostObjects);
  const rest = lost.length - listed.length;
  if (rest > 0) listed.push(`${rest} more objects`);
  return listed.map((what) => ({ code: 'lost-by-replace', detail: `Replacing the table removed ${what}.` }));
}
