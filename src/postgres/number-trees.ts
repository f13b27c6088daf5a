/**
 * Finds in an expression of the catalogue what may make long numbers of short values. The values of `numeric` are short (`1e131000` and `1e-16000` take
 * some bytes each), but their sum has the digits of both. An expression can also read such numbers from texts, or compute them: `10 ^ n`.
 *
 * The names in a tree are PostgreSQL's internals (expression-trees.ts, pg_proc.dat).
 */
import { longestNumber } from '../core/cells/number-lengths.ts';
import { fixedTypes, maxTreeBytes, mostCopies, typesOfNumbers } from './expression-trees.ts';

/** The digits that an operation adds to a number whose operands have few digits, those of a float before and after the point, and of `round(n, 100)`. */
const digitsOfOperation = 32;
const digitsOfFloat = 320;
const digitsOfRounded = 128;

/**
 * Returns a query of one row about an expression:
 *
 * - `digit_copies`: how many values it makes that may have the digits of a number: those of `numeric`, texts, arrays and documents;
 * - `digits`: how many digits each of them may have, whatever the values of numeric columns are;
 * - `constant_digits`: how many digits its numeric constants have;
 * - `reads_numbers`: whether it reads numbers from texts.
 *
 * @param tree SQL of the text of a `pg_node_tree`
 */
export const numbersInTree = (tree: string) => `
  SELECT CASE WHEN is_searched THEN c.digit_copies ELSE ${mostCopies} END AS digit_copies,
    CASE WHEN c.reads > 0 OR c.computes OR c.rounds > c.few_rounds OR NOT is_searched THEN ${longestNumber}
      ELSE least(${longestNumber}, c.operations * ${digitsOfOperation} + c.floats * ${digitsOfFloat} + c.rounds * ${digitsOfRounded}
        + CASE WHEN c.is_bounded THEN ${sumOfPrecisions(tree)} ELSE 0 END) END::int8 AS digits,
    CASE WHEN is_searched AND pg_catalog.strpos(${tree}, ':consttype 1700 ') > 0 THEN ${digitsOfConstants(tree)} ELSE 0 END AS constant_digits,
    c.reads > 0 OR NOT is_searched AS reads_numbers
  FROM (SELECT pg_catalog.octet_length(${tree}) <= ${maxTreeBytes} AS is_searched) AS t, LATERAL (${callsIn(tree)}) AS c`;

/** `*`, `/`, `%`, roots and other functions of `numeric` whose time grows with the square of the digits. */
const slowOperations = 'funcid (172[6-9]|173\\d|1973|1980|2169|504[89]) ';

/**
 * Returns SQL for how many copies of a byte take as long as the numbers that the check of a domain makes, for each value: 0.5 ns for each digit, and 75 ms
 * for the root of a number of 131,072 digits.
 *
 * @param numbers the row of `numbersInTree`
 */
export const copiesOfNumbers = (tree: string, numbers: string) => {
  const digits = `least(${longestNumber}, ${numbers}.digits + ${numbers}.constant_digits)::pg_catalog.float8`;
  return `${digits} * ${numbers}.digit_copies * CASE WHEN ${searched(tree)} ~ '${slowOperations}' THEN greatest(0.05, ${digits} / 25000) ELSE 0.01 END`;
};

/** A cast of a text to a type that contains numbers, `to_jsonb(json)`, `numeric(jsonb)`, and JSON_VALUE. Only casts through a text have the members in this order. */
const textAsType = (types: string) =>
  `:resulttype (${types}) (?::resulttypmod -?\\d+ )?:resultcollid \\d+ :coerceformat `;
const reads = `${textAsType(typesOfNumbers.join('|'))}|funcid (3787|3449) |\\{JSONEXPR `;
/** Types of users may contain numbers, except enums and base types of extensions. */
const readsOfUserTypes = (tree: string) => `(
      SELECT pg_catalog.count(*) FROM pg_catalog.regexp_matches(${searched(tree)}, '${textAsType('[1-9][0-9]{4,}')}', 'g') AS m
      JOIN pg_catalog.pg_type t ON t.oid = m[1]::pg_catalog.oid WHERE t.typtype <> 'e' AND (t.typtype <> 'b' OR t.typelem <> 0))`;
/** `a::numeric(10,2)`: the conversion to the precision comes at once, and refuses long numbers. */
const boundedReads =
  'funcid 1703 [^{}]*:funcformat [12] [^{}]*:args \\(\\{(COERCEVIAIO |FUNCEXPR :funcid 3449 )';
/** A node of a tree with at most so many levels of nodes. */
const nodeOf = (levels: number): string =>
  `\\{${levels === 0 ? '[^{}]*' : `(?:[^{}]|${nodeOf(levels - 1)})*`}\\}`;
/** How many levels the first argument of `round(n, 2)` may have so that its second one is found. */
const mostLevels = 10;
/** `round(n, 2)` and `trunc(n, 2)` with a number of digits up to 100. A call may be in another one, so only the beginnings are matched. */
const roundsToFew = `funcid (?:1707|1709) (?=[^{}]*:args \\(${nodeOf(mostLevels)} \\{CONST :consttype 23 [^{}]*:constvalue 4 \\[ (?:[0-9]|[1-9][0-9]|100) 0 0 0 [-0-9 ]*\\]\\}\\) )`;

/** A call of a function or an operator, with the type of its value. */
const call = '(?:op)?funcid (\\d+) :(?:op|func)resulttype (\\d+) ';
/** A conversion, an array or a document that has the digits of what it contains. */
const conversion = '\\{(COERCEVIAIO|ARRAYCOERCEEXPR|ARRAYEXPR|ROWEXPR|JSONCONSTRUCTOREXPR|XMLEXPR) ';
const isFixed = `m[2] = ANY ('{${fixedTypes.split('|')}}')`;
/** Functions that make a long number of short ones, and functions that were created in the database and return a number. */
const computing = `p.proname IN ('power', 'pow', 'numeric_power', 'exp', 'numeric_exp', 'factorial') OR p.oid >= 16384`;
/** `+`, `-`, `*`, `/`, `%`, roots and logarithms of `numeric`. */
const operations = `m[1]::int4 BETWEEN 1724 AND 1739 OR m[1]::int4 IN (1973, 1980, 2169, 5048, 5049)`;

/** Returns a query of what the calls and conversions of a tree are. */
const callsIn = (tree: string) => `
  SELECT pg_catalog.count(*) FILTER (WHERE NOT ${isFixed}) + pg_catalog.regexp_count(${searched(tree)}, '${conversion}') AS digit_copies,
    pg_catalog.regexp_count(${searched(tree)}, '${reads}') + ${readsOfUserTypes(tree)}
      - CASE WHEN pg_catalog.bool_or(m[1] = '1703') THEN pg_catalog.regexp_count(${searched(tree)}, '${boundedReads}') ELSE 0 END AS reads,
    coalesce(pg_catalog.bool_or(m[2] = '1700' AND (${computing}) OR p.proname LIKE 'jsonb\\_path\\_query%'), false) AS computes,
    pg_catalog.count(*) FILTER (WHERE ${operations}) AS operations, pg_catalog.count(*) FILTER (WHERE m[1] IN ('1742', '1743')) AS floats,
    coalesce(pg_catalog.bool_or(m[1] = '1703'), false) AS is_bounded,
    pg_catalog.count(*) FILTER (WHERE m[1] IN ('1707', '1709')) AS rounds,
    CASE WHEN pg_catalog.bool_or(m[1] IN ('1707', '1709')) THEN pg_catalog.regexp_count(${searched(tree)}, '${roundsToFew}') ELSE 0 END AS few_rounds
  FROM pg_catalog.regexp_matches(${searched(tree)}, '${call}', 'g') AS m LEFT JOIN pg_catalog.pg_proc p ON p.oid = m[1]::pg_catalog.oid`;

const searched = (tree: string) =>
  `CASE WHEN pg_catalog.octet_length(${tree}) <= ${maxTreeBytes} THEN ${tree} ELSE '' END`;

/** A constant of `numeric` with a long header, such as all with an exponent of three digits: its scale and its weight. */
const longConstant =
  ':consttype 1700 [^{}]*\\[ -?\\d+ -?\\d+ -?\\d+ -?\\d+ (-?\\d+) (\\d+) (-?\\d+) (-?\\d+) ';
const digitsOfConstants = (tree: string) => `(
      SELECT coalesce(sum(4 * greatest(0, (m[3]::int4 & 255) + (m[4]::int4 << 8) + 1) + (m[1]::int4 & 255) + (m[2]::int4 & 63) * 256), 0)
      FROM pg_catalog.regexp_matches(${tree}, '${longConstant}', 'g') AS m)`;

/** A modifier of numeric(p,s): the precision is in its upper half. */
const modifier = ':consttype 23 [^{}]*\\[ -?\\d+ -?\\d+ (-?\\d+) (-?\\d+) ';
const sumOfPrecisions = (tree: string) => `(
      SELECT coalesce(sum(least(1000, (m[1]::int4 & 255) + (m[2]::int4 & 3) * 256)), 0)
      FROM pg_catalog.regexp_matches(${tree}, '${modifier}', 'g') AS m)`;
