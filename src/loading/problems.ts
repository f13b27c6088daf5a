/**
 * The problems of one upload: all counted, the first hundred kept, so that memory stays bounded whatever their number.
 */
import { AppError, type Problem } from '../errors.ts';
import type { LocateCell } from '../sources/cell-sink.ts';
import type { RowSource } from '../sources/row-source.ts';
import { describeCellProblem } from './cell-problems.ts';

/** As many as an answer lists (docs/errors.md). */
export const maxListedProblems = 100;

const maxValueCharacters = 100;

export class Problems {
  count = 0;
  readonly #listed: Problem[] = [];

  /** True while one more would be listed: callers need not make a `Problem` that nobody will see. */
  get hasRoom(): boolean {
    return this.#listed.length < maxListedProblems;
  }

  add(problem: Problem): void {
    this.count += 1;
    if (this.hasRoom) this.#listed.push(problem);
  }

  /** Whether a repeated key of the row is listed: PostgreSQL's refusal of the row adds nothing to it. */
  namesKeyOf(row: number | undefined): boolean {
    return row !== undefined && this.#listed.some((one) => one.row === row && one.code === 'not-unique');
  }

  /** Counts problems found beyond those that `add` was told of. */
  addUnlisted(count: number): void {
    this.count += count;
  }

  /** @throws AppError `invalid-data` when there is any problem */
  throwIfAny(): void {
    if (this.count === 0) return;
    const listed = this.#listed.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0));
    const detail =
      this.count === 1
        ? 'There is one problem in the data; nothing was changed.'
        : `There are ${this.count} problems in the data${
            this.count > listed.length ? `, the first ${listed.length} of them listed` : ''
          }; nothing was changed.`;
    throw new AppError('invalid-data', detail, { errors: listed, errorCount: this.count });
  }
}

/** What is wrong with cells of the header, in a source that has been read to its end. */
export function headerProblems({ headerFaults = [] }: Pick<RowSource, 'headerFaults'>): Problem[] {
  return headerFaults.map(({ fault, value, place }) => ({
    ...place,
    ...(value !== '' && { value: shortenValue(value) }),
    ...describeCellProblem(fault),
  }));
}

/** Adds what is wrong with a row as a whole, as a source tells it (`CellSink.fault`). */
export function addRowFault(
  problems: Problems,
  locate: LocateCell,
  row: number,
  fault: number,
  bytes: Buffer,
  start: number,
  end: number,
): void {
  if (!problems.hasRoom) {
    problems.addUnlisted(1);
    return;
  }
  const value = shortenBytes(bytes, start, end);
  problems.add({ ...locate(row, -1, ''), row, value, ...describeCellProblem(fault) });
}

/** A cell's value as problems show it: at most 100 characters of it. */
export function shortenValue(text: string): string {
  return text.length <= maxValueCharacters ? text : `${text.slice(0, maxValueCharacters - 1)}…`;
}

/** The same from bytes, without turning a long value into a string first. */
export function shortenBytes(bytes: Buffer, start: number, end: number): string {
  // A character takes at most four bytes in UTF-8; a cut one at the end falls to the shortening.
  const enough = Math.min(end, start + 4 * (maxValueCharacters + 1));
  return shortenValue(bytes.toString('utf8', start, enough));
}
