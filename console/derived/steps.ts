/** Which step the page shows, and which steps the user may open. */
import type { State, Step } from '../state.ts';
import { isRunning } from './load.ts';

/** Returns whether the page waits for work of the service. */
export function waitsForService({
  inspection,
  isReadAgain,
  check,
  load,
  tableChange,
  download,
  plan,
  changes,
  faultyRows,
}: State): boolean {
  return (
    [inspection, check, tableChange, download, plan, changes, faultyRows].some(
      (remote) => remote.is === 'busy',
    ) ||
    isReadAgain ||
    (check.is === 'ready' && check.value.isCheckedAgain) ||
    isRunning(load)
  );
}

/** Returns the step that the page shows. */
export function shownStep({ file, load, step }: Pick<State, 'file' | 'load' | 'step'>): Step {
  if (step === 'load' && load !== undefined) return 'load';
  if (file === undefined) return 'file';
  return step === 'load' ? 'columns' : step;
}

type StepFacts = Pick<State, 'file' | 'inspection' | 'check' | 'load'>;

/** Returns whether the user may open the step. */
export function isPossible({ file, inspection, check, load }: StepFacts, step: Step): boolean {
  if (isRunning(load)) return step === 'load';
  if (step === 'file') return file !== undefined || load !== undefined;
  if (step === 'columns') return file !== undefined && inspection.is === 'ready';
  if (step === 'check') return file !== undefined && check.is !== 'none';
  return load !== undefined;
}

/** Returns whether the browser's Back or Forward may show the step. */
export function canShow(state: StepFacts, step: Step): boolean {
  const { file, inspection, load } = state;
  if (step === 'file') return !isRunning(load);
  if (step === 'columns') return !isRunning(load) && file !== undefined && inspection.is !== 'none';
  return isPossible(state, step);
}
