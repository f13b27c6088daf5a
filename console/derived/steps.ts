/** Which step the page shows, and which steps the user may open. */
import type { State, Step } from '../state.ts';
import { isRunning } from './load.ts';

/** Returns whether the page waits for work of the service. */
export function waitsForService(state: State): boolean {
  const { check, isReadAgain, load } = state;
  return (
    works.some((work) => state[work].is === 'busy') ||
    isReadAgain ||
    (check.is === 'ready' && check.value.isCheckedAgain) ||
    isRunning(load)
  );
}

/** The work of the service for which the page waits. */
const works = [
  'inspection',
  'check',
  'tableChange',
  'download',
  'plan',
  'changes',
  'faultyRows',
  'repaired',
  'together',
  'togetherCheck',
] as const satisfies (keyof State)[];

/** Returns whether the user has chosen a file, or several. */
export function hasFile({ file, togetherFiles }: Pick<State, 'file' | 'togetherFiles'>): boolean {
  return file !== undefined || togetherFiles.length > 0;
}

/** Returns the step that the page shows. */
export function shownStep({
  file,
  togetherFiles,
  load,
  step,
}: Pick<State, 'file' | 'togetherFiles' | 'load' | 'step'>): Step {
  if (step === 'load' && load !== undefined) return 'load';
  if (togetherFiles.length > 0 && (step === 'together' || (file === undefined && step !== 'file')))
    return 'together';
  if (file === undefined) return 'file';
  return step === 'load' || step === 'together' ? 'columns' : step;
}

/** Returns the steps of the way on which the user is. */
export function stepsOf(state: Pick<State, 'file' | 'togetherFiles' | 'load' | 'step'>): Step[] {
  const shown = shownStep(state);
  const isTogether = shown === 'together' || (shown === 'load' && state.load!.isOfParts);
  return isTogether ? ['file', 'together', 'load'] : ['file', 'columns', 'check', 'load'];
}

type StepFacts = Pick<State, 'file' | 'togetherFiles' | 'inspection' | 'check' | 'load'>;

/** Returns whether the user may open the step. */
export function isPossible(state: StepFacts, step: Step): boolean {
  const { file, togetherFiles, inspection, check, load } = state;
  if (isRunning(load)) return step === 'load';
  if (step === 'file') return hasFile(state) || load !== undefined;
  if (step === 'columns') return file !== undefined && inspection.is === 'ready';
  if (step === 'check') return file !== undefined && check.is !== 'none';
  if (step === 'together') return togetherFiles.length > 0;
  return load !== undefined;
}

/** Returns whether the browser's Back or Forward may show the step. */
export function canShow(state: StepFacts, step: Step): boolean {
  const { file, inspection, load } = state;
  if (step === 'file') return !isRunning(load);
  if (step === 'columns') return !isRunning(load) && file !== undefined && inspection.is !== 'none';
  return isPossible(state, step);
}
