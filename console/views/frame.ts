/** What is around every view: the top bar, and the notices about the page itself. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { hashOf } from '../derived/routes.ts';
import { h } from '../h.ts';
import { serviceUrl } from '../service-url.ts';
import type { Route, State } from '../state.ts';
import { button, type Child, data } from './parts.ts';

export function frame(state: State, actions: Actions, content: Child, dialog: Child = false): VNode {
  return h('div', { class: 'app' }, [
    h('a', { class: 'skip', href: '#main', onClick: focusMain }, 'Skip to the content'),
    header(state, actions),
    notice(state),
    h('main', { id: 'main', tabIndex: -1 }, content),
    h('div', { class: 'unseen', role: 'status', 'aria-live': 'polite' }, state.announcement),
    dialog,
  ]);
}

function notice({ isBroken, isAnswering }: State): VNode | false {
  if (!isBroken && isAnswering) return false;
  return h('p', { class: 'notice warn unanswered', role: 'status' }, [
    isBroken
      ? 'A part of this page did not arrive. Load the page again.'
      : 'The service does not answer. The page asks again until it does. What is shown below may be out of date.',
  ]);
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function header({ session, route }: State, actions: Actions): VNode {
  const link = (to: Route, label: string, pages: Route['page'][], onClick?: (event: MouseEvent) => void) => {
    const current = pages.includes(route.page) ? 'page' : undefined;
    return h('a', { href: hashOf(to), 'aria-current': current, onClick }, label);
  };
  // A click with a key opens another tab, and this one stays as it is.
  const begin = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    // The new step moves in the history of the browser, and a link to the same page would stop that.
    if (route.page === 'load') event.preventDefault();
    actions.leaveLoaded();
  };
  return h('header', { class: 'top' }, [
    h('a', { class: 'brand', href: '#/' }, [mark(), 'Tablewright']),
    session.token !== undefined &&
      h('nav', { 'aria-label': 'Pages' }, [
        link({ page: 'load' }, 'Load a file', ['load'], begin),
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
