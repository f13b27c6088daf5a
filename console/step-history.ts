/**
 * Stores the steps as entries of the browser history, so that Back shows the previous step. All entries have the same address. Each
 * contains the list of steps up to its own.
 */
import { isLoadPage } from './derived/routes.ts';
import { canShow, shownStep } from './derived/steps.ts';
import type { State, Step } from './state.ts';

export interface StepHistory {
  /** Updates the browser history after the page has shown another step. */
  note(): void;
  /** Shows the step of the history entry that the user has opened with Back or Forward. */
  follow(): void;
}

export function createStepHistory(
  store: { readonly state: State },
  showStep: (step: Step) => void,
): StepHistory {
  /** true: the page itself has moved in the history, and the browser has not finished that yet. */
  let isMoving = false;
  /** The number of steps in the entry that is shown; `lastLength`: in the last entry. */
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
    // If a step is no longer possible, the next one in the same direction is shown.
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
