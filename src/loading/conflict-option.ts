/** The parameter `on_conflict` and the keys that it may go by. */
import { type AppError, wrongParameter } from '../errors.ts';
import type { LoadRequest } from './load-request.ts';
import type { LoadTarget } from './load-target.ts';
import type { ConflictOption } from './staged/conflict-rule.ts';

/** @throws AppError `invalid-parameter` if the table has no key that two rows could have in common */
export function conflictOption(
  { onConflict, name }: LoadRequest,
  { keys, isBare, end }: LoadTarget,
  hasDefinition: boolean,
): ConflictOption | undefined {
  if (onConflict === 'fail') return undefined;
  if (keys.length > 0) return { action: onConflict, keys };
  const needs = `on_conflict=${onConflict} needs a primary key or a unique constraint`;
  const refusal = (detail: string): AppError => wrongParameter('on_conflict', detail, { code: 'no-key' });
  if (!isBare) {
    throw refusal(
      `${needs}, and the table has none. Add a primary key to it in PostgreSQL, or load the table again with if_exists=replace and a definition that has a primary_key.`,
    );
  }
  if (hasDefinition) {
    throw refusal(`${needs}, and the definition has none. Add \`constraints.primary_key\` to \`table\`.`);
  }
  const state = end ? 'A new table replaces' : 'There is no table';
  throw refusal(
    `${needs}. ${state} "${name}"${end ? '' : ' yet'}, and the rows alone give it no key. Send \`table\` with \`constraints.primary_key\`.`,
  );
}
