/** Checks the rights of the role that the service connects as. They matter if each request runs under the role of its access token. */
import type { Pool } from 'pg';
import { inTransaction } from './transaction.ts';

/**
 * Returns the rights that this role should not have. A function of a table can leave the token's role with RESET ROLE, and then
 * has the rights of the role that the service connects as. PostgreSQL cannot prevent this.
 *
 * @returns the rights as parts of a sentence; empty if the role is as docs/postgresql.md describes it
 */
export async function excessiveRights(pool: Pool): Promise<string[]> {
  return inTransaction(pool, { readOnly: true }, async (client) => {
    const { rows } = await client.query<{ rights: string[] }>(rightsQuery);
    return rows[0]!.rights;
  });
}

const rightsQuery = `
SELECT ARRAY(SELECT r.what FROM pg_roles me, LATERAL (VALUES
  ('is a superuser', me.rolsuper),
  ('may create roles (CREATEROLE)', me.rolcreaterole),
  ('may create databases (CREATEDB)', me.rolcreatedb),
  ('ignores row-level security (BYPASSRLS)', me.rolbypassrls),
  ('may replicate (REPLICATION)', me.rolreplication),
  ('inherits the rights of other roles (it lacks NOINHERIT)', NOT me.rolsuper AND EXISTS (
    SELECT FROM pg_roles o WHERE o.oid <> me.oid AND pg_has_role(me.oid, o.oid, 'USAGE'))),
  ('owns the database', EXISTS (SELECT FROM pg_database d WHERE d.datname = current_database() AND d.datdba = me.oid)),
  ('owns schemas', EXISTS (SELECT FROM pg_namespace n WHERE n.nspowner = me.oid AND n.nspname NOT LIKE 'pg\\_%')),
  ('owns tables', EXISTS (SELECT FROM pg_class c WHERE c.relowner = me.oid AND c.relpersistence <> 't')),
  ('owns functions', EXISTS (SELECT FROM pg_proc p WHERE p.proowner = me.oid AND p.pronamespace <> pg_my_temp_schema())),
  ('has privileges on tables of its own', EXISTS (
    SELECT FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = me.oid AND c.relowner <> me.oid)),
  ('may create objects in schemas', NOT me.rolsuper AND EXISTS (
    SELECT FROM pg_namespace n WHERE n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(me.oid, n.oid, 'CREATE')))
  ) AS r (what, has) WHERE me.rolname = session_user AND r.has) AS rights`;
