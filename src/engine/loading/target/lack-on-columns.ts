/**
 * Changes PostgreSQL's "permission denied" for a table into an error that names the columns on which the role lacks the
 * privilege.
 */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';
import type { ColumnMatcher } from '../../../encoding/columns/column-matching.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { type LackedPrivilege, lackedPrivilege } from '../../tables/loading/load-statements.ts';
import type { ConflictOption } from '../staged/conflict-rule.ts';
import type { LoadTarget } from './load-target.ts';

/**
 * Returns the error for the columns on which the role lacks the privilege; undefined: the role has the privileges on these columns.
 * PostgreSQL's error names only the table, although privileges on these columns would be enough.
 */
export async function lackOnColumns(
  client: ClientBase,
  { relation, columns }: LoadTarget,
  { matcher, conflict }: { matcher: ColumnMatcher; conflict: ConflictOption | undefined },
  cause: Error,
): Promise<AppError | undefined> {
  const sent = columns.map(({ name }) => name).filter((name) => matcher.isTaken(name));
  const privileges = conflict?.action === 'update' ? ['INSERT', 'UPDATE'] : ['INSERT'];
  // An update does not change the columns of a key.
  const keyColumns = conflict?.keys.flatMap((key) => key.columns) ?? [];
  const query = lackedPrivilege(relation, sent, privileges, keyColumns);
  const { rows } = await client.query<LackedPrivilege>(query);
  const [lack] = rows;
  if (lack === undefined) return undefined;
  const named = lack.columns.slice(0, 20).map(shortenValue).join(', ');
  const detail = `The role "${lack.role}" lacks ${lack.privilege} on these columns of the table ${relation}: ${named}.`;
  return new AppError('permission-denied', detail, { cause });
}
