/** Counts the pairs of keys of the objects within a JSON value, while its bytes are read. It does not see whether the keys are sorted (sort-cost.ts). */

/** The sum of the squares of the numbers of keys. */
export const keys = { pairs: 0 };
/** The number of keys of each object that contains the current position, the innermost one last. */
let counts = new Int32Array(64);
let depth = 0;

export function beginKeys(): void {
  keys.pairs = 0;
  depth = 0;
}

export function openObject(): void {
  if (depth === counts.length) {
    const more = new Int32Array(2 * depth);
    more.set(counts);
    counts = more;
  }
  counts[depth++] = 0;
}

export function addKey(): void {
  if (depth > 0) counts[depth - 1]!++;
}

export function closeObject(): void {
  if (depth > 0) keys.pairs += counts[--depth]! ** 2;
}
