/** The whole page: the view of the current route in its frame. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { showsWork } from '../derived/session.ts';
import { shownStep } from '../derived/steps.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { checkView } from './check.ts';
import { columnsView } from './columns/columns-view.ts';
import { dialogView } from './dialogs.ts';
import { fileView } from './file.ts';
import { frame } from './frame.ts';
import { loadView } from './load.ts';
import { loadsView, oneLoadView } from './loads.ts';
import { data } from './parts.ts';
import { signInView } from './sign-in.ts';
import { stepsView } from './steps.ts';
import { changeTableView } from './table/change-table.ts';
import { tableView } from './table/table-page.ts';
import { tablesView } from './tables.ts';
import { togetherView } from './together/together-view.ts';

export function app(state: State, actions: Actions): VNode {
  const isSignedIn = state.session.token !== undefined;
  return frame(
    state,
    actions,
    showsWork(state.session) ? page(state, actions) : signInView(state, actions),
    (isSignedIn || state.dialog?.is === 'link') && dialogView(state, actions),
  );
}

function page(state: State, actions: Actions): VNode {
  switch (state.route.page) {
    case 'tables':
      return tablesView(state, actions);
    case 'table':
      return tableView(state, actions);
    case 'change-table':
      return changeTableView(state, actions);
    case 'loads':
      return loadsView(state, actions);
    case 'one-load':
      return oneLoadView(state, actions);
    case 'load':
      return h('div', { class: 'work' }, [
        stepsView(state, actions),
        otherFiles(state),
        stepView(state, actions),
      ]);
  }
}

/** Says which of several files was taken for the table that the user had chosen before. */
function otherFiles(state: State): VNode | false {
  const { file, otherFiles: names } = state;
  if (file === undefined || names.length === 0 || !['file', 'columns'].includes(shownStep(state)))
    return false;
  const others =
    names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
  return h('p', { class: 'notice warn' }, [
    data(file.name),
    ' was taken. Not taken: ',
    data(others),
    '. Load one file after the other.',
  ]);
}

function stepView(state: State, actions: Actions): VNode {
  switch (shownStep(state)) {
    case 'file':
      return fileView(state, actions);
    case 'columns':
      return columnsView(state, actions);
    case 'together':
      return togetherView(state, actions);
    case 'check':
      return checkView(state, actions);
    case 'load':
      return loadView(state, state.load!, actions);
  }
}
