/**
 * Counts what the rows of one upload make PostgreSQL write. Rows that leave columns out are short, but PostgreSQL writes the
 * defaults of these columns into each of them: 1,000 rows `{}` take 3 KB, and with a default of 900 KB they become 900 MB.
 */
import type { AppError } from '../errors.ts';
import { limitExceeded } from '../limit-exceeded.ts';

export interface WrittenLimits {
  /** Rows and defaults together. */
  maxWrittenBytes: number;
  /** How many bytes of defaults each byte of the rows' own values may have. */
  maxUnpackRatio: number;
}

/** This many bytes of defaults are always allowed. */
const freeDefaultBytes = 64 * 1024 * 1024;

export class WrittenBytes {
  readonly #limits: WrittenLimits;
  #own = 0;
  #defaults = 0;
  #all = 0;

  constructor(limits: WrittenLimits) {
    this.#limits = limits;
  }

  /**
   * To be called before rows are sent.
   *
   * @param all the bytes of the rows and of their defaults
   * @param own the bytes of the values that the caller sent
   * @param defaults the bytes of the defaults
   * @throws AppError `limit-exceeded`
   */
  add(all: number, own: number, defaults: number): void {
    const { maxWrittenBytes, maxUnpackRatio } = this.#limits;
    this.#all += all;
    this.#own += own;
    this.#defaults += defaults;
    const maxDefaults = Math.max(freeDefaultBytes, this.#own * maxUnpackRatio);
    if (this.#defaults > maxDefaults) throw tooManyDefaults(maxDefaults);
    if (this.#all > maxWrittenBytes) throw tooMuch(maxWrittenBytes);
  }
}

function tooMuch(maxBytes: number): AppError {
  const what = 'The rows, with the defaults of the columns that they leave out, take too many bytes';
  return limitExceeded(what, maxBytes, { setting: 'MAX_WRITTEN_BYTES' });
}

function tooManyDefaults(maxBytes: number): AppError {
  const what = 'The defaults of the columns that the rows leave out take too many bytes';
  return limitExceeded(
    what,
    maxBytes,
    'bytes',
    'Send fewer rows at a time, or values in place of the defaults.',
  );
}
