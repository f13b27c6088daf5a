/**
 * Returns the columns of a table as the staging table has them: without domains, because a check of a domain must not stop the
 * staging. The rows that fail the check are found afterwards.
 */
import type { ColumnType, LoadColumn } from '../../../encoding/columns/load-column.ts';
import type { ConflictKey } from './conflict-rule.ts';

/**
 * Replaces arrays of a domain by arrays of its base type. A column of a key keeps its type, because PostgreSQL does not compare
 * arrays of different types. The encoder still checks NOT NULL of the domain.
 */
export function stagedColumns(columns: LoadColumn[], keys: ConflictKey[]): LoadColumn[] {
  const compared = new Set(keys.flatMap((key) => key.columns));
  return columns.map((column) =>
    compared.has(column.name) ? column : { ...column, type: withoutElementDomain(column.type) },
  );
}

function withoutElementDomain(type: ColumnType): ColumnType {
  if (type.base !== undefined) return { ...type, base: withoutElementDomain(type.base) };
  const { element } = type;
  if (element?.base === undefined || element.base.kind === 'array') return type;
  const { oid, name, sqlName = name } = element.base;
  return { ...type, sqlName: `${sqlName}[]`, element: { ...element, oid } };
}
