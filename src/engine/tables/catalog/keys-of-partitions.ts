/**
 * Recognises constraints that PostgreSQL has added by itself. A foreign key of or to a partitioned table has parts: a constraint for each partition of
 * its own table, and one for each partition of the referenced table. Parts may have parts. They can only be dropped with the whole key.
 */

/** SQL for whether a constraint is not a part that refers to a partition of the referenced table. Such a part belongs to the same table as the whole key. */
export function isWholeKey(constraint: string): string {
  return `NOT EXISTS (
    SELECT FROM pg_constraint whole WHERE whole.oid = ${constraint}.conparentid AND whole.conrelid = ${constraint}.conrelid)`;
}

/** SQL of the oid of the whole constraint. @param part SQL of the oid of a constraint */
export function wholeConstraint(part: string): string {
  return `(WITH RECURSIVE parts AS (
      SELECT p.oid, p.conparentid FROM pg_constraint p WHERE p.oid = ${part}
      UNION ALL SELECT p.oid, p.conparentid FROM parts JOIN pg_constraint p ON p.oid = parts.conparentid)
    SELECT oid FROM parts WHERE conparentid = 0)`;
}

/** SQL of PostgreSQL's description of an object that depends on another one. Parts of a constraint are described as the whole constraint. */
export function describeDependent(dependency: string): string {
  return `pg_describe_object(${dependency}.classid, CASE ${dependency}.classid WHEN 'pg_constraint'::regclass
      THEN ${wholeConstraint(`${dependency}.objid`)} ELSE ${dependency}.objid END, ${dependency}.objsubid)`;
}
