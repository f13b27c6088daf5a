/**
 * Decides which values of stored rows a caller sees in the record of a load: the old values of changes, and the keys of rows that the upload
 * did not send. All that shows a record asks here.
 */
import type { Problem } from '../../../core/errors.ts';
import { readableColumns } from '../../../engine/tables/readable-columns.ts';
import { inTransaction } from '../../../postgres/transaction.ts';
import type { LoadView } from '../../loads/load-view.ts';
import type { HttpContext } from '../context.ts';
import type { Grants } from '../tokens/auth.ts';

/** The caller of a request about loads. */
export interface LoadCaller {
  grants: Grants;
  signal: AbortSignal;
  /** Does work in a place of its own in the line, so that a slow client does not keep a connection to PostgreSQL. */
  inLine: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

type Columns = ReadonlySet<string>;

/** Returns the columns of the table of a load whose stored values the caller sees. @param part the number of the table, if the load has several */
export type ShownColumns = (part?: number) => Promise<Columns>;

/** The values are shown to the uploader with `table:read` and the role of the load, if the role still may read the columns. */
export function shownColumnsOf(
  { pool, config }: HttpContext,
  { grants, signal, inLine }: LoadCaller,
  { owner, role, changeTable, parts }: LoadView,
): ShownColumns {
  // Another role may see other rows (row-level security).
  const mayRead =
    owner.equals(grants.owner) && grants.scopes.has('table:read') && (grants.role ?? null) === role;
  const read = (oid: number): Promise<Columns> => {
    const { statementTimeoutMs, lockTimeoutMs } = config.database;
    const reading = { role: grants.role, statementTimeoutMs, lockTimeoutMs, signal, readOnly: true };
    return inLine(() => inTransaction(pool, reading, (client) => readableColumns(client, oid)));
  };
  const known = new Map<number | undefined, Promise<Columns>>();
  return async (part) => {
    // Another table may have the name of the table by now.
    const oid = part === undefined ? changeTable : parts?.[part - 1]?.oid;
    if (!mayRead || oid == null) return new Set();
    if (!known.has(part)) known.set(part, read(oid));
    return known.get(part)!;
  };
}

/** Leaves out the columns of a key of a stored row that the caller may not read. */
export function shownKey<Value>(key: Record<string, Value>, shown: Columns): Record<string, Value> {
  return Object.fromEntries(Object.entries(key).filter(([column]) => shown.has(column)));
}

/** Leaves out the keys of stored rows that the caller may not read. */
export async function shownProblems(problems: Problem[], columns: ShownColumns): Promise<Problem[]> {
  if (!problems.some(hasStoredKey)) return problems;
  return Promise.all(problems.map((problem) => shownProblem(problem, columns)));
}

async function shownProblem(problem: Problem, columns: ShownColumns): Promise<Problem> {
  if (!hasStoredKey(problem)) return problem;
  const { key, ...others } = problem;
  const shown = shownKey(key!, await columns(problem.part));
  return Object.keys(shown).length === 0 ? others : { key: shown, ...others };
}

/** Returns whether the problem is about a row that the upload did not send. Other problems with keys are about new tables, all of whose rows were sent. */
function hasStoredKey({ key, code }: Problem): boolean {
  return key !== undefined && code === 'dependent-object';
}
