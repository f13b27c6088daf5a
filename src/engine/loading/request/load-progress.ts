import type { Problems } from '../../../encoding/problems/problems.ts';
import type { LoadObserver } from './load-request.ts';

/** How far a load has come. It is read while the load runs. */
export class LoadProgress {
  /** The pass over the rows that runs now, or the last one; undefined: none has begun. */
  pass: { readonly loaded: number; readonly refused: number } | undefined;

  /** The number of rows that an earlier pass has loaded and that the current pass does not load again. */
  rowsBefore = 0;

  /** @param observer gets functions that return the current numbers */
  constructor(problems: Problems, observer: LoadObserver | undefined) {
    if (observer === undefined) return;
    observer.rows = () =>
      this.rowsBefore + (this.pass === undefined ? 0 : this.pass.loaded + this.pass.refused);
    observer.problems = () => problems.count;
  }
}
