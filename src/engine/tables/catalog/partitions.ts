/** The partitions of a table, and the tables that inherit from it. They may be in other schemas. */
import type { ClientBase } from 'pg';

/** Throws if the token may not use the schema. */
type AdmitSchema = (schema: string) => void;

/**
 * Refuses to change a table if tables below it are in schemas that the token may not use. Dropping and emptying a table, and deleting or
 * marking its missing rows, concerns its partitions only; a change of its columns concerns all tables that inherit from it.
 *
 * @param relation the quoted name of the table
 */
export async function admitBelow(
  client: ClientBase,
  relation: string,
  admitSchema: AdmitSchema,
  which: 'partitions' | 'inheriting',
): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    `WITH RECURSIVE below AS (
       SELECT to_regclass($1)::oid AS oid
       UNION SELECT c.oid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid JOIN pg_class c ON c.oid = i.inhrelid
       WHERE c.relispartition OR NOT $2)
     SELECT DISTINCT n.nspname AS schema FROM below b
     JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace`,
    [relation, which === 'partitions'],
  );
  for (const { schema } of rows) admitSchema(schema);
}
