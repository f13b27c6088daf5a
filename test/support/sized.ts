/** The sizes of long tests: small in `npm test`, and whole in `npm run test:matrix`, which sets `TEST_SIZE=whole`. */

export function sized(small: number, whole: number): number {
  return process.env.TEST_SIZE === 'whole' ? whole : small;
}
