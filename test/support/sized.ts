/** The sizes of long tests: small in `npm test`, and whole in `npm run test:rest`, which sets `TEST_SIZE=whole`. */

const isWhole = process.env.TEST_SIZE === 'whole';

export function sized(small: number, whole: number): number {
  return isWhole ? whole : small;
}

/** Returns all cases in the whole size. In the small one it returns so many of them, evenly spread, with the first and the last. */
export function someOf<Case>(count: number, cases: readonly Case[]): readonly Case[] {
  if (isWhole || cases.length <= count) return cases;
  const step = (cases.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, n) => cases[Math.round(n * step)]!);
}
