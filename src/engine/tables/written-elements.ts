/** Limits the elements of stored arrays that PostgreSQL writes as text, because it takes a kilobyte for each element of some types. */

import type { ClientBase } from 'pg';
import { limitExceeded } from '../../core/limit-exceeded.ts';
import type { ColumnType } from '../../encoding/columns/load-column.ts';
import { MOST_UNITS, UNITS_OF_PART, UNITS_OF_WRITTEN } from '../../encoding/columns/reading-cost.ts';
import { quoteIdentifier } from '../../postgres/sql.ts';
import type { TypeChange } from './conversion/conversion.ts';

/**
 * Refuses to change the types of arrays that have too many elements to be written as text, which each such change does. Uploads store no such
 * arrays (encoding/columns/reading-cost.ts).
 *
 * @throws AppError `limit-exceeded`
 */
export async function admitElements(
  client: ClientBase,
  relation: string,
  changes: TypeChange[],
): Promise<void> {
  for (const { from } of changes) {
    const most = mostElements(from.type);
    if (most === undefined) continue;
    const { rows } = await client.query<{ isOver: boolean }>(
      `SELECT EXISTS (SELECT FROM ${relation} WHERE cardinality(${quoteIdentifier(from.name)}) > ${most}) AS "isOver"`,
    );
    const what = `A value of the column "${from.name}" has too many elements to change its type`;
    if (rows[0]!.isOver) throw limitExceeded(what, most, 'elements', 'Shorten the array first.');
  }
}

/** Returns how many elements an array may have so that PostgreSQL can write it as text; undefined: it is not an array, or its elements take little. */
export function mostElements(type: ColumnType): number | undefined {
  const { kind, cost } = type.base ?? type;
  if (kind !== 'array' || cost === undefined) return undefined;
  const { elementUnits, partUnits } = cost;
  if (elementUnits > 0) return Math.floor(MOST_UNITS / Math.min(elementUnits, UNITS_OF_WRITTEN));
  // The text of a range has two commas.
  return partUnits < UNITS_OF_PART ? undefined : Math.floor(MOST_UNITS / 2 / partUnits);
}
