/** Stores the problems of loads: all that were found, at most 100,000 for each load. */
import { ProblemLines } from './problem-lines.ts';
import { pageItems, type StoredList, type StoredPage } from './stored-pages.ts';

export const problemList: StoredList = {
  table: 'load_problems',
  items: 'problems',
  count: 'problems_stored',
  bytes: 'problem_bytes',
  kept: { loads: 1000, bytes: 256 * 1024 * 1024 },
};

/** Collects the problems of a load. */
export class FoundProblems extends ProblemLines {
  constructor() {
    super((problem) => `${JSON.stringify(problem)},`);
  }

  pages(): StoredPage[] {
    const order = this.inOrder();
    return Array.from({ length: Math.ceil(order.length / pageItems) }, (_, page) => {
      const first = page * pageItems;
      const lines = this.join(order.subarray(first, first + pageItems));
      // The last comma is left out.
      return { list: problemList, first, json: Buffer.concat([open, lines.subarray(0, -1), close]) };
    });
  }
}

const open = Buffer.from('[');
const close = Buffer.from(']');
