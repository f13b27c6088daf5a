/** Refuses to give columns another type if other objects use them. */
import type { ClientBase } from 'pg';
import type { Widening } from '../../../encoding/widening/misfits.ts';
import { readRowsInCallersPath } from '../../../postgres/search-path.ts';
import { describeDependent } from '../catalog/keys-of-partitions.ts';
import { type Dependent, dependentObjects } from '../replace/refuse-dependents.ts';

/**
 * @param relation the name of the table, quoted
 * @param changedDefaults descriptions of defaults that would be other values
 * @throws AppError `dependent-objects` (409), which names every object that PostgreSQL would refuse to change with the columns, or whose meaning the
 *   new type may change
 */
export async function refuseColumnDependents(
  client: ClientBase,
  relation: string,
  widenings: Widening[],
  changedDefaults: readonly string[],
): Promise<void> {
  const values = [
    relation,
    widenings.map(({ column }) => column.name),
    widenings.map(({ column, to }) => column.type.oid !== to.oid),
    widenings.map(
      ({ column, to }) => column.type.oid !== to.oid && !(isInteger(column.type.oid) && isInteger(to.oid)),
    ),
    widenings.map(
      ({ column, to }) =>
        /^text\b/.test(to.name) && /^[DIT]$/.test((column.type.element ?? column.type).category ?? ''),
    ),
  ];
  const { rows } = await client.query<{ found: Dependent[] }>(dependents, values);
  const found = [...rows[0]!.found, ...changedDefaults.map((dependent) => ({ dependent }))];
  if (found.length === 0) return;
  const names = widenings.map(({ column, to }) => `"${column.name}" to ${to.name}`).join(', ');
  const detail = `Values do not fit the types of the table ${relation}, and its columns cannot be widened (${names}): other objects depend on them. Drop these first, or send misfits=fail to see the values.`;
  throw dependentObjects(detail, found, 'depends on');
}

function isInteger(oid: number): boolean {
  return oid === 21 || oid === 23 || oid === 20;
}

/**
 * `wide` are the columns, also of the tables that inherit from the table. `is_other`: the column gets another type, not only another modifier.
 * `is_other_kind`: neither only another modifier nor only another integer type, so that `/` and comparisons in a check may mean something else.
 * `is_written`: a moment, interval or address becomes text. Its default would be written as the settings of each session say, or as a cast does.
 *
 * PostgreSQL makes keys, indexes of columns, statistics and sequences anew. It would also do this for foreign keys, but it would lock the other tables.
 */
const dependents = readRowsInCallersPath(`
WITH RECURSIVE tree AS (
  SELECT to_regclass($1)::oid AS oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid),
wide AS (
  SELECT a.attrelid, a.attnum, a.attinhcount, w.is_other, w.is_other_kind, w.is_written
  FROM tree t JOIN pg_attribute a ON a.attrelid = t.oid
  JOIN unnest($2::text[], $3::bool[], $4::bool[], $5::bool[]) w(name, is_other, is_other_kind, is_written) ON a.attname = w.name AND NOT a.attisdropped)
SELECT DISTINCT dependent FROM (
  SELECT CASE
      WHEN v.oid IS NOT NULL THEN pg_describe_object('pg_class'::regclass, v.oid, 0)
      WHEN (f.adrelid, f.adnum) <> (w.attrelid, w.attnum) THEN format('the generated column %I', (
        SELECT g.attname FROM pg_attribute g WHERE g.attrelid = f.adrelid AND g.attnum = f.adnum))
      WHEN d.objid = w.attrelid THEN 'its partition key'
      ELSE ${describeDependent('d')} END AS dependent
  FROM pg_depend d
  JOIN wide w ON d.refclassid = 'pg_class'::regclass AND d.refobjid = w.attrelid AND d.refobjsubid = w.attnum
  LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
  LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
  LEFT JOIN pg_class v ON v.oid = r.ev_class AND v.relkind IN ('v', 'm')
  WHERE d.classid <> 'pg_statistic_ext'::regclass AND CASE
      WHEN k.oid IS NOT NULL THEN k.contype = 'f' OR (k.contype = 'x' AND w.is_other) OR (k.contype = 'c' AND w.is_other_kind)
      WHEN i.indexrelid IS NOT NULL THEN w.is_other AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
      WHEN f.oid IS NOT NULL THEN w.is_written OR (f.adrelid, f.adnum) <> (w.attrelid, w.attnum)
      ELSE c.relkind IS DISTINCT FROM 'S' END
  UNION ALL
  SELECT 'its partition key' FROM pg_partitioned_table p JOIN wide w ON p.partrelid = w.attrelid AND w.attnum = ANY (p.partattrs::int2[])
  UNION ALL
  SELECT 'its place in ' || pg_describe_object('pg_class'::regclass, i.inhparent, 0)
  FROM pg_inherits i JOIN wide w ON i.inhrelid = w.attrelid AND w.attinhcount > 0 WHERE w.attrelid = to_regclass($1)
  UNION ALL
  SELECT 'its row type ' || reloftype::regtype FROM pg_class WHERE oid = to_regclass($1) AND reloftype <> 0
  UNION ALL
  SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
  FROM tree JOIN pg_class t ON t.oid = tree.oid JOIN pg_type y ON y.oid = t.reltype
  JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (y.oid, y.typarray)
  JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid AND c.relkind IN ('r', 'm', 'p') AND d.objsubid > 0) found
WHERE dependent IS NOT NULL ORDER BY 1`);
