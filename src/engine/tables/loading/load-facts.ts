/** Reads what PostgreSQL's catalogue says about the columns of a table and their types, as a load needs it. */

import type { ColumnType, InputFunction, LoadColumn } from '../../../encoding/columns/load-column.ts';
import { callsFunctions, isShortExpression, treeBytes } from '../../../postgres/expression-trees.ts';
import { readInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { shownType } from '../catalog/names-in-path.ts';
import { isArray, nodeOf, partsOf } from '../catalog/type-parts.ts';
import { isCitus } from '../distribution/citus-facts.ts';
import type { TypeNode } from '../type-width.ts';

export interface LoadFacts {
  oid: number;
  /** The database has Citus 12 or newer. */
  isCitus: boolean;
  /** The table has expressions, long defaults or indexes that matter for a load: see use-facts.ts. */
  hasUse: boolean;
  columns:
    | (Omit<LoadColumn, 'type' | 'default' | 'constant'> & {
        typeOid: number;
        typmod: number;
        hasDefault: boolean;
        /** PostgreSQL's text of the default, if it is short. */
        defaultExpression?: string;
        /** The bytes of the default in the catalogue, which are at least those of its text and of its constants. */
        treeBytes?: number;
        /** The default calls only functions of PostgreSQL itself, and its value may be longer than its text. So it is evaluated to measure the value. */
        isEvaluated: boolean;
      })[]
    | null;
  types: TypeFacts[] | null;
}

/** What the catalogue knows about a type. The modifier is that of the column or of the type that uses this type. */
export interface TypeFacts extends TypeNode {
  name: string;
  /** The name qualified with its schema, for SQL. */
  sqlName: string;
  /** The equality operator, as in `ColumnType`; null: that of `pg_catalog`. */
  equality: string | null;
  /** The name without the modifier. */
  bareName: string;
  /** The function that writes the type's binary form; `-`: there is none. */
  send: string;
  kind: ColumnType['kind'];
  /** The type that a domain is based on; 0 for other types. */
  base: number;
  baseTypmod: number;
  notNull: boolean;
  element: number;
  labels: string[] | null;
  category: string;
  delimiter: string;
  input: InputFunction | null;
  hasInfinity: boolean;
}

/** The maximum number of bytes of a default that a load reads, as text and as it is stored. The service would not write a longer constant into the rows (`maxFillBytes`). */
export const mostTreeOfConstant = 2048;

/**
 * Returns SQL that writes a type with its modifier so that it means the same in every search path. SQL's own spellings, such as
 * `character varying(20)`, always mean the types of `pg_catalog`; other names of its types are qualified. All other types
 * are qualified by `format_type`, because they are not in the service's own path.
 */
const typeForSql = (type: string, modifier: string) => `(
  SELECT CASE WHEN e.typnamespace = 'pg_catalog'::regnamespace AND starts_with(f.name, quote_ident(e.typname))
      AND substr(f.name, length(quote_ident(e.typname)) + 1, 1) IN ('', '(', '[')
    THEN 'pg_catalog.' || f.name ELSE f.name END
  FROM (SELECT format_type(${type}, ${modifier}) AS name) f, pg_type a
  JOIN pg_type e ON e.oid = CASE WHEN ${isArray('a')} THEN a.typelem ELSE a.oid END WHERE a.oid = ${type})`;

/** The operator with which a default index of the type compares values; null for types of `pg_catalog`. @param type a `pg_type` row */
const ownEquality = (type: string) => `(
  SELECT format('OPERATOR(%I.%s)', n.nspname, p.oprname)
  FROM pg_opclass c JOIN pg_amop m ON m.amopfamily = c.opcfamily
    AND m.amopstrategy = 3 AND m.amoplefttype = c.opcintype AND m.amoprighttype = c.opcintype
  JOIN pg_operator p ON p.oid = m.amopopr JOIN pg_namespace n ON n.oid = p.oprnamespace
  WHERE ${type}.typnamespace <> 'pg_catalog'::regnamespace
    AND c.opcintype = ${type}.oid AND c.opcmethod = 403 AND c.opcdefault)`;

/** The types whose modifier limits the length of a value. That of an array limits only its elements, and those of PostGIS limit nothing. */
const typesWithLength = `'varchar'::regtype, 'bpchar'::regtype, 'bit'::regtype, 'varbit'::regtype`;
/** The largest modifier of such a type whose generated values PostgreSQL may gather by the thousand. */
const mostShortGenerated = 1024;

/** The facts about a row of `attributes`. A default names no column, so that no relation need be given: see describeRelation. */
const columnFacts = `
  'id', attnum, 'name', attname, 'isNullable', NOT attnotnull, 'bareType', ${typeForSql('atttypid', '-1')},
  'collation', (SELECT format('%I.%I', n.nspname, l.collname)
    FROM pg_type t, pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace
    WHERE t.oid = atttypid AND l.oid = attcollation AND l.oid <> t.typcollation),
  'typeOid', atttypid::bigint, 'typmod', atttypmod,
  'hasDefault', attidentity <> '' OR attgenerated = '' AND (adbin IS NOT NULL
    OR (SELECT t.typdefault IS NOT NULL FROM pg_type t WHERE t.oid = atttypid)),
  'defaultExpression', CASE WHEN ${treeBytes('tree')} <= ${mostTreeOfConstant} THEN (
    SELECT CASE WHEN octet_length(x.text) <= ${mostTreeOfConstant} THEN x.text END
    FROM (SELECT pg_get_expr(tree, 0) AS text OFFSET 0) AS x) END,
  'treeBytes', ${treeBytes('tree')},
  'isEvaluated', CASE WHEN attlen = -1 AND tree IS NOT NULL AND ${callsFunctions('tree')} THEN NOT EXISTS (
    SELECT FROM pg_depend p WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = default_oid
      AND p.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_class'::regclass)
      AND NOT (p.refclassid = 'pg_class'::regclass AND p.refobjid = attrelid)) ELSE false END,
  'isGenerated', attgenerated <> '',
  'storedCopies', (SELECT nullif(sum(cardinality(array_positions(i.indkey::int2[]::int[], attnum::int))), 0)::float8
    FROM pg_index i WHERE i.indrelid = attrelid),
  'isLongGenerated', attgenerated = 's' AND attlen = -1 AND atttypid <> 'numeric'::regtype
    AND NOT (atttypid IN (${typesWithLength}) AND atttypmod BETWEEN 0 AND ${mostShortGenerated}),
  'identity', CASE attidentity WHEN 'a' THEN 'always' WHEN 'd' THEN 'by default' ELSE 'none' END`;

/** SQL of the `TypeFacts` of a type. The query has the type as `t`. */
const typeFacts = `
  'oid', t.oid::bigint, 'typmod', reached.typmod, 'name', format_type(t.oid, reached.typmod),
  'sqlName', ${typeForSql('t.oid', 'reached.typmod')}, 'equality', ${ownEquality('t')},
  'bareName', format_type(t.oid, -1), 'send', t.typsend,
  'kind', CASE WHEN t.typtype = 'd' THEN 'domain' WHEN t.typtype = 'e' THEN 'enum'
    WHEN ${isArray('t')} THEN 'array' WHEN t.typtype = 'b' THEN 'base' ELSE 'other' END,
  'hasInfinity', t.oid = 1186 AND current_setting('server_version_num')::int >= 170000,
  'category', t.typcategory, 'delimiter', t.typdelim, 'input', (
    SELECT json_build_object('name', format('%I.%I', n.nspname, p.proname), 'argumentCount', p.pronargs,
      'parameter', (CASE WHEN t.typelem <> 0 THEN t.typelem ELSE t.oid END)::bigint)
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.oid = t.typinput AND p.prorettype = t.oid),
${nodeOf('t', 'reached.typmod')},
  'base', t.typbasetype::bigint, 'baseTypmod', t.typtypmod, 'notNull', t.typnotnull, 'element', t.typelem::bigint,
  'labels', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid)`;

/** A common table expression of the columns of the one row of `relation`. The member `tree` is the default. */
export const attributes = `attributes AS (
  SELECT a.*, d.adbin, d.oid AS default_oid,
    CASE WHEN a.attidentity = '' AND a.attgenerated = '' THEN coalesce(d.adbin,
      (SELECT t.typdefaultbin FROM pg_type t WHERE t.oid = a.atttypid)) END AS tree
  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum)`;

/** A common table expression of the types of the columns, the base types of domains and the element types of arrays, each with its modifier. */
export const reached = `reached AS (
  SELECT atttypid AS oid, atttypmod AS typmod FROM attributes
  UNION
  SELECT next.oid, next.typmod FROM reached
  JOIN pg_type t ON t.oid = reached.oid
  JOIN LATERAL (${partsOf('t', 'reached.typmod')}
  ) AS next ON true)`;

/** SQL for whether `readUse` (use-facts.ts) would find something. An index of columns by `btree` only stores them again. */
const hasUse = `EXISTS (SELECT FROM attributes WHERE attgenerated <> '' OR ${treeBytes('tree')} > ${mostTreeOfConstant})
    OR EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = relation.oid AND k.conbin IS NOT NULL)
    OR EXISTS (SELECT FROM reached r JOIN pg_constraint k ON k.contypid = r.oid WHERE k.conbin IS NOT NULL)
    OR EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = relation.oid
      AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR i.indisexclusion OR x.relam <> 403))`;

/**
 * Reads the facts that a load needs about a table's columns, and about every type that they use: one row of the type
 * `LoadFacts`, or no row if there is no such table.
 *
 * If a column has no default, the default of its type applies (a domain or a base type). The default of a base type has no
 * expression, only `typdefault`.
 */
export function loadColumns(schema: string, name: string): Statement {
  return {
    preparedName: 'tablewright load columns',
    text: `
WITH RECURSIVE relation AS (
  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')),
${attributes},
${reached}
SELECT relation.oid::bigint::float8 AS oid, ${isCitus} AS "isCitus", ${hasUse} AS "hasUse",
  (SELECT json_agg(json_strip_nulls(json_build_object(${columnFacts})) ORDER BY attnum) FROM attributes) AS columns,
  (SELECT json_agg(json_build_object(${typeFacts})) FROM reached JOIN pg_type t ON t.oid = reached.oid) AS types
FROM relation`,
    values: [schema, name],
  };
}

/**
 * Returns a query of the defaults of columns: rows of `{id, expression}`, where `expression` is SQL, cast to the type of the
 * column. Very long defaults are left out. @param relation `pg_class.oid`
 */
export function readDefaults(relation: number, columns: number[]): Statement {
  return {
    text: `
SELECT c.attnum AS id, format('CAST((%s) AS %s)', pg_get_expr(d.tree, 0), ${typeForSql('c.atttypid', 'c.atttypmod')}) AS expression
FROM pg_attribute c, LATERAL (
  SELECT coalesce((SELECT f.adbin FROM pg_attrdef f WHERE f.adrelid = c.attrelid AND f.adnum = c.attnum),
    (SELECT t.typdefaultbin FROM pg_type t WHERE t.oid = c.atttypid)) AS tree OFFSET 0) AS d
WHERE c.attrelid = $1 AND c.attnum = ANY ($2::int2[]) AND ${isShortExpression('d.tree')} ORDER BY c.attnum`,
    values: [relation, columns],
  };
}

/** Finds the names of types as callers write them: one row, `found`, a list in the order of the pairs. @param types pairs of `oid` and modifier */
export function showTypes(types: [oid: number, modifier: number][]): Statement {
  return {
    text: readInCallersPath(`(
SELECT json_agg(${shownType('x.oid', 'x.typmod')} ORDER BY x.position)
FROM (SELECT position, (pair->>0)::oid AS oid, (pair->>1)::int AS typmod
  FROM json_array_elements($1::json) WITH ORDINALITY AS pairs(pair, position)) x)`),
    values: [JSON.stringify(types)],
  };
}
