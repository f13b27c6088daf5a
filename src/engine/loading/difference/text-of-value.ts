/** Reads the beginning of the text of a value, as lists of changes show it. */
import type { LoadColumn } from '../../../encoding/columns/load-column.ts';

/** The longest stored value, in bytes, of which PostgreSQL makes the text. Of texts it reads only the beginning, so they have no such limit. */
const maxStoredBytes = 8192;

/** One character more than is shown, so that a cut value is seen. */
const maxRead = 101;

/** Returns an SQL expression of the beginning of the value's text. PostgreSQL makes no long text for it. */
export function textOf(value: string, { type }: Pick<LoadColumn, 'type'>): string {
  const { category, paddedBytes } = type.base ?? type;
  const text = `pg_catalog.left(${value}::pg_catalog.text, ${maxRead})`;
  if (category === 'S' && paddedBytes === undefined) return text;
  return `CASE WHEN pg_catalog.pg_column_size(${value}) OPERATOR(pg_catalog.>) ${maxStoredBytes} THEN '...' ELSE ${text} END`;
}
