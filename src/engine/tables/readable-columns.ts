/** Finds the columns of a table that the role of the transaction may read. */
import type { ClientBase } from 'pg';

/** Returns the names of the columns; empty: there is no such table, or the role may read none. @param oid the oid of the table */
export async function readableColumns(client: ClientBase, oid: number): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(readable, [oid]);
  return new Set(rows.map((row) => row.name));
}

const readable = `
SELECT a.attname AS name FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = $1 AND a.attnum > 0 AND NOT a.attisdropped
  AND has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')`;
