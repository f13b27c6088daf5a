/** SQL conditions for rows that break a rule of their table. */
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { allEqual } from './equality.ts';
import type { ForeignKeyRule, HalfReferenceRule } from './row-rules.ts';

/** Returns the columns of a row. */
export function columnsOf(alias: string, columns: readonly string[]): string[] {
  return columns.map((column) => `${alias}.${quoteIdentifier(column)}`);
}

export function allPresent(alias: string, columns: readonly string[]): string {
  return columnsOf(alias, columns)
    .map((column) => `${column} IS NOT NULL`)
    .join(' AND ');
}

export function anyNull(alias: string, columns: readonly string[]): string {
  const nulls = columnsOf(alias, columns).map((column) => `${column} IS NULL`);
  return `(${nulls.join(' OR ')})`;
}

/**
 * Returns the condition that no row has the key to which the row refers.
 *
 * @param places the relations that have the referenced rows
 */
export function lacksReference(alias: string, rule: ForeignKeyRule, places: string[]): string {
  const same = allEqual(columnsOf('r', rule.referencedColumns), columnsOf(alias, rule.columns), rule.equals);
  // All places are searched in one query. PostgreSQL expects only one row without a match in the first place, so with several
  // searches it would read the whole second place for each such row.
  const referenced = rule.referencedColumns.map(quoteIdentifier).join(', ');
  const all = places.map((place) => `SELECT ${referenced} FROM ${place} place`).join(' UNION ALL ');
  return `${allPresent(alias, rule.columns)} AND NOT EXISTS (SELECT FROM (${all}) r WHERE ${same})`;
}

export function isHalfReference(alias: string, { columns }: HalfReferenceRule): string {
  const isMissing = `num_nulls(${columnsOf(alias, columns).join(', ')})`;
  return `${isMissing} > 0 AND ${isMissing} < ${columns.length}`;
}

/** Returns the values of the columns as problems show them. */
export function shownValue(alias: string, columns: string[]): string {
  const texts = columnsOf(alias, columns).map((column) => `${column}::text`);
  return `left(concat_ws(', ', ${texts.join(', ')}), 200)`;
}
