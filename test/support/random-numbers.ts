/** Returns numbers that look random and are equal in every run (a linear congruential generator). */

/** @returns a whole number from 0 to `below` - 1 */
export type RandomNumbers = (below: number) => number;

export function randomNumbers(seed: number): RandomNumbers {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
