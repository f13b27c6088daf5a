/** Stores the problems of loads, at most 100,000 for each load, and the rows that have them as they were sent (loading/faulty-rows/). */
import type { Problem } from '../../core/errors.ts';
import type { KeptRows } from '../../engine/loading/faulty-rows/keep-faulty-rows.ts';
import { ProblemLines } from './problem-lines.ts';
import { pageItems, type StoredList, type StoredPage } from './stored-pages.ts';

export const problemList: StoredList = {
  table: 'load_problems',
  items: 'problems',
  type: 'json',
  count: 'problems_stored',
  bytes: 'problem_bytes',
  kept: { loads: 1000, bytes: 256 * 1024 * 1024 },
};

export const faultyRowsList: StoredList = {
  table: 'load_faulty_rows',
  items: 'rows',
  type: 'bytea',
  count: 'faulty_rows',
  bytes: 'faulty_row_bytes',
  kept: problemList.kept,
};

/** Collects the problems of a load. */
export class FoundProblems extends ProblemLines {
  /** The rows with problems; undefined: they were not kept. */
  rows: KeptRows | undefined;

  constructor() {
    super((problem) => `${JSON.stringify(problem)},`);
  }

  override clear(): void {
    super.clear();
    this.rows = undefined;
  }

  /** Yields the problems in the order of their rows. Those without a row come first. */
  *inOrderOfRows(): Generator<Problem> {
    const order = this.inOrder();
    for (let line = 0; line < order.length; line++) {
      const json = this.join(order.subarray(line, line + 1));
      // The comma is left out.
      yield JSON.parse(json.toString('utf8', 0, json.length - 1));
    }
  }

  pages(): StoredPage[] {
    const order = this.inOrder();
    const problems = Array.from({ length: Math.ceil(order.length / pageItems) }, (_, page) => {
      const first = page * pageItems;
      const lines = this.join(order.subarray(first, first + pageItems));
      // The last comma is left out.
      return { list: problemList, first, bytes: Buffer.concat([open, lines.subarray(0, -1), close]) };
    });
    const pieces = this.rows?.pieces ?? [];
    return [...problems, ...pieces.map((bytes, first) => ({ list: faultyRowsList, first, bytes }))];
  }
}

const open = Buffer.from('[');
const close = Buffer.from(']');
