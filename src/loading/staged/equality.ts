/** How two values of a key or of a reference are compared: as the table's own index or constraint compares them. */

export interface Equality {
  /** Qualified. */
  operator: string;
  /**
   * The type that the type of each side is over, if that is a domain. A value of a domain over an enum and one of the enum
   * itself are no operands of the same operator.
   */
  leftBase?: string | null;
  rightBase?: string | null;
}

/**
 * Returns the condition that two columns are equal. PostgreSQL serves it from an index over a domain, too.
 *
 * @param equals how the key's columns are compared; left out: by the operators of `pg_catalog`
 */
export function equal(left: string, right: string, equals: Equality[] | undefined, index: number): string {
  const { operator, leftBase, rightBase } = equals?.[index] ?? { operator: 'OPERATOR(pg_catalog.=)' };
  return `${cast(left, leftBase)} ${operator} ${cast(right, rightBase)}`;
}

function cast(value: string, type: string | null | undefined): string {
  return type ? `${value}::${type}` : value;
}
