/** The sizes of long tests: small in `npm test`, and whole in `npm run test:rest` and in CI, which set `TEST_SIZE=whole`. */

const isWhole = process.env.TEST_SIZE === 'whole';

/** The run with the oldest PostgreSQL (`test/matrix/all-servers.matrix.ts`) sets this variable: it tries all types, in small sizes. */
const hasAllCases = isWhole || process.env.TEST_CASES === 'all';

export function sized(small: number, whole: number): number {
  return isWhole ? whole : small;
}

/** Returns so many of the cases for `npm test`, evenly spread from the first one on, and all of them for `npm run test:rest`. */
export function someOf<Case>(count: number, cases: readonly Case[]): readonly Case[] {
  if (hasAllCases || cases.length <= count) return cases;
  const step = count === 1 ? 0 : (cases.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, n) => cases[Math.round(n * step)]!);
}
