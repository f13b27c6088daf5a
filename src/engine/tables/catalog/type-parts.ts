/** Finds the types that values of a type contain. */
import type { Statement } from '../../../postgres/sql.ts';

/** Returns SQL for whether the type is an array type. Types such as `int2vector`, which have subscripts but are not array types, do not count. */
export const isArray = (type: string) =>
  `EXISTS (SELECT FROM pg_type e WHERE e.oid = ${type}.typelem AND e.typarray = ${type}.oid)`;

/**
 * Returns a query of the types that values of a type directly contain, each with its modifier: the base type of a domain, the type
 * of the elements of an array or of the bounds of a range, and the types of the fields. @param type a `pg_type` row
 */
export const partsOf = (type: string, modifier: string) => `
  SELECT ${type}.typbasetype AS oid, ${type}.typtypmod AS typmod WHERE ${type}.typtype = 'd'
  UNION ALL
  SELECT ${type}.typelem, ${modifier} WHERE ${isArray(type)}
  UNION ALL
  SELECT r.rngsubtype, -1 FROM pg_range r WHERE ${type}.typtype = 'r' AND r.rngtypid = ${type}.oid
  UNION ALL
  SELECT r.rngtypid, -1 FROM pg_range r WHERE ${type}.typtype = 'm' AND r.rngmultitypid = ${type}.oid
  UNION ALL
  SELECT f.atttypid, f.atttypmod FROM pg_attribute f
  WHERE ${type}.typtype = 'c' AND f.attrelid = ${type}.typrelid AND f.attnum > 0 AND NOT f.attisdropped`;

/** Returns the members `extension`, `isRepeating`, `isOfParts` and `parts` of a `TypeNode` as SQL. Equal fields are one part, because a table may have 1,600 of them. */
export const nodeOf = (type: string, modifier: string) => `
    'extension', CASE WHEN ${type}.typtype = 'b' AND ${type}.typnamespace <> 'pg_catalog'::regnamespace THEN ${type}.typname END,
    'isRepeating', ${type}.typtype = 'm' OR ${isArray(type)}, 'isOfParts', ${type}.typtype IN ('c', 'r', 'm'),
    'parts', (SELECT json_agg(json_build_object('oid', p.oid::bigint, 'typmod', p.typmod, 'count', p.count))
      FROM (SELECT part.oid, part.typmod, count(*) FROM (${partsOf(type, modifier)}) AS part GROUP BY 1, 2) AS p)`;

/** The maximum number of types that `findTypeParts` returns. */
const mostTypeParts = 5000;

/** Finds the types that values of the types contain, and those that these contain, and so on: one row, `nodes`, a list of `TypeNode`. */
export function findTypeParts(oids: number[]): Statement {
  return {
    text: `
WITH RECURSIVE reached AS (
  SELECT oid, -1 AS typmod FROM unnest($1::oid[]) AS asked(oid)
  UNION
  SELECT next.oid, next.typmod FROM reached JOIN pg_type t ON t.oid = reached.oid
  JOIN LATERAL (${partsOf('t', 'reached.typmod')}) AS next ON true),
listed AS (SELECT oid, typmod FROM reached LIMIT ${mostTypeParts})
SELECT coalesce(json_agg(json_build_object(
  'oid', t.oid::bigint, 'typmod', s.typmod, ${nodeOf('t', 's.typmod')})), '[]') AS nodes
FROM listed s JOIN pg_type t ON t.oid = s.oid`,
    values: [oids],
  };
}
