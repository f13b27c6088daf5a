import type { LoadContext, LoadPhase } from './load-request.ts';

/** Does the work of a phase and reports its duration. Nothing is reported if there was nothing to do. */
export async function timed<Result>(
  { onPhase }: LoadContext,
  phase: LoadPhase,
  work: () => Promise<Result>,
): Promise<Result> {
  const since = performance.now();
  let isDone = true;
  try {
    const result = await work();
    isDone = result !== undefined;
    return result;
  } finally {
    if (isDone) onPhase?.(phase, (performance.now() - since) / 1000);
  }
}
