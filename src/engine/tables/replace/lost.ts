/** What a table loses when another one replaces it. */
import { isShortExpression } from '../../../postgres/expression-trees.ts';
import { readRowsInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { isWholeKey } from '../catalog/keys-of-partitions.ts';
import { ownedSequences } from './inheritance.ts';

/**
 * Returns a query of `found`: a list of objects with `what`, PostgreSQL's descriptions of the objects and properties that the old table has
 * and the new one does not have. Both names are quoted.
 */
export function readLost(old: string, built: string): Statement {
  return { text: lostQuery, values: [old, built] };
}

/**
 * The text of a constraint, without the name of the table in a foreign key to the table itself, because the two tables have different
 * names. NULL: the text may be too long, so it equals no other one.
 */
const constraintText = (constraint: string) => `
  CASE WHEN ${constraint}.conbin IS NULL OR ${isShortExpression(`${constraint}.conbin`)}
    THEN replace(pg_get_constraintdef(${constraint}.oid), ' REFERENCES ' || ${constraint}.conrelid::regclass || '(', ' REFERENCES (') END`;

/** The new table has a constraint like `c`. */
const hasConstraint = `EXISTS (
    SELECT FROM pg_constraint n JOIN new ON n.conrelid = new.oid
    WHERE n.contype = c.contype AND ${constraintText('n')} = ${constraintText('c')})`;

/** The definition of an index from its access method on, so without the names of the index and of its table. NULL: the text may be too long. */
const indexText = (index: string) => `
  CASE WHEN (${index}.indexprs IS NULL OR ${isShortExpression(`${index}.indexprs`)})
      AND (${index}.indpred IS NULL OR ${isShortExpression(`${index}.indpred`)})
    THEN (SELECT substr(pg_get_indexdef(x.oid), 1 + length(format('CREATE %sINDEX %I ON %s%s.%I',
        CASE WHEN ${index}.indisunique THEN 'UNIQUE ' END, x.relname, CASE x.relkind WHEN 'I' THEN 'ONLY ' END,
        t.relnamespace::regnamespace, t.relname)))
      FROM pg_class x, pg_class t WHERE x.oid = ${index}.indexrelid AND t.oid = ${index}.indrelid) END`;

/** Joins defaults (`d`) with the relations that they use (`used`). The query that contains this join chooses the sequence. */
const usedSequences = `pg_depend used JOIN pg_attrdef d ON d.oid = used.objid
      AND used.classid = 'pg_attrdef'::regclass AND used.refclassid = 'pg_class'::regclass`;

/** Columns, constraints, indexes and statistics. The constraints of the kinds n (NOT NULL) and t (triggers) are compared elsewhere, as columns and triggers. */
const lostObjects = [
  `SELECT 0 AS place, format('column %I', o.attname) AS what
  FROM old JOIN pg_attribute o ON o.attrelid = old.oid AND o.attnum > 0 AND NOT o.attisdropped
  WHERE NOT EXISTS (SELECT FROM new JOIN pg_attribute n ON n.attrelid = new.oid AND n.attname = o.attname AND NOT n.attisdropped)`,
  `SELECT 1, pg_describe_object('pg_constraint'::regclass, c.oid, 0)
  FROM pg_constraint c JOIN old ON c.conrelid = old.oid
  WHERE c.contype IN ('p', 'u', 'f', 'c', 'x') AND ${isWholeKey('c')} AND NOT ${hasConstraint}`,
  `SELECT 2, pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid
  WHERE NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = old.oid AND c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
    AND NOT EXISTS (SELECT FROM pg_index n JOIN new ON n.indrelid = new.oid
      WHERE n.indisunique = i.indisunique AND ${indexText('n')} = ${indexText('i')})`,
  `SELECT 3, pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
  FROM pg_statistic_ext s JOIN old ON s.stxrelid = old.oid`,
];

const lostProperties = [
  `SELECT 4, 'its being unlogged' FROM old, new WHERE old.relpersistence = 'u' AND new.relpersistence = 'p'`,
  `SELECT 5, 'its replica identity' FROM old WHERE relreplident <> 'd'`,
  `SELECT 6, 'its tablespace' FROM old, new WHERE old.reltablespace <> new.reltablespace`,
  `SELECT 7, 'its access method' FROM old, new WHERE old.relam <> new.relam`,
  `SELECT 8, 'its being clustered by ' || pg_describe_object('pg_class'::regclass, i.indexrelid, 0)
  FROM pg_index i JOIN old ON i.indrelid = old.oid WHERE i.indisclustered`,
  `SELECT 9, 'its row type ' || reloftype::regtype FROM old WHERE reloftype <> 0`,
];

/** Some builds of PostgreSQL add a setting of their own to every column. It is not lost, because the new column has it, too. */
const lostOfColumns = `
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
    ('settings', EXISTS (
      SELECT option_name FROM pg_options_to_table(o.attoptions)
      EXCEPT SELECT option_name FROM pg_options_to_table(n.attoptions)))) AS setting (what, is_lost)
  WHERE setting.is_lost`;

const lostOfIndexes = `
  SELECT 9, format('the %s of %s', setting.what, pg_describe_object('pg_class'::regclass, i.oid, 0))
  FROM old JOIN pg_constraint c ON c.conrelid = old.oid AND c.contype IN ('p', 'u', 'x') JOIN pg_class i ON i.oid = c.conindid
  CROSS JOIN LATERAL (VALUES ('settings', i.reloptions IS NOT NULL), ('tablespace', i.reltablespace <> 0)) AS setting (what, is_lost)
  WHERE setting.is_lost AND ${hasConstraint}`;

/**
 * A sequence that the table owns is lost if the default of its column does not use it. Other sequences are lost with a default, or the new
 * table continues to use them. The numbering of a column is lost if the sequence of the new column has other parameters.
 */
const lostSequences = [
  `SELECT 9, pg_describe_object('pg_class'::regclass, s.oid, 0)
  FROM (${ownedSequences('old')}) s
  WHERE s.dependency = 'a' AND NOT EXISTS (
    SELECT FROM ${usedSequences}
    LEFT JOIN pg_attribute o ON o.attrelid = d.adrelid AND o.attnum = d.adnum
    WHERE used.refobjid = s.oid
      AND (d.adrelid = (SELECT oid FROM new) OR d.adrelid = (SELECT oid FROM old) AND o.attname = s.column_name))`,
  `SELECT 10, format('the numbering of column %I: START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s%s', column_name,
    os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, CASE WHEN os.seqcycle THEN ' CYCLE' END)
  FROM (${ownedSequences('old')}) o JOIN (${ownedSequences('new')}) n USING (column_name)
  JOIN pg_sequence os ON os.seqrelid = o.oid JOIN pg_sequence ns ON ns.seqrelid = n.oid
  WHERE o.is_numbering AND (os.seqstart, os.seqincrement, os.seqmin, os.seqmax, os.seqcache, os.seqcycle)
    IS DISTINCT FROM (ns.seqstart, ns.seqincrement, ns.seqmin, ns.seqmax, ns.seqcache, ns.seqcycle)`,
];

const lostComments = `
  SELECT 11, 'the comment on ' || pg_describe_object(d.classoid, d.objoid, 0)
  FROM old, pg_description d
  WHERE (d.classoid = 'pg_constraint'::regclass AND d.objoid IN (SELECT oid FROM pg_constraint WHERE conrelid = old.oid))
     OR (d.classoid = 'pg_class'::regclass AND d.objoid IN (SELECT indexrelid FROM pg_index WHERE indrelid = old.oid))`;

const lostParts = [
  ...lostObjects,
  ...lostProperties,
  lostOfColumns,
  lostOfIndexes,
  ...lostSequences,
  lostComments,
];

const lostQuery = readRowsInCallersPath(`
WITH old AS (SELECT * FROM pg_class WHERE oid = $1::regclass), new AS (SELECT * FROM pg_class WHERE oid = $2::regclass)
SELECT what FROM (${lostParts.join(' UNION ALL ')}) lost WHERE what IS NOT NULL ORDER BY place, what COLLATE "C"`);
