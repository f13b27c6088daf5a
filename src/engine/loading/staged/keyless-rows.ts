/**
 * Warns about rows that have no value for a column of the key (`key-not-brought`), because `on_conflict` does not apply to
 * them.
 */

import type { ClientBase } from 'pg';
import type { Warning } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import { type ConflictRule, sourcesOfKey } from './conflict-rule.ts';
import type { StagedLoad } from './staged-load.ts';
import { countRowsWithout } from './staging-table.ts';

/** Returns the warning, if there are such rows. Reads the staged rows only if some of them may have no key. */
export async function warnOfKeylessRows(client: ClientBase, load: StagedLoad): Promise<Warning[]> {
  if (load.conflict === undefined) return [];
  const found = await findKeylessRows(client, load, load.conflict);
  return found.count > 0 ? [keyNotSent(load, load.conflict, found)] : [];
}

interface KeylessRows {
  count: number;
  /** The number of the first data row that has no value for a column of the key. */
  row: number;
}

async function findKeylessRows(
  client: ClientBase,
  { columns, changesRows, shapes }: StagedLoad,
  { key, shapes: withKey }: ConflictRule,
): Promise<KeylessRows> {
  const mayBeNull = columns.filter(
    ({ name, isNullable, isGenerated }) => isNullable && !isGenerated && key.columns.includes(name),
  );
  // If a trigger may set the key, NULL in a sent row says nothing.
  const names = key.nullsNotDistinct || changesRows ? [] : mayBeNull.map(({ name }) => name);
  if (withKey.length === shapes.all.length && names.length === 0) return { count: 0, row: 0 };
  const { rows } = await client.query<KeylessRows>(countRowsWithout(withKey, names));
  return rows[0]!;
}

function keyNotSent(
  { columns, places }: StagedLoad,
  { action, key }: ConflictRule,
  { count, row }: KeylessRows,
): Warning {
  const list = (names: string[]) => names.map((name) => `"${shortenValue(name)}"`).join(', ');
  const needed = sourcesOfKey(key, columns);
  const place = places.locate(row, -1, '').cell ?? `row ${row}`;
  const rows = count === 1 ? 'One row has' : `${count} rows have`;
  const first = count === 1 ? `It is ${place}` : `The first is ${place}`;
  const value = needed.length === 1 ? 'a value for' : 'values for all of';
  return {
    code: 'key-not-brought',
    detail: `${rows} no complete key (${list(key.columns)}), so on_conflict=${action} does not apply, and PostgreSQL inserts such rows each time that they are sent. ${first}. Send ${value} ${list(needed)} in every row, or add a unique constraint to columns that every row has.`,
  };
}
