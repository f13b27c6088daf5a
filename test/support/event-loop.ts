/** Measures how the work of this process is divided into steps of the event loop. */
import assert from 'node:assert/strict';

export interface LoopSteps {
  /** The processor time of the longest step: what every other request must wait for. */
  longestMs: number;
  /** The processor time of all steps. */
  totalMs: number;
}

/** A step that is shorter passes on any machine: the threads of the garbage collector count, too. The steps should take about 10 ms. */
const harmlessMs = 100;

/** Asserts that no step is long, compared with all steps: on a slow machine every step takes longer. */
export function assertShortSteps({ longestMs, totalMs }: LoopSteps): void {
  const shown = `a step took ${longestMs.toFixed(0)} of ${totalMs.toFixed(0)} ms`;
  assert.ok(longestMs < Math.max(harmlessMs, totalMs / 4), shown);
}

/**
 * Runs `work` and measures the steps of the event loop of this thread meanwhile. It counts processor time, because other programs may
 * interrupt this process. `work` should only wait, for a client in another thread (`thread-client.ts`), because its own steps count.
 */
export async function measureSteps(work: () => Promise<unknown>): Promise<LoopSteps> {
  const steps: LoopSteps = { longestMs: 0, totalMs: 0 };
  let isRunning = true;
  let before = process.threadCpuUsage();
  const look = (): void => {
    const now = process.threadCpuUsage();
    const stepMs = (now.user - before.user + now.system - before.system) / 1000;
    steps.longestMs = Math.max(steps.longestMs, stepMs);
    steps.totalMs += stepMs;
    before = now;
    // A timer is due in each step that takes longer.
    if (isRunning) setTimeout(look, 1);
  };
  look();
  try {
    await work();
  } finally {
    isRunning = false;
    look();
  }
  return steps;
}
