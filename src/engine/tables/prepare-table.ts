/**
 * Checks a definition against the database and resolves all names in it, before anything is created. One error reports all problems.
 * A valid definition takes two round trips: the first looks up what the definition mentions, and the second tries the modifiers of its
 * types and its defaults.
 */
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../../core/errors.ts';
import { lockTableName } from './catalog/relations.ts';
import type { DefinitionProblems } from './definition-problems.ts';
import type { PrepareOptions } from './draft-definition.ts';
import { proveExpressions } from './expressions/prove-expressions.ts';
import { checkWritten } from './expressions/written-expressions.ts';
import type { PreparedTable } from './prepared-table.ts';
import { type ResolvedDefinition, resolveDefinition } from './resolve-definition.ts';
import { tryColumns } from './try-columns.ts';
import { tryParts } from './try-parts.ts';

/**
 * Prepares the table that a load will create. It must run inside a transaction, and locks the name of the table until the end
 * of that transaction. If several loads create the same table, the first one continues, and the others wait here and then find
 * the existing table.
 *
 * @throws AppError `invalid-definition` with every problem, and the errors of `resolveDefinition`
 */
export async function prepareTable(client: ClientBase, options: PrepareOptions): Promise<PreparedTable> {
  const lock = lockTableName(options.schema, options.name);
  const resolved = await resolveDefinition(client, options, [lock]);
  resolved.admitSequences();
  return checkDefinition(client, resolved);
}

/**
 * Tries the modifiers and defaults, and reports every problem.
 *
 * @throws AppError `invalid-definition`, or `permission-denied` if missing privileges are the only problems
 */
export async function checkDefinition(
  client: ClientBase,
  resolved: ResolvedDefinition,
): Promise<PreparedTable> {
  const { table, trials, problems } = resolved;
  // With these problems, PostgreSQL would need too much memory or time to try the columns.
  const isTooMuch = tooMuchToTry.some((code) => problems.has(code));
  if (!isTooMuch && (await proveExpressions(client, resolved))) await tryColumns(client, trials, problems);
  if (problems.count === 0) await tryParts(client, table, problems);
  if (problems.count === 0) await checkWritten(client, resolved);
  await throwIfAny(problems);
  return table;
}

const tooMuchToTry = ['row-too-long', 'defaults-too-long', 'types-too-nested'] as const;

/** Makes the detail of a problem a complete sentence with its place, because the message does not show the pointer. */
function withPlace({ pointer, detail }: Problem): string {
  if (pointer === undefined) return detail;
  return detail.startsWith('must ') ? `The value at ${pointer} ${detail}` : `At ${pointer}: ${detail}`;
}

/** @throws AppError `invalid-definition` with the problems, or `permission-denied` if all of them are missing privileges */
export async function throwIfAny(problems: DefinitionProblems): Promise<void> {
  if (problems.count === 0) return;
  const errors = await problems.list();
  const detail =
    problems.count === 1
      ? withPlace(errors[0]!)
      : `The definition has ${problems.count} errors; see "errors".`;
  const code = problems.haveOnly('permission-denied') ? 'permission-denied' : 'invalid-definition';
  throw new AppError(code, detail, { errors, errorCount: problems.count });
}
