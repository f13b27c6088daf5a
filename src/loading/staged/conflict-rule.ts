/** `on_conflict` applied to one upload: the key by which rows are compared, and the rows that take part. */
import type { LoadColumn } from '../../tables/load-column.ts';
import type { Equality } from './equality.ts';
import { type Shapes, sourcesOf } from './shapes.ts';

/** `on_conflict`, and the keys that rows may be compared by, the preferred one first. */
export interface ConflictOption {
  action: 'skip' | 'update';
  keys: ConflictKey[];
}

export interface ConflictKey {
  columns: string[];
  /** See `equal`. */
  equals?: Equality[] | undefined;
  /** NULL is a value like others (NULLS NOT DISTINCT). */
  nullsNotDistinct: boolean;
}

/** What happens to a row whose key another row already has. */
export interface ConflictRule {
  action: ConflictOption['action'];
  /** The first key of the table of which the data brings every column. */
  key: ConflictKey;
  /**
   * The shapes whose rows bring every column of the key. Only these rows take part: a key that PostgreSQL generates does not
   * say which row is meant.
   */
  shapes: readonly number[];
  /** The data brings every column of the key. Otherwise no row takes part. */
  isKeyBrought: boolean;
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
  const isBrought = (key: ConflictKey) => sourcesOfKey(key, columns).every(isInData);
  const found = keys.find(isBrought);
  const { columns: names, equals, nullsNotDistinct } = found ?? keys[0]!;
  // The staged rows have no value in a generated column: NULL there means nothing.
  const isComputed = columns.some(({ name, isGenerated }) => isGenerated && names.includes(name));
  const key = { columns: names, equals, nullsNotDistinct: nullsNotDistinct && !isComputed };
  return { action, key, shapes: shapesWithKey(key, columns, shapes), isKeyBrought: found !== undefined };
}

/** Returns the columns that a row must bring to have a key of its own. */
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
