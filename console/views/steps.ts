/** The four steps from a file to a table. A step that is possible is a button. */
import type { VNode } from 'preact';
import type { Actions } from '../actions/create-actions.ts';
import { isPossible, shownStep } from '../derived/steps.ts';
import { h } from '../h.ts';
import type { State, Step } from '../state.ts';

const steps: readonly (readonly [Step, string])[] = [
  ['file', 'File'],
  ['columns', 'Columns'],
  ['check', 'Check'],
  ['load', 'Load'],
];

export function stepsView(state: State, actions: Actions): VNode {
  const current = shownStep(state);
  const at = steps.findIndex(([step]) => step === current);
  return h('nav', { class: 'steps', 'aria-label': 'Steps' }, [
    h('ol', null, [
      steps.map(([step, label], index) => {
        const isCurrent = step === current;
        const inside = [h('span', { class: 'step-number', 'aria-hidden': 'true' }, index + 1), label];
        return h('li', { class: index < at ? 'done' : isCurrent ? 'current' : '' }, [
          isPossible(state, step) && !isCurrent
            ? h('button', { type: 'button', onClick: () => actions.showStep(step) }, inside)
            : h('span', { 'aria-current': isCurrent ? 'step' : undefined }, inside),
        ]);
      }),
    ]),
  ]);
}
