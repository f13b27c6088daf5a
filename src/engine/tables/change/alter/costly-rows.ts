/**
 * Finds stored rows whose values together cost too much in a new type, index or expression, although each of them is within the limits
 * (costly-values.ts). PostgreSQL changes all columns of a row at once: it frees nothing between them, and cannot be interrupted.
 */
import type { ClientBase } from 'pg';
import { describeCellProblem, TOO_COSTLY } from '../../../../encoding/problems/cell-problems.ts';
import type { Problems } from '../../../../encoding/problems/problems.ts';
import { quoteIdentifier, quoteLiteral, quoteQualified } from '../../../../postgres/sql.ts';
import { outputOf } from '../../conversion/conversion.ts';
import { countRows, keyOf, keyValues, type NamedRows } from '../named-rows.ts';
import { bytesAlwaysCheap, type CostlyColumn, countsOf, LONG_EXPONENT, mostCounts } from './costly-values.ts';

/** A text with a long exponent, up to this length, has at most as many digits as a row may have: `1e131071` is one of the shortest. */
const BYTES_OF_EXPONENTS = 1000;

/** Adds a problem for each row that costs too much. Each value must be within the limits, and the table must still have its old names and types. */
export async function findCostlyRows(
  client: ClientBase,
  rows: NamedRows,
  columns: CostlyColumn[],
  problems: Problems,
): Promise<void> {
  const parts = groupByCost(columns);
  const query = `
SELECT true AS is_problem, ${keyValues(rows, (column) => `t.${quoteIdentifier(column)}`)} AS key, coalesce(all_values.longest, 0) AS place
FROM ${quoteQualified(rows.schema, rows.name)} t
CROSS JOIN LATERAL (SELECT ${elementsOf(columns)} <= 1 AS may_be_written OFFSET 0) AS w
CROSS JOIN LATERAL (
  SELECT sum(share) AS shares, (array_agg(place ORDER BY bytes DESC NULLS LAST))[1] AS longest FROM (
    ${parts.map(sharesOf).join('\n    UNION ALL ')}) AS v) AS all_values
WHERE CASE WHEN NOT w.may_be_written THEN true WHEN all_values.shares <= 1 THEN false ELSE (
  SELECT sum(units) > ${mostCounts.units} OR sum(sorting) > ${mostCounts.sorting} OR sum(digits) > ${mostCounts.digits} FROM (
    ${parts.map(exactCountsOf).join('\n    UNION ALL ')}) AS v) END`;
  const found = await countRows<{ key: string[] | null; place: number }>(client, query);
  for (const { key, place } of found.listed.slice(0, rows.areShown ? undefined : 1)) {
    const { name, type } = columns[place]!;
    problems.add({
      ...(key !== null && { key: keyOf(rows, key) }),
      column: name,
      ...describeCellProblem(TOO_COSTLY, type),
    });
  }
  const described = rows.areShown ? found.listed.length : Math.min(found.listed.length, 1);
  const [{ name, type }] = columns as [CostlyColumn];
  problems.addUnlisted(found.problems - described, name, describeCellProblem(TOO_COSTLY, type).code);
}

/** Columns with one cost, and SQL of their texts: rows of `place`, the number of the column, and `text`. */
interface Group extends Pick<CostlyColumn, 'cost'> {
  texts: string;
}

/** Many columns have the same type, so that the SQL is shorter if it has each cost once. */
function groupByCost(columns: CostlyColumn[]): Group[] {
  const groups = new Map<string, { cost: CostlyColumn['cost']; values: string[] }>();
  for (const [place, { name, cost }] of columns.entries()) {
    const key = JSON.stringify(cost);
    const group = groups.get(key) ?? { cost, values: [] };
    group.values.push(
      `(${place}, CASE WHEN w.may_be_written THEN ${outputOf(`t.${quoteIdentifier(name)}`)} END)`,
    );
    groups.set(key, group);
  }
  return [...groups.values()].map(({ cost, values }) => ({
    cost,
    texts: `(SELECT place, text FROM (VALUES ${values.join(', ')}) AS listed (place, text) OFFSET 0) AS v`,
  }));
}

/** SQL for which part of the elements that PostgreSQL can write at once the arrays of the row have. */
function elementsOf(columns: CostlyColumn[]): string {
  const terms = columns.flatMap(({ name, elements }) =>
    elements === undefined
      ? []
      : `coalesce(cardinality(t.${quoteIdentifier(name)}), 0) / ${elements}::float8`,
  );
  return ['0', ...terms].join(' + ');
}

/** Returns a query of the lengths, and of which part of the limits the values have at most. To count takes ten times as long, so only other rows are counted. */
function sharesOf({ cost, texts }: Group): string {
  const most = String(Math.max(1, bytesAlwaysCheap(cost)));
  const cheap = cost.hasNumbers
    ? `CASE WHEN text ~ ${quoteLiteral(LONG_EXPONENT)} THEN ${Math.min(Number(most), BYTES_OF_EXPONENTS)} ELSE ${most} END`
    : most;
  return `SELECT place, octet_length(text) AS bytes, octet_length(text) / (${cheap})::float8 AS share FROM ${texts}`;
}

function exactCountsOf({ cost, texts }: Group): string {
  const { structure, units, sorting, digits } = countsOf(cost, 'v.text');
  return `SELECT ${units} AS units, ${sorting} AS sorting, ${digits} AS digits
    FROM ${texts} CROSS JOIN LATERAL (SELECT ${structure} AS s, octet_length(v.text)::float8 AS bytes OFFSET 0) AS x`;
}
