/** What a user can do with a table, as far as the token has the scopes for it. */
import type { VNode } from 'preact';
import type { TableDescription } from '../../../client/client.ts';
import type { Actions } from '../../actions/create-actions.ts';
import { isRunning } from '../../derived/load.ts';
import { hashOf } from '../../derived/routes.ts';
import { h } from '../../h.ts';
import type { State } from '../../state.ts';
import { button } from '../parts.ts';

export function tableActions(
  { session, load }: State,
  { schema, name, comment = '' }: TableDescription,
  actions: Actions,
): VNode {
  const has = (scope: string): boolean => session.scopes.includes(scope);
  const isLoading = isRunning(load);
  return h('div', { class: 'table-actions' }, [
    has('table:load') &&
      button('Load a file into it', () => actions.loadInto({ schema, name }), {
        kind: 'main',
        disabled: isLoading,
        title: isLoading ? 'A load of this tab is running.' : undefined,
      }),
    has('table:export') && button('Download', () => actions.openTableDialog({ is: 'download' })),
    has('table:alter') &&
      h('a', { class: 'button', href: hashOf({ page: 'change-table', schema, name }) }, 'Change columns'),
    has('table:alter') &&
      button('Rename, move or comment', () =>
        actions.openTableDialog({ is: 'rename', to: { schema, name, comment } }),
      ),
    has('table:drop') && button('Drop', () => actions.openTableDialog({ is: 'drop', typed: '' })),
  ]);
}
