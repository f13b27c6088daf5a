/**
 * Collects the problems of an upload as lines of text. They are collected as text and not as objects, because a hundred thousand
 * objects take several times the memory.
 */

import { GrowableBytes } from '../../core/bytes/growable-bytes.ts';
import type { Problem } from '../../core/errors.ts';

/** The maximum number of problems that are collected, and the most bytes of their lines. */
export const maxCollectedProblems = 100_000;
const maxBytes = 32 * 1024 * 1024;

export class ProblemLines {
  /** The maximum number of problems that are collected. */
  readonly max = maxCollectedProblems;
  count = 0;
  readonly #encode: (problem: Problem) => string;
  /** The lines in the order in which they were added. `add` limits their length. */
  readonly #lines = new GrowableBytes({
    maxBytes: Number.POSITIVE_INFINITY,
    exceeded: () => new RangeError('the lines have no limit'),
  });
  #rows = new Int32Array(256);
  /** For each line: where it begins. */
  #starts = new Int32Array(256);

  /** @param encode returns the line of a problem */
  constructor(encode: (problem: Problem) => string) {
    this.#encode = encode;
  }

  /** The length of all lines. */
  get bytes(): number {
    return this.#lines.length;
  }

  /** Removes all problems, because the upload is read once more and finds them again. */
  clear(): void {
    this.cutTo(0);
  }

  /** Removes the problems after the first `count`, because a part of the upload is read once more. */
  cutTo(count: number): void {
    if (count >= this.count) return;
    this.#lines.length = this.#starts[count]!;
    this.count = count;
  }

  add(problem: Problem): void {
    if (this.count >= this.max || this.#lines.length > maxBytes) return;
    const line = Buffer.from(this.#encode(problem));
    if (this.count === this.#rows.length) {
      this.#rows = doubled(this.#rows);
      this.#starts = doubled(this.#starts);
    }
    // The problems of several tables keep the order in which they were added: one table after the other.
    this.#rows[this.count] = problem.part === undefined ? (problem.row ?? 0) : 0;
    this.#starts[this.count] = this.#lines.length;
    this.count += 1;
    this.#lines.append(line, 0, line.length);
  }

  /** Returns the numbers of the lines, sorted by their rows. Lines of the same row keep the order in which they were added. */
  inOrder(): Int32Array {
    const rows = this.#rows;
    const { count } = this;
    const order = new Int32Array(count);
    let line = 0;
    for (; line < count && (line === 0 || rows[line - 1]! <= rows[line]!); line++) order[line] = line;
    // Sorting is slow, and the lines often are in order already.
    if (line === count) return order;
    // Each number contains the row and the line, because a typed array is sorted fast only without a comparison function.
    const keys = Float64Array.from({ length: this.count }, (_, line) => rows[line]! * this.max + line);
    return Int32Array.from(keys.sort(), (key) => key % this.max);
  }

  /** Returns lines, one after the other. */
  join(lines: Int32Array): Buffer {
    const { bytes } = this.#lines;
    let length = 0;
    for (const line of lines) length += this.#endOf(line) - this.#starts[line]!;
    const joined = Buffer.allocUnsafe(length);
    let at = 0;
    for (let first = 0; first < lines.length; ) {
      let next = first + 1;
      while (next < lines.length && lines[next] === lines[next - 1]! + 1) next++;
      at += bytes.copy(joined, at, this.#starts[lines[first]!]!, this.#endOf(lines[next - 1]!));
      first = next;
    }
    return joined;
  }

  #endOf(line: number): number {
    return line + 1 < this.count ? this.#starts[line + 1]! : this.#lines.length;
  }
}

function doubled(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
