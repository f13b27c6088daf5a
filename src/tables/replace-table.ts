/**
 * The swap at the end of a replace: a table that was built aside takes the place, the names, the owner, the grants and
 * the comments of the one that stands. Readers of that one wait only for these few statements and the commit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../errors.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../postgres/sql.ts';
import { createWholeTable } from './ddl.ts';
import type { PreparedTable } from './prepared-table.ts';

/** Whoever waits for an exclusive lock makes every later reader wait behind it: so each try is short. */
const lockTryMs = 50;
const lockPauseMs = 100;

/**
 * @throws AppError `dependent-objects` (409) naming what would be lost with the table or stops it from being dropped
 */
export async function refuseDependents(client: ClientBase, schema: string, name: string): Promise<void> {
  const { rows } = await client.query<{ dependent: string }>(dependents, [quoteQualified(schema, name)]);
  if (rows.length === 0) return;
  const errors = rows.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} depends on the table` };
  });
  throw new AppError(
    'dependent-objects',
    `The table "${schema}"."${name}" cannot be replaced: other objects depend on it. Use if_exists=truncate, which keeps the table, or drop them first.`,
    { errors, errorCount: rows.length },
  );
}

/**
 * Puts the table made as `aside` in the place of the standing one.
 *
 * @throws AppError `dependent-objects`, `database-busy` (the table stayed locked for `lockTimeoutMs`)
 */
export async function swapTable(
  client: ClientBase,
  table: PreparedTable,
  aside: string,
  lockTimeoutMs: number,
): Promise<void> {
  const { schema, name } = table;
  const standing = quoteQualified(schema, name);
  const built = quoteQualified(schema, aside);
  await lockExclusively(client, standing, lockTimeoutMs);
  await refuseDependents(client, schema, name);
  const inherited = await inheritance(client, standing, built);

  // PostgreSQL itself says how it would name everything of a fresh table: one is made, looked at and undone.
  await client.query(`SAVEPOINT "names"; DROP TABLE ${standing}`);
  await client.query(createWholeTable(table, name));
  const wanted = await readNames(client, standing);
  await client.query('ROLLBACK TO SAVEPOINT "names"');
  const given = await readNames(client, built);

  await client.query(
    [
      ...inherited,
      `DROP TABLE ${standing}`,
      `ALTER TABLE ${built} RENAME TO ${quoteIdentifier(name)}`,
      ...renames(standing, schema, given, wanted),
    ].join(';\n'),
  );
}

/**
 * For a TRUNCATE, which PostgreSQL refuses whether rows refer to the table or not.
 *
 * @throws AppError `dependent-objects` (409) naming the foreign keys of other tables that refer to it
 */
export async function refuseReferences(client: ClientBase, schema: string, name: string): Promise<void> {
  const { rows } = await client.query<{ dependent: string }>(references, [quoteQualified(schema, name)]);
  if (rows.length === 0) return;
  const errors = rows.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} refers to the table` };
  });
  throw new AppError(
    'dependent-objects',
    `The table "${schema}"."${name}" cannot be emptied: foreign keys of other tables refer to it. Use if_exists=append, with on_conflict=update where rows are to be changed, or drop them first.`,
    { errors, errorCount: rows.length },
  );
}

async function lockExclusively(client: ClientBase, relation: string, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  const { rows } = await client.query<{ lock_timeout: string }>('SHOW lock_timeout');
  for (;;) {
    await client.query(`SAVEPOINT "lock"; SET LOCAL lock_timeout = ${lockTryMs}`);
    try {
      await client.query(`LOCK TABLE ${relation} IN ACCESS EXCLUSIVE MODE`);
      await client.query(`SET LOCAL lock_timeout = ${quoteLiteral(rows[0]!.lock_timeout)}`);
      return;
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT "lock"; RELEASE SAVEPOINT "lock"');
      const isBusy = (error as { code?: string }).code === '55P03';
      if (!isBusy) throw error;
      if (timeoutMs > 0 && performance.now() > until) {
        throw new AppError(
          'database-busy',
          'The table to replace is in use and stayed locked. Try again later.',
          {
            headers: { 'retry-after': '10' },
            cause: error,
          },
        );
      }
    }
    await sleep(lockPauseMs);
  }
}

/** The statements that give the new table the old one's owner, grants and comments, in this order. */
async function inheritance(client: ClientBase, standing: string, built: string): Promise<string[]> {
  const { rows } = await client.query<Inheritance>(inheritanceQuery, [standing, built]);
  const { owner, grants, revoked, comment, columnComments } = rows[0]!;
  const statements: string[] = [];
  for (const grantee of revoked) statements.push(`REVOKE ALL ON TABLE ${built} FROM ${roleName(grantee)}`);
  for (const { grantee, privilege, column, withGrantOption } of grants) {
    const what = column === null ? privilege : `${privilege} (${quoteIdentifier(column)})`;
    const option = withGrantOption ? ' WITH GRANT OPTION' : '';
    statements.push(`GRANT ${what} ON TABLE ${built} TO ${roleName(grantee)}${option}`);
  }
  if (comment !== null) statements.push(`COMMENT ON TABLE ${built} IS ${quoteLiteral(comment)}`);
  for (const { column, text } of columnComments) {
    statements.push(`COMMENT ON COLUMN ${built}.${quoteIdentifier(column)} IS ${quoteLiteral(text)}`);
  }
  // Last: whoever gives a table away may no longer change it.
  if (owner !== null) statements.push(`ALTER TABLE ${built} OWNER TO ${quoteIdentifier(owner)}`);
  return statements;
}

interface Inheritance {
  /** null: it is the same. */
  owner: string | null;
  /** Whom the new table grants something to, by the default privileges; null: PUBLIC. */
  revoked: (string | null)[];
  grants: { grantee: string | null; privilege: string; column: string | null; withGrantOption: boolean }[];
  comment: string | null;
  columnComments: { column: string; text: string }[];
}

function roleName(role: string | null): string {
  return role === null ? 'PUBLIC' : quoteIdentifier(role);
}

/** The names of a table's constraints and identity sequences, each under a key that says which one it is. */
async function readNames(client: ClientBase, relation: string): Promise<Map<string, NamedObject>> {
  const { rows } = await client.query<NamedObject & { key: string }>(namesQuery, [relation]);
  return new Map(rows.map(({ key, kind, name }) => [key, { kind, name }]));
}

interface NamedObject {
  kind: 'constraint' | 'sequence';
  name: string;
}

function renames(
  relation: string,
  schema: string,
  given: Map<string, NamedObject>,
  wanted: Map<string, NamedObject>,
): string[] {
  const statements: string[] = [];
  for (const [key, { kind, name }] of given) {
    const to = wanted.get(key)?.name;
    if (to === undefined || to === name) continue;
    statements.push(
      kind === 'constraint'
        ? `ALTER TABLE ${relation} RENAME CONSTRAINT ${quoteIdentifier(name)} TO ${quoteIdentifier(to)}`
        : `ALTER SEQUENCE ${quoteQualified(schema, name)} RENAME TO ${quoteIdentifier(to)}`,
    );
  }
  return statements;
}

// Views and foreign keys stop a DROP; triggers, policies, partitions and publications would silently go with it, and a
// new table without row-level security would show its rows to everybody who was granted the old one.
const dependents = `
WITH target AS (
  SELECT c.oid, c.reltype, t.typarray, c.relkind, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
  WHERE c.oid = to_regclass($1)
),
-- The table and the sequences that are dropped with it.
dropped AS (
  SELECT oid FROM target
  UNION ALL
  SELECT s.oid FROM target t
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S'
)
SELECT DISTINCT dependent FROM (
  SELECT coalesce(
    (SELECT pg_describe_object('pg_class'::regclass, v.oid, 0)
     FROM pg_rewrite r JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
     WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid),
    pg_describe_object(d.classid, d.objid, d.objsubid)) AS dependent
  FROM pg_depend d JOIN target t
    ON (d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM dropped))
    OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))
  WHERE d.deptype = 'n'
    AND NOT (d.classid = 'pg_constraint'::regclass
             AND EXISTS (SELECT FROM pg_constraint c WHERE c.oid = d.objid AND c.conrelid = t.oid))
    AND NOT (d.classid = 'pg_attrdef'::regclass
             AND EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND a.adrelid = t.oid))
    AND NOT (d.classid = 'pg_class'::regclass AND d.objid = t.oid)
  UNION ALL
  SELECT pg_describe_object('pg_trigger'::regclass, g.oid, 0)
  FROM pg_trigger g JOIN target t ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
  UNION ALL
  SELECT pg_describe_object('pg_policy'::regclass, p.oid, 0) FROM pg_policy p JOIN target t ON p.polrelid = t.oid
  UNION ALL
  SELECT pg_describe_object('pg_publication_rel'::regclass, p.oid, 0)
  FROM pg_publication_rel p JOIN target t ON p.prrelid = t.oid
  UNION ALL
  SELECT pg_describe_object('pg_class'::regclass, i.inhrelid, 0) FROM pg_inherits i JOIN target t ON i.inhparent = t.oid
  UNION ALL
  SELECT 'its place in ' || pg_describe_object('pg_class'::regclass, i.inhparent, 0)
  FROM pg_inherits i JOIN target t ON i.inhrelid = t.oid
  UNION ALL
  SELECT 'its partitioning' FROM target WHERE relkind = 'p'
  UNION ALL
  SELECT 'its row-level security' FROM target WHERE relrowsecurity OR relforcerowsecurity
) found ORDER BY 1`;

const references = `
SELECT pg_describe_object('pg_constraint'::regclass, oid, 0) AS dependent FROM pg_constraint
WHERE confrelid = to_regclass($1) AND conrelid <> confrelid AND contype = 'f' ORDER BY 1`;

const inheritanceQuery = `
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass),
-- An access list that was never changed is NULL and means the owner's defaults.
table_grants AS (
  SELECT a.*, NULL::name AS column_name FROM old, aclexplode(old.relacl) a
),
column_grants AS (
  SELECT a.*, o.attname AS column_name
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped,
  aclexplode(o.attacl) a
)
SELECT
  (SELECT CASE WHEN old.relowner <> new.relowner THEN pg_get_userbyid(old.relowner) END FROM old, new) AS owner,
  (SELECT coalesce(jsonb_agg(DISTINCT CASE WHEN a.grantee = 0 THEN NULL ELSE pg_get_userbyid(a.grantee) END), '[]')
   FROM new, aclexplode(new.relacl) a WHERE a.grantee <> new.relowner) AS revoked,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'grantee', CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END,
     'privilege', g.privilege_type, 'column', g.column_name, 'withGrantOption', g.is_grantable)), '[]')
   FROM (SELECT * FROM table_grants UNION ALL SELECT * FROM column_grants) g, old WHERE g.grantee <> old.relowner) AS grants,
  obj_description($1::regclass, 'pg_class') AS comment,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('column', o.attname, 'text', d.description)), '[]')
   FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
   JOIN pg_description d ON d.objoid = old.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = o.attnum
   JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped
  ) AS "columnComments"`;

// Two constraints of one kind over the same columns are refused in a definition, so the key is unique.
const namesQuery = `
SELECT 'constraint' AS kind, c.conname AS name,
  concat_ws(' ', c.contype, c.conkey::text, CASE WHEN c.confrelid = c.conrelid THEN 0 ELSE c.confrelid END, c.confkey::text) AS key
FROM pg_constraint c WHERE c.conrelid = $1::regclass
UNION ALL
SELECT 'sequence', s.relname, 'sequence ' || d.refobjsubid
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
  AND d.refobjid = $1::regclass AND d.deptype IN ('i', 'a')`;
