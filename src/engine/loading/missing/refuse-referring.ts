/** Refuses to delete missing rows to which other rows refer, because the DELETE would change those rows or PostgreSQL would refuse it. */
import type { ClientBase } from 'pg';
import { AppError, maxListedProblems, type Problem } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { isLackOfPrivilege } from '../../../postgres/sqlstate.ts';
import { type ReferringKey, readReferringKeys } from '../../tables/rules/referring-keys.ts';
import {
  countReferringRows,
  lockMissingRows,
  readReferencedRows,
  type Search,
} from './missing-statements.ts';

/**
 * Refuses the upload if rows that are not missing refer to missing rows. If the role may not read the referring rows, a foreign key with CASCADE, SET NULL
 * or SET DEFAULT prevents the DELETE, and PostgreSQL itself checks the others.
 *
 * @param areKeysShown the caller may see the keys of the missing rows
 * @throws AppError `dependent-objects`; `permission-denied` if the role may not lock rows
 */
export async function refuseReferring(
  client: ClientBase,
  relation: string,
  search: Search,
  areKeysShown: boolean,
): Promise<void> {
  const keys = await readReferringKeys(client, relation);
  if (keys.some(({ action }) => action !== null)) await lock(client, search);
  const errors: Problem[] = [];
  let count = 0;
  for (const key of keys) {
    const found = await problemsOf(client, search, key, areKeysShown);
    errors.push(...found.errors);
    count += found.count;
  }
  if (count === 0) return;
  const detail =
    'Other rows refer to rows that the upload does not have and that missing_rows=delete would delete, so nothing was changed; see "errors". Change or delete the other rows first, send the missing rows, or send missing_rows=mark:<column>.';
  throw new AppError('dependent-objects', detail, {
    errors: errors.slice(0, maxListedProblems),
    errorCount: count,
  });
}

async function lock(client: ClientBase, search: Search): Promise<void> {
  try {
    await queryInCallersPath(client, lockMissingRows(search));
  } catch (error) {
    if (!(error instanceof Error) || !isLackOfPrivilege(error)) throw error;
    const detail =
      'missing_rows=delete needs the privilege UPDATE on the table, too, because other tables refer to it with ON DELETE CASCADE, SET NULL or SET DEFAULT, and the missing rows must be locked.';
    throw new AppError('permission-denied', detail, { cause: error });
  }
}

interface FoundProblems {
  errors: Problem[];
  count: number;
}

async function problemsOf(
  client: ClientBase,
  search: Search,
  key: ReferringKey,
  areKeysShown: boolean,
): Promise<FoundProblems> {
  const { table, name, action, mayRead } = key;
  const problem = (detail: string): Problem => ({ value: table, code: 'dependent-object', detail });
  const of = `of the table ${table} (foreign key "${name}", ON DELETE ${action ?? 'NO ACTION or RESTRICT'})`;
  if (!mayRead) {
    if (action === null) return { errors: [], count: 0 };
    const detail = `the role may not read which rows ${of} refer to the missing rows`;
    return { errors: [problem(detail)], count: 1 };
  }
  if (action === null && areKeysShown) return referencedRows(client, search, key, of);
  const { rows } = await queryInCallersPath<{ count: number }>(client, countReferringRows(search, key));
  const { count } = rows[0]!;
  if (count === 0) return { errors: [], count: 0 };
  const all = count === 1 ? 'one row' : `${count} rows`;
  const what = action === null ? 'refer to missing rows' : effects[action as keyof typeof effects];
  return { errors: [problem(`${all} ${of} ${what}`)], count: 1 };
}

const effects = {
  CASCADE: 'would be deleted, too',
  'SET NULL': 'would be changed',
  'SET DEFAULT': 'would be changed',
};

async function referencedRows(
  client: ClientBase,
  search: Search,
  key: ReferringKey,
  of: string,
): Promise<FoundProblems> {
  const statement = readReferencedRows(search, key, maxListedProblems);
  const { rows } = await queryInCallersPath<{ key: string[]; count: number }>(client, statement);
  const errors = rows.map((row): Problem => {
    const values = search.key.columns.map((column, at) => [column, shortenValue(row.key[at] ?? '')]);
    const detail = `rows ${of} refer to this row of the table, so it cannot be deleted`;
    return { key: Object.fromEntries(values), value: key.table, code: 'dependent-object', detail };
  });
  return { errors, count: rows[0]?.count ?? 0 };
}
