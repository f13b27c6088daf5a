/** The whole page: its top bar, and the view of the current route. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { hashOf } from '../derived/routes.ts';
import { shownStep } from '../derived/steps.ts';
import { h } from '../h.ts';
import { serviceUrl } from '../service-url.ts';
import type { Route, State } from '../state.ts';
import { checkView } from './check.ts';
import { columnsView } from './columns/columns-view.ts';
import { dialogView } from './dialogs.ts';
import { fileView } from './file.ts';
import { loadView } from './load.ts';
import { loadsView, oneLoadView } from './loads.ts';
import { button, data } from './parts.ts';
import { signInView } from './sign-in.ts';
import { stepsView } from './steps.ts';
import { changeTableView } from './table/change-table.ts';
import { tableView } from './table/table-page.ts';
import { tablesView } from './tables.ts';
import { togetherView } from './together/together-view.ts';

export function app(state: State, actions: Actions): VNode {
  const isSignedIn = state.session.token !== undefined;
  return h('div', { class: 'app' }, [
    h('a', { class: 'skip', href: '#main', onClick: focusMain }, 'Skip to the content'),
    header(state, actions),
    !state.isAnswering &&
      h('p', { class: 'notice warn unanswered', role: 'status' }, [
        'The service does not answer. The page asks again until it does. What is shown below may be out of date.',
      ]),
    h('main', { id: 'main', tabIndex: -1 }, isSignedIn ? page(state, actions) : signInView(state, actions)),
    h('div', { class: 'unseen', role: 'status', 'aria-live': 'polite' }, state.announcement),
    (isSignedIn || state.dialog?.is === 'link') && dialogView(state, actions),
  ]);
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
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

function header({ session, route }: State, actions: Actions): VNode {
  const link = (to: Route, label: string, pages: Route['page'][]) =>
    h('a', { href: hashOf(to), 'aria-current': pages.includes(route.page) ? 'page' : undefined }, label);
  return h('header', { class: 'top' }, [
    h('a', { class: 'brand', href: '#/' }, [mark(), 'Tablewright']),
    session.token !== undefined &&
      h('nav', { 'aria-label': 'Pages' }, [
        link({ page: 'load' }, 'Load a file', ['load']),
        link({ page: 'tables' }, 'Tables', ['tables', 'table', 'change-table']),
        link({ page: 'loads' }, 'Loads', ['loads', 'one-load']),
      ]),
    h('div', { class: 'top-end' }, [
      h('a', { href: `${serviceUrl}/docs`, target: '_blank', rel: 'noopener' }, 'API reference'),
      session.token === undefined
        ? null
        : [
            session.subject !== undefined &&
              h('span', { class: 'subject', title: `Scopes: ${session.scopes.join(' ')}` }, [
                data(session.subject),
              ]),
            button('Sign out', actions.signOut, { kind: 'quiet' }),
          ],
    ]),
  ]);
}

/** The logo of the console: a sheet that becomes a table. */
function mark(): VNode {
  return h('svg', { class: 'mark', viewBox: '0 0 24 24', width: 22, height: 22, 'aria-hidden': 'true' }, [
    h('rect', { x: 2.5, y: 3.5, width: 19, height: 17, rx: 3, class: 'mark-frame' }),
    h('path', { d: 'M2.5 9.5h19M9 9.5v11', class: 'mark-line' }),
  ]);
}
