/** Reads what PostgreSQL's catalogue says about the columns of a table and their types, as a load needs it. */

import { longestNumber } from '../../../core/cells/number-lengths.ts';
import {
  listingFunction,
  searchingFunctions,
  sortingFunctions,
  splittingFunctions,
  trigramFunctions,
  type UseOfColumn,
} from '../../../encoding/columns/key-cost.ts';
import type { ColumnType, InputFunction, LoadColumn } from '../../../encoding/columns/load-column.ts';
import {
  callsFunctions,
  callsOf,
  callsOneOf,
  columnsIn,
  comparesElements,
  computedBytesIn,
  copiesIn,
  copiesOfConstants,
  domainValuesIn,
  isShortExpression,
  jsonCopiesIn,
  lengthIn,
  mayCompute,
  ownBytesIn,
  searchesIn,
  treeBytes,
  typesOfNumbers,
} from '../../../postgres/expression-trees.ts';
import { copiesOfNumbers, numbersInTree } from '../../../postgres/number-trees.ts';
import { readInCallersPath } from '../../../postgres/search-path.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { shownType } from '../catalog/names-in-path.ts';
import { isArray, nodeOf, partsOf } from '../catalog/type-parts.ts';
import { isCitus } from '../distribution/citus-facts.ts';
import { hasTrigrams, isTextTree, pairsParts, sortsParts } from '../indexes/describe-indexes.ts';
import type { TypeNode } from '../type-width.ts';

export interface LoadFacts {
  oid: number;
  /** The database has Citus 12 or newer. */
  isCitus: boolean;
  /** About how many bytes the expressions of indexes add to each row. */
  indexBytes: number;
  /** As in `LoadColumn`. */
  ownWork: number;
  /** As in `LoadColumn`. */
  madeDigits: number;
  indexDigits: number;
  columns:
    | (Omit<LoadColumn, 'type' | 'default' | 'constant'> & {
        typeOid: number;
        typmod: number;
        hasDefault: boolean;
        /** PostgreSQL's text of the default, if it is short. */
        defaultExpression?: string;
        /** The bytes of the default in the catalogue, which are at least those of its text and of its constants. */
        treeBytes?: number;
        /** For a stored generated column: the bytes that its expression adds to the values of other columns (`ownBytesIn`). */
        ownBytes?: number;
        /** The default calls only functions of PostgreSQL itself, and its value may be longer than its text. So it is evaluated to measure the value. */
        isEvaluated: boolean;
        use: UseFacts;
      })[]
    | null;
  types: TypeFacts[] | null;
}

/** What the expressions and indexes of the table do with the values of a column. */
export interface UseFacts extends Omit<UseOfColumn, 'work'> {
  /** An index for which PostgreSQL needs memory by the square of the length contains the column (`checkTextTrees`), or may. */
  isInTextTree: boolean;
  /** How many values with the digits of its numbers the expressions make, and whether one of them reads a text as a number. */
  digitCopies: number;
  isReadAsNumbers: boolean;
  /** How many copies of a byte take as long as what the checks of domains compute for each element of an array, whatever it is. */
  elementWork?: number;
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
const mostTreeOfConstant = 2048;

/** A longer tree of a default is not read by patterns, which need twenty times its memory. If it calls functions that join or pad, it needs too much. */
const mostTreeOfCalls = 64 * 1024;
const mostWork = 1_000_000_000;

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
/** The maximum number of bytes of an entry in most indexes: a third of a page. */
export const bytesOfEntry = 2704;
/** So many indexes of expressions that may make long numbers are not counted, because they are ordinary, and their entries are then short. */
const fewIndexes = 4;
/** Returns SQL for whether an index of which this is true contains the column of variable length, or may. */
const isIndexed = (fact: string) =>
  `(attlen = -1 AND EXISTS (SELECT FROM indexed x WHERE x.${fact} AND (x.is_computed OR attnum = ANY (x.keys))))`;

/** Returns SQL for whether an expression of which this is true may read the column. */
const mayReach = (fact: string) => `(attlen = -1 AND (SELECT coalesce(bool_or(${fact}), false) FROM trees))`;

/**
 * The facts about a row of `attributes`. What needs the trees of expressions or the indexes is computed before, once for the table: a table may have
 * hundreds of each. A default names no column, so that no relation need be given: see describeRelation.
 */
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
  'ownBytes', CASE WHEN attgenerated <> 'v' THEN own.own_bytes END, 'virtualBytes', CASE WHEN attgenerated = 'v' THEN own.own_bytes END,
  'storedCopies', nullif(coalesce(copied.times, 0)
    + (SELECT coalesce(sum(cardinality(array_positions(x.keys, attnum::int))), 0) FROM indexed x), 0)::float8,
  'use', json_strip_nulls(json_build_object('isInTextTree', ${isIndexed('is_text_tree')}, 'isInGin', ${isIndexed('sorts_parts')}, 'isPaired', ${isIndexed('pairs_parts')}, 'isInTrigrams', ${isIndexed('has_trigrams')} OR ${mayReach('compares')},
  'jsonCopies', CASE WHEN attlen <> -1 THEN 0 WHEN atttypid IN (25, 1042, 1043) THEN coalesce(readers.json_of_texts, 0)
    ELSE coalesce(readers.json_copies, 0) END::float8,
  'splits', CASE WHEN ${mayReach('splits > 0')} THEN greatest(1, readers.splits) ELSE 0 END::float8, 'isSorted', ${mayReach('sorts')}, 'isListed', ${mayReach('lists')},
  'copies', CASE WHEN attlen = -1 THEN coalesce(readers.copies, 0) ELSE 0 END::float8, 'elementWork', readers.element_work::float8,
  'digitCopies', coalesce(digits.copies, 0)::float8, 'isReadAsNumbers', coalesce(digits.read_as_numbers, false))),
  'computedDigits', nullif(made.stored_digits, 0)::float8,
  'isLongGenerated', attgenerated = 's' AND attlen = -1 AND atttypid <> 'numeric'::regtype
    AND NOT (atttypid IN (${typesWithLength}) AND atttypmod BETWEEN 0 AND ${mostShortGenerated}),
  'generatedFrom', (SELECT json_agg(source.attname ORDER BY source.attnum) FROM pg_attribute source
    WHERE source.attrelid = a.attrelid AND source.attnum = ANY (own.columns)),
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

/** SQL for the precision of numeric(p,s); 0: none. */
const precision = `CASE WHEN a.atttypmod = -1 THEN 0 ELSE ((a.atttypmod - 4) >> 16) & 65535 END`;
/** The digits of numbers with up to this precision are not counted. */
const ordinaryPrecision = 100;
/** SQL for how many digits a stored value of a generated column may have. Numbers take half of them as bytes, and texts all. */
const storedDigits = `CASE WHEN a.attgenerated <> 's' OR a.attlen > 0 OR a.atttypid = 1700 AND ${precision} BETWEEN 1 AND ${ordinaryPrecision} THEN 0
    WHEN a.atttypid = 1700 THEN least(e.digits, nullif(${precision}, 0)) ELSE 2 * e.digits * e.digit_copies END`;
/** Types of documents and others with several numbers. The digits of a long default of such a type are not known. */
const typesOfSeveralNumbers = typesOfNumbers.filter((type) => type !== 1700).join();

/** SQL for how many copies of a value take as much memory or time as the expression. @param tree SQL of the text of a `pg_node_tree` */
function copiesOf(tree: string): string {
  return `${copiesIn(tree)} + CASE WHEN ${callsOneOf(tree, searchingFunctions)} OR ${comparesElements(tree)} THEN ${searchesIn(tree)} ELSE 0 END`;
}

/** Common table expressions about the expressions and indexes of the table, which read each tree once. */
const expressionsAndIndexes = `-- The domains of the columns, each with the types whose values contain its values.
contained AS (
  SELECT r.oid AS whole, next.oid AS part FROM reached r JOIN pg_type t ON t.oid = r.oid JOIN LATERAL (${partsOf('t', 'r.typmod')}) AS next ON true
  WHERE EXISTS (SELECT FROM reached d JOIN pg_type t ON t.oid = d.oid WHERE t.typtype = 'd')),
holders AS (
  SELECT t.oid AS domain, t.oid AS type FROM reached r JOIN pg_type t ON t.oid = r.oid WHERE t.typtype = 'd'
  UNION SELECT h.domain, c.whole FROM holders h JOIN contained c ON c.part = h.type),
-- The expressions that may read the columns, and how often they call a function that divides texts. The member stored is there if their values are stored.
trees AS (
  SELECT row_number() OVER () AS number, ${callsOf('e.tree', splittingFunctions)} AS splits, ${callsOneOf('e.tree', [listingFunction])} AS lists,
    ${callsOneOf('e.tree', trigramFunctions)} AS compares, ${callsOneOf('e.tree', sortingFunctions)} AS sorts,
    ${copiesOf('e.tree')} AS copies,
    ${jsonCopiesIn('e.tree', 'texts')} AS json_of_texts, ${jsonCopiesIn('e.tree', 'others')} AS json_copies, e.target, e.columns, e.stored,
    CASE WHEN e.target IS NOT NULL OR e.stored IS NOT NULL THEN ${ownBytesIn('e.tree')} + n.constant_digits END AS own_bytes, n.digit_copies, n.digits, n.reads_numbers, ${copiesOfNumbers('e.tree', 'n')} AS number_work,
    e.is_index, e.tree AS expression, ${lengthIn('e.tree')} AS length, ${computedBytesIn('e.tree')} AS bytes
  FROM relation r CROSS JOIN LATERAL (
    SELECT d.adbin::text AS tree, CASE WHEN a.attgenerated = 's' THEN d.adbin::text END AS stored, d.adnum AS target, false AS is_index, ARRAY(
      SELECT p.refobjsubid FROM pg_depend p WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
        AND p.refclassid = 'pg_class'::regclass AND p.refobjid = r.oid AND p.refobjsubid <> d.adnum) AS columns
    FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = r.oid AND a.attgenerated <> ''
    UNION ALL SELECT conbin::text, NULL, NULL, false, conkey::int[] FROM pg_constraint WHERE conrelid = r.oid AND conbin IS NOT NULL
    UNION ALL SELECT c.conbin::text, NULL, NULL, false, ARRAY(
      SELECT a.attnum::int FROM holders h JOIN attributes a ON a.atttypid = h.type WHERE h.domain = c.contypid)
    FROM pg_constraint c WHERE c.contypid IN (SELECT domain FROM holders) AND c.conbin IS NOT NULL
    UNION ALL SELECT i.tree, i.stored, NULL, i.stored IS NOT NULL, ARRAY(
      SELECT p.refobjsubid FROM pg_depend p WHERE p.classid = 'pg_class'::regclass AND p.objid = indexrelid
        AND p.refclassid = 'pg_class'::regclass AND p.refobjid = r.oid)
    FROM pg_index, LATERAL (VALUES (indexprs::text, indexprs::text), (indpred::text, NULL)) AS i (tree, stored)
    WHERE indrelid = r.oid AND i.tree IS NOT NULL) e
  CROSS JOIN LATERAL (${numbersInTree('e.tree')}) n),
-- The columns of the indexes, those that their expressions name, and whether an index has an expression or a generated column.
indexed AS (
  SELECT indkey::int2[]::int[] AS keys, ARRAY(
    SELECT p.refobjsubid FROM pg_depend p WHERE indexprs IS NOT NULL AND p.classid = 'pg_class'::regclass AND p.objid = indexrelid
      AND p.refclassid = 'pg_class'::regclass AND p.refobjid = r.oid AND p.refobjsubid <> ALL (indkey)) AS columns,
    0 = ANY (indkey) OR EXISTS (SELECT FROM attributes g WHERE g.attnum = ANY (indkey) AND g.attgenerated <> '') AS is_computed,
    ${isTextTree('i', 'x')} AS is_text_tree, ${sortsParts('i', 'x')} AS sorts_parts, ${pairsParts('i')} AS pairs_parts, ${hasTrigrams('i')} AS has_trigrams
  FROM relation r JOIN pg_index i ON i.indrelid = r.oid JOIN pg_class x ON x.oid = i.indexrelid),
-- The columns that each expression reads, itself or as a part of a generated column, which may be that many times as long.
uses AS (
  SELECT e.number, u.attnum, 1 AS longer FROM trees e, unnest(e.columns) AS u (attnum)
  UNION ALL SELECT e.number, u.attnum, g.length FROM trees e, unnest(e.columns) AS part
  JOIN trees g ON g.target = part, unnest(g.columns) AS u (attnum)),
-- How often each expression has each column. The check of a domain has its VALUE.
seen AS (
  SELECT e.number, u.attnum, count(*) AS times FROM trees e, LATERAL (${columnsIn('e.expression')}) AS u (attnum) GROUP BY e.number, u.attnum
  UNION ALL SELECT e.number, u.attnum, ${domainValuesIn('e.expression')} FROM trees e, unnest(e.columns) AS u (attnum)
  WHERE ${domainValuesIn('e.expression')} > 0),
-- A virtual column is computed anew each time that an expression has it.
evaluated AS (
  SELECT e.number, 1 + CASE WHEN e.target IS NOT NULL AND e.stored IS NULL THEN coalesce((SELECT sum(times) FROM seen WHERE attnum = e.target), 0) ELSE 0 END AS times
  FROM trees e),
readers AS (
  SELECT attnum AS of, sum(e.copies * u.longer * v.times) AS copies, sum(e.bytes * e.copies + ${copiesOfConstants('e.expression')} + e.number_work) FILTER (WHERE ${domainValuesIn('e.expression')} > 0) AS element_work, sum(e.json_of_texts * v.times) AS json_of_texts, sum(e.json_copies * v.times) AS json_copies,
    sum(least(e.splits, coalesce(s.times, e.splits)) * v.times) AS splits
  FROM (SELECT number, attnum, max(longer) AS longer FROM uses GROUP BY number, attnum) u JOIN trees e USING (number) JOIN evaluated v USING (number)
    LEFT JOIN seen s USING (number, attnum)
  GROUP BY attnum),
-- How many values with the digits of its numbers all expressions make, also as a part of a generated column.
digits AS (
  SELECT attnum AS of, sum(copies) AS copies, bool_or(reads_numbers) AS read_as_numbers
  FROM (SELECT s.attnum, s.times * e.digit_copies AS copies, e.reads_numbers FROM seen s JOIN trees e USING (number)
    UNION ALL SELECT s.attnum, s.times * part.times * (e.digit_copies + g.digit_copies), e.reads_numbers
    FROM seen part JOIN trees e USING (number) JOIN trees g ON g.target = part.attnum JOIN seen s ON s.number = g.number) AS all_copies
  GROUP BY attnum),
-- How many digits the values that each expression makes may have whatever the rows have. It may name generated columns and such with a long default.
made AS (
  SELECT e.number, e.target, e.is_index, e.digit_copies, e.digits, e.digits * e.digit_copies + coalesce(sum(s.times * g.digits * g.digit_copies), 0) AS all_digits
  FROM (SELECT t.number, t.target, t.is_index, t.digit_copies, greatest(t.digits, max(g.digits), max(CASE
      WHEN a.atttypid IN (${typesOfSeveralNumbers}) AND octet_length(a.tree::text) > ${mostTreeOfConstant} THEN ${longestNumber} END)) AS digits
    FROM trees t LEFT JOIN seen s USING (number) LEFT JOIN attributes a USING (attnum) LEFT JOIN trees g ON g.target = s.attnum
    GROUP BY t.number, t.target, t.is_index, t.digit_copies, t.digits) AS e
  LEFT JOIN seen s USING (number) LEFT JOIN trees g ON g.target = s.attnum
  GROUP BY e.number, e.target, e.is_index, e.digit_copies, e.digits),
-- How often the rows and their indexes store each column as a part of an expression.
copied AS (
  SELECT u.attnum AS of, sum(e.places) AS times
  FROM (SELECT stored, CASE WHEN target IS NULL THEN 1 ELSE
      1 + (SELECT count(*) FROM indexed x WHERE target = ANY (x.keys || x.columns)) END AS places
    FROM trees WHERE stored IS NOT NULL OFFSET 0) e, LATERAL (${columnsIn('e.stored')}) AS u (attnum)
  GROUP BY u.attnum),`;

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
attributes AS (
  SELECT a.*, d.adbin, d.oid AS default_oid,
    CASE WHEN a.attidentity = '' AND a.attgenerated = '' THEN coalesce(d.adbin,
      (SELECT t.typdefaultbin FROM pg_type t WHERE t.oid = a.atttypid)) END AS tree
  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum),
${expressionsAndIndexes}
-- The types of the columns, the base types of domains and the element types of arrays, each with its modifier.
reached AS (
  SELECT atttypid AS oid, atttypmod AS typmod FROM attributes
  UNION
  SELECT next.oid, next.typmod FROM reached
  JOIN pg_type t ON t.oid = reached.oid
  JOIN LATERAL (${partsOf('t', 'reached.typmod')}
  ) AS next ON true)
SELECT relation.oid::bigint::float8 AS oid, ${isCitus} AS "isCitus",
  ((SELECT coalesce(sum(own_bytes), 0) FROM trees WHERE target IS NULL)
    + (SELECT ${bytesOfEntry} * greatest(0, count(*) - ${fewIndexes}) FROM made WHERE is_index AND all_digits > ${bytesOfEntry}))::float8 AS "indexBytes",
  ((SELECT coalesce(sum(bytes * copies), 0) FROM trees) + (
    SELECT coalesce(sum(CASE WHEN octet_length(d.tree) <= ${mostTreeOfCalls} THEN ${computedBytesIn('d.tree')} * (${copiesOf('d.tree')})
      WHEN ${mayCompute('d.tree')} THEN ${mostWork} ELSE 0 END), 0)
    FROM attributes a, LATERAL (SELECT a.tree::text AS tree OFFSET 0) AS d WHERE ${treeBytes('a.tree')} > ${mostTreeOfConstant}))::float8 AS "ownWork",
  (SELECT coalesce(sum(all_digits), 0) FROM made)::float8 AS "madeDigits",
  (SELECT coalesce(sum(all_digits), 0) FROM made WHERE is_index)::float8 AS "indexDigits",
  (SELECT json_agg(json_strip_nulls(json_build_object(${columnFacts})) ORDER BY attnum) FROM attributes a
    LEFT JOIN trees own ON own.target = attnum LEFT JOIN readers ON readers.of = attnum LEFT JOIN copied ON copied.of = attnum
    LEFT JOIN digits ON digits.of = attnum LEFT JOIN LATERAL (
      SELECT ${storedDigits} AS stored_digits FROM made e WHERE e.target = a.attnum) AS made ON true) AS columns,
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
