/**
 * The problems of one upload: all counted, the first hundred kept, so that memory stays bounded whatever their number.
 */

import { AppError, type Problem, type ProblemGroup } from '../errors.ts';
import type { ProblemCode } from '../problem-codes.ts';
import type { LocateCell } from '../sources/cell-sink.ts';
import type { RowSource } from '../sources/row-source.ts';
import { describeCellProblem } from './cell-problems.ts';

/** As many as an answer lists (docs/errors.md). */
export const maxListedProblems = 100;

const maxValueCharacters = 100;

/** Memory stays bounded: a table has up to 1,600 columns. */
const maxGroups = 1000;

export class Problems {
  count = 0;
  readonly #listed: Problem[] = [];

  /** By column and then by code. */
  readonly #groups = new Map<string, Map<string, ProblemGroup>>();
  #groupCount = 0;

  /**
   * Whether an answer will show one more of these: as one of the list, or as the first of its group. If not, the caller need not make
   * a `Problem` and counts it with `addUnlisted`.
   *
   * @param column empty: the problem has no column
   */
  wants(column: string, code: ProblemCode): boolean {
    if (this.#listed.length < maxListedProblems) return true;
    return this.#groupCount < maxGroups && this.#groups.get(column)?.has(code) !== true;
  }

  add(problem: Problem): void {
    this.count += 1;
    if (this.#listed.length < maxListedProblems) this.#listed.push(problem);
    const { column = '', code } = problem;
    const group = this.#groups.get(column)?.get(code);
    if (group !== undefined) group.count += 1;
    else if (this.#groupCount < maxGroups) this.#addGroup(column, problem);
  }

  #addGroup(column: string, { code, pointer, line, sheet, cell, row, value }: Problem): void {
    const first = { pointer, line, sheet, cell, row, value };
    const known = Object.entries(first).filter(([, part]) => part !== undefined);
    const group = { ...(column !== '' && { column }), code, count: 1, first: Object.fromEntries(known) };
    this.#groupCount += 1;
    if (!this.#groups.has(column)) this.#groups.set(column, new Map());
    this.#groups.get(column)!.set(code, group);
  }

  /** Whether a repeated key of the row is listed: PostgreSQL's refusal of the row adds nothing to it. */
  namesKeyOf(row: number | undefined): boolean {
    return row !== undefined && this.#listed.some((one) => one.row === row && one.code === 'not-unique');
  }

  /**
   * Counts problems beyond those that `add` was told of.
   *
   * @param column empty: the problems have no column
   */
  addUnlisted(count: number, column: string, code: ProblemCode): void {
    this.count += count;
    const group = this.#groups.get(column)?.get(code);
    if (group !== undefined) group.count += count;
  }

  /** The largest groups first; undefined: no group has more than one problem, so that the list says it all. */
  #sortedGroups(): ProblemGroup[] | undefined {
    const groups = [...this.#groups.values()].flatMap((ofColumn) => [...ofColumn.values()]);
    if (groups.every(({ count }) => count === 1)) return undefined;
    return groups.sort((a, b) => b.count - a.count).slice(0, maxListedProblems);
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
    throw new AppError('invalid-data', detail, {
      errors: listed,
      errorCount: this.count,
      errorGroups: this.#sortedGroups(),
    });
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
  const described = describeCellProblem(fault);
  if (!problems.wants('', described.code)) {
    problems.addUnlisted(1, '', described.code);
    return;
  }
  const value = shortenBytes(bytes, start, end);
  problems.add({ ...locate(row, -1, ''), row, value, ...described });
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
