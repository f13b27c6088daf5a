/**
 * Applies `on_conflict` to one upload: chooses the key by which rows are compared, and the rows to which `on_conflict` applies.
 */

import type { LoadColumn } from '../../../encoding/columns/load-column.ts';
import { quoteIdentifier } from '../../../postgres/sql.ts';
import { allEqual, type Equality } from '../../tables/rules/equality.ts';
import { columnsOf } from '../../tables/rules/rule-conditions.ts';
import { type Shapes, sourcesOf } from './shapes.ts';

/** The value of `on_conflict`, and the keys by which rows may be compared. The preferred key comes first. */
export interface ConflictOption {
  action: 'skip' | 'update';
  keys: ConflictKey[];
}

export interface ConflictKey {
  columns: string[];
  /** The comparisons of the columns; undefined: the operators of `pg_catalog` (see `equal`). */
  equals?: Equality[] | undefined;
  /** NULL in the key equals NULL (NULLS NOT DISTINCT). */
  nullsNotDistinct: boolean;
}

/** What happens to a row if another row already has its key. */
export interface ConflictRule {
  action: ConflictOption['action'];
  /** The chosen key: the first one whose columns are all in the data. */
  key: ConflictKey;
  /**
   * The shapes whose rows have every column of the key. `on_conflict` applies only to these rows, because a key that PostgreSQL
   * generates cannot mean an existing row.
   */
  shapes: readonly number[];
  /** The data has every column of the key. Otherwise `on_conflict` applies to no row. */
  isKeySent: boolean;
  /** The columns whose values do not decide whether a row is changed. */
  notCompared?: ReadonlySet<string>;
}

/**
 * Chooses the first key whose columns the data has.
 *
 * @param isInData whether the data has a column of this name
 */
export function conflictRule(
  { action, keys }: ConflictOption,
  columns: LoadColumn[],
  shapes: Shapes,
  isInData: (name: string) => boolean,
): ConflictRule {
  const isSent = (key: ConflictKey) => sourcesOfKey(key, columns).every(isInData);
  const found = keys.find(isSent);
  const { columns: names, equals, nullsNotDistinct } = found ?? keys[0]!;
  // A generated column has no value in the staged rows. So NULL in it does not mean that the key is NULL.
  const isComputed = columns.some(({ name, isGenerated }) => isGenerated && names.includes(name));
  const key = { columns: names, equals, nullsNotDistinct: nullsNotDistinct && !isComputed };
  return { action, key, shapes: shapesWithKey(key, columns, shapes), isKeySent: found !== undefined };
}

/** Returns a name that keys with the same columns share. */
export function nameOfKey({ columns }: Pick<ConflictKey, 'columns'>): string {
  return columns.map(quoteIdentifier).join();
}

/**
 * Returns the condition that the keys of `t` and `s` are equal. It is true for NULL only with `areNullsEqual`, and PostgreSQL would then compare
 * every row with every other, if it had no other condition.
 */
export function sameKey({ columns, equals }: ConflictKey, areNullsEqual = false): string {
  return allEqual(columnsOf('t', columns), columnsOf('s', columns), equals, areNullsEqual);
}

/** Returns the columns that a row must have so that its key is complete. For a generated column of the key these are the columns from which it is computed. */
export function sourcesOfKey(key: ConflictKey, columns: LoadColumn[]): string[] {
  return [...new Set(key.columns.flatMap((name) => sourcesOf(name, columns)))];
}

function shapesWithKey(key: ConflictKey, columns: LoadColumn[], shapes: Shapes): number[] {
  const needed = sourcesOfKey(key, columns);
  return [...shapes.all.keys()].filter((shape) => {
    const names = shapes.all[shape]!.map((position) => columns[position]!.name);
    return needed.every((name) => names.includes(name));
  });
}
