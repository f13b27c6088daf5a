/**
 * Proves that a table is still what it was when the service read the facts about it, without reading them again.
 *
 * The fingerprint of a table is a hash of all that the facts about it depend on: its row in `pg_class`, its columns, the texts of its defaults,
 * its constraints with what they refer to, its triggers, and the sequences that it owns. PostgreSQL computes it in a tenth of the time that
 * it needs to read the facts. It contains the values and not the ids of row versions, so it holds after VACUUM FULL and on a promoted
 * standby, too.
 */
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { hasCitus } from '../../../postgres/citus/session-settings.ts';
import { leavesNothing, treeBytes } from '../../../postgres/expression-trees.ts';
import { refuseUnless } from '../../../postgres/refuse-unless.ts';
import { enterCallersPath, leaveCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { versionOfSchema } from './schema-version.ts';

/**
 * SQL of the fingerprint; the query has the table as `c`. Types of `pg_catalog` do not change, so the fingerprint has only their identifiers. Texts are
 * written in the callers' search path, as in a description, so the path is part of the fingerprint. PostgreSQL computes the parts from left to right.
 */
const fingerprint = `encode(sha256(convert_to(concat_ws('|', ${enterCallersPath},
  (c.oid, c.relnamespace, c.relowner, c.relkind, c.relhasrules, c.relrowsecurity, c.relhassubclass, c.relispartition, c.relpersistence)::text,
  (SELECT string_agg(concat((a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity, a.attgenerated,
      a.attcollation, a.attisdropped)::text, CASE WHEN a.atthasdef THEN (
        SELECT concat(d.oid, ' ', pg_get_expr(d.adbin, CASE WHEN a.attgenerated = '' THEN 0 ELSE a.attrelid END))
        FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) END), ',' ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
  (SELECT string_agg(concat((k.oid, k.conname, k.contype, k.condeferrable, k.convalidated, k.conkey)::text, pg_get_constraintdef(k.oid)),
      ',' ORDER BY k.oid)
    FROM pg_constraint k WHERE k.conrelid = c.oid),
  (SELECT count(*) FROM pg_index i WHERE i.indrelid = c.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)),
  (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
  (SELECT string_agg(concat_ws(' ', s.objid, s.refobjsubid, s.deptype), ',' ORDER BY s.objid, s.refobjsubid)
    FROM pg_depend s WHERE s.refclassid = 'pg_class'::regclass AND s.refobjid = c.oid
      AND s.classid = 'pg_class'::regclass AND s.deptype IN ('a', 'i')), ${leaveCallersPath}), 'UTF8')), 'hex')`;

/** The maximum number of columns and of constraints of a table that can be proved. */
const maxColumns = 200;
const maxConstraints = 100;
const maxTrees = 65_536;

/**
 * SQL for whether the fingerprint covers all facts about the table `c`. It does not if the table has triggers, rules, policies, partitions or tables that inherit
 * from it, if a type or a collation was created in this database, if its expressions are long, if the role may not lock it, or if the database has Citus.
 */
const isPlain = `c.relkind = 'r' AND NOT (c.relhasrules OR c.relrowsecurity OR c.relhassubclass OR c.relispartition)
  AND c.relpersistence <> 't' AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') AND NOT ${hasCitus}
  AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
  AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid)
  AND (SELECT count(*) <= ${maxColumns} AND NOT bool_or(a.atttypid >= 10000 OR a.attcollation >= 10000)
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
  AND (SELECT count(*) <= ${maxConstraints} AND coalesce(sum(${treeBytes('k.conbin')}), 0) <= ${maxTrees}
    FROM pg_constraint k WHERE k.conrelid = c.oid)
  AND (SELECT coalesce(sum(${treeBytes('d.adbin')}), 0) <= ${maxTrees} FROM pg_attrdef d WHERE d.adrelid = c.oid)
  AND NOT EXISTS (SELECT FROM pg_attrdef d JOIN pg_depend u ON u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid
    WHERE d.adrelid = c.oid AND u.refclassid IN ('pg_type'::regclass, 'pg_proc'::regclass))`;

/**
 * SQL for whether an insert into the table `c` runs no code of other users, because its expressions leave nothing in the session
 * (`leavesNothing`). A type that was created in the database may have casts that call functions of users, also inside PostgreSQL's `to_jsonb`.
 * A foreign key lets PostgreSQL plan a query of the other table, and the planner computes constant expressions of its indexes and checks.
 */
const runsNoCode = `NOT EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = c.oid AND NOT ${leavesNothing('d.adbin')})
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f')
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.conbin IS NOT NULL AND NOT ${leavesNothing('k.conbin')})
  AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
  AND NOT EXISTS (
    SELECT FROM pg_depend u LEFT JOIN pg_attrdef d ON u.classid = 'pg_attrdef'::regclass AND d.oid = u.objid
      LEFT JOIN pg_constraint k ON u.classid = 'pg_constraint'::regclass AND k.oid = u.objid
    WHERE u.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass) AND c.oid IN (d.adrelid, k.conrelid))`;

const ofTable = 'FROM pg_class c WHERE c.oid = to_regclass($1)';

export interface TableFingerprint {
  /** null: the fingerprint would not cover all facts about the table. */
  fingerprint: string | null;
  /** An insert into the table runs no code of other users. */
  runsNoCode: boolean;
  /** The role is the owner of the table or a member of it. */
  isOwned: boolean;
  oid: number;
  /** See schema-version.ts. */
  schemaVersion: string;
}

/** Returns a query of the `TableFingerprint`; it has no row if there is no such table. @param relation the name, quoted */
export function readFingerprint(relation: string): Statement {
  return {
    text: `SELECT CASE WHEN ${isPlain} THEN ${fingerprint} END AS fingerprint, ${runsNoCode} AS "runsNoCode", pg_has_role(c.relowner, 'USAGE') AS "isOwned", c.oid::int8::float8 AS oid,
  (SELECT ${versionOfSchema} FROM pg_namespace n WHERE n.oid = c.relnamespace) AS "schemaVersion" ${ofTable}`,
    values: [relation],
  };
}

const proof = refuseUnless(`(SELECT ${fingerprint} ${ofTable}) = $2`, 'the table has changed');

/**
 * Returns a query that fails (`refuseUnless`) unless the table has the fingerprint. Run it after the table is locked and in its own
 * statement, because a statement does not see what is committed after it began.
 *
 * @param relation the name, quoted
 */
export function proveTable(relation: string, known: string): Statement {
  return {
    preparedName: 'tablewright prove table',
    text: proof,
    values: [relation, known],
  };
}

/**
 * Returns a query that fails (`refuseUnless`) if the table has an index with an expression. Run it after the rows of a table whose inserts run no code. CREATE
 * INDEX CONCURRENTLY does not wait for the lock of an insert, so such an index may be created after `proveTable`, and PostgreSQL would evaluate its expression.
 */
export function proveIndexes(oid: number): CallersStatement {
  const computed = qualified`SELECT FROM pg_catalog.pg_index
    WHERE indrelid OPERATOR(pg_catalog.=) ${oid}::pg_catalog.oid AND (indexprs IS NOT NULL OR indpred IS NOT NULL)`;
  return refuseUnless(`NOT EXISTS (${computed})`, 'the table has changed');
}
