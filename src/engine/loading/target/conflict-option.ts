/** Checks the parameter `on_conflict` and finds the keys that it may use. */
import { type AppError, wrongParameter } from '../../../core/errors.ts';
import { shortenValue } from '../../../encoding/problems/problems.ts';
import type { LoadRequest } from '../request/load-request.ts';
import type { ConflictKey, ConflictOption } from '../staged/conflict-rule.ts';
import type { LoadTarget } from './load-target.ts';

/**
 * Returns the keys by which rows may be compared.
 *
 * @throws AppError `invalid-parameter` if the table has no key
 */
export function conflictOption(
  { onConflict, conflictKey, name }: LoadRequest,
  { keys, isNew, replaces }: LoadTarget,
  hasDefinition: boolean,
): ConflictOption | undefined {
  if (onConflict === 'fail') return undefined;
  if (keys.length > 0) return { action: onConflict, keys: chosenKeys(keys, conflictKey) };
  const needs = `on_conflict=${onConflict} needs a primary key or a unique constraint that is not deferrable`;
  const refusal = (detail: string): AppError => wrongParameter('on_conflict', detail, { code: 'no-key' });
  if (!isNew) {
    throw refusal(
      `${needs}, and the table has none. Add a primary key to it in PostgreSQL, or load the table again with if_exists=replace and primary_key=… or a definition that has a primary_key.`,
    );
  }
  if (hasDefinition) {
    throw refusal(`${needs}, and the definition has none. Add \`constraints.primary_key\` to \`table\`.`);
  }
  const state = replaces ? 'A new table replaces' : 'There is no table';
  throw refusal(
    `${needs}. ${state} "${name}"${replaces ? '' : ' yet'}, and the rows do not define a key. Send primary_key=… with the names of its columns, or \`table\` with \`constraints.primary_key\`.`,
  );
}

/**
 * Returns the keys with exactly the columns of `conflict_key`, or all keys if it is not given.
 *
 * @throws AppError `invalid-parameter` if there is no such key
 */
function chosenKeys(keys: ConflictKey[], conflictKey: readonly string[] | undefined): ConflictKey[] {
  if (conflictKey === undefined) return keys;
  const chosen = keys.filter((key) => sameNames(key.columns, conflictKey));
  if (chosen.length > 0) return chosen;
  const known = keys.map((key) => `conflict_key=${key.columns.map(shortenValue).join(',')}`).join(' or ');
  throw wrongParameter(
    'conflict_key',
    `The table has no primary key, unique constraint or unique index over exactly these columns that is not deferrable. on_conflict needs one. Send ${known}.`,
    { code: 'no-key' },
  );
}

/** Returns whether two lists have the same names, in any order. */
export function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name) => other.includes(name));
}
