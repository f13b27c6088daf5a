/** Refuses to replace, to drop or to empty a table that other objects need. */
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../../../core/errors.ts';
import { readRowsInCallersPath } from '../../../postgres/search-path.ts';
import { quoteQualified } from '../../../postgres/sql.ts';
import { describeDependent, wholeConstraint } from '../catalog/keys-of-partitions.ts';

/**
 * Refuses to replace a table on which other objects depend.
 *
 * @param replacement the quoted name of the replacement, whose defaults may use the sequences of the existing table
 * @throws AppError `dependent-objects` (409), which names everything that prevents dropping the table or would be dropped with
 * it
 */
export async function refuseDependents(
  client: ClientBase,
  schema: string,
  name: string,
  replacement: string | null = null,
): Promise<void> {
  const relation = quoteQualified(schema, name);
  const found = await find(client, dependents, [relation, replacement]);
  if (found.length === 0) return;
  const referring = await find(client, references, [relation, []]);
  const remedy =
    referring.length === 0
      ? 'send if_exists=truncate'
      : 'send if_exists=append&on_conflict=update (if_exists=truncate cannot empty it either, because foreign keys of other tables refer to it)';
  throw dependentObjects(
    `The table "${schema}"."${name}" cannot be replaced: other objects depend on it. Drop them first, or keep the table: ${remedy}.`,
    found,
    'depends on',
  );
}

/**
 * Refuses to empty a table that foreign keys of other tables refer to. PostgreSQL refuses TRUNCATE for such a table, even if no row
 * refers to it.
 *
 * @param emptied quoted names of tables that are emptied by the same statement
 * @throws AppError `dependent-objects` (409), which names these foreign keys
 */
export async function refuseReferences(
  client: ClientBase,
  schema: string,
  name: string,
  emptied: readonly string[] = [],
): Promise<void> {
  const found = await find(client, references, [quoteQualified(schema, name), emptied]);
  if (found.length === 0) return;
  throw dependentObjects(
    `The table "${schema}"."${name}" cannot be emptied: foreign keys of other tables refer to it. Send if_exists=append (with on_conflict=update to change existing rows), or drop the foreign keys first.`,
    found,
    'refers to',
  );
}

/**
 * Refuses to drop a table on which other objects depend. Its partitions are parts of it.
 *
 * @throws AppError `dependent-objects` (409), which names everything that prevents the drop
 */
export async function refuseDependentsOfDrop(
  client: ClientBase,
  schema: string,
  name: string,
): Promise<void> {
  const found = await find(client, dependentsOfTree, [quoteQualified(schema, name), null]);
  if (found.length === 0) return;
  const detail = `The table "${schema}"."${name}" cannot be dropped: other objects depend on it. Drop them first.`;
  throw dependentObjects(detail, found, 'depends on');
}

/** Refuses to rename or move a table that belongs to an extension, whose functions and updates expect it under its name. PostgreSQL would not refuse it. */
export async function refuseMember(client: ClientBase, schema: string, name: string): Promise<void> {
  const found = await find(client, memberships, [quoteQualified(schema, name)]);
  if (found.length === 0) return;
  const detail = `The table "${schema}"."${name}" cannot be renamed or moved: it belongs to an extension.`;
  throw dependentObjects(detail, found, 'needs');
}

export interface Dependent {
  dependent: string;
}

async function find(client: ClientBase, text: string, values: unknown[]): Promise<Dependent[]> {
  return (await client.query<{ found: Dependent[] }>(text, values)).rows[0]!.found;
}

/** @param verb "depends on" or "refers to" */
export function dependentObjects(detail: string, found: Dependent[], verb: string): AppError {
  const errors = found.slice(0, 100).map(({ dependent }): Problem => {
    return { value: dependent, code: 'dependent-object', detail: `${dependent} ${verb} the table` };
  });
  return new AppError('dependent-objects', detail, { errors, errorCount: found.length });
}

/**
 * The objects that prevent a DROP: views, foreign keys and extensions. A sequence of the table that a default of its replacement uses does
 * not prevent it. `t` is the table, and `$2` its replacement.
 */
const dependentsOfDrop = `
  SELECT coalesce(
    (SELECT pg_describe_object('pg_class'::regclass, v.oid, 0)
     FROM pg_rewrite r JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
     WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid),
    -- The caller does not know the temporary name of the new table.
    (SELECT format('the default of column %I in the new definition', n.attname)
     FROM pg_attrdef a JOIN pg_attribute n ON n.attrelid = a.adrelid AND n.attnum = a.adnum
     WHERE d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid AND a.adrelid = to_regclass($2)),
    ${describeDependent('d')}) AS dependent
  FROM pg_depend d JOIN target t
    ON (d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT oid FROM dropped))
    OR (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))
  WHERE d.deptype = 'n'
    AND NOT (d.classid = 'pg_constraint'::regclass
             AND EXISTS (SELECT FROM pg_constraint c JOIN target own ON own.oid = c.conrelid WHERE c.oid = d.objid))
    AND NOT (d.classid = 'pg_attrdef'::regclass
             AND EXISTS (SELECT FROM pg_attrdef a WHERE a.oid = d.objid AND (a.adrelid IN (SELECT oid FROM target) OR a.adrelid = to_regclass($2) AND EXISTS (
               SELECT FROM pg_depend o WHERE o.classid = d.refclassid AND o.objid = d.refobjid AND o.refobjid = t.oid AND o.deptype = 'a'))))
    AND NOT (d.classid = 'pg_class'::regclass AND d.objid IN (SELECT oid FROM target))`;

const extensionOfTable = `
  SELECT 'its place in ' || pg_describe_object(d.refclassid, d.refobjid, 0)
  FROM pg_depend d JOIN target t ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'`;

/**
 * The objects and properties that a DROP would remove without an error, and that the new table would lack. A new table without row-level
 * security or security labels (which mask columns, for example) would show its rows to everybody who has privileges on the old table.
 */
const droppedSilently = [
  `SELECT pg_describe_object('pg_trigger'::regclass, g.oid, 0)
  FROM pg_trigger g JOIN target t ON g.tgrelid = t.oid WHERE NOT g.tgisinternal`,
  `SELECT pg_describe_object('pg_rewrite'::regclass, r.oid, 0) FROM pg_rewrite r JOIN target t ON r.ev_class = t.oid`,
  `SELECT pg_describe_object('pg_policy'::regclass, p.oid, 0) FROM pg_policy p JOIN target t ON p.polrelid = t.oid`,
  `SELECT pg_describe_object('pg_publication_rel'::regclass, p.oid, 0)
  FROM pg_publication_rel p JOIN target t ON p.prrelid = t.oid`,
  `SELECT pg_describe_object('pg_class'::regclass, i.inhrelid, 0) FROM pg_inherits i JOIN target t ON i.inhparent = t.oid`,
  `SELECT 'its place in ' || pg_describe_object('pg_class'::regclass, i.inhparent, 0)
  FROM pg_inherits i JOIN target t ON i.inhrelid = t.oid`,
  `SELECT 'its partitioning' FROM target WHERE relkind = 'p'`,
  `SELECT 'its row-level security' FROM target WHERE relrowsecurity OR relforcerowsecurity`,
  `SELECT format('the security label of %s', pg_describe_object('pg_class'::regclass, l.objoid, l.objsubid))
  FROM pg_seclabel l WHERE l.classoid = 'pg_class'::regclass AND l.objoid IN (SELECT oid FROM dropped)`,
  `SELECT 'its place in ' || pg_describe_object('pg_subscription'::regclass, r.srsubid, 0)
  FROM pg_subscription_rel r JOIN target t ON r.srrelid = t.oid`,
  extensionOfTable,
];

/**
 * Returns a query of what the parts find. `target` are the tables that the condition chooses, and `dropped` these and the sequences that are
 * dropped with them. The description of an object that another session drops at this moment is NULL.
 */
const findDependents = (condition: string, parts: string[]) =>
  readRowsInCallersPath(`
WITH target AS (
  SELECT c.oid, c.reltype, t.typarray, c.relkind, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
  WHERE ${condition}),
dropped AS (
  SELECT oid FROM target
  UNION ALL
  SELECT s.oid FROM target t
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i')
  JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid AND s.relkind = 'S')
SELECT DISTINCT dependent FROM (${parts.join(' UNION ALL ')}) found
WHERE dependent IS NOT NULL ORDER BY 1`);

const dependents = findDependents('c.oid = to_regclass($1)', [dependentsOfDrop, ...droppedSilently]);

const dependentsOfTree = findDependents(
  'c.oid = to_regclass($1) OR c.oid IN (SELECT relid FROM pg_partition_tree(to_regclass($1)))',
  [dependentsOfDrop, extensionOfTable],
);

const memberships = findDependents('c.oid = to_regclass($1)', [
  `SELECT pg_describe_object(d.refclassid, d.refobjid, 0) AS dependent
  FROM pg_depend d JOIN target t ON d.classid = 'pg_class'::regclass AND d.objid = t.oid AND d.deptype = 'e'`,
]);

/** The foreign keys of other tables. The partitions of a table are emptied with it, so keys that refer to them count, and their own keys do not. */
const references = readRowsInCallersPath(`
WITH target AS (SELECT to_regclass($1)::oid AS oid UNION SELECT relid FROM pg_partition_tree(to_regclass($1)))
SELECT DISTINCT dependent FROM pg_constraint k, pg_describe_object('pg_constraint'::regclass, ${wholeConstraint('k.oid')}, 0) AS dependent
WHERE dependent IS NOT NULL AND confrelid IN (SELECT oid FROM target) AND contype = 'f' AND conrelid NOT IN (SELECT oid FROM target)
  AND NOT EXISTS (SELECT FROM unnest($2::text[]) e(relation) WHERE conrelid = to_regclass(e.relation)
    OR conrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(e.relation)))) ORDER BY 1`);
