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
  const long = changes.flatMap(({ from: { name, type } }) => {
    const most = mostElements(type);
    return most === undefined ? [] : { name, most };
  });
  if (long.length === 0) return;
  // PostgreSQL frees nothing between the arrays of a row.
  const shares = long.map(
    ({ name, most }) => `coalesce(cardinality(${quoteIdentifier(name)}), 0) / ${most}::float8`,
  );
  const { rows } = await client.query<{ isOver: boolean }>(
    `SELECT EXISTS (SELECT FROM ${relation} WHERE ${shares.join(' + ')} > 1) AS "isOver"`,
  );
  const names = long.slice(0, 5).map(({ name }) => `"${name}"`);
  if (long.length > names.length) names.push('…');
  const what = `The values of a row in ${long.length === 1 ? 'the column' : 'the columns'} ${names.join(', ')} have too many elements to change their types`;
  const most = Math.min(...long.map((column) => column.most));
  if (rows[0]!.isOver) throw limitExceeded(what, most, 'elements', 'Shorten the arrays first.');
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
