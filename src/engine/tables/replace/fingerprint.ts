import { quoteLiteral } from '../../../postgres/sql.ts';

/**
 * Returns an SQL expression whose value changes if anything changes that the plan of a swap depends on. It covers the rows in the catalogue
 * of the table and of the objects that are dropped with it, and which objects depend on these. VACUUM and ANALYZE change none of them.
 *
 * @param relation quoted
 */
export function fingerprint(relation: string): string {
  const oid = `to_regclass(${quoteLiteral(relation)})`;
  const facts = [
    "'class', c.oid, c.xmin) AS fact FROM dropped JOIN pg_class c USING (oid)",
    `'toast', t.xmin) FROM pg_class c JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = ${oid}`,
    `'column', attnum, xmin) FROM pg_attribute WHERE attrelid = ${oid}`,
    `'constraint', oid, xmin) FROM pg_constraint WHERE conrelid = ${oid}`,
    `'index', indexrelid, xmin) FROM pg_index WHERE indrelid = ${oid}`,
    "'sequence', q.seqrelid, q.xmin) FROM dropped JOIN pg_sequence q ON q.seqrelid = dropped.oid",
    `'depend', d.classid::oid, d.objid, d.objsubid, d.refobjid, d.refobjsubid, d.deptype)
  FROM dropped JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = dropped.oid`,
    `'type', d.classid::oid, d.objid, d.objsubid, d.refobjid, d.deptype)
  FROM dropped JOIN pg_type t ON t.oid = dropped.reltype
  JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)`,
    `'comment', d.objoid, d.objsubid, d.xmin)
  FROM dropped JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = dropped.oid`,
    `'comment', d.objoid, d.xmin)
  FROM pg_constraint k JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = k.oid WHERE k.conrelid = ${oid}`,
    `'label', l.objsubid, l.provider) FROM pg_seclabel l WHERE l.classoid = 'pg_class'::regclass AND l.objoid = ${oid}`,
    `'subscription', srsubid) FROM pg_subscription_rel WHERE srrelid = ${oid}`,
  ].map((fact) => `SELECT concat_ws(' ', ${fact}`);
  return `(
WITH dropped AS MATERIALIZED (
  SELECT oid, reltype FROM pg_class WHERE oid = ${oid}
  UNION ALL
  SELECT indexrelid, 0 FROM pg_index WHERE indrelid = ${oid}
  UNION ALL
  SELECT s.oid, 0 FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ${oid}
    AND d.deptype IN ('a', 'i'))
SELECT md5(string_agg(fact, ',' ORDER BY fact)) FROM (${facts.join(' UNION ALL ')}) facts)`;
}
