import type { Problems } from '../problems/problems.ts';
import type { LoadObserver } from './load-request.ts';

/** How far a load has come. It is read while the load runs. */
export class LoadProgress {
  /** The pass over the rows that runs now, or the last one; undefined: none has begun. */
  pass: { readonly loaded: number; readonly refused: number } | undefined;

  /** The number of rows of an earlier pass, which the pass now does not load again. */
  rowsBefore = 0;

  /** @param observer it can read the numbers from now on */
  constructor(problems: Problems, observer: LoadObserver | undefined) {
    if (observer === undefined) return;
    observer.rows = () =>
      this.rowsBefore + (this.pass === undefined ? 0 : this.pass.loaded + this.pass.refused);
    observer.problems = () => problems.count;
  }
}
