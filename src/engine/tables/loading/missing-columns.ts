/** Finds which columns a table lacks, and whether the role may add them. */
import type { ClientBase } from 'pg';
import { AppError } from '../../../core/errors.ts';

interface Found {
  missing: string[];
  owns: boolean;
  role: string;
}

/**
 * Returns those of the names that no column of the table has.
 *
 * @param relation the name of the table, quoted
 * @param parameter the parameter that adds them, for the message
 * @throws AppError `permission-denied` if there are some and the role does not own the table
 */
export async function missingColumns(
  client: ClientBase,
  relation: string,
  names: readonly string[],
  parameter: string,
): Promise<string[]> {
  const text = `
SELECT ARRAY(SELECT name FROM unnest($2::text[]) name WHERE NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = name AND attnum > 0 AND NOT attisdropped)) AS missing,
  pg_has_role(c.relowner, 'USAGE') AS owns, current_user::text AS role
FROM pg_class c WHERE c.oid = to_regclass($1)`;
  const { rows } = await client.query<Found>(text, [relation, names]);
  const { missing: found = [], owns = true, role } = rows[0] ?? {};
  const missing = names.filter((name) => found.includes(name));
  if (missing.length === 0 || owns) return missing;
  const columns = missing.map((name) => `"${name}"`).join(', ');
  const detail = `The role "${role}" does not own the table ${relation}, as ${parameter} needs it to add the columns ${columns}.`;
  throw new AppError('permission-denied', detail);
}
