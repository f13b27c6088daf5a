/** Describes the enums and domains in the schema of a table that the table uses. */
import { mostDigits, treeBytes } from '../../../postgres/expression-trees.ts';
import { shownType } from '../catalog/names-in-path.ts';
import { maxLabels } from './type-definition.ts';

/** A domain whose checks may be longer, as trees or in digits of their numbers, is shown without them. */
const maxCheckBytes = 65_536;
const maxCheckDigits = 2 * 1024 * 1024;

/** How long the checks of a domain may be: one row of `bytes`, `digits` and `is_short`. NULL: there are none. @param domain an object identifier */
export const sizeOfChecks = (domain: string) => `
    SELECT sum(x.bytes) AS bytes, sum(x.digits) AS digits, sum(x.bytes) <= ${maxCheckBytes} AND sum(x.digits) <= ${maxCheckDigits} AS is_short
    FROM (SELECT ${treeBytes('c.conbin')} AS bytes, ${mostDigits('c.conbin')} AS digits
      FROM pg_constraint c WHERE c.contypid = ${domain} AND c.conbin IS NOT NULL OFFSET 0) x`;

/** The checks of a domain as one expression. @param domain an object identifier */
export const checkOf = (domain: string) => `
    SELECT string_agg(pg_get_expr(c.conbin, 0), ' AND ' ORDER BY c.conname)
    FROM pg_constraint c WHERE c.contypid = ${domain} AND c.conbin IS NOT NULL`;

/** An enum, a domain or another type in the catalogue. */
export interface TypeFacts {
  name: string;
  /** `pg_type.typtype` */
  kind: string;
  /** Of an enum, at most one more than a definition can have. */
  labels: string[] | null;
  base: string | null;
  check: string | null;
  /** A definition can say everything about it: no NOT NULL, no default, no collation of its own. */
  isWhole: boolean;
}

/** SQL of the `TypeFacts` of a row of `pg_type`. */
export const typeFacts = (t: string) => `(SELECT json_build_object(
    'name', ${t}.typname, 'kind', ${t}.typtype,
    'labels', CASE ${t}.typtype WHEN 'e' THEN (
      SELECT coalesce(json_agg(l.enumlabel ORDER BY l.enumsortorder), '[]') FROM (
        SELECT * FROM pg_enum l WHERE l.enumtypid = ${t}.oid ORDER BY l.enumsortorder LIMIT ${maxLabels + 1}) l) END,
    'base', CASE ${t}.typtype WHEN 'd' THEN ${shownType(`${t}.typbasetype`, `${t}.typtypmod`)} END,
    'check', CASE WHEN ${t}.typtype = 'd' AND s.is_short THEN (${checkOf(`${t}.oid`)}) END,
    'isWhole', NOT ${t}.typnotnull AND ${t}.typdefault IS NULL
      AND ${t}.typcollation = coalesce((SELECT b.typcollation FROM pg_type b WHERE b.oid = ${t}.typbasetype), ${t}.typcollation)
      AND coalesce(s.is_short, true)) FROM (${sizeOfChecks(`${t}.oid`)}) s)`;

/**
 * Returns SQL of the list of `TypeFacts` of the enums and domains in the schema of the table `c` that its columns use, without those of
 * extensions: enums first, and a domain after the types below it. NULL: there are none, or they have more bytes than a definition can have.
 */
export const usedTypes = `
  WITH RECURSIVE used AS (
    SELECT a.atttypid AS oid FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
    UNION
    SELECT x.oid FROM used u JOIN pg_type t ON t.oid = u.oid, LATERAL (VALUES (t.typelem), (t.typbasetype)) AS x(oid) WHERE x.oid >= 16384)
  SELECT json_agg(${typeFacts('t')} ORDER BY t.typtype = 'd', CASE t.typtype WHEN 'e' THEN t.typname END, t.oid)
  FROM used u JOIN pg_type t ON t.oid = u.oid
  WHERE t.typnamespace = c.relnamespace AND t.typtype IN ('e', 'd') AND NOT EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e')
    AND (SELECT coalesce(sum(octet_length(l.enumlabel::text)), 0) <= 1048576 FROM used w JOIN pg_enum l ON l.enumtypid = w.oid)
    AND (SELECT coalesce(sum(s.bytes + s.digits), 0) <= 4194304 FROM used w, LATERAL (${sizeOfChecks('w.oid')}) s)`;

/** Returns the descriptions of the types that a definition can have. */
export function describeTypes(facts: TypeFacts[] | null) {
  return (facts ?? [])
    .filter(({ isWhole, labels }) => isWhole && (labels?.length ?? 0) <= maxLabels)
    .map(({ name, labels, base, check }) =>
      labels !== null ? { name, labels } : { name, base: base!, ...(check !== null && { check }) },
    );
}
