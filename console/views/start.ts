/** The page until its whole program has arrived: the place for a file, or the sign-in form. It draws the same elements as the whole page. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { showsWork } from '../derived/session.ts';
import { h } from '../h.ts';
import type { State } from '../state.ts';
import { fileView } from './file.ts';
import { frame } from './frame.ts';
import { busy } from './parts.ts';
import { signInView } from './sign-in.ts';
import { stepsView } from './steps.ts';

/** @param hasLoad whether the page will show a load that this tab has begun */
export function startView(state: State, actions: Actions, hasLoad: boolean): VNode {
  return frame(state, actions, content(state, actions, hasLoad));
}

function content(state: State, actions: Actions, hasLoad: boolean): VNode {
  if (!showsWork(state.session)) return signInView(state, actions);
  if (hasLoad || state.route.page !== 'load') return busy('The page is being loaded.');
  return h('div', { class: 'work' }, [stepsView(state, actions), false, fileView(state, actions)]);
}
