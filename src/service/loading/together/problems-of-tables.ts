/** Names the table of a plan to which an error belongs, and joins the errors of several tables. */
import { AppError, maxListedProblems } from '../../../core/errors.ts';
import { toAppError } from '../../postgres/sqlstate.ts';

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

/** How many tables the text of an error names. */
const maxNamed = 10;

/** Returns one error with the problems of several tables. Its code is that of the first one. */
export function errorOfTables(failed: readonly { table: NamedTable; error: AppError }[]): AppError {
  const named = failed.slice(0, maxNamed).map(({ table: { part, schema, name }, error }) => {
    return `Table ${part} of the plan, "${schema}"."${name}": ${error.detail}`;
  });
  const more = failed.length > maxNamed ? [`${failed.length - maxNamed} more tables have problems.`] : [];
  const ofPart = <Entry extends object>(list: (error: AppError) => readonly Entry[] | undefined) =>
    failed.flatMap(({ table: { part }, error }) => (list(error) ?? []).map((entry) => ({ part, ...entry })));
  const errors = ofPart((error) => error.errors);
  const groups = ofPart((error) => error.errorGroups);
  const first = failed[0]!.error;
  return new AppError(first.code, [...named, ...more].join(' '), {
    errors: errors.length > 0 ? errors.slice(0, maxListedProblems) : undefined,
    errorCount: failed.reduce((sum, { error }) => sum + error.errorCount, 0),
    errorGroups: groups.length > 0 ? groups.slice(0, maxListedProblems) : undefined,
    warnings: ofPart((error) => error.warnings),
    headers: first.headers,
    isOutcomeUnknown: first.isOutcomeUnknown,
    cause: first,
  });
}
