/**
 * Finds out how a table with the types of the first rows gets those of all rows, if PostgreSQL can convert the rows that it already has
 * so that they are exactly as if they had been copied with the final types.
 */
import { quoteIdentifier } from '../../postgres/sql.ts';
import type { InferredColumn, InferredType, TypeInference } from '../infer-types.ts';

export interface TableChange {
  /** The columns that follow the others. They are NULL in the rows before. */
  added: { name: string; type: InferredType }[];
  converted: ConvertedColumn[];
}

export interface ConvertedColumn {
  name: string;
  type: InferredType;
  /** The new value of the column in SQL. */
  using: string;
}

/**
 * Returns the change; undefined: no conversion is exact, or a new column is not behind all others.
 *
 * @param head the columns of the table
 * @param inference the types of all rows
 * @param row the first data row that the table does not have
 */
export function changeOfTable(
  head: InferredColumn[],
  inference: TypeInference,
  row: number,
): TableChange | undefined {
  const columns = inference.columns();
  const converted: ConvertedColumn[] = [];
  for (const [place, { name, type: from }] of head.entries()) {
    const { name: nameNow, type, column } = columns[place]!;
    if (nameNow !== name) return undefined;
    if (type === from) continue;
    const hasValue = (inference.firstValueRow(column) ?? row) < row;
    const isAsSent = !inference.hasMinusZero(column);
    const using = hasValue ? exactConversion(quoteIdentifier(name), from, type, isAsSent) : 'NULL';
    if (using === undefined) return undefined;
    converted.push({ name, type, using });
  }
  return { added: columns.slice(head.length).map(({ name, type }) => ({ name, type })), converted };
}

/**
 * Returns the SQL that converts all values of a column without loss.
 *
 * Text must be the text that was sent. Inference accepts only one way to write a date, a UUID or a boolean, and one way to write a whole
 * number except zero. Other numbers and moments can be written in several ways.
 *
 * @param isAsSent a whole number becomes the text that was sent
 */
function exactConversion(
  column: string,
  from: InferredType,
  to: InferredType,
  isAsSent: boolean,
): string | undefined {
  if (from === 'bigint' && to === 'numeric') return column;
  if (from === 'date' && to === 'timestamp without time zone') return column;
  if (to !== 'text') return undefined;
  // PostgreSQL writes a date as the setting `DateStyle` says.
  if (from === 'date') return `pg_catalog.to_char(${column}, 'YYYY-MM-DD')`;
  const isExact = from === 'boolean' || from === 'uuid' || (from === 'bigint' && isAsSent);
  return isExact ? column : undefined;
}
