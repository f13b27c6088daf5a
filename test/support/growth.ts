/** Asserts how work grows with its size, by the processor time of this thread: a busy machine does not change the result. */
import assert from 'node:assert/strict';

const factor = 8;
/** The limit for the growth of the time. Linear work takes 8 times as long for 8 times the size, quadratic work 64 times. */
const mostGrowth = 24;
/** The shortest time that is measured, because some kernels count processor time in steps of a few milliseconds. */
const leastMs = 5;
/** The number of rounds. A garbage collection or another program on the same core may disturb a round, but not all of them. */
const rounds = 5;

/**
 * Asserts that the time of the work is proportional to its size.
 *
 * @param work does the work for a size
 * @param size the smaller size, large enough that quadratic work would take far more than a second for 8 times the size
 */
export async function assertLinear(work: (size: number) => unknown, size: number): Promise<void> {
  let small = Infinity;
  let large = Infinity;
  for (let round = 0; round < rounds; round++) {
    small = Math.min(small, await threadMs(work, size));
    large = Math.min(large, await threadMs(work, size * factor));
    if (large < Math.max(small, leastMs) * mostGrowth) return;
  }
  assert.fail(`size ${size} takes ${small} ms and ${factor} times that size ${large} ms`);
}

/** Returns the processor time of this thread for the work, in milliseconds. */
async function threadMs(work: (size: number) => unknown, size: number): Promise<number> {
  const before = process.threadCpuUsage();
  await work(size);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
