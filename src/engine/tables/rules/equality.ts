/** Compares two values of a key or of a reference in the same way as the table's own index or constraint. */

import type { LoadColumn } from '../../../encoding/columns/load-column.ts';

export interface Equality {
  /** The operator, with its schema. */
  operator: string;
  /** The base type of each side, if its type is a domain. A domain over an enum and the enum itself have no common operator. */
  leftBase?: string | null;
  rightBase?: string | null;
}

/** Returns how a key over the column compares two values. The values of a domain with a modifier are compared without a cast. */
export function equalityOf(column: LoadColumn | undefined): Equality {
  const type = column?.type;
  const base = type?.base;
  const cast = base === undefined || base.typmod >= 0 ? null : (base.sqlName ?? base.name);
  return { operator: (base ?? type)?.equality ?? 'OPERATOR(pg_catalog.=)', leftBase: cast, rightBase: cast };
}

/**
 * Returns the condition that two columns are equal. PostgreSQL can use an index for it even if the type is a domain.
 *
 * @param equals the comparisons of the key's columns; undefined: the operators of `pg_catalog`
 */
export function equal(left: string, right: string, equals: Equality[] | undefined, index: number): string {
  const { operator, leftBase, rightBase } = equals?.[index] ?? { operator: 'OPERATOR(pg_catalog.=)' };
  return `${cast(left, leftBase)} ${operator} ${cast(right, rightBase)}`;
}

/**
 * Returns the condition that the values are equal, each with the one at the same place.
 *
 * @param areNullsEqual two NULL are equal, too. PostgreSQL would then compare every row with every other, so such a condition needs another one beside it
 */
export function allEqual(
  left: string[],
  right: string[],
  equals: Equality[] | undefined,
  areNullsEqual = false,
): string {
  const pairs = left.map((one, index) => {
    const isEqual = equal(one, right[index]!, equals, index);
    return areNullsEqual ? `(${isEqual} OR ${one} IS NULL AND ${right[index]} IS NULL)` : isEqual;
  });
  return pairs.join(' AND ');
}

function cast(value: string, type: string | null | undefined): string {
  return type ? `${value}::${type}` : value;
}
