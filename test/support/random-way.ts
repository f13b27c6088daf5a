/** A random file, a random way of a user through the console, and what the table may have afterwards. */
import { randomNumbers } from './random-numbers.ts';

export interface Way {
  table: string;
  /** What the table is before: there is none, or it has other rows, perhaps with a primary key. */
  target: 'new' | 'append' | 'truncate' | 'replace' | 'keyed';
  rows: [id: string, v: string][];
  /** The numbers of the rows whose `v` is not a number. */
  wrong: number[];
  /** What the user does with wrong cells. */
  repair: 'correct' | 'correct, undo and correct' | 'leave out' | 'give up';
  trouble: 'none' | 'cancel' | 'reload' | 'close' | 'cut' | 'long cut' | 'kill' | 'lost answer';
  /** The step in which the trouble comes. */
  during: 'check' | 'load';
  /** How many events of the network pass before the trouble comes. */
  after: number;
  /** true: the load waits for the table until the trouble has passed. */
  isHeld: boolean;
  tabs: 1 | 2;
  /** true: the user loads the file once more. */
  again: boolean;
  /** true: the first load is the first button, without a step for the check. */
  isShort: boolean;
}

export const rowsBefore: [string, string][] = [
  ['1001', '1'],
  ['1002', '2'],
];

/** @param seed the same seed gives the same way */
export function randomWay(seed: number): Way {
  const random = randomNumbers(seed * 7_919);
  const oneOf = <Value>(...values: Value[]): Value => values[random(values.length)]!;
  // The first numbers of neighbouring seeds are similar.
  for (let skipped = 0; skipped < 5; skipped++) random(2);
  const count = 1 + random(30);
  const rows = Array.from({ length: count }, (_, at): [string, string] => [`${at + 1}`, `${random(1000)}`]);
  const wrong = random(2) === 0 ? [] : [...new Set([random(count), random(count)])].sort((a, b) => a - b);
  for (const at of wrong) rows[at]![1] = oneOf('x', 'n/a', '12e', '-');
  const target = oneOf<Way['target']>('new', 'append', 'append', 'truncate', 'replace', 'keyed');
  return {
    table: `way_${seed}`,
    target,
    rows,
    wrong,
    repair: oneOf('correct', 'correct, undo and correct', 'leave out', 'give up'),
    trouble: oneOf('none', 'cancel', 'reload', 'close', 'cut', 'long cut', 'kill', 'lost answer'),
    during: oneOf('check', 'load', 'load'),
    after: random(10),
    isHeld: random(2) === 0,
    tabs: random(4) === 0 ? 2 : 1,
    again: random(3) === 0,
    isShort: random(2) === 0,
  };
}

/** Returns the rows that a load of the file adds. */
export function goodRows({ rows, wrong, repair }: Way): [string, string][] {
  if (repair === 'leave out') return rows.filter((_, at) => !wrong.includes(at));
  return rows.map(([id, v], at) => [id, wrong.includes(at) ? corrected(at) : v]);
}

/** Returns what the user writes instead of the wrong cell of a row. */
export function corrected(at: number): string {
  return `${5000 + at}`;
}

/** Returns the rows of the table after so many loads of the file; undefined: there is no table. */
export function rowsAfter(way: Way, loads: number): [string, string][] | undefined {
  const before = way.target === 'new' ? undefined : rowsBefore;
  if (loads === 0) return before;
  const good = goodRows(way);
  // The second load of a file into its new table adds its rows.
  if (way.target === 'truncate' || way.target === 'replace') return good;
  return [...(before ?? []), ...Array.from({ length: loads }, () => good).flat()];
}
