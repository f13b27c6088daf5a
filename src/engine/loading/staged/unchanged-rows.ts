/**
 * Finds the unchanged rows of an upload with `on_conflict=update`: staged rows whose row of the table already has the same values. Their
 * numbers are in a temporary table, and they are not moved.
 *
 * Values are compared as PostgreSQL stores them (`*=`), because `=` says that 1.0 and 1.00 are equal, and some types have no `=`. If another
 * session changes such a row after the comparison, the result is the same as if the upload had come first.
 */

import type { ClientBase } from 'pg';
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { withSavepoint } from '../../../postgres/savepoints.ts';
import { queryInCallersPath } from '../../../postgres/search-path.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { isFailureOfExpression, isRefusalOfInput } from '../../../postgres/sqlstate.ts';
import { anyNull } from '../../tables/rules/rule-conditions.ts';
import { isStagedAsText } from '../copying/target-columns.ts';
import { sameKey } from './conflict-rule.ts';
import type { StagedLoad } from './staged-load.ts';
import * as staging from './staging-table.ts';
import { isSurplus } from './surplus-rows.ts';

const unchangedTable = 'pg_temp."tablewright unchanged rows"';

/** What decides which rows are unchanged. */
export type Comparing = Pick<StagedLoad, 'columns' | 'compared' | 'conflict' | 'shapes' | 'stored'>;

/**
 * Returns the columns that are compared; undefined: rows are not compared. The columns of the key are never changed. PostgreSQL lets only a role
 * that may read the columns update them with the values of an upload.
 */
export function comparedColumns({
  columns,
  isBare,
  isSharded,
  shapes,
  conflict,
}: Omit<StagedLoad, 'compared'>): LoadColumn[] | undefined {
  if (conflict?.action !== 'update' || isBare || isSharded) return undefined;
  const { key, notCompared } = conflict;
  const isSent = (position: number) => conflict.shapes.some((shape) => shapes.all[shape]!.includes(position));
  const isCompared = ({ name, isGenerated }: LoadColumn) =>
    !isGenerated && !key.columns.includes(name) && !notCompared?.has(name);
  return columns.filter((column, position) => isSent(position) && isCompared(column));
}

/**
 * Returns whether unchanged rows can be found before they are moved. If PostgreSQL computes the key, the staged rows do not have it.
 * PostgreSQL then compares each row when it meets the row of the table, and locks this row.
 */
export function findsUnchanged({ columns, compared, conflict }: Comparing): boolean {
  const isComputed = ({ name, isGenerated }: LoadColumn) =>
    isGenerated && conflict!.key.columns.includes(name);
  return compared !== undefined && !columns.some(isComputed);
}

/**
 * Finds the unchanged rows. If PostgreSQL cannot read a text that is staged as text, none is found: the row with it is refused when the rows
 * are moved or judged.
 *
 * @param inputCheck see `typedStagingTable`
 */
export async function findUnchanged(
  client: ClientBase,
  load: Comparing,
  inputCheck: string | undefined,
): Promise<void> {
  const find = qualified`${findUnchangedRows(load, inputCheck)}; ANALYZE ${unchangedTable}`;
  const found = await ifReadable(client, load, () => queryInCallersPath(client, find));
  if (found === undefined) await client.query(createNoUnchangedRows);
}

/** Does work that reads the staged values. Returns undefined, and undoes the work, if PostgreSQL cannot read a text that is staged as text. */
export async function ifReadable<Result>(
  client: ClientBase,
  { columns }: Pick<StagedLoad, 'columns'>,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (!columns.some(isStagedAsText)) return work();
  try {
    return await withSavepoint(client, 'unreadable', work);
  } catch (error) {
    if (!isFailureOfExpression(error) && !isRefusalOfInput(error)) throw error;
    return undefined;
  }
}

const createNoUnchangedRows = `CREATE TEMPORARY TABLE ${unchangedTable} (${staging.rowNumber} int4) ON COMMIT DROP`;

/** Returns the statement that writes the numbers of the unchanged rows into a temporary table. */
export function findUnchangedRows(load: Comparing, inputCheck: string | undefined): CallersStatement {
  const { columns, compared, conflict, stored } = load;
  const { key, shapes } = conflict!;
  const staged = staging.typedStagingTable(columns, inputCheck);
  const conditions = [
    staging.hasShape('s', shapes),
    ...(columns.some(isStagedAsText) && inputCheck !== undefined ? [`s.${staging.isReadable}`] : []),
    ...(compared!.length > 0 ? [isSame(load)] : []),
  ].join(' AND ');
  const find = (isMatch: string) =>
    `SELECT s.${staging.rowNumber} FROM ${stored} t JOIN ${staged} s ON ${isMatch} WHERE ${conditions}`;
  const keyColumns = key.columns.map((name) => columns.find((column) => column.name === name)!);
  // PostgreSQL can use a merge join for `*=`, but only a nested loop for `IS NOT DISTINCT FROM`.
  const ofNulls = `${recordOf('t', keyColumns)} OPERATOR(pg_catalog.*=) ${recordOf('s', keyColumns)} AND ${anyNull('s', key.columns)} AND ${anyNull('t', key.columns)}`;
  const found = [find(sameKey(key)), ...(key.nullsNotDistinct ? [find(ofNulls)] : [])].join(' UNION ALL ');
  return qualified`CREATE TEMPORARY TABLE ${unchangedTable} ON COMMIT DROP AS ${found}`;
}

/** Returns the condition that the values are the same in the columns that the staged row has. */
function isSame({ columns, compared, conflict, shapes }: Comparing): string {
  const sent = compared!.map((column) => {
    const value = sameTyped('s', column);
    const position = columns.indexOf(column);
    const having = conflict!.shapes.filter((shape) => shapes.all[shape]!.includes(position));
    if (having.length === conflict!.shapes.length) return value;
    const isSent = `s.${staging.shapeNumber} OPERATOR(pg_catalog.=) ANY ('{${having.join()}}'::pg_catalog.int4[])`;
    return `CASE WHEN ${isSent} THEN ${value} ELSE ${sameTyped('t', column)} END`;
  });
  return `${recordOf('t', compared!)} OPERATOR(pg_catalog.*=) ${record(sent)}`;
}

function recordOf(alias: string, columns: LoadColumn[]): string {
  return record(columns.map((column) => sameTyped(alias, column)));
}

/** Returns the values as one record for `*=` and `*<>`. Without the cast PostgreSQL would apply the operator to each pair of values. */
export function record(values: string[]): string {
  return `ROW(${values.join(', ')})::pg_catalog.record`;
}

/** Returns a value of the table or of `typedStagingTable` as the type that both can have. The staging table may have the base type of a domain. */
export function sameTyped(alias: string, { name, type }: LoadColumn): string {
  const value = `${alias}.${quoteIdentifier(name)}`;
  const { base, kind } = type;
  if (base === undefined && kind !== 'array') return value;
  const { name: shown, sqlName = shown } = base ?? type;
  return `${value}::${sqlName}`;
}

/** Returns the condition that the row of the staging table is unchanged, for every search path. The rows must have been found. */
export function isUnchanged(alias: string): string {
  return `EXISTS (SELECT FROM ${unchangedTable} u WHERE u.${staging.rowNumber} OPERATOR(pg_catalog.=) ${alias}.${staging.rowNumber})`;
}

/** Creates an index that finds single rows, for a load of many shapes. */
export const indexUnchangedTable = `CREATE INDEX ON ${unchangedTable} (${staging.rowNumber})`;

export const dropUnchangedTable = `DROP TABLE ${unchangedTable}`;

/** Deletes the unchanged rows from the staging table. The table of their numbers is then empty, too. */
export const deleteUnchangedRows = `DELETE FROM ${staging.stagingTable} s WHERE ${isUnchanged('s')}; TRUNCATE ${unchangedTable}`;

/** Counts the unchanged rows without surplus rows: one row `count`. */
export const countUnchangedRows = qualified`SELECT pg_catalog.count(*)::int FROM ${unchangedTable} u WHERE NOT ${isSurplus('u')}`;
