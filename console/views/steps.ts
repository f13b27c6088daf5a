/** The steps from a file to a table, or from several to several. A step that is possible is a button. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { isPossible, shownStep, stepsOf } from '../derived/steps.ts';
import { h } from '../h.ts';
import type { State, Step } from '../state.ts';

const labels: Record<Step, string> = {
  file: 'File',
  columns: 'Columns',
  check: 'Check',
  together: 'Tables',
  load: 'Load',
};

export function stepsView(state: State, actions: Actions): VNode {
  const current = shownStep(state);
  const steps = stepsOf(state);
  const at = steps.indexOf(current);
  return h('nav', { class: 'steps', 'aria-label': 'Steps' }, [
    h('ol', null, [
      steps.map((step, index) => {
        const isCurrent = step === current;
        const inside = [h('span', { class: 'step-number', 'aria-hidden': 'true' }, index + 1), labels[step]];
        return h('li', { class: index < at ? 'done' : isCurrent ? 'current' : '' }, [
          isPossible(state, step) && !isCurrent
            ? h('button', { type: 'button', onClick: () => actions.showStep(step) }, inside)
            : h('span', { 'aria-current': isCurrent ? 'step' : undefined }, inside),
        ]);
      }),
    ]),
  ]);
}
