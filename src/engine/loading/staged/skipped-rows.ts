/**
 * Skips rows of a table whose triggers may change or leave out rows (`on_conflict=skip`). Only PostgreSQL knows which key such a row has in
 * the end, so no row is surplus beforehand: all rows are moved in the order of the file, and the stored ones are noted.
 */
import type { ClientBase } from 'pg';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { anyNull, columnsOf } from '../../tables/rules/rule-conditions.ts';
import { type ConflictRule, sameKey } from './conflict-rule.ts';
import type { StagedLoad } from './staged-load.ts';
import { countRowsWithout, hasShape, rowNumber, typedStagingTable } from './staging-table.ts';

const storedRows = 'pg_temp."tablewright stored rows"';

/** Returns whether the rows are moved in the order of the file and noted. A worker of Citus cannot note them. */
export function skipsInOrder({ conflict, isBare, isSharded, changesRows, hasRules }: StagedLoad): boolean {
  return conflict?.action === 'skip' && (changesRows || hasRules) && !isBare && !isSharded;
}

/** Returns whether the shapes with the key must be moved at the same time, because a row of one may come before a row of another with the same key. */
export function mixesShapes(load: StagedLoad): boolean {
  return skipsInOrder(load) && load.conflict!.shapes.length > 1;
}

/** Returns whether the numbers of the stored rows are noted. PostgreSQL has no RETURNING for tables with rules (CREATE RULE). */
export function notesNumbers(load: StagedLoad): boolean {
  return skipsInOrder(load) && !load.hasRules;
}

/** Creates the table of the stored rows. A row is null if its number is not known. */
export const createStoredRows = `CREATE TEMPORARY TABLE ${storedRows} (data_row integer) ON COMMIT DROP`;

/** Returns a statement that notes the rows of a query with the column `data_row`. */
export function noteStored(rows: string): string {
  return `INSERT INTO ${storedRows} SELECT data_row FROM ${rows}`;
}

/** Counts the noted rows: one row `count`. */
export const countStoredRows = qualified`SELECT pg_catalog.count(*)::int FROM ${storedRows}`;

/**
 * Counts the rows that were skipped. A row that was not stored although its key is not in the table was left out by a trigger or a rule.
 * In a table with rules, rows without a complete key that a rule leaves out make the count too high. No text may be invalid for its type.
 *
 * @param merged the number of all stored rows
 * @returns undefined: every row that was not stored was skipped (`skipsInOrder`)
 */
export async function countSkipped(
  client: ClientBase,
  load: StagedLoad,
  merged: number,
): Promise<number | undefined> {
  if (!skipsInOrder(load)) return undefined;
  const { key, shapes } = load.conflict!;
  const { rows } = await queryInCallersPath<{ count: number }>(client, countWithKey(load, { key, shapes }));
  if (notesNumbers(load)) return rows[0]!.count;
  const never = countRowsWithout(shapes, key.nullsNotDistinct ? [] : key.columns);
  const keyless = (await client.query<{ count: number }>(never)).rows[0]!.count;
  return Math.max(0, rows[0]!.count - Math.max(0, merged - keyless));
}

/** Counts the rows whose key is in the table, except those that are noted as stored. It returns one row `count`. */
export function countWithKey(
  { columns, stored }: StagedLoad,
  { key, shapes }: Pick<ConflictRule, 'key' | 'shapes'>,
): CallersStatement {
  const staged = typedStagingTable(columns, undefined);
  const isLeft = `${hasShape('s', shapes)} AND NOT EXISTS (SELECT FROM ${storedRows} p WHERE p.data_row OPERATOR(pg_catalog.=) s.${rowNumber})`;
  const names = (alias: string) => columnsOf(alias, key.columns).join(', ');
  // GROUP BY puts equal keys together also if they have NULL.
  const withNull = `SELECT pg_catalog.sum(rows) FROM (SELECT pg_catalog.count(${rowNumber}) AS rows FROM (
SELECT ${names('s')}, s.${rowNumber} FROM ${staged} s WHERE ${isLeft} AND ${anyNull('s', key.columns)}
UNION ALL SELECT ${names('t')}, NULL FROM ${stored} t WHERE ${anyNull('t', key.columns)}) both_have
GROUP BY ${columnsOf('both_have', key.columns).join(', ')} HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) pg_catalog.count(${rowNumber})) counted`;
  return qualified`SELECT ((SELECT pg_catalog.count(*) FROM ${staged} s WHERE ${isLeft} AND EXISTS (SELECT FROM ${stored} t WHERE ${sameKey(key)}))
${key.nullsNotDistinct ? `OPERATOR(pg_catalog.+) coalesce((${withNull}), 0)` : ''})::int AS count`;
}
