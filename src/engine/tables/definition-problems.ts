/**
 * Collects the problems of a definition. A definition of 1 MiB can have hundreds of thousands of problems, so all of them are counted, and
 * only those that the answer shows are kept.
 */
import { maxListedProblems, type Problem } from '../../core/errors.ts';
import { didYouMean } from '../../core/identifiers.ts';
import { pauseForOthers } from '../../core/pause-for-others.ts';
import type { ProblemCode } from '../../core/problem-codes.ts';

/** A name that was not found, with the existing names among which a similar one is searched for. */
export interface Misspelling {
  name: string;
  among: Iterable<string>;
}

/** The number of listed problems for which a similar name is searched. A search in thousands of names takes milliseconds. */
const maxSuggestions = 20;

export class DefinitionProblems {
  /** The number of all problems. */
  count = 0;
  /** The problems that may be listed. Up to four times as many are kept as are listed, so that they are sorted only seldom. */
  #kept: Problem[] = [];
  /** The pointer of the last problem that may be listed. Problems behind it are only counted. Undefined: not known yet. */
  #end: string | undefined;
  readonly #codes = new Set<ProblemCode>();
  readonly #misspellings = new Map<Problem, Misspelling>();

  /**
   * Adds a problem.
   *
   * @param misspelling if the problem is listed, its detail ends with the names that are similar
   * @returns whether the problem may be listed
   */
  add(problem: Problem, misspelling?: Misspelling): boolean {
    this.count++;
    this.#codes.add(problem.code);
    if (this.#end !== undefined && comparePointers(placeOf(problem), this.#end) >= 0) return false;
    this.#kept.push(problem);
    if (misspelling !== undefined) this.#misspellings.set(problem, misspelling);
    if (this.#kept.length > 4 * maxListedProblems) this.#keepFirst();
    return true;
  }

  /** Counts problems that are not listed. */
  addUnlisted(count: number): void {
    this.count += count;
  }

  has(code: ProblemCode): boolean {
    return this.#codes.has(code);
  }

  /** Returns whether there are problems, and all of them have this code. */
  haveOnly(code: ProblemCode): boolean {
    return this.#codes.size === 1 && this.#codes.has(code);
  }

  /** Returns the first 100 problems, in the order of their places in the request, with suggestions. */
  async list(): Promise<Problem[]> {
    this.#keepFirst();
    const misspelt = this.#kept.filter((problem) => this.#misspellings.has(problem));
    for (const problem of misspelt.slice(0, maxSuggestions)) {
      await pauseForOthers();
      const { name, among } = this.#misspellings.get(problem)!;
      problem.detail += didYouMean(name, among);
    }
    this.#misspellings.clear();
    return this.#kept;
  }

  #keepFirst(): void {
    this.#kept.sort((a, b) => comparePointers(placeOf(a), placeOf(b)));
    if (this.#kept.length < maxListedProblems) return;
    for (const problem of this.#kept.splice(maxListedProblems)) this.#misspellings.delete(problem);
    this.#end = placeOf(this.#kept[maxListedProblems - 1]!);
  }
}

function placeOf({ pointer = '' }: Problem): string {
  return pointer;
}

/** Compares two JSON Pointers by their order in the request. Numbers are compared as numbers, and a value comes before its members. */
export function comparePointers(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === length) return a.length - b.length;
  const isInNumber = isDigit(a.charCodeAt(at - 1));
  if (isInNumber || (isDigit(a.charCodeAt(at)) && isDigit(b.charCodeAt(at)))) {
    // The number with more digits is larger.
    const digits = endOfDigits(a, at) - endOfDigits(b, at);
    if (digits !== 0) return digits;
  }
  return orderOf(a.charCodeAt(at)) - orderOf(b.charCodeAt(at));
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isDigit(text.charCodeAt(end))) end++;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/**
 * Returns the place of a character in the order of pointers. A slash ends the name of a member, so it comes before all
 * characters that continue the name.
 */
function orderOf(code: number): number {
  return code === 0x2f ? 0 : code;
}
