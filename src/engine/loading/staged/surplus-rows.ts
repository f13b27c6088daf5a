/**
 * Finds the surplus rows of an upload: rows that another row of the same upload with the same key replaces. Their numbers are
 * in a temporary table.
 */
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { type CallersStatement, qualified } from '../../../postgres/callers-statement.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { isStagedAsText } from '../copying/target-columns.ts';
import type { ConflictRule } from './conflict-rule.ts';
import { hasShape, rowNumber, stagedValue, stagingTable } from './staging-table.ts';

const surplusTable = 'pg_temp."tablewright surplus rows"';

/**
 * Finds the surplus rows. Among rows with the same key, `skip` keeps the first and `update` keeps the last. Rows with NULL in
 * the key never conflict, unless the key has NULLS NOT DISTINCT.
 *
 * @param staged the staging table, or `typedStagingTable`; values are compared in the types of the columns
 */
export function findSurplusRows(staged: string, { action, key, shapes }: ConflictRule): CallersStatement {
  const columns = key.columns.map(quoteIdentifier);
  const takesPart = hasShape('s', shapes);
  const present = key.nullsNotDistinct
    ? takesPart
    : [takesPart, ...columns.map((column) => `${column} IS NOT NULL`)].join(' AND ');
  const order = action === 'skip' ? 'ASC' : 'DESC';
  return qualified`CREATE TEMPORARY TABLE ${surplusTable} ON COMMIT DROP AS SELECT data_row FROM (
SELECT ${rowNumber} AS data_row, pg_catalog.row_number() OVER (PARTITION BY ${columns.join(', ')} ORDER BY ${rowNumber} ${order}) AS place
FROM ${staged} s WHERE ${present}) placed WHERE place OPERATOR(pg_catalog.>) 1`;
}

/** Reads the texts of the surplus rows, which are not moved, so that PostgreSQL refuses a text that is not valid for its type. */
export function readSurplusTexts(columns: LoadColumn[]): CallersStatement {
  const values = columns.filter(isStagedAsText).map((column) => stagedValue('s', column));
  return qualified`SELECT ${values.map((value) => `pg_catalog.count(${value})`).join(', ')} FROM ${stagingTable} s WHERE ${isSurplus('s')}`;
}

/** ANALYZE for the surplus table, for the same reason as `analyzeStagingTable`. */
export const analyzeSurplusTable = `ANALYZE ${surplusTable}`;

export const emptySurplusTable = `DELETE FROM ${surplusTable}`;

export const dropSurplusTable = `DROP TABLE ${surplusTable}`;

/** Counts the surplus rows: one row `count`. */
export const countSurplusRows = qualified`SELECT pg_catalog.count(*)::int FROM ${surplusTable}`;

/** Returns the condition that the row of the staging table is a surplus row, for every search path. */
export function isSurplus(alias: string): string {
  return `EXISTS (SELECT FROM ${surplusTable} p WHERE p.data_row OPERATOR(pg_catalog.=) ${alias}.${rowNumber})`;
}
