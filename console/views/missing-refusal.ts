/** What a user can do if a load would delete or mark too many rows, or rows that other tables need. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { missingToAllow } from '../derived/missing-rows.ts';
import type { Failure } from '../failure.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { button } from './parts.ts';

/** @returns null: the check was refused for another reason */
export function missingRefusal({ rows }: State, { code, detail }: Failure, actions: Actions): VNode | null {
  const { action } = rows.missing;
  if (action === 'keep' || (code !== 'loses-data' && code !== 'dependent-objects')) return null;
  const count = missingToAllow(detail);
  return h('div', { class: 'notice warn' }, [
    h('p', null, [
      code === 'loses-data'
        ? 'This protects the table from a file that is only a part, or whose keys are written in another way. Look whether the file has all rows. If it has only those of a region or a month, go back to the columns and name the columns that say so.'
        : 'Rows of other tables need rows that would be deleted. Mark them instead, or remove the other rows first.',
    ]),
    h('div', { class: 'notice-actions' }, [
      button('Keep the missing rows', () => actions.checkMissing({ action: 'keep' })),
      count !== undefined &&
        button(`Allow ${count} missing rows`, () => actions.checkMissing({ max: count })),
    ]),
  ]);
}
