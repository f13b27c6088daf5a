/**
 * Creates and migrates the service's own schema at the start (`SERVICE_SCHEMA`).
 *
 * Several replicas may start at the same time, so an advisory lock lets them migrate one after the other. An older replica may still
 * run, and a newer one may have migrated further: both work, because migrations only add.
 */
import type { ClientBase, Pool } from 'pg';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import { quoteIdentifier } from '../../postgres/sql.ts';
import { isLackOfPrivilege } from '../../postgres/sqlstate.ts';
import { inTransaction } from '../../postgres/transaction.ts';
import { type Migration, migrations } from './migrations.ts';

/** The schema; undefined: the service has none. `reason` says why: it completes the sentence "… are not available, because". */
export type PreparedSchema =
  | { schema: ServiceSchema; reason?: undefined }
  | { schema?: undefined; reason: string };

/** The value of SERVICE_SCHEMA with which the service stores nothing. */
export const noServiceSchema = 'none';

/** The longest wait for another replica that is migrating. */
const lockTimeoutMs = 60_000;

/**
 * Creates the schema if it is missing, and runs the migrations that it lacks.
 *
 * @param steps the migrations, in order
 * @throws PostgreSQL's errors, except that the role lacks a privilege
 */
export async function prepareServiceSchema(
  pool: Pool,
  name: string,
  steps: readonly Migration[] = migrations,
): Promise<PreparedSchema> {
  if (name === noServiceSchema) return { reason: 'SERVICE_SCHEMA is none' };
  const schema = { name, quoted: quoteIdentifier(name) };
  try {
    const reason = await inTransaction(pool, { lockTimeoutMs }, (client) =>
      prepareWithin(client, schema, steps),
    );
    return reason === undefined ? { schema } : { reason };
  } catch (error) {
    if (isLackOfPrivilege(error))
      return { reason: `the role that the service connects as lacks a privilege on the schema "${name}"` };
    throw error;
  }
}

/** @returns why the schema cannot be used */
async function prepareWithin(
  client: ClientBase,
  schema: ServiceSchema,
  steps: readonly Migration[],
): Promise<string | undefined> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `tablewright migrations of ${schema.name}`,
  ]);
  const { rows } = await client.query<SchemaFacts>(schemaFacts, [schema.name]);
  const facts = rows[0]!;
  const reason = refusalOf(facts, schema);
  if (reason !== undefined) return reason;
  const version = facts.hasMigrations ? await versionOf(client, schema) : 0;
  // If a newer replica has migrated further, there is nothing to do.
  const missing = steps.filter((step) => step.version > version);
  if (missing.length === 0) return undefined;
  if (!facts.exists) await client.query(`CREATE SCHEMA ${schema.quoted}`);
  if (!facts.hasMigrations) await client.query(createMigrations(schema));
  for (const step of missing) await migrate(client, schema, step);
  await client.query(revokeFromPublic(schema));
  return undefined;
}

async function versionOf(client: ClientBase, { quoted }: ServiceSchema): Promise<number> {
  const { rows } = await client.query<{ version: number | null }>(
    `SELECT max(version) AS version FROM ${quoted}.migrations`,
  );
  return rows[0]!.version ?? 0;
}

async function migrate(client: ClientBase, { quoted }: ServiceSchema, step: Migration): Promise<void> {
  await client.query(step.statements(quoted).join(';\n'));
  await client.query(`INSERT INTO ${quoted}.migrations (version, name) VALUES ($1, $2)`, [
    step.version,
    step.name,
  ]);
}

function createMigrations({ quoted }: ServiceSchema): string {
  return `CREATE TABLE ${quoted}.migrations (
    version int4 PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())`;
}

/** Returns statements that revoke everything from PUBLIC, because default privileges of the database may have granted something. */
function revokeFromPublic({ quoted }: ServiceSchema): string {
  return `REVOKE ALL ON SCHEMA ${quoted} FROM PUBLIC; REVOKE ALL ON ALL TABLES IN SCHEMA ${quoted} FROM PUBLIC;
    REVOKE ALL ON ALL SEQUENCES IN SCHEMA ${quoted} FROM PUBLIC; REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${quoted} FROM PUBLIC`;
}

interface SchemaFacts {
  exists: boolean;
  /** The role may create the schema. */
  mayCreate: boolean;
  /** The schema has the same name as the role, so the role's default `search_path` contains it ("$user"). */
  isNameOfRole: boolean;
  /** Only the service's role, the owner of the database and superusers can have created something in the schema. */
  isTrusted: boolean;
  hasMigrations: boolean;
  /** The schema has relations or functions. */
  hasObjects: boolean;
  /** Some of these objects are not owned by the service's role. */
  hasOthers: boolean;
}

const schemaFacts = `WITH objects AS (
  SELECT c.relname AS name, c.relowner AS owner FROM pg_class c
  WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
  UNION ALL SELECT p.proname, p.proowner FROM pg_proc p
  WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1))
SELECT n.oid IS NOT NULL AS exists,
  $1 = ANY (ARRAY[CURRENT_USER, SESSION_USER]::text[]) AS "isNameOfRole",
  has_database_privilege(d.oid, 'CREATE') AS "mayCreate",
  n.nspowner = ANY (ARRAY[me.oid, d.datdba])
    OR (SELECT owner.rolsuper FROM pg_roles owner WHERE owner.oid = n.nspowner) AS "isTrusted",
  EXISTS (SELECT FROM objects WHERE name = 'migrations') AS "hasMigrations",
  EXISTS (SELECT FROM objects) AS "hasObjects",
  EXISTS (SELECT FROM objects WHERE owner <> me.oid) AS "hasOthers"
FROM pg_database d JOIN pg_roles me ON me.rolname = CURRENT_USER LEFT JOIN pg_namespace n ON n.nspname = $1
WHERE d.datname = current_database()`;

/** Returns why the schema cannot be used, if it cannot. */
function refusalOf(facts: SchemaFacts, { name }: ServiceSchema): string | undefined {
  if (facts.isNameOfRole) {
    return `the role that the service connects as is named "${name}", too, so its search_path may find the schema. Choose another name with SERVICE_SCHEMA`;
  }
  if (!facts.exists) {
    return facts.mayCreate
      ? undefined
      : `the role that the service connects as may not create the schema "${name}". Create it for the role: CREATE SCHEMA ${quoteIdentifier(name)} AUTHORIZATION <role>`;
  }
  if (!facts.isTrusted)
    return `the schema "${name}" belongs to another role than the one that the service connects as`;
  if (facts.hasOthers || (!facts.hasMigrations && facts.hasObjects))
    return `the schema "${name}" has objects of others. Choose another name with SERVICE_SCHEMA`;
  return undefined;
}
