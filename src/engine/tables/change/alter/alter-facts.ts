/** Reads from the catalogue what a plan needs besides the description of the table. */
import type { ClientBase } from 'pg';
import { qualified } from '../../../../postgres/callers-statement.ts';
import { pipeline } from '../../../../postgres/pipeline.ts';
import { runAndUndo } from '../../../../postgres/savepoints.ts';
import { apartInCallersPath, readRowsInCallersPath } from '../../../../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified, randomName } from '../../../../postgres/sql.ts';
import { asLackOfTemporary } from '../../../../postgres/temporary-privilege.ts';
import { describeDependent, wholeConstraint } from '../../catalog/keys-of-partitions.ts';
import type { TableDescription } from '../../definition.ts';
import { readTable, toDescription } from '../../describe-table.ts';
import { goneMeanwhile } from '../found-table.ts';

export interface AlterFacts {
  isOwner: boolean;
  owner: string;
  /** The names of the constraints and indexes that PostgreSQL drops together with the dropped columns. */
  fallen: string[];
}

/**
 * @param dropped the names of the dropped columns
 * @throws AppError `write-conflict` if the table is gone
 */
export async function readAlterFacts(
  client: ClientBase,
  oid: number,
  dropped: string[],
): Promise<AlterFacts> {
  const { rows } = await client.query<AlterFacts>(alterFacts, [oid, dropped]);
  if (rows[0] === undefined) throw goneMeanwhile();
  return rows[0];
}

/** A foreign key to the table itself is dropped together with the key that it refers to. */
const alterFacts = `
WITH gone AS (
  SELECT coalesce(array_agg(attnum), '{}') AS columns FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND attname = ANY ($2)),
index_of AS (
  SELECT i.indexrelid FROM pg_index i, gone WHERE i.indrelid = $1 AND (i.indkey::int2[] && gone.columns OR EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
      AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid = ANY (gone.columns))))
SELECT pg_has_role(c.relowner, 'USAGE') AS "isOwner", pg_get_userbyid(c.relowner) AS owner, ARRAY(
  SELECT k.conname::text FROM pg_constraint k, gone
  WHERE k.conrelid = c.oid AND k.contype <> 'n' AND (k.conkey && gone.columns OR k.conindid IN (SELECT indexrelid FROM index_of)
    OR k.confrelid = c.oid AND k.confkey && gone.columns)
  UNION
  SELECT x.relname::text FROM index_of JOIN pg_class x ON x.oid = index_of.indexrelid) AS fallen
FROM pg_class c WHERE c.oid = $1`;

/** The names of what a plan drops or gives another type. PostgreSQL refuses both if other objects, such as views, need it. */
export interface Gone {
  columns: string[];
  /** The columns that get another type. */
  retyped: string[];
  constraints: string[];
  indexes: string[];
}

/** Returns the objects that depend on something that is dropped or gets another type, as PostgreSQL describes them. */
export async function findDependents(client: ClientBase, relation: string, gone: Gone): Promise<string[]> {
  const { columns, retyped, constraints, indexes } = gone;
  const values = [relation, columns, retyped, constraints, indexes];
  if (values.slice(1).every((names) => names.length === 0)) return [];
  const { rows } = await client.query<{ found: { dependent: string }[] }>(dependents, values);
  return rows[0]!.found.map(({ dependent }) => dependent);
}

/**
 * PostgreSQL makes constraints, indexes and statistics of a column with a new type anew. It drops statistics of a dropped column, which no
 * definition can have, so they count as dependents.
 */
const dependents = readRowsInCallersPath(`
WITH t AS (SELECT to_regclass($1)::oid AS oid),
dropped AS (SELECT a.attnum FROM pg_attribute a, t WHERE a.attrelid = t.oid AND a.attname = ANY ($2::text[])),
retyped AS (SELECT a.attnum FROM pg_attribute a, t WHERE a.attrelid = t.oid AND a.attname = ANY ($3::text[])),
rules AS (SELECT k.oid, k.contype, k.conindid FROM pg_constraint k, t WHERE k.conrelid = t.oid AND k.conname = ANY ($4::text[])),
gone AS (
  SELECT 'pg_class'::regclass::oid AS classid, t.oid AS objid, attnum::int AS subid FROM t, dropped
  UNION ALL
  SELECT d.classid, d.objid, 0 FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
  WHERE d.classid = 'pg_class'::regclass AND d.refobjsubid IN (SELECT attnum FROM dropped) AND d.deptype IN ('a', 'i')
  UNION ALL
  SELECT 'pg_constraint'::regclass, oid, 0 FROM rules
  UNION ALL
  SELECT 'pg_class'::regclass, conindid, 0 FROM rules WHERE contype IN ('p', 'u', 'x')
  UNION ALL
  SELECT 'pg_class'::regclass, i.indexrelid, 0 FROM t JOIN pg_index i ON i.indrelid = t.oid
  JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname = ANY ($5::text[])),
needed AS (
  SELECT d.classid, d.objid, d.objsubid FROM gone g
  JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid AND d.refobjsubid = g.subid
  WHERE d.deptype = 'n' OR d.classid = 'pg_statistic_ext'::regclass
  UNION
  SELECT d.classid, d.objid, d.objsubid FROM t JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid
  WHERE d.refobjsubid IN (SELECT attnum FROM retyped) AND d.classid NOT IN (
      'pg_constraint'::regclass, 'pg_class'::regclass, 'pg_statistic_ext'::regclass)
    AND NOT (d.classid = 'pg_attrdef'::regclass AND d.deptype = 'a'))
SELECT DISTINCT dependent FROM (
  SELECT coalesce(
    (SELECT pg_describe_object('pg_class'::regclass, v.oid, 0) FROM pg_rewrite r
     JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
     WHERE n.classid = 'pg_rewrite'::regclass AND r.oid = n.objid),
    (SELECT pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum) FROM pg_attrdef f
     JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
     WHERE n.classid = 'pg_attrdef'::regclass AND f.oid = n.objid AND a.attgenerated <> ''),
    ${describeDependent('n')}) AS dependent
  FROM needed n, t
  WHERE NOT (n.classid = 'pg_constraint'::regclass AND ${wholeConstraint('n.objid')} IN (SELECT oid FROM rules))
    AND NOT (n.classid = 'pg_attrdef'::regclass AND EXISTS (
      SELECT FROM pg_attrdef f WHERE f.oid = n.objid AND f.adrelid = t.oid AND f.adnum IN (SELECT attnum FROM dropped)))) found
WHERE dependent IS NOT NULL ORDER BY 1`);

/**
 * Returns the description with new names of columns. PostgreSQL itself writes the expressions with the new names: a temporary table gets the
 * columns and expressions, and is undone. Needs TEMPORARY if the table has expressions.
 */
export async function renameInDescription(
  client: ClientBase,
  table: TableDescription,
  renames: [from: string, to: string][],
): Promise<TableDescription> {
  if (renames.length === 0) return table;
  const { schema, name, columns, constraints, indexes = [] } = table;
  const names = new Map(renames);
  const now = (column: string) => names.get(column) ?? column;
  const key = <Key extends { columns: string[]; include?: string[] | null | undefined }>(one: Key): Key => ({
    ...one,
    columns: one.columns.map(now),
    ...(one.include && { include: one.include.map(now) }),
  });
  const isSelf = (one: { reference_table: string; reference_schema: string }) =>
    one.reference_schema === schema && one.reference_table === name;
  const expressions = await renamedExpressions(client, table, renames);
  const checks = expressions?.constraints.checks ?? constraints.checks;
  const written = expressions?.indexes ?? indexes;
  return {
    ...table,
    columns: columns.map((column, place) => ({
      ...column,
      name: now(column.name),
      ...(column.generated && { generated: expressions?.columns[place]?.generated ?? column.generated }),
    })),
    constraints: {
      ...constraints,
      primary_key: key(constraints.primary_key),
      unique: constraints.unique.map(key),
      foreign_keys: constraints.foreign_keys.map((one) => ({
        ...one,
        column: now(one.column),
        ...(isSelf(one) && { reference_column: now(one.reference_column) }),
      })),
      ...(checks && { checks }),
    },
    ...(indexes.length > 0 && {
      indexes: indexes.map((index, place) => ({
        ...(written.length === indexes.length ? written[place]! : index),
        name: index.name,
      })),
    }),
  };
}

async function renamedExpressions(
  client: ClientBase,
  { schema, name }: TableDescription,
  renames: [from: string, to: string][],
): Promise<TableDescription> {
  const copy = randomName('renamed');
  const relation = quoteQualified('pg_temp', copy);
  const parts = 'INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING INDEXES';
  try {
    return await runAndUndo(client, 'renamed', async () => {
      const statements = [
        qualified`CREATE TEMPORARY TABLE ${quoteIdentifier(copy)} (LIKE ${quoteQualified(schema, name)} ${parts})`,
        ...renames.map(
          ([from, to]) =>
            qualified`ALTER TABLE ${relation} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`,
        ),
      ];
      await pipeline(client, apartInCallersPath(...statements));
      const facts = await readTable(client, 'pg_temp', copy, true);
      return toDescription(schema, name, facts!, [], undefined);
    });
  } catch (error) {
    throw await asLackOfTemporary(client, error);
  }
}
