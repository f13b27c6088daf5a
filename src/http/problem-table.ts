/**
 * Collects the problems of an upload as CSV (RFC 4180): one line for each problem, in the order of the rows.
 *
 * The lines are encoded at once, because a hundred thousand problems as objects take several times the memory.
 */
import type { Problem } from '../errors.ts';
import { GrowableBytes } from '../sources/bytes/growable-bytes.ts';

/** The most problems of one file, and the most bytes. */
export const maxTableProblems = 100_000;
const maxTableBytes = 32 * 1024 * 1024;

export const csvContentType = 'text/csv; charset=utf-8; header=present';

const header = 'sheet,cell,row,column,value,code,reason\r\n';

export class ProblemTable {
  /** The most problems that the table holds. */
  readonly max = maxTableProblems;
  count = 0;
  /** The lines in the order in which they came. `add` checks their limit. */
  readonly #lines = new GrowableBytes({
    maxBytes: Number.POSITIVE_INFINITY,
    exceeded: () => new RangeError('the table has no limit'),
  });
  #rows = new Int32Array(256);
  /** For each line: where it begins. */
  #starts = new Int32Array(256);

  /** Removes all problems, because the upload is read again. */
  clear(): void {
    this.count = 0;
    this.#lines.clear();
  }

  add(problem: Problem): void {
    if (this.count >= this.max || this.#lines.length > maxTableBytes) return;
    const line = Buffer.from(lineOf(problem));
    if (this.count === this.#rows.length) {
      this.#rows = doubled(this.#rows);
      this.#starts = doubled(this.#starts);
    }
    this.#rows[this.count] = problem.row ?? 0;
    this.#starts[this.count] = this.#lines.length;
    this.count += 1;
    this.#lines.append(line, 0, line.length);
  }

  /** Returns the file, in UTF-8. */
  toBuffer(): Buffer {
    const { bytes, length } = this.#lines;
    const order = Int32Array.from({ length: this.count }, (_, index) => index);
    const rows = this.#rows;
    order.sort((a, b) => rows[a]! - rows[b]! || a - b);
    const sorted = Buffer.allocUnsafe(header.length + length);
    let at = sorted.write(header, 'latin1');
    for (const line of order) {
      const end = line + 1 < this.count ? this.#starts[line + 1]! : length;
      at += bytes.copy(sorted, at, this.#starts[line]!, end);
    }
    return sorted;
  }
}

function doubled(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

function lineOf({ sheet, cell, row, column, value, code, detail }: Problem): string {
  return `${[sheet, cell, row, column, value, code, detail].map(fieldOf).join(',')}\r\n`;
}

/** Spreadsheet programs run a field that begins with one of these signs as a formula, unless it is a number. */
const formula = /^[=+\-@\t\r\n]/;
const number = /^[+-]?[\d.,]+$/;

function fieldOf(value: string | number | undefined): string {
  if (value === undefined) return '';
  const text = String(value);
  const guarded = formula.test(text) && !number.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) || guarded !== guarded.trim()
    ? `"${guarded.replaceAll('"', '""')}"`
    : guarded;
}
