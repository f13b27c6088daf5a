/** The operator and the base types with which SQL compares two values of a column. */

import type { LoadColumn } from '../../encoding/columns/load-column.ts';

/** Returns the operator with which a key over the column compares two values. */
export function equalityOperator(column: LoadColumn | undefined): string {
  const type = column?.type;
  return (type?.base ?? type)?.equality ?? 'OPERATOR(pg_catalog.=)';
}

/** Returns the base type of a domain, for `Equality`. The values of a domain with a modifier are compared without a cast. */
export function baseOfDomain(column: LoadColumn | undefined): string | null {
  const base = column?.type.base;
  return base === undefined || base.typmod >= 0 ? null : (base.sqlName ?? base.name);
}
