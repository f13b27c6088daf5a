/** Reads from the catalogue what a plan needs besides the description of the table. */
import type { ClientBase } from 'pg';
import { AppError, type Problem } from '../../../../core/errors.ts';
import { shorten } from '../../../../core/identifiers.ts';
import { qualified } from '../../../../postgres/callers-statement.ts';
import { pipeline } from '../../../../postgres/pipeline.ts';
import { runAndUndo } from '../../../../postgres/savepoints.ts';
import { apartInCallersPath, readRowsInCallersPath } from '../../../../postgres/search-path.ts';
import { quoteIdentifier, quoteQualified, randomName, type Statement } from '../../../../postgres/sql.ts';
import { conditionOf } from '../../../../postgres/sqlstate.ts';
import { asLackOfTemporary } from '../../../../postgres/temporary-privilege.ts';
import type { TableDescription } from '../../definition.ts';
import { readTable, toDescription } from '../../describe-table.ts';
import { goneMeanwhile } from '../found-table.ts';

export interface AlterFacts {
  isOwner: boolean;
  owner: string;
  /** A table below that the role does not own; null: there is none. */
  notOwned: { schema: string; name: string; owner: string } | null;
  /** The names of the constraints and indexes that PostgreSQL drops together with the dropped columns. */
  fallen: string[];
  /** The parts that only tables below have: partitions, and tables that inherit. */
  fallenBelow: PartBelow[];
  /** The `pg_class.oid` of the table and of those below. */
  tree: number[];
}

/** A constraint or an index that a table below has on its own. Foreign keys come first, because they may need the others. */
export interface PartBelow {
  oid: number;
  schema: string;
  table: string;
  name: string;
  isIndex: boolean;
  /** `pg_constraint.contype`; null: an index. */
  kind: string | null;
}

/** What a plan has read. Under the lock it is read again, and if it is something else, the plan is stale. */
export interface Reading {
  query: Statement;
  rows: unknown[];
}

/** Sends the query and adds it to `readings`. */
export async function readOnce<Row extends object>(
  client: ClientBase,
  query: Statement,
  readings: Reading[],
): Promise<Row[]> {
  const { rows } = await client.query<Row>(query.text, query.values);
  readings.push({ query, rows });
  return rows;
}

/**
 * @param dropped the names of the dropped columns
 * @throws AppError `write-conflict` if the table is gone
 */
export async function readAlterFacts(
  client: ClientBase,
  oid: number,
  dropped: string[],
  readings: Reading[],
): Promise<AlterFacts> {
  const [facts] = await readOnce<AlterFacts>(client, { text: alterFacts, values: [oid, dropped] }, readings);
  if (facts === undefined) throw goneMeanwhile();
  return facts;
}

/**
 * Returns the beginning of a query: `tree` has the table and those below, and `falling` their columns that are dropped with those of the table. A table
 * below keeps a column that it has on its own or from another parent.
 *
 * @param table the oid of the table, in SQL
 */
const fallingColumns = (table: string) => `
WITH RECURSIVE tree AS (
  SELECT ${table} AS oid UNION SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid),
staying AS (
  SELECT a.attrelid, a.attname FROM tree t JOIN pg_attribute a ON a.attrelid = t.oid
  WHERE t.oid <> ${table} AND a.attname = ANY ($2::text[]) AND (a.attislocal OR EXISTS (
    SELECT FROM pg_inherits i JOIN pg_attribute p ON p.attrelid = i.inhparent AND p.attname = a.attname
    WHERE i.inhrelid = t.oid AND i.inhparent NOT IN (SELECT oid FROM tree)))
  UNION
  SELECT i.inhrelid, s.attname FROM staying s JOIN pg_inherits i ON i.inhparent = s.attrelid),
falling AS (
  SELECT a.attrelid, a.attnum FROM tree t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
  WHERE a.attname = ANY ($2::text[])
    AND NOT EXISTS (SELECT FROM staying s WHERE s.attrelid = a.attrelid AND s.attname = a.attname))`;

/** A foreign key to the table itself is dropped together with the key that it refers to. What a table below inherits falls with that of its parent. */
const alterFacts = `${fallingColumns('$1::oid')},
gone AS (SELECT attrelid, array_agg(attnum) AS columns FROM falling GROUP BY attrelid),
index_of AS (
  SELECT i.indexrelid AS oid, i.indrelid FROM gone JOIN pg_index i ON i.indrelid = gone.attrelid
  WHERE i.indkey::int2[] && gone.columns OR EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
      AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid = ANY (gone.columns))),
rule_of AS (
  SELECT k.* FROM gone JOIN pg_constraint k ON k.conrelid = gone.attrelid
  WHERE k.contype <> 'n' AND (k.conkey && gone.columns OR k.confrelid = k.conrelid AND k.confkey && gone.columns
    OR EXISTS (SELECT FROM index_of x WHERE x.oid = k.conindid AND x.indrelid = k.conrelid))),
below AS (
  SELECT k.oid, k.conrelid AS relid, k.conname AS name, k.contype::text AS kind FROM rule_of k
  WHERE k.conrelid <> $1 AND k.coninhcount = 0 AND k.conparentid = 0
  UNION ALL
  SELECT x.oid, x.indrelid, c.relname, NULL FROM index_of x JOIN pg_class c ON c.oid = x.oid
  WHERE x.indrelid <> $1 AND NOT c.relispartition
    AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.oid AND k.conrelid = x.indrelid AND k.contype <> 'f'))
SELECT pg_has_role(c.relowner, 'USAGE') AS "isOwner", pg_get_userbyid(c.relowner) AS owner, (
  SELECT json_build_object('schema', n.nspname, 'name', t.relname, 'owner', pg_get_userbyid(t.relowner))
  FROM tree JOIN pg_class t ON t.oid = tree.oid JOIN pg_namespace n ON n.oid = t.relnamespace
  WHERE t.oid <> $1 AND NOT pg_has_role(t.relowner, 'USAGE') ORDER BY t.oid LIMIT 1) AS "notOwned", ARRAY(
  SELECT k.conname::text FROM rule_of k WHERE k.conrelid = c.oid
  UNION
  SELECT x.relname::text FROM index_of JOIN pg_class x ON x.oid = index_of.oid WHERE index_of.indrelid = c.oid ORDER BY 1) AS fallen, (
  SELECT coalesce(json_agg(json_build_object('oid', b.oid::bigint, 'schema', n.nspname, 'table', t.relname, 'name', b.name,
    'isIndex', b.kind IS NULL, 'kind', b.kind) ORDER BY b.kind = 'f' DESC NULLS LAST, b.oid), '[]')
  FROM below b JOIN pg_class t ON t.oid = b.relid JOIN pg_namespace n ON n.oid = t.relnamespace) AS "fallenBelow",
  ARRAY(SELECT oid::bigint::float8 FROM tree ORDER BY 1) AS tree
FROM pg_class c WHERE c.oid = $1`;

/** What a plan drops or gives another type. PostgreSQL refuses both if other objects, such as views, need it. */
export interface Gone {
  columns: string[];
  /** The columns that get another type. */
  retyped: string[];
  constraints: string[];
  indexes: string[];
  /** The parts of tables below. */
  below: PartBelow[];
}

/** Returns the objects that depend on something that is dropped or gets another type, as PostgreSQL describes them. */
export async function findDependents(
  client: ClientBase,
  relation: string,
  { columns, retyped, constraints, indexes, below }: Gone,
  readings: Reading[],
): Promise<string[]> {
  const names = [columns, retyped, constraints, indexes];
  if (names.every((list) => list.length === 0)) return [];
  const oidsBelow = [false, true].map((isIndex) =>
    below.filter((part) => part.isIndex === isIndex).map(({ oid }) => oid),
  );
  const values = [relation, ...names, ...oidsBelow];
  const rows = await readOnce<{ found: { dependent: string }[] }>(
    client,
    { text: dependents, values },
    readings,
  );
  return rows[0]!.found.map(({ dependent }) => dependent);
}

/**
 * PostgreSQL makes constraints, indexes and statistics of a column with a new type anew. It drops statistics of a dropped column, which no
 * definition can have, so they count as dependents. The tables below get the same changes. A copy of a foreign key, check or trigger for a
 * table below is not named beside its original.
 */
const dependents = readRowsInCallersPath(`${fallingColumns('to_regclass($1)::oid')},
retyped AS (SELECT a.attrelid, a.attnum FROM tree t JOIN pg_attribute a ON a.attrelid = t.oid WHERE a.attname = ANY ($3::text[])),
rules AS (
  SELECT k.oid, k.contype, k.conindid FROM pg_constraint k
  WHERE (k.conrelid = to_regclass($1)::oid AND k.conname = ANY ($4::text[])) OR k.oid = ANY ($6::oid[])
  UNION
  SELECT k.oid, k.contype, k.conindid FROM rules r JOIN pg_constraint k ON k.conparentid = r.oid),
gone AS (
  SELECT 'pg_class'::regclass::oid AS classid, attrelid AS objid, attnum::int AS subid FROM falling
  UNION ALL
  SELECT d.classid, d.objid, 0 FROM falling f
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = f.attrelid AND d.refobjsubid = f.attnum
  WHERE d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
  UNION ALL
  SELECT 'pg_constraint'::regclass, oid, 0 FROM rules
  UNION ALL
  SELECT 'pg_class'::regclass, conindid, 0 FROM rules WHERE contype IN ('p', 'u', 'x')
  UNION ALL
  SELECT 'pg_class'::regclass, i.indexrelid, 0 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = to_regclass($1)::oid AND c.relname = ANY ($5::text[])
  UNION ALL
  SELECT 'pg_class'::regclass, part, 0 FROM unnest($7::oid[]) part),
needed AS (
  SELECT d.classid, d.objid, d.objsubid FROM gone g
  JOIN pg_depend d ON d.refclassid = g.classid AND d.refobjid = g.objid AND d.refobjsubid = g.subid
  WHERE d.deptype = 'n' OR d.classid = 'pg_statistic_ext'::regclass
  UNION
  SELECT d.classid, d.objid, d.objsubid FROM retyped r
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = r.attrelid AND d.refobjsubid = r.attnum
  WHERE d.classid NOT IN ('pg_constraint'::regclass, 'pg_class'::regclass, 'pg_statistic_ext'::regclass)
    AND NOT (d.classid = 'pg_attrdef'::regclass AND d.deptype = 'a'))
SELECT DISTINCT dependent FROM (
  SELECT coalesce(
    (SELECT pg_describe_object('pg_class'::regclass, v.oid, 0) FROM pg_rewrite r
     JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
     WHERE n.classid = 'pg_rewrite'::regclass AND r.oid = n.objid),
    (SELECT pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum) FROM pg_attrdef f
     JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
     WHERE n.classid = 'pg_attrdef'::regclass AND f.oid = n.objid AND a.attgenerated <> ''),
    pg_describe_object(n.classid, n.objid, n.objsubid)) AS dependent
  FROM needed n
  WHERE NOT (n.classid = 'pg_constraint'::regclass AND EXISTS (
      SELECT FROM pg_constraint k WHERE k.oid = n.objid AND (k.conparentid <> 0 OR k.oid IN (SELECT oid FROM rules)
        OR (k.contype = 'c' AND k.conrelid IN (SELECT oid FROM tree)))))
    AND NOT (n.classid = 'pg_trigger'::regclass AND EXISTS (
      SELECT FROM pg_trigger g WHERE g.oid = n.objid AND g.tgparentid <> 0))
    AND NOT (n.classid = 'pg_attrdef'::regclass AND EXISTS (
      SELECT FROM pg_attrdef d JOIN falling f ON f.attrelid = d.adrelid AND f.attnum = d.adnum WHERE d.oid = n.objid))) found
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
    if (conditionOf(error) === 'feature_not_supported') throw notRenamed(error as Error);
    throw await asLackOfTemporary(client, error);
  }
}

/** Returns the error for an expression about whole rows: a copy of the table cannot have it. */
function notRenamed(error: Error): AppError {
  const detail = `PostgreSQL cannot describe the table with the new names of its columns: ${shorten(error.message)}`;
  const errors: Problem[] = [{ pointer: '/table/columns', code: 'not-supported', detail }];
  return new AppError('invalid-definition', detail, { errors, cause: error });
}
