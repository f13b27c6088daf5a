/** The partitions of a table, and the tables that inherit from it. They may be in other schemas. */
import type { ClientBase } from 'pg';

/** Throws if the token may not use the schema. */
type AdmitSchema = (schema: string) => void;

/** Refuses to drop or to empty a table if it has partitions in schemas that the token may not use. @param relation the quoted name of the table */
export async function admitPartitions(
  client: ClientBase,
  relation: string,
  admitSchema: AdmitSchema,
): Promise<void> {
  await admitBelow(client, relation, admitSchema, true);
}

/** Refuses to change the columns of a table if tables in schemas that the token may not use have the same columns. */
export async function admitInheriting(
  client: ClientBase,
  relation: string,
  admitSchema: AdmitSchema,
): Promise<void> {
  await admitBelow(client, relation, admitSchema, false);
}

async function admitBelow(
  client: ClientBase,
  relation: string,
  admitSchema: AdmitSchema,
  onlyPartitions: boolean,
): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    `WITH RECURSIVE below AS (
       SELECT to_regclass($1)::oid AS oid
       UNION SELECT c.oid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid JOIN pg_class c ON c.oid = i.inhrelid
       WHERE c.relispartition OR NOT $2)
     SELECT DISTINCT n.nspname AS schema FROM below b
     JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace`,
    [relation, onlyPartitions],
  );
  for (const { schema } of rows) admitSchema(schema);
}
