/** What the statements that drop or rename a table share: the table that was found, and the errors if it is another one by then. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { isOtherKindOfObject, isUndefinedTable } from '../../../postgres/named-objects.ts';
import { pipeline } from '../../../postgres/pipeline.ts';
import { wasRefused } from '../../../postgres/refuse-unless.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import type { TableFacts } from '../catalog/describe-relation.ts';
import type { TableDescription } from '../definition.ts';
import { describeFound, describeTable, isTable } from '../describe-table.ts';
import { type LockOptions, LockTries } from '../lock-tries.ts';

/**
 * Returns the facts of a table that the role may see.
 *
 * @param facts the result of `describeRelation`
 * @throws AppError `table-not-found`, which says what else has the name or which similar tables there are, and `schema-not-found`
 */
export async function requireTable(
  client: ClientBase,
  schema: string,
  name: string,
  facts: TableFacts | undefined,
): Promise<TableFacts> {
  if (facts?.maySee !== true || !isTable(facts.kind)) await describeFound(client, schema, name, facts, []);
  return facts!;
}

/** Throws if the caller expects another table (`If-Match`). undefined: there is none. */
export type RequireMatch = (table: TableDescription | undefined) => void;

/** Locks the table until the end of the transaction, and then checks that it is the one that the caller expects. */
export async function lockAndMatch(
  client: ClientBase,
  { schema, name, extraFunctions }: { schema: string; name: string; extraFunctions: readonly string[] },
  requireMatch: RequireMatch,
  lock: LockOptions,
): Promise<void> {
  const relation = quoteQualified(schema, name);
  await new LockTries(client, [relation], lock).run((first) =>
    pipeline(client, [...first, `LOCK TABLE ${relation} IN ACCESS EXCLUSIVE MODE`]),
  );
  requireMatch(await describeTable(client, schema, name, extraFunctions));
}

/** Returns the error for a table that another session has dropped, renamed or replaced since it was found; undefined: the error has another cause. */
export function changedMeanwhile(error: unknown): AppError | undefined {
  const isOther =
    isUndefinedTable(error) || isOtherKindOfObject(error) || wasRefused(error, 'the table has changed');
  return isOther ? goneMeanwhile(error) : undefined;
}

/** Returns the error for a table that is no longer the one that was found. */
export function goneMeanwhile(cause?: unknown): AppError {
  const detail =
    'Another session dropped, renamed or replaced the table at this moment. Send the request again.';
  return new AppError('write-conflict', detail, { cause });
}
