/** Writes the SQL that finds out whether PostgreSQL can compare the values of a type. */
import type { Statement } from '../../../postgres/sql.ts';
import { isArray } from './type-parts.ts';

/** Returns an SQL expression that is true if the type in the `pg_type` row, or a compatible type, has a default btree operator class of its own (access method 403). */
const isOrderedItself = (type: string) => `
  (${type}.typtype IN ('e', 'r', 'm')
   OR EXISTS (SELECT FROM pg_opclass o
     WHERE o.opcmethod = 403 AND o.opcdefault AND o.opcintype = ${type}.oid)
   OR EXISTS (SELECT FROM pg_cast k JOIN pg_opclass o ON o.opcintype = k.casttarget
     WHERE k.castsource = ${type}.oid AND k.castmethod = 'b' AND k.castcontext = 'i' AND o.opcmethod = 403 AND o.opcdefault))`;

/**
 * Returns an SQL expression that is true if PostgreSQL can compare values of the type in the `pg_type` row. All arrays and composite types have an operator class, but
 * a comparison fails if their parts have none: the elements of an array, the fields of a composite type, the type under a domain.
 */
export const isOrdered = (type: string) => `
  CASE WHEN ${isOrderedItself(type)} THEN true ELSE NOT EXISTS (
    WITH RECURSIVE parts AS (
      SELECT ${type}.oid
      UNION
      SELECT inner_type.oid FROM parts JOIN pg_type o ON o.oid = parts.oid, LATERAL (
        SELECT o.typbasetype AS oid WHERE o.typtype = 'd'
        UNION ALL
        SELECT o.typelem WHERE ${isArray('o')}
        UNION ALL
        SELECT f.atttypid FROM pg_attribute f
        WHERE o.typtype = 'c' AND f.attrelid = o.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS inner_type)
    SELECT FROM parts JOIN pg_type p ON p.oid = parts.oid
    WHERE p.typtype NOT IN ('c', 'd') AND NOT ${isArray('p')} AND NOT ${isOrderedItself('p')}) END`;

export interface DomainBase {
  baseOid: number;
  /** The modifier that the innermost domain gives to the base type; -1: none. */
  typmod: number;
  category: string;
  isOrdered: boolean;
}

/** Finds the base type of each domain, also of a domain over domains: one row, `bases`, a JSON object with the domains' object identifiers as keys. */
export function findDomainBases(oids: number[]): Statement {
  return {
    text: `
WITH RECURSIVE chain AS (
  SELECT oid AS domain, typbasetype AS oid, typtypmod AS typmod FROM pg_type WHERE oid = ANY ($1::oid[]) AND typtype = 'd'
  UNION ALL
  SELECT chain.domain, next.typbasetype, next.typtypmod
  FROM chain JOIN pg_type next ON next.oid = chain.oid WHERE next.typtype = 'd')
SELECT coalesce(json_object_agg(chain.domain::bigint, json_build_object(
  'baseOid', b.oid::bigint, 'typmod', chain.typmod, 'category', b.typcategory, 'isOrdered', ${isOrdered('b')})), '{}') AS bases
FROM chain JOIN pg_type b ON b.oid = chain.oid WHERE b.typtype <> 'd'`,
    values: [oids],
  };
}

/**
 * Finds out whether values of the first type of each pair can be looked up in a unique index over the second type: with an
 * equality operator of the index's family, or after an implicit cast (PostgreSQL 38.16.5, `ATAddForeignKeyConstraint`).
 *
 * @param pairs object identifiers of types; a domain is replaced by its base type
 */
export function compareTypes(pairs: [number, number][]): Statement {
  return {
    text: `
SELECT json_agg((
  SELECT coalesce(bool_or(
    o.opcintype = (p.pair->>0)::oid
    OR EXISTS (SELECT FROM pg_amop a
      WHERE a.amopfamily = o.opcfamily AND a.amopstrategy = 3
        AND a.amoplefttype = o.opcintype AND a.amoprighttype = (p.pair->>0)::oid)
    OR EXISTS (SELECT FROM pg_cast k
      WHERE k.castsource = (p.pair->>0)::oid AND k.casttarget = o.opcintype AND k.castcontext = 'i')), false)
  FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod
  WHERE m.amname = 'btree' AND o.opcdefault AND (o.opcintype = (p.pair->>1)::oid OR EXISTS (
    SELECT FROM pg_cast k
    WHERE k.castsource = (p.pair->>1)::oid AND k.casttarget = o.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i')))
  ORDER BY p.position) AS comparable
FROM json_array_elements($1::json) WITH ORDINALITY AS p(pair, position)`,
    values: [JSON.stringify(pairs)],
  };
}
