/** Reads the foreign keys that refer to a table: what PostgreSQL does to the rows that refer to a row which is deleted. */
import type { ClientBase } from 'pg';
import type { Equality } from './equality.ts';
import { columnNames, equalityOf, isEnforced } from './row-rules.ts';

/** A foreign key of any table that refers to the table. */
export interface ReferringKey {
  name: string;
  /** The table that has the foreign key: as it is shown, and quoted for SQL, with ONLY unless it is partitioned. */
  table: string;
  relation: string;
  columns: string[];
  referencedColumns: string[];
  /** The comparisons of the referenced columns with the columns of the key. See `equal`. */
  equals: Equality[];
  /** ON DELETE CASCADE, SET NULL or SET DEFAULT, as SQL writes it; null: PostgreSQL refuses to delete a row to which a row refers. */
  action: string | null;
  /** The foreign key is one of the table itself, or of a table of which it is a partition. */
  isSelf: boolean;
  /** The role may read the columns of all rows that refer to the table. */
  mayRead: boolean;
}

/** @param relation quoted */
export async function readReferringKeys(client: ClientBase, relation: string): Promise<ReferringKey[]> {
  return (await client.query<ReferringKey>(referringKeys, [relation])).rows;
}

/**
 * A foreign key over partitioned tables has further constraints for their partitions. Only the topmost one is read. Keys over periods are left out,
 * because they compare ranges; PostgreSQL refuses to delete what they refer to.
 */
const referringKeys = `
WITH target AS (SELECT $1::regclass::oid AS oid UNION SELECT relid FROM pg_partition_tree($1::regclass))
SELECT f.conname AS name, format('"%s"."%s"', n.nspname, r.relname) AS "table",
  format('%s%I.%I', CASE WHEN r.relkind = 'p' THEN '' ELSE 'ONLY ' END, n.nspname, r.relname) AS relation,
  ${columnNames('f.conrelid', 'f.conkey')} AS columns, ${columnNames('f.confrelid', 'f.confkey')} AS "referencedColumns",
  (SELECT jsonb_agg(${equalityOf('k.operator', 'p.atttypid', 'a.atttypid')} ORDER BY k.position)
   FROM ROWS FROM (unnest(f.conpfeqop), unnest(f.confkey), unnest(f.conkey))
     WITH ORDINALITY AS k(operator, referenced, attnum, position)
   JOIN pg_attribute p ON p.attrelid = f.confrelid AND p.attnum = k.referenced
   JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.attnum) AS equals,
  CASE f.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' END AS action,
  f.conrelid IN (SELECT oid FROM target UNION ALL SELECT relid FROM pg_partition_ancestors($1::regclass)) AS "isSelf",
  NOT row_security_active(f.conrelid) AND (
    SELECT bool_and(has_column_privilege(f.conrelid, c, 'SELECT')) FROM unnest(f.conkey) c) AS "mayRead"
FROM pg_constraint f JOIN pg_class r ON r.oid = f.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE f.contype = 'f' AND f.confrelid IN (SELECT oid FROM target) AND ${isEnforced('f')}
  AND NOT coalesce((to_jsonb(f)->>'conperiod')::boolean, false)
  AND NOT EXISTS (SELECT FROM pg_constraint p WHERE p.oid = f.conparentid AND p.confrelid IN (SELECT oid FROM target))
ORDER BY n.nspname, r.relname, f.conname`;
