/**
 * Checks a definition against the database and resolves everything in it, before anything is made. All faults come in
 * one error. Takes two round trips for a good definition: what it mentions is looked up in one, its types' modifiers and
 * its defaults are tried in the other.
 */
import type { ClientBase } from 'pg';
import type { Problem } from '../errors.ts';
import { AppError } from '../errors.ts';
import { lockTableName } from './catalog.ts';
import type { PreparedTable } from './prepared-table.ts';
import type { PrepareOptions, ResolvedDefinition } from './resolve-definition.ts';
import { resolveDefinition } from './resolve-definition.ts';
import { tryColumns } from './try-columns.ts';

export type { PreparedTable, PrepareOptions };

/**
 * For a load that will make the table. Must run inside a transaction. Takes a lock on the table's name that lasts as
 * long as the transaction: of several loads the first goes on, the others wait here and then find the table standing.
 *
 * @throws AppError `invalid-definition` with every fault, and whatever `resolveDefinition` throws
 */
export async function prepareTable(client: ClientBase, options: PrepareOptions): Promise<PreparedTable> {
  await client.query(lockTableName(options.schema, options.name));
  const resolved = await resolveDefinition(client, options);
  resolved.admitSequences();
  return checkDefinition(client, resolved);
}

/**
 * Tries what is left to try and tells every fault.
 *
 * @throws AppError `invalid-definition`, or `permission-denied` where nothing else is wrong
 */
export async function checkDefinition(
  client: ClientBase,
  resolved: ResolvedDefinition,
): Promise<PreparedTable> {
  const { table, trials, problems } = resolved;
  // To try such a row is what must not be done.
  if (!problems.some(({ code }) => code === 'row-too-long')) await tryColumns(client, trials, problems);
  throwIfAny(problems);
  return table;
}

/** The detail of a problem stands beside its pointer; alone it needs a subject. */
function withPlace({ pointer, detail }: Problem): string {
  if (pointer === undefined) return detail;
  return detail.startsWith('must ') ? `The value at ${pointer} ${detail}` : `At ${pointer}: ${detail}`;
}

const maxProblems = 100;

/** Numbers in pointers count as numbers: the order in which the faults stand in the request. */
const pointerOrder = new Intl.Collator('en', { numeric: true });

function throwIfAny(problems: Problem[]): void {
  if (problems.length === 0) return;
  problems.sort((a, b) => pointerOrder.compare(a.pointer ?? '', b.pointer ?? ''));
  const detail =
    problems.length === 1
      ? withPlace(problems[0]!)
      : `The definition has ${problems.length} errors; see "errors".`;
  const isPermission = problems.every((problem) => problem.code === 'permission-denied');
  throw new AppError(isPermission ? 'permission-denied' : 'invalid-definition', detail, {
    errors: problems.slice(0, maxProblems),
    errorCount: problems.length,
  });
}
