import type { LoadObserver } from './load-request.ts';
import type { Problems } from './problems.ts';

/** How far a load has come. It is read while the load runs. */
export class LoadProgress {
  /** The pass over the rows that runs now, or the last one; undefined: none has begun. */
  pass: { readonly loaded: number; readonly refused: number } | undefined;

  /** @param observer it can read the numbers from now on */
  constructor(problems: Problems, observer: LoadObserver | undefined) {
    if (observer === undefined) return;
    observer.rows = () => (this.pass === undefined ? 0 : this.pass.loaded + this.pass.refused);
    observer.problems = () => problems.count;
  }
}
