/**
 * How many uploads may be open at the same time: each holds a connection to PostgreSQL and some memory.
 */
import { AppError } from '../errors.ts';

/** When to try again: an upload ends sooner or later, nobody knows when. */
const retryAfterSeconds = 5;

export class UploadSlots {
  readonly #max: number;
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Runs `work` in a slot, which is free again when `work` has ended, in whatever way.
   *
   * @throws AppError `too-many-uploads` where all are taken; `work` is not begun then
   */
  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#taken >= this.#max) {
      throw new AppError(
        'too-many-uploads',
        `As many uploads as the limit of ${this.#max} (MAX_UPLOADS) are under way; try again later.`,
        { headers: { 'retry-after': String(retryAfterSeconds) } },
      );
    }
    this.#taken += 1;
    try {
      return await work();
    } finally {
      this.#taken -= 1;
    }
  }
}
