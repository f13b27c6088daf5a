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

/** Returns which of the tables are partitions of others of them, also through further tables, by their places. @param relations quoted */
export async function readPartitionsAmong(
  client: ClientBase,
  relations: readonly string[],
): Promise<{ partition: number; parent: number }[]> {
  const text = `WITH tables AS (SELECT to_regclass(name)::oid AS oid, place::int - 1 AS place FROM unnest($1::text[]) WITH ORDINALITY AS given (name, place))
SELECT p.place AS partition, t.place AS parent FROM tables p CROSS JOIN pg_partition_ancestors(p.oid) a JOIN tables t ON t.oid = a.relid AND t.oid <> p.oid
ORDER BY 1, 2`;
  return (await client.query<{ partition: number; parent: number }>(text, [relations])).rows;
}
