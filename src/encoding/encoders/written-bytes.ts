/**
 * Counts what the rows of one upload make PostgreSQL write. Rows that leave columns out are short, but PostgreSQL writes the
 * defaults of these columns into each of them: 1,000 rows `{}` take 3 KB, and with a default of 900 KB they become 900 MB. It also pads
 * the values of char(n) and bit(n), and computes generated columns and the expressions of indexes.
 */

import { ExpandedBytes } from '../../core/cells/expanded-bytes.ts';
import type { AppError } from '../../core/errors.ts';
import { limitExceeded } from '../../core/limit-exceeded.ts';

export interface WrittenLimits {
  /** The maximum number of bytes of rows and defaults together. */
  maxWrittenBytes: number;
  /** How many bytes of defaults and padding each byte of the rows' own values may have. */
  maxUnpackRatio: number;
}

export class WrittenBytes {
  readonly #maxBytes: number;
  readonly #expanded: ExpandedBytes;
  /** Whether the rows themselves are the upload. If a file is the upload, its size is known. */
  readonly #areRowsSent: boolean;
  #all = 0;
  /** The bytes of the values that the caller sent. */
  own = 0;

  /** @param expanded the count of what the file of the upload expands to; undefined: the rows are the upload */
  constructor({ maxWrittenBytes, maxUnpackRatio }: WrittenLimits, expanded?: ExpandedBytes) {
    this.#maxBytes = maxWrittenBytes;
    this.#expanded = expanded ?? new ExpandedBytes(maxUnpackRatio);
    this.#areRowsSent = expanded === undefined;
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
    if (this.#areRowsSent) this.#expanded.sent(own);
    this.#expanded.add(defaults, tooManyDefaults, defaultsRemedy);
    this.#all += all;
    this.own += own;
    if (this.#all > this.#maxBytes) throw tooMuch(this.#maxBytes);
  }
}

function tooMuch(maxBytes: number): AppError {
  const what = 'The rows, with the defaults of the columns that they leave out, take too many bytes';
  return limitExceeded(what, maxBytes, { setting: 'MAX_WRITTEN_BYTES' });
}

/** Returns the error for bytes that PostgreSQL has added to the rows. */
export function tooManyAdded(limit: number): AppError {
  const remedy = `${defaultsRemedy} Numbers of the type numeric(p,s) have few digits.`;
  return limitExceeded(tooManyDefaults, Math.floor(limit), 'bytes', remedy);
}

const tooManyDefaults =
  'The defaults, generated values, index entries and padding that PostgreSQL adds to the rows take too many bytes';
const defaultsRemedy =
  'Send fewer rows at a time, send values in place of defaults, use varchar(n) in place of char(n), or shorten the expressions of the table.';
