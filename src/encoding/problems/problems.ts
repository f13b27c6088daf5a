/** Collects the problems of one upload. It counts all problems and keeps the first hundred, so that memory is bounded. */

import { TEXT_AFTER_QUOTE } from '../../core/cells/cell-kind.ts';
import type { LocateCell } from '../../core/cells/cell-sink.ts';
import type { RowSource } from '../../core/cells/row-source.ts';
import { cutText } from '../../core/cut-text.ts';
import { AppError, maxListedProblems, type Problem, type ProblemGroup } from '../../core/errors.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';
import { describeCellProblem } from './cell-problems.ts';

const maxValueCharacters = 100;

/** The maximum number of characters of the problems that an answer lists. One problem has at most a few thousand. */
const maxListedCharacters = 256 * 1024;

/** The maximum number of groups. Problems of further groups are counted, but not grouped. The limit bounds the memory, because a table has up to 1,600 columns. */
const maxGroups = 1000;

/** Collects more problems than an answer lists, for a file with all of them. */
export interface ProblemCollector {
  /** The number of problems that it has. */
  readonly count: number;
  /** The maximum number of problems that it keeps. */
  readonly max: number;
  add(problem: Problem): void;
  /** Removes all problems, because the upload is read again. */
  clear(): void;
}

export class Problems {
  count = 0;
  /** A problem concerns the whole upload and not single rows, for example an unknown column. */
  concernsAll = false;
  /** The reason why the upload is refused although rows with problems may be left out. This sentence comes before `detail`. */
  reason = '';
  readonly #listed: Problem[] = [];
  #listedCharacters = 0;

  /** The groups, by column and then by code. */
  readonly #groups = new Map<string, Map<string, ProblemGroup>>();
  #groupCount = 0;
  readonly #collector: ProblemCollector | undefined;

  /** @param collector receives all problems, also those that the answer does not list */
  constructor(collector?: ProblemCollector) {
    this.#collector = collector;
  }

  /** Returns how many problems of one kind are worth finding, because no answer and no file lists more. */
  get maxFound(): number {
    return this.#collector?.max ?? maxListedProblems;
  }

  /**
   * Returns whether an answer will show one more problem of this column and code, in the list or as the first of its group. If not, the
   * caller need not make a `Problem` and counts it with `addUnlisted`.
   *
   * @param column empty: the problem has no column
   */
  wants(column: string, code: ProblemCode): boolean {
    if (this.#collector !== undefined && this.#collector.count < this.#collector.max) return true;
    if (this.#canList) return true;
    return this.#groupCount < maxGroups && this.#groups.get(column)?.has(code) !== true;
  }

  add(problem: Problem): void {
    this.count += 1;
    this.#collector?.add(problem);
    const { column = '', code, detail, value = '' } = problem;
    if (this.#canList) {
      this.#listed.push(problem);
      this.#listedCharacters += column.length + detail.length + value.length;
    }
    const group = this.#groups.get(column)?.get(code);
    if (group !== undefined) group.count += 1;
    else if (this.#groupCount < maxGroups) this.#addGroup(column, problem);
  }

  get #canList(): boolean {
    return this.#listed.length < maxListedProblems && this.#listedCharacters < maxListedCharacters;
  }

  /** Adds a problem that concerns the whole upload. */
  addOfUpload(problem: Problem): void {
    this.concernsAll = true;
    this.add(problem);
  }

  #addGroup(column: string, { code, pointer, line, sheet, cell, row, value }: Problem): void {
    const first = { pointer, line, sheet, cell, row, value };
    const known = Object.entries(first).filter(([, part]) => part !== undefined);
    const group = { ...(column !== '' && { column }), code, count: 1, first: Object.fromEntries(known) };
    this.#groupCount += 1;
    if (!this.#groups.has(column)) this.#groups.set(column, new Map());
    this.#groups.get(column)!.set(code, group);
  }

  /** Returns whether the list already has a repeated key of this row. PostgreSQL's error about the row then adds no information. */
  namesKeyOf(row: number | undefined): boolean {
    return row !== undefined && this.#listed.some((one) => one.row === row && one.code === 'not-unique');
  }

  /**
   * Counts problems without listing them.
   *
   * @param column empty: the problems have no column
   */
  addUnlisted(count: number, column: string, code: ProblemCode): void {
    this.count += count;
    const group = this.#groups.get(column)?.get(code);
    if (group !== undefined) group.count += count;
  }

  /** Returns the groups, the largest first; undefined: no group has more than one problem, so the list already shows all of them. */
  groups(): ProblemGroup[] | undefined {
    const groups = [...this.#groups.values()].flatMap((ofColumn) => [...ofColumn.values()]);
    if (groups.every(({ count }) => count === 1)) return undefined;
    return groups.sort((a, b) => b.count - a.count).slice(0, maxListedProblems);
  }

  /**
   * Refuses the upload if there is any problem.
   *
   * @throws AppError `invalid-data`, which lists the problems
   */
  throwIfAny(): void {
    if (this.count === 0) return;
    const listed = this.listed();
    const detail =
      this.count === 1
        ? 'There is one problem in the data; nothing was changed.'
        : `There are ${this.count} problems in the data${
            this.count > listed.length ? `, the first ${listed.length} of them listed` : ''
          }; nothing was changed.`;
    throw new AppError('invalid-data', this.reason === '' ? detail : `${this.reason} ${detail}`, {
      errors: listed,
      errorCount: this.count,
      errorGroups: this.groups(),
    });
  }

  /** Returns the listed problems in the order of their rows. */
  listed(): Problem[] {
    return this.#listed.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0));
  }
}

/** Returns the problems of the header's cells, after the source was read to its end. */
export function headerProblems({ headerFaults = [] }: Pick<RowSource, 'headerFaults'>): Problem[] {
  return headerFaults.map(({ fault, value, place }) => ({
    ...place,
    ...(value !== '' && { value: shortenValue(value) }),
    ...describeCellProblem(fault),
  }));
}

/**
 * Adds the problem of quotes that may have joined many rows of a text file into one, after the source was read to its end. It concerns the
 * whole upload, because leaving out this row would leave out the others, too.
 */
export function addDamage(problems: Problems, { joinedLines }: Pick<RowSource, 'joinedLines'>): void {
  if (joinedLines?.damage === undefined) return;
  const { row, place } = joinedLines.damage;
  problems.concernsAll = true;
  problems.reason = joinedLines.reason;
  // If the table has no column for the cell, the problem of the cell was not found, and is added here.
  if (problems.count === 0) problems.add({ ...place, row, ...describeCellProblem(TEXT_AFTER_QUOTE) });
}

/** Adds a problem of a whole row, which a source reported by `CellSink.fault`. */
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

/** Returns a cell's value as problems show it: at most 100 characters. */
export function shortenValue(text: string): string {
  return cutText(text, maxValueCharacters);
}

/** Returns the shortened value from bytes, without first making a string of a long value. */
export function shortenBytes(bytes: Buffer, start: number, end: number): string {
  // A character takes at most four bytes in UTF-8. If the last one is cut, shortening removes it.
  const enough = Math.min(end, start + 4 * (maxValueCharacters + 1));
  return shortenValue(bytes.toString('utf8', start, enough));
}
