/** SQL conditions for rows that break a rule of their table. */
import { quoteIdentifier } from '../../postgres/sql.ts';
import { equal } from './equality.ts';
import type { ForeignKeyRule, HalfReferenceRule } from './row-rules.ts';

export function allPresent(alias: string, columns: string[]): string {
  return columns.map((column) => `${alias}.${quoteIdentifier(column)} IS NOT NULL`).join(' AND ');
}

/**
 * Returns the condition that no row has the key to which the row refers.
 *
 * @param places the relations that have the referenced rows
 */
export function lacksReference(alias: string, rule: ForeignKeyRule, places: string[]): string {
  const same = rule.columns.map((column, index) => {
    const referenced = `r.${quoteIdentifier(rule.referencedColumns[index]!)}`;
    return equal(referenced, `${alias}.${quoteIdentifier(column)}`, rule.equals, index);
  });
  // All places are searched in one query. PostgreSQL expects only one row without a match in the first place, so with several
  // searches it would read the whole second place for each such row.
  const referenced = rule.referencedColumns.map(quoteIdentifier).join(', ');
  const all = places.map((place) => `SELECT ${referenced} FROM ${place} place`).join(' UNION ALL ');
  return `${allPresent(alias, rule.columns)} AND NOT EXISTS (SELECT FROM (${all}) r WHERE ${same.join(' AND ')})`;
}

export function isHalfReference(alias: string, { columns }: HalfReferenceRule): string {
  const isMissing = `num_nulls(${columns.map((column) => `${alias}.${quoteIdentifier(column)}`).join(', ')})`;
  return `${isMissing} > 0 AND ${isMissing} < ${columns.length}`;
}

/** Returns the values of the columns as problems show them. */
export function shownValue(alias: string, columns: string[]): string {
  const texts = columns.map((column) => `${alias}.${quoteIdentifier(column)}::text`);
  return `left(concat_ws(', ', ${texts.join(', ')}), 200)`;
}
