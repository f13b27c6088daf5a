/**
 * The columns of a table as the staging table has them: without domains, whose checks must not stop the staging. Which rows fail
 * them is found out afterwards.
 */
import type { ColumnType, LoadColumn } from '../../tables/load-column.ts';
import type { ConflictKey } from './conflict-rule.ts';

/**
 * Replaces arrays of a domain by arrays of the type that the domain is over. The encoder still knows whether the domain is NOT
 * NULL. A column of a key keeps its type, because PostgreSQL compares no arrays of different types.
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
