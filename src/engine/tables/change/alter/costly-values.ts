/**
 * Finds stored values that PostgreSQL must not read as another type, or for a new index or expression, because it would need too much memory or time
 * and could not be interrupted. Uploads refuse such values before they are stored (encoding/columns/reading-cost.ts). Here SQL counts the parts of the
 * values. It may count too many, but never too few.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ClientBase } from 'pg';
import { higherCost } from '../../../../encoding/columns/key-cost.ts';
import type { ColumnType, LoadColumn } from '../../../../encoding/columns/load-column.ts';
import { addCost, MOST_UNITS, ownCost, type ReadingCost } from '../../../../encoding/columns/reading-cost.ts';
import { MOST_PAIRS } from '../../../../encoding/columns/sort-cost.ts';
import { describeCellProblem, TOO_COSTLY } from '../../../../encoding/problems/cell-problems.ts';
import { type Problems, shortenValue } from '../../../../encoding/problems/problems.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../../postgres/sql.ts';
import { outputOf } from '../../conversion/conversion.ts';
import { mostElements } from '../../written-elements.ts';
import { countRows, keyOf, keyValues, type NamedRows } from '../named-rows.ts';

/** A column whose values PostgreSQL reads in a new way. */
export interface CostlyColumn {
  /** The name before the changes. */
  name: string;
  type: ColumnType;
  cost: ReadingCost;
  /** How many elements a value may have so that PostgreSQL can write it as text (`mostElements`). */
  elements?: number | undefined;
}

/**
 * Returns the columns that cost more after the changes.
 *
 * @param after the columns of a temporary table that was created from the definition. Their `keyCost` lacks what the definition does not mention, and so
 *   the higher `keyCost` of both tables counts
 * @param oldNames the names before the changes, by the new ones; new columns are missing
 */
export function costlyColumns(
  before: LoadColumn[],
  after: LoadColumn[],
  oldNames: ReadonlyMap<string, string>,
): CostlyColumn[] {
  const existing = new Map(before.map((column) => [column.name, column.type]));
  return after.flatMap(({ name: newName, type }) => {
    const name = oldNames.get(newName);
    const old = name === undefined ? undefined : existing.get(name);
    if (name === undefined || old === undefined) return [];
    const cost = costOf(type, higherCost(type.keyCost, old.keyCost));
    const isFree = isDeepStrictEqual(cost, ownCost(0));
    return isFree || isDeepStrictEqual(cost, costOf(old, old.keyCost))
      ? []
      : { name, type, cost, elements: mostElements(old) };
  });
}

function costOf({ cost = ownCost(0) }: ColumnType, keyCost: ColumnType['keyCost']): ReadingCost {
  const whole = { ...cost };
  if (keyCost !== undefined) addCost(whole, keyCost);
  return whole;
}

/** Adds a problem for each value that costs too much. The table must still have its old names and types. */
export async function findCostlyValues(
  client: ClientBase,
  rows: NamedRows,
  { name, type, cost, elements }: CostlyColumn,
  problems: Problems,
): Promise<void> {
  const value = `t.${quoteIdentifier(name)}`;
  const isShort = elements === undefined ? 'true' : `cardinality(${value}) <= ${elements}`;
  // PostgreSQL keeps what it needs to write the text of an array, so it writes each value only once.
  const query = `
SELECT true AS is_problem, ${keyValues(rows, (column) => `t.${quoteIdentifier(column)}`)} AS key,
  ${rows.areShown ? 'left(o.text, 200)' : 'NULL'} AS value
FROM ${quoteQualified(rows.schema, rows.name)} t CROSS JOIN LATERAL (SELECT CASE WHEN ${isShort} THEN ${outputOf(value)} END AS text OFFSET 0) AS o
WHERE ${value} IS NOT NULL AND CASE WHEN ${isShort} THEN NOT ${isCheap('o.text', cost)} ELSE true END`;
  const found = await countRows<{ key: string[] | null; value: string | null }>(client, query);
  for (const { key, value: text } of found.listed.slice(0, rows.areShown ? undefined : 1))
    problems.add({
      ...(key !== null && { key: keyOf(rows, key) }),
      column: name,
      ...(text !== null && { value: shortenValue(text) }),
      ...describeCellProblem(TOO_COSTLY, type),
    });
  const described = rows.areShown ? found.listed.length : Math.min(found.listed.length, 1);
  problems.addUnlisted(found.problems - described, name, describeCellProblem(TOO_COSTLY, type).code);
}

/** Shorter texts are always cheap, except for names of time zones and regular expressions. */
const SHORT_BYTES = 1000;
/** The digits of a number with an exponent, and the maximum number of digits in a row (encoders/row-cost.ts). */
const DIGITS_OF_EXPONENT = 131_072;
/** The digits that a number with an exponent of one or two digits counts as. Ordinary numbers have such exponents: `1e-05`. */
const DIGITS_OF_SHORT_EXPONENT = 128;
const MOST_DIGITS = 16 * 1024 * 1024;
const EXPONENT = String.raw`[0-9._"\\][eE]["\\_+-]*[0-9]`;
export const LONG_EXPONENT: string = String.raw`${EXPONENT}["\\_0-9]{2}|\\u`;
/** The maximum number of units is a quarter of that of uploads, because PostgreSQL reads a value several times (to check, compare and convert it) and keeps its texts meanwhile. */
const MOST_UNITS_HERE = MOST_UNITS / 4;

/** Returns the condition that the text is within the limits for the cost. */
function isCheap(text: string, cost: ReadingCost): string {
  const ofAll = ['true'];
  // Two letters or `>` before a number may be the name of a time zone: `UTC+1`, `<abc>-3`.
  if (cost.hasZones)
    ofAll.push(`${text} !~ ${quoteLiteral(String.raw`[[:alpha:]>]{2}["\\]*[-+]?["\\]*[0-9]`)}`);
  if (cost.hasPatterns) ofAll.push(`${text} !~ ${quoteLiteral(String.raw`like_regex|\\`)}`);
  const counts = countsOf(cost, text);
  const hasFewDigits = cost.hasNumbers
    ? `regexp_count(${text}, ${quoteLiteral(LONG_EXPONENT)}) <= ${MOST_DIGITS / 2 / DIGITS_OF_EXPONENT}`
    : 'true';
  return `(${ofAll.join(' AND ')} AND CASE WHEN octet_length(${text}) <= ${SHORT_BYTES} THEN true
  WHEN octet_length(${text}) <= ${bytesAlwaysCheap(cost)} AND ${hasFewDigits} THEN true ELSE
  (SELECT ${limitsOf(cost, counts).join(' AND ')} FROM (SELECT ${counts.structure} AS s, octet_length(${text})::float8 AS bytes OFFSET 0) AS x) END)`;
}

/**
 * Returns up to how many bytes a text is within all limits whatever it contains, if its long exponents make at most half of the digits. These are 43 KB
 * for `jsonb`. To count the parts of a text takes ten times as long as to read it.
 */
export function bytesAlwaysCheap(cost: ReadingCost): number {
  const { objectUnits, bracketUnits, unitsPerByte, mostBytes, partDigits, hasXml } = cost;
  const partUnits = cost.partUnits + cost.elementUnits;
  const { keyTime, partTime, wordTime, textTime } = cost;
  // A byte is at most one part.
  const units = Math.max(unitsPerByte, partUnits, objectUnits, bracketUnits);
  const time = keyTime + partTime + 1.5 * wordTime + textTime;
  const most = Math.min(
    hasXml ? 4096 : mostBytes,
    MOST_UNITS_HERE / units,
    Math.sqrt(MOST_PAIRS / (time * (1 + 1 / 32))),
    MOST_DIGITS / 2 / (partDigits + DIGITS_OF_SHORT_EXPONENT),
  );
  return Math.floor(most);
}

/** SQL of what a text has: `x.s` is its structure, and `x.bytes` its length. */
interface Counts {
  /** The text, of JSON without strings. */
  structure: string;
  units: string;
  /** The comparisons of a sort in the worst order. */
  sorting: string;
  digits: string;
}

/** The limits of the counts. */
export const mostCounts = { units: MOST_UNITS_HERE, sorting: MOST_PAIRS, digits: MOST_DIGITS };

export function countsOf(cost: ReadingCost, text: string): Counts {
  const { partUnits, objectUnits, bracketUnits, elementUnits, unitsPerByte, partDigits } = cost;
  const { keyTime, partTime, wordTime, textTime } = cost;
  const structure = cost.isJson
    ? `regexp_replace(${text}, ${quoteLiteral(String.raw`"(?:[^"\\]|\\.)*"`)}, '', 'g')`
    : text;
  const count = (pattern: string) => `regexp_count(x.s, ${quoteLiteral(pattern)})::float8`;
  // The comparisons of a sort in the worst order, as sort-cost.ts counts them.
  const pairs = (number: string) => `${number} * (${number} + x.bytes / 32)`;
  const sum = (terms: [factor: number, of: () => string][]) =>
    terms.flatMap(([factor, of]) => (factor > 0 ? `${factor} * ${of()}` : [])).join(' + ') || '0';
  const commas = () => countOf(',', '\\u');
  // Commas in quotes do not separate elements.
  const unquoted = `regexp_replace(x.s, ${quoteLiteral(String.raw`"(?:[^"\\]|\\.)*"`)}, '', 'g')`;
  const separators = `(SELECT octet_length(u.u) - octet_length(translate(u.u, ',;', '')) FROM (SELECT ${unquoted} AS u OFFSET 0) AS u)`;
  const units = sum([
    [partUnits, commas],
    [objectUnits, () => countOf('{')],
    [bracketUnits, () => countOf('[')],
    [elementUnits, () => separators],
  ]);
  const sorting = sum([
    [keyTime, () => pairs(countOf(':', '\\u'))],
    [partTime, () => pairs(countOf(',', ':', '\\u'))],
    [wordTime, () => pairs(count(String.raw`[[:space:]']+|\\u`))],
    [wordTime / 2, () => `${countOf(',', ':')} * least(${countOf(',', ':')}, 16384)`],
    [textTime, () => pairs(count('[[:alnum:]]+|[^[:ascii:]]'))],
  ]);
  const digits = sum([
    [cost.hasNumbers ? DIGITS_OF_EXPONENT : 0, () => count(LONG_EXPONENT)],
    [cost.hasNumbers ? DIGITS_OF_SHORT_EXPONENT : 0, () => count(EXPONENT)],
    [partDigits, () => `(${commas()} + 1)`],
  ]);
  return { structure, units: `greatest(${units}, x.bytes * ${unitsPerByte})`, sorting, digits };
}

/** Returns the conditions for a longer text. */
function limitsOf(cost: ReadingCost, { units, sorting, digits }: Counts): string[] {
  return [
    `x.bytes <= ${Math.min(cost.mostBytes, MOST_UNITS_HERE / cost.unitsPerByte)}`,
    `${units} <= ${mostCounts.units} AND ${sorting} <= ${mostCounts.sorting} AND ${digits} <= ${mostCounts.digits}`,
    // The limits of xml-cost.ts for one element apply to the whole text.
    ...(cost.hasXml
      ? [`(x.bytes <= 4096 OR ${countOf('<!')} = 0 AND ${countOf('=')} <= 4096 AND ${countOf('<')} <= 50000)`]
      : []),
  ];
}

/** SQL for how often the text has these texts. A regular expression takes a microsecond for each place that it finds, and the table may be locked for readers meanwhile. */
function countOf(...texts: string[]): string {
  return `(${texts.map((text) => `(octet_length(x.s) - octet_length(replace(x.s, ${quoteLiteral(text)}, ''))) / ${text.length}::float8`).join(' + ')})`;
}
