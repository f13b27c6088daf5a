/**
 * Keeps the steps of the flow as entries of the browser's history, so that Back goes to the step before. All steps have the same address,
 * and each entry has the steps from the first one to its own.
 */
import { isLoadPage } from './derived/routes.ts';
import { canShow, shownStep } from './derived/steps.ts';
import type { State, Step } from './state.ts';

export interface StepHistory {
  /** Makes the history agree with the step that is shown. */
  note(): void;
  /** Shows the step of the entry to which the browser went. */
  follow(): void;
}

export function createStepHistory(
  store: { readonly state: State },
  showStep: (step: Step) => void,
): StepHistory {
  /** The page itself goes to another entry, and the browser has not arrived there yet. */
  let isMoving = false;
  /** The number of steps of the entry that is shown, and of the last entry. */
  let shownLength = stepsOf(history.state).length;
  let lastLength = shownLength;

  function note(): void {
    const { state } = store;
    if (isMoving || state.route.page !== 'load' || !isLoadPage(location.hash)) return;
    const step = shownStep(state);
    const steps = stepsOf(history.state);
    const at = steps.lastIndexOf(step);
    shownLength = (at < 0 ? steps.length : at) + 1;
    if (at < 0) lastLength = shownLength;
    if (steps.length === 0) history.replaceState({ steps: [step] }, '');
    else if (at < 0) history.pushState({ steps: [...steps, step] }, '');
    else if (at < steps.length - 1) {
      isMoving = true;
      history.go(at + 1 - steps.length);
    }
  }

  function follow(): void {
    if (isMoving || !isLoadPage(location.hash)) {
      isMoving = false;
      note();
      return;
    }
    // A step that is not possible any more is passed over, in the direction in which the person goes.
    const steps = stepsOf(history.state);
    const isForward = steps.length > shownLength;
    if (isForward && steps.length < lastLength && !canShow(store.state, steps.at(-1)!)) {
      history.forward();
      return;
    }
    const step = steps.findLast((one) => canShow(store.state, one));
    if (step === undefined) note();
    else showStep(step);
  }

  return { note, follow };
}

function stepsOf(entry: unknown): Step[] {
  const { steps } = (entry ?? {}) as { steps?: Step[] };
  return steps ?? [];
}
