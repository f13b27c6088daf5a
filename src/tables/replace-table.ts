/**
 * The swap at the end of a replace: a table that was built aside takes the place, the names, the owner, the grants, the
 * storage parameters and the comments of the one that stands. Readers of that one wait only for these few statements and the commit.
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
/** An automatic VACUUM or ANALYZE that is in the way gets this long to end by itself. */
const patienceMs = 1000;

const undefinedTable = '42P01';
const lockNotAvailable = '55P03';

/**
 * @param replacement quoted; the table made aside, whose defaults may use the sequences of the standing one
 * @throws AppError `dependent-objects` (409) naming what would be lost with the table or stops it from being dropped
 */
export async function refuseDependents(
  client: ClientBase,
  schema: string,
  name: string,
  replacement: string | null = null,
): Promise<void> {
  const relation = quoteQualified(schema, name);
  const { rows } = await client.query<{ dependent: string }>(dependents, [relation, replacement]);
  if (rows.length === 0) return;
  const errors = rows.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} depends on the table` };
  });
  throw new AppError(
    'dependent-objects',
    `The table "${schema}"."${name}" cannot be replaced: other objects depend on it. Drop them first, or keep the table: use if_exists=truncate, or append with on_conflict=update where foreign keys refer to it.`,
    { errors, errorCount: rows.length },
  );
}

/**
 * Puts the table made as `aside` in the place of the standing one.
 *
 * @returns what belonged to the old table and is gone with it, in PostgreSQL's words
 * @throws AppError `dependent-objects`, `database-busy` (the table stayed locked for `lockTimeoutMs`), `write-conflict`
 *   (it is there no more)
 */
export async function swapTable(
  client: ClientBase,
  table: PreparedTable,
  aside: string,
  lockTimeoutMs: number,
): Promise<string[]> {
  const { schema, name } = table;
  const standing = quoteQualified(schema, name);
  const built = quoteQualified(schema, aside);
  await lockExclusively(client, standing, lockTimeoutMs);
  await refuseDependents(client, schema, name, built);
  const inherited = await inheritance(client, standing, built);
  const lost = await client.query<{ what: string }>(lostQuery, [standing, built]);

  // PostgreSQL itself says how it would name everything of a fresh table: one is made, looked at and undone.
  // It is not to take the sequences along that the new one goes on with.
  await client.query([...inherited, 'SAVEPOINT "names"', `DROP TABLE ${standing}`].join(';\n'));
  await client.query(createWholeTable(table, name));
  const wanted = await readNames(client, standing);
  await client.query('ROLLBACK TO SAVEPOINT "names"');
  const given = await readNames(client, built);

  await client.query(
    [
      `DROP TABLE ${standing}`,
      `ALTER TABLE ${built} RENAME TO ${quoteIdentifier(name)}`,
      ...renames(standing, schema, given, wanted),
    ].join(';\n'),
  );
  return lost.rows.map(({ what }) => what);
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
  const startedAt = performance.now();
  const until = startedAt + timeoutMs;
  const { rows } = await client.query<{ lock_timeout: string }>('SHOW lock_timeout');
  let tryMs = lockTryMs;
  let hasInsisted = false;
  for (;;) {
    await client.query(`SAVEPOINT "lock"; SET LOCAL lock_timeout = ${tryMs}`);
    try {
      await client.query(`LOCK TABLE ${relation} IN ACCESS EXCLUSIVE MODE`);
      await client.query(`SET LOCAL lock_timeout = ${quoteLiteral(rows[0]!.lock_timeout)}`);
      return;
    } catch (error) {
      await client.query('ROLLBACK TO SAVEPOINT "lock"; RELEASE SAVEPOINT "lock"');
      const { code } = error as { code?: string };
      if (code === undefinedTable) {
        const detail =
          'The table was dropped or renamed while its replacement was loaded. Send the request again to make it anew.';
        throw new AppError('write-conflict', detail, { cause: error });
      }
      if (code !== lockNotAvailable) throw error;
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
    tryMs = lockTryMs;
    if (!hasInsisted && performance.now() > startedAt + patienceMs) {
      tryMs += await maintenanceWaitMs(client, relation);
      hasInsisted = tryMs > lockTryMs;
    }
    await sleep(lockPauseMs);
  }
}

/**
 * What it takes to have an automatic VACUUM or ANALYZE of the table ended, which may last for hours: PostgreSQL cancels
 * it for whoever has waited for `deadlock_timeout`, and never for shorter tries. 0: there is none.
 */
async function maintenanceWaitMs(client: ClientBase, relation: string): Promise<number> {
  const { rows } = await client.query<{ wait: number }>(maintenanceWait, [relation]);
  return rows[0]!.wait;
}

/** The statements that give the new table what it has of the old one. */
async function inheritance(client: ClientBase, standing: string, built: string): Promise<string[]> {
  const { rows } = await client.query<Inheritance>(inheritanceQuery, [standing, built]);
  const { owner, grants, revoked, settings, comment, columnComments, sequences } = rows[0]!;
  const statements: string[] = [];
  if (settings !== null) statements.push(`ALTER TABLE ${built} SET (${settings})`);
  for (const { grantee, sequence } of revoked) {
    statements.push(`REVOKE ALL ON ${grantTarget(built, sequence)} FROM ${roleName(grantee)}`);
  }
  for (const { grantee, privilege, column, sequence, withGrantOption } of grants) {
    const what = column === null ? privilege : `${privilege} (${quoteIdentifier(column)})`;
    const option = withGrantOption ? ' WITH GRANT OPTION' : '';
    statements.push(`GRANT ${what} ON ${grantTarget(built, sequence)} TO ${roleName(grantee)}${option}`);
  }
  if (comment !== null) statements.push(`COMMENT ON TABLE ${built} IS ${quoteLiteral(comment)}`);
  for (const { column, text } of columnComments) {
    statements.push(`COMMENT ON COLUMN ${built}.${quoteIdentifier(column)} IS ${quoteLiteral(text)}`);
  }
  // Last: whoever gives a table away may no longer change it.
  if (owner !== null) statements.push(`ALTER TABLE ${built} OWNER TO ${quoteIdentifier(owner)}`);
  for (const { sequence, column } of sequences) {
    statements.push(`ALTER SEQUENCE ${sequence} OWNED BY ${built}.${quoteIdentifier(column)}`);
  }
  return statements;
}

interface Inheritance {
  /** null: it is the same. */
  owner: string | null;
  /** Whom the new table and its sequences grant something to, by the default privileges. */
  revoked: Pick<Grant, 'grantee' | 'sequence'>[];
  grants: Grant[];
  /** Storage parameters, in SQL; null: none. */
  settings: string | null;
  comment: string | null;
  columnComments: { column: string; text: string }[];
  /** Those of the old table that a default of the new one uses: they would be dropped with that one. Quoted. */
  sequences: { sequence: string; column: string }[];
}

interface Grant {
  /** null: PUBLIC. */
  grantee: string | null;
  privilege: string;
  column: string | null;
  /** Quoted, under its name before the swap; null: it is the table. */
  sequence: string | null;
  withGrantOption: boolean;
}

function grantTarget(built: string, sequence: string | null): string {
  return sequence === null ? `TABLE ${built}` : `SEQUENCE ${sequence}`;
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

// Views and foreign keys stop a DROP; triggers, rules, policies, partitions and publications would silently go with it, and a
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
    -- The table built aside has a name that nobody knows.
    (SELECT format('the default of column %I in the new definition', n.attname)
     FROM pg_attrdef a JOIN pg_attribute n ON n.attrelid = a.adrelid AND n.attnum = a.adnum
     WHERE d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid AND a.adrelid = to_regclass($2)),
    pg_describe_object(d.classid, d.objid, d.objsubid)) AS dependent
  FROM pg_depend d JOIN target t
    ON (d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM dropped))
    OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))
  WHERE d.deptype = 'n'
    AND NOT (d.classid = 'pg_constraint'::regclass
             AND EXISTS (SELECT FROM pg_constraint c WHERE c.oid = d.objid AND c.conrelid = t.oid))
    AND NOT (d.classid = 'pg_attrdef'::regclass
             AND EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND (a.adrelid = t.oid OR a.adrelid = to_regclass($2) AND EXISTS (
               SELECT FROM pg_depend o WHERE o.classid = d.refclassid AND o.objid = d.refobjid AND o.refobjid = t.oid AND o.deptype = 'a'))))
    AND NOT (d.classid = 'pg_class'::regclass AND d.objid = t.oid)
  UNION ALL
  SELECT pg_describe_object('pg_trigger'::regclass, g.oid, 0)
  FROM pg_trigger g JOIN target t ON g.tgrelid = t.oid WHERE NOT g.tgisinternal
  UNION ALL
  SELECT pg_describe_object('pg_rewrite'::regclass, r.oid, 0)
  FROM pg_rewrite r JOIN target t ON r.ev_class = t.oid
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

// SHARE UPDATE EXCLUSIVE is the lock of VACUUM and ANALYZE; whose they are is not shown to every role.
const maintenanceWait = `
SELECT coalesce((
  SELECT s.setting::int FROM pg_settings s WHERE s.name = 'deadlock_timeout' AND EXISTS (
    SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.relation = to_regclass($1) AND l.granted
      AND l.mode = 'ShareUpdateExclusiveLock' AND l.pid <> pg_backend_pid())), 0) AS wait`;

// What refers to a partitioned table from its own partitions is emptied with it.
const references = `
SELECT pg_describe_object('pg_constraint'::regclass, oid, 0) AS dependent FROM pg_constraint
WHERE confrelid = to_regclass($1) AND contype = 'f'
  AND conrelid <> confrelid AND conrelid NOT IN (SELECT relid FROM pg_partition_tree(to_regclass($1))) ORDER BY 1`;

const ownedSequences = (table: string) => `
  SELECT s.*, o.attname AS column_name, d.deptype AS dependency FROM ${table}
  JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = ${table}.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute o ON o.attrelid = ${table}.oid AND o.attnum = d.refobjsubid`;

const inheritanceQuery = `
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass),
old_sequences AS (${ownedSequences('old')}),
new_sequences AS (${ownedSequences('new')}),
-- An access list that was never changed is NULL and means the owner's defaults.
table_grants AS (
  SELECT a.*, NULL::name AS column_name, NULL::text AS sequence FROM old, aclexplode(old.relacl) a
),
sequence_grants AS (
  SELECT a.*, NULL::name AS column_name, format('%s.%I', n.relnamespace::regnamespace, n.relname) AS sequence
  FROM old_sequences o JOIN new_sequences n USING (column_name), aclexplode(o.relacl) a
),
column_grants AS (
  SELECT a.*, o.attname AS column_name, NULL::text AS sequence
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped,
  aclexplode(o.attacl) a
)
SELECT
  (SELECT CASE WHEN old.relowner <> new.relowner THEN pg_get_userbyid(old.relowner) END FROM old, new) AS owner,
  (SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object(
     'grantee', CASE WHEN a.grantee = 0 THEN NULL ELSE pg_get_userbyid(a.grantee) END, 'sequence', made.sequence)), '[]')
   FROM (SELECT relacl, NULL AS sequence FROM new
         UNION ALL SELECT relacl, format('%s.%I', relnamespace::regnamespace, relname) FROM new_sequences) made,
     aclexplode(made.relacl) a, new WHERE a.grantee <> new.relowner) AS revoked,
  (SELECT coalesce(jsonb_agg(jsonb_build_object(
     'grantee', CASE WHEN g.grantee = 0 THEN NULL ELSE pg_get_userbyid(g.grantee) END,
     'privilege', g.privilege_type, 'column', g.column_name, 'sequence', g.sequence,
     'withGrantOption', g.is_grantable)), '[]')
   FROM (TABLE table_grants UNION ALL TABLE column_grants UNION ALL TABLE sequence_grants) g, old
   WHERE g.grantee <> old.relowner) AS grants,
  -- Those of the TOAST table are set by way of the table.
  (SELECT string_agg(format('%s%I = %L', o.prefix, split_part(o.setting, '=', 1),
     substr(o.setting, strpos(o.setting, '=') + 1)), ', ')
   FROM (SELECT '' AS prefix, unnest(reloptions) AS setting FROM old
         UNION ALL SELECT 'toast.', unnest(t.reloptions) FROM old JOIN pg_class t ON t.oid = old.reltoastrelid) o) AS settings,
  obj_description($1::regclass, 'pg_class') AS comment,
  (SELECT coalesce(jsonb_agg(jsonb_build_object('column', o.attname, 'text', d.description)), '[]')
   FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
   JOIN pg_description d ON d.objoid = old.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = o.attnum
   JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped
  ) AS "columnComments",
  (SELECT coalesce(jsonb_agg(DISTINCT jsonb_build_object('sequence', format('%s.%I', s.relnamespace::regnamespace, s.relname),
     'column', n.attname)), '[]')
   FROM old_sequences s
   JOIN pg_depend used ON used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass AND used.refobjid = s.oid
   JOIN pg_attrdef d ON d.oid = used.objid
   JOIN new ON d.adrelid = new.oid JOIN pg_attribute n ON n.attrelid = new.oid AND n.attnum = d.adnum
   WHERE s.dependency = 'a') AS sequences`;

// A foreign key to the table itself names it, whatever the two are called. Constraints of the kinds n (NOT NULL) and t (of
// a trigger) go with columns and triggers.
const constraintText = (constraint: string) =>
  `replace(pg_get_constraintdef(${constraint}.oid), ' REFERENCES ' || ${constraint}.conrelid::regclass || '(', ' REFERENCES (')`;

const lostQuery = `
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass)
SELECT what FROM (
  SELECT 0 AS place, format('column %I', o.attname) AS what
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  WHERE NOT EXISTS (SELECT FROM new JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped)
  UNION ALL
  SELECT 1, pg_describe_object('pg_constraint'::regclass, c.oid, 0)
  FROM pg_constraint c JOIN old ON c.conrelid = old.oid
  WHERE c.contype IN ('p', 'u', 'f', 'c', 'x') AND NOT EXISTS (
    SELECT FROM pg_constraint n JOIN new ON n.conrelid = new.oid
    WHERE n.contype = c.contype AND ${constraintText('n')} = ${constraintText('c')})
  UNION ALL
  SELECT 2, pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid
  WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = old.oid AND c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
  UNION ALL
  SELECT 3, pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
  FROM pg_statistic_ext s JOIN old ON s.stxrelid = old.oid
  UNION ALL
  SELECT 4, 'its being unlogged' FROM old, new WHERE old.relpersistence = 'u' AND new.relpersistence = 'p'
  UNION ALL
  SELECT 5, 'its replica identity' FROM old WHERE relreplident <> 'd'
  UNION ALL
  SELECT 6, 'its tablespace' FROM old, new WHERE old.reltablespace <> new.reltablespace
  UNION ALL
  SELECT 7, 'its access method' FROM old, new WHERE old.relam <> new.relam
  UNION ALL
  SELECT 8, 'its being clustered by ' || pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid WHERE i.indisclustered
  UNION ALL
  SELECT 9, format('the %s of column %I', setting.what, o.attname)
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  JOIN pg_type t ON t.oid = o.atttypid
  JOIN new ON true JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped
  LEFT JOIN pg_attrdef od ON od.adrelid = old.oid AND od.adnum = o.attnum
  LEFT JOIN pg_attrdef nd ON nd.adrelid = new.oid AND nd.adnum = n.attnum
  CROSS JOIN LATERAL (VALUES
    ('type ' || format_type(o.atttypid, o.atttypmod), (o.atttypid, o.atttypmod) <> (n.atttypid, n.atttypmod)),
    ('NOT NULL', o.attnotnull AND NOT n.attnotnull AND NOT EXISTS (
      SELECT FROM pg_constraint p WHERE p.conrelid = old.oid AND p.contype = 'p' AND o.attnum = ANY (p.conkey))),
    ('generation', o.attgenerated <> '' AND n.attgenerated = ''),
    ('identity', o.attidentity <> '' AND n.attidentity = ''),
    ('GENERATED ALWAYS', o.attidentity = 'a' AND n.attidentity = 'd'),
    ('default', o.attgenerated = '' AND n.attidentity = '' AND od.oid IS NOT NULL AND nd.oid IS NULL),
    ('collation', o.attcollation NOT IN (0, t.typcollation, n.attcollation)),
    ('storage', o.attstorage NOT IN (t.typstorage, n.attstorage)),
    ('compression', o.attcompression NOT IN ('', n.attcompression)),
    ('statistics target', coalesce(o.attstattarget, -1) >= 0),
    ('settings', o.attoptions IS NOT NULL)) AS setting (what, is_lost)
  WHERE setting.is_lost
  UNION ALL
  SELECT 10, format('the numbering of column %I: START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s', column_name,
    os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, CASE WHEN os.seqcycle THEN ' CYCLE' END)
  FROM (${ownedSequences('old')}) o JOIN (${ownedSequences('new')}) n USING (column_name)
  JOIN pg_sequence os ON os.seqrelid = o.oid JOIN pg_sequence ns ON ns.seqrelid = n.oid
  WHERE o.dependency = 'i' AND n.dependency = 'i' AND (os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, os.seqcycle)
    IS DISTINCT FROM (ns.seqstart, ns.seqincrement, ns.seqmin, ns.seqmax, ns.seqcache, ns.seqcycle)
  UNION ALL
  SELECT 11, 'the comment on ' || pg_describe_object(d.classoid, d.objoid, 0)
  FROM old, pg_description d
  WHERE (d.classoid = 'pg_constraint'::regclass AND d.objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = old.oid))
     OR (d.classoid = 'pg_class'::regclass AND d.objoid IN (SELECT indexrelid FROM pg_index WHERE indrelid = old.oid))
) lost ORDER BY place, what COLLATE "C"`;

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
