/**
 * Counts what the rows of one upload make PostgreSQL write. Rows that leave columns out are short, but PostgreSQL writes the
 * defaults of these columns into each of them: 1,000 rows `{}` take 3 KB, and with a default of 900 KB they become 900 MB. It also pads
 * the values of char(n) and bit(n).
 */
import type { AppError } from '../../errors.ts';
import { limitExceeded } from '../../limit-exceeded.ts';

export interface WrittenLimits {
  /** The most bytes of rows and defaults together. */
  maxWrittenBytes: number;
  /** How many bytes of defaults and padding each byte of the rows' own values may have. */
  maxUnpackRatio: number;
}

/** The bytes of defaults and padding that are always allowed. */
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
   * Counts rows before they are sent.
   *
   * @param all the bytes of the rows, of their defaults and of their padding
   * @param own the bytes of the values that the caller sent
   * @param defaults the bytes of the defaults and of the padding
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
  const what = 'The defaults and the padding that PostgreSQL adds to the rows take too many bytes';
  const remedy =
    'Send fewer rows at a time, send values in place of defaults, or use varchar(n) in place of char(n).';
  return limitExceeded(what, maxBytes, 'bytes', remedy);
}
