/** Names the table of a plan to which an error belongs, and joins the errors of several tables. */
import { AppError, maxListedProblems } from '../../../core/errors.ts';
import { toAppError } from '../../../postgres/sqlstate.ts';

/** A table as errors name it. */
export interface NamedTable {
  /** Its number in the plan, from 1. */
  part: number;
  schema: string;
  name: string;
}

/** Does work for a table. An error about the request names the table; all others are thrown unchanged. */
export async function namingTable<Result>(
  table: NamedTable,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const error = toAppError(thrown);
    if (signal.aborted || !(error instanceof AppError) || error.status >= 500) throw thrown;
    throw errorOfTables([{ table, error }]);
  }
}

/** Returns whether the other tables of the plan are still checked after this error: it is about the definition or the rows of one table. */
export function isOfOneTable(error: unknown): error is AppError {
  return error instanceof AppError && error.status === 422;
}

/**
 * Returns the error of an existing table. Its problems say if the missing row may be in a table that the plan loads later, because the tables
 * refer to each other in a circle.
 */
export function namingLaterTables(thrown: unknown, later: readonly NamedTable[]): unknown {
  if (!isOfOneTable(thrown)) return thrown;
  const starts = later.map(({ schema, name }) => `has no match in ${schema}.${name} (`);
  for (const problem of thrown.errors ?? []) {
    if (starts.some((start) => problem.detail.startsWith(start)))
      problem.detail +=
        '; the rows of this plan for that table are loaded later, because the tables refer to each other in a circle';
  }
  return thrown;
}

/** How many tables the text of an error names. */
const maxNamed = 10;

/** Returns one error with the problems of several tables. Its code is that of the first one. */
export function errorOfTables(failed: readonly { table: NamedTable; error: AppError }[]): AppError {
  const named = failed.slice(0, maxNamed).map(({ table: { part, schema, name }, error }) => {
    return `Table ${part} of the plan, "${schema}"."${name}": ${error.detail}`;
  });
  const more = failed.length > maxNamed ? [`${failed.length - maxNamed} more tables have problems.`] : [];
  const ofPart = <Entry extends object>(
    list: (error: AppError) => readonly Entry[] | undefined,
    most?: number,
  ) => {
    const lists = failed.map(({ table: { part }, error }) =>
      (list(error) ?? []).map((entry) => ({ part, ...entry })),
    );
    return most === undefined ? lists.flat() : sharedList(lists, most);
  };
  const errors = ofPart((error) => error.errors, maxListedProblems);
  const groups = ofPart((error) => error.errorGroups, maxListedProblems);
  const first = failed[0]!.error;
  return new AppError(first.code, [...named, ...more].join(' '), {
    errors: errors.length > 0 ? errors : undefined,
    errorCount: failed.reduce((sum, { error }) => sum + error.errorCount, 0),
    errorGroups: groups.length > 0 ? groups : undefined,
    warnings: ofPart((error) => error.warnings),
    headers: first.headers,
    isOutcomeUnknown: first.isOutcomeUnknown,
    cause: first,
  });
}

/** Joins the beginnings of lists. What a list does not use of its equal share is shared by the longer ones. */
function sharedList<Entry>(lists: readonly Entry[][], most: number): Entry[] {
  let left = most;
  const shares = new Map<Entry[], number>();
  for (const [index, list] of lists.toSorted((a, b) => a.length - b.length).entries()) {
    const share = Math.min(list.length, Math.ceil(left / (lists.length - index)));
    shares.set(list, share);
    left -= share;
  }
  return lists.flatMap((list) => list.slice(0, shares.get(list)));
}
