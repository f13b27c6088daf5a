/** Reads from PostgreSQL's catalogue what the expressions and indexes of a table do with the values of its columns, as a load needs it. Most tables have no expressions. */

import { longestNumber } from '../../../core/cells/number-lengths.ts';
import {
  listingFunction,
  searchingFunctions,
  sortingFunctions,
  splittingFunctions,
  trigramFunctions,
  type UseOfColumn,
} from '../../../encoding/columns/key-cost.ts';
import {
  callsIn,
  columnsIn,
  comparesElements,
  computedBytesIn,
  copiesIn,
  copiesOfConstants,
  domainValuesIn,
  jsonCopiesIn,
  lengthIn,
  mayCompute,
  ownBytesIn,
  searchesIn,
  treeBytes,
  typesOfNumbers,
} from '../../../postgres/expression-trees.ts';
import { copiesOfNumbers, numbersInTree } from '../../../postgres/number-trees.ts';
import type { Statement } from '../../../postgres/sql.ts';
import { partsOf } from '../catalog/type-parts.ts';
import { hasTrigrams, isTextTree, pairsParts, sortsParts } from '../indexes/describe-indexes.ts';
import { attributes, mostTreeOfConstant, reached } from './load-facts.ts';

/** What the expressions and indexes of a table do. */
export interface TableUse {
  /** About how many bytes the expressions of indexes add to each row. */
  indexBytes: number;
  /** As in `LoadColumn`. */
  ownWork: number;
  /** As in `LoadColumn`. */
  madeDigits: number;
  indexDigits: number;
  columns: ColumnUse[];
}

export interface ColumnUse {
  id: number;
  /** For a stored generated column: the bytes that its expression adds to the values of other columns (`ownBytesIn`). */
  ownBytes?: number;
  /** As in `LoadColumn`. */
  virtualBytes?: number;
  /** As in `LoadColumn`. */
  computedDigits?: number;
  /** As in `LoadColumn`. */
  generatedFrom?: string[];
  /** How often the rows and their indexes store the column as a part of an expression. */
  partCopies?: number;
  use: UseFacts;
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

/** A longer tree of a default is not read by patterns, which need twenty times its memory. If it calls functions that join or pad, it needs too much. */
const mostTreeOfCalls = 64 * 1024;
const mostWork = 1_000_000_000;

/** The maximum number of bytes of an entry in most indexes: a third of a page. */
export const bytesOfEntry = 2704;
/** So many indexes of expressions that may make long numbers are not counted, because they are ordinary, and their entries are then short. */
const fewIndexes = 4;
/** Returns SQL for whether an index of which this is true contains the column of variable length, or may. */
const isIndexed = (fact: string) =>
  `(attlen = -1 AND EXISTS (SELECT FROM indexed x WHERE x.${fact} AND (x.is_computed OR attnum = ANY (x.keys))))`;

/** Returns SQL for whether an expression of which this is true may read the column. */
const mayReach = (fact: string) => `(attlen = -1 AND (SELECT coalesce(bool_or(${fact}), false) FROM trees))`;

/** SQL for the precision of numeric(p,s); 0: none. */
const precision = `CASE WHEN a.atttypmod = -1 THEN 0 ELSE ((a.atttypmod - 4) >> 16) & 65535 END`;
/** The digits of numbers with up to this precision are not counted. */
const ordinaryPrecision = 100;
/** SQL for how many digits a stored value of a generated column may have. Numbers take half of them as bytes, and texts all. */
const storedDigits = `CASE WHEN a.attgenerated <> 's' OR a.attlen > 0 OR a.atttypid = 1700 AND ${precision} BETWEEN 1 AND ${ordinaryPrecision} THEN 0
    WHEN a.atttypid = 1700 THEN least(e.digits, nullif(${precision}, 0)) ELSE 2 * e.digits * e.digit_copies END`;
/** Types of documents and others with several numbers. The digits of a long default of such a type are not known. */
const typesOfSeveralNumbers = typesOfNumbers.filter((type) => type !== 1700).join();

/** SQL for how many copies of a value take as much memory or time as the expression. @param tree SQL of the text of a `pg_node_tree` @param calls the row of `callsIn` */
function copiesOf(tree: string, calls: string): string {
  return `${copiesIn(tree, calls)} + CASE WHEN ${calls}.searching > 0 OR ${comparesElements(tree, calls)} THEN ${searchesIn(tree, calls)} ELSE 0 END`;
}

/** Kinds of functions besides those of `callsIn`. */
const kinds = {
  searching: searchingFunctions,
  splitting: splittingFunctions,
  listing: [listingFunction],
  taking_trigrams: trigramFunctions,
  sorting: sortingFunctions,
};

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
  SELECT row_number() OVER () AS number, f.splitting AS splits, f.listing > 0 AS lists, f.taking_trigrams > 0 AS compares, f.sorting > 0 AS sorts,
    ${copiesOf('e.tree', 'f')} AS copies,
    ${jsonCopiesIn('e.tree', 'texts')} AS json_of_texts, ${jsonCopiesIn('e.tree', 'others')} AS json_copies, e.target, e.columns, e.stored,
    CASE WHEN e.target IS NOT NULL OR e.stored IS NOT NULL THEN ${ownBytesIn('e.tree')} + n.constant_digits END AS own_bytes, n.digit_copies, n.digits, n.reads_numbers, ${copiesOfNumbers('e.tree', 'n')} AS number_work,
    e.is_index, e.tree AS expression, ${lengthIn('e.tree', 'f')} AS length, ${computedBytesIn('e.tree', 'f')} AS bytes,
    ${copiesOfConstants('e.tree', 'f')} AS constant_work, ${domainValuesIn('e.tree')} AS domain_values
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
  CROSS JOIN LATERAL (${callsIn('e.tree', kinds)}) f
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
  UNION ALL SELECT e.number, u.attnum, e.domain_values FROM trees e, unnest(e.columns) AS u (attnum) WHERE e.domain_values > 0),
-- A virtual column is computed anew each time that an expression has it.
evaluated AS (
  SELECT e.number, 1 + CASE WHEN e.target IS NOT NULL AND e.stored IS NULL THEN coalesce((SELECT sum(times) FROM seen WHERE attnum = e.target), 0) ELSE 0 END AS times
  FROM trees e),
readers AS (
  SELECT attnum AS of, sum(e.copies * u.longer * v.times) AS copies, sum(e.bytes * e.copies + e.constant_work + e.number_work) FILTER (WHERE e.domain_values > 0) AS element_work, sum(e.json_of_texts * v.times) AS json_of_texts, sum(e.json_copies * v.times) AS json_copies,
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
  GROUP BY u.attnum)`;

/** The facts about a row of `attributes`. What needs the trees of expressions or the indexes is computed before, once for the table: a table may have hundreds of each. */
const columnUse = `
  'id', attnum,
  'ownBytes', CASE WHEN attgenerated <> 'v' THEN own.own_bytes END, 'virtualBytes', CASE WHEN attgenerated = 'v' THEN own.own_bytes END,
  'partCopies', copied.times::float8,
  'computedDigits', nullif(made.stored_digits, 0)::float8,
  'generatedFrom', (SELECT json_agg(source.attname ORDER BY source.attnum) FROM pg_attribute source
    WHERE source.attrelid = a.attrelid AND source.attnum = ANY (own.columns)),
  'use', json_strip_nulls(json_build_object('isInTextTree', ${isIndexed('is_text_tree')}, 'isInGin', ${isIndexed('sorts_parts')}, 'isPaired', ${isIndexed('pairs_parts')}, 'isInTrigrams', ${isIndexed('has_trigrams')} OR ${mayReach('compares')},
  'jsonCopies', CASE WHEN attlen <> -1 THEN 0 WHEN atttypid IN (25, 1042, 1043) THEN coalesce(readers.json_of_texts, 0)
    ELSE coalesce(readers.json_copies, 0) END::float8,
  'splits', CASE WHEN ${mayReach('splits > 0')} THEN greatest(1, readers.splits) ELSE 0 END::float8, 'isSorted', ${mayReach('sorts')}, 'isListed', ${mayReach('lists')},
  'copies', CASE WHEN attlen = -1 THEN coalesce(readers.copies, 0) ELSE 0 END::float8, 'elementWork', readers.element_work::float8,
  'digitCopies', coalesce(digits.copies, 0)::float8, 'isReadAsNumbers', coalesce(digits.read_as_numbers, false)))`;

/**
 * Reads what the expressions and indexes of a table do with the values of its columns: one row of the type `TableUse`.
 *
 * @param oid the table's `pg_class.oid`
 */
export function readUse(oid: number): Statement {
  return {
    preparedName: 'tablewright read use',
    text: `
WITH RECURSIVE relation AS (SELECT $1::oid AS oid),
${attributes},
${expressionsAndIndexes},
${reached}
SELECT
  ((SELECT coalesce(sum(own_bytes), 0) FROM trees WHERE target IS NULL)
    + (SELECT ${bytesOfEntry} * greatest(0, count(*) - ${fewIndexes}) FROM made WHERE is_index AND all_digits > ${bytesOfEntry}))::float8 AS "indexBytes",
  ((SELECT coalesce(sum(bytes * copies), 0) FROM trees) + (
    SELECT coalesce(sum(CASE WHEN octet_length(d.tree) <= ${mostTreeOfCalls} THEN ${computedBytesIn('d.tree', 'f')} * (${copiesOf('d.tree', 'f')})
      WHEN ${mayCompute('d.tree')} THEN ${mostWork} ELSE 0 END), 0)
    FROM attributes a, LATERAL (SELECT a.tree::text AS tree OFFSET 0) AS d,
      LATERAL (${callsIn(`CASE WHEN octet_length(d.tree) <= ${mostTreeOfCalls} THEN d.tree ELSE '' END`, kinds)}) AS f
    WHERE ${treeBytes('a.tree')} > ${mostTreeOfConstant}))::float8 AS "ownWork",
  (SELECT coalesce(sum(all_digits), 0) FROM made)::float8 AS "madeDigits",
  (SELECT coalesce(sum(all_digits), 0) FROM made WHERE is_index)::float8 AS "indexDigits",
  (SELECT json_agg(json_strip_nulls(json_build_object(${columnUse}))) FROM attributes a
    LEFT JOIN trees own ON own.target = attnum LEFT JOIN readers ON readers.of = attnum LEFT JOIN copied ON copied.of = attnum
    LEFT JOIN digits ON digits.of = attnum LEFT JOIN LATERAL (
      SELECT ${storedDigits} AS stored_digits FROM made e WHERE e.target = a.attnum) AS made ON true) AS columns`,
    values: [oid],
  };
}
