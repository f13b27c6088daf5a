/**
 * Finds out how to change a table with the types of the first rows so that it has the types of all rows. This is possible only if
 * PostgreSQL can convert the rows that the table already has so that they are exactly as if they had been copied with the final types.
 */

import type { InferredColumn, TypeInference } from '../../../encoding/infer/infer-types.ts';
import { areTooMany } from '../../tables/change-memory.ts';
import type { ColumnConversion } from '../../tables/loading/load-statements.ts';

export interface TableChange {
  /** The columns that follow the others. They are NULL in the rows before. */
  added: { name: string; type: string }[];
  converted: ConvertedColumn[];
}

export interface ConvertedColumn {
  name: string;
  type: string;
  conversion: ColumnConversion;
}

/**
 * Returns the change; undefined: a column has no exact conversion, its notation changes, a new column is not behind all others, or the changes are too many.
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
  for (const [place, { name, type: from, reading: readingOfHead }] of head.entries()) {
    const { name: nameNow, type, column, reading } = columns[place]!;
    if (nameNow !== name) return undefined;
    // If the notation of a column changes, its values must be read again from the input.
    if (JSON.stringify(readingOfHead?.notation) !== JSON.stringify(reading?.notation)) return undefined;
    if (type === from) continue;
    const hasValue = (inference.firstValueRow(column) ?? row) < row;
    const isAsSent = !inference.hasMinusZero(column);
    const conversion = hasValue ? exactConversion(from, type, isAsSent) : 'all-null';
    if (conversion === undefined) return undefined;
    converted.push({ name, type, conversion });
  }
  const added = columns.slice(head.length).map(({ name, type }) => ({ name, type }));
  const many = { changes: added.length + converted.length, added: added.length };
  return areTooMany({ tables: 1, columns: head.length, trees: 0 }, many) ? undefined : { added, converted };
}

/**
 * Returns a conversion that loses nothing for any value of the column; undefined: there is none.
 *
 * A value that becomes text must become the text that was sent. Inference accepts only one way to write a date, a UUID or a boolean, and one
 * way to write a whole number except zero. Other numbers and moments can be written in several ways, so they cannot be converted to text.
 *
 * @param isAsSent a whole number becomes the text that was sent
 */
function exactConversion(from: string, to: string, isAsSent: boolean): ColumnConversion | undefined {
  if (from === 'bigint' && to === 'numeric') return 'cast';
  if (from === 'date' && to === 'timestamp without time zone') return 'cast';
  if (to !== 'text') return undefined;
  if (from === 'date') return 'date-to-text';
  const isExact = from === 'boolean' || from === 'uuid' || (from === 'bigint' && isAsSent);
  return isExact ? 'cast' : undefined;
}
