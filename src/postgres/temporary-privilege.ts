/** Explains why a role cannot create temporary tables. PostgreSQL's message does not name the privilege. */
import type { ClientBase } from 'pg';
import { AppError } from '../core/errors.ts';
import { isLackOfPrivilege } from './sqlstate.ts';

const detail =
  'The role that this request runs under lacks the privilege TEMPORARY on the database. It is needed for on_conflict, for faulty_rows=leave_out, for types that PostgreSQL reads from text, and for comparing a definition with an existing table.';

/**
 * Returns the error to throw after work that needs temporary tables has failed. It is `permission-denied` if the role may not
 * create them, and otherwise the error itself.
 *
 * @param client its failed work must have been rolled back
 */
export async function asLackOfTemporary(client: ClientBase, error: unknown): Promise<unknown> {
  if (!isLackOfPrivilege(error)) return error;
  const { rows } = await client.query<{ may: boolean }>(
    "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY') AS may",
  );
  return rows[0]!.may ? error : new AppError('permission-denied', detail, { cause: error });
}
