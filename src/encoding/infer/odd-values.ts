/**
 * Finds out whether a text column would have another type without a few odd values. Example: `"n/a"` and then a thousand
 * numbers.
 *
 * If a column becomes text after several values of another type, no count is needed: the odd value is the one that made it
 * text. If the first or second value makes a column text, its values are counted from there on. Two candidate types are kept,
 * because the odd value may have a type, too. Example: the year 2024 above a thousand dates. The counting ends when the column
 * is clearly text.
 */
import { NOTHING, OTHER } from '../text-reading/seen.ts';
import { type InferredType, typeOf } from './type-of.ts';

/** From this number of odd values on, a column is text without a warning, unless the odd values are rare. */
const MANY_ODD_VALUES = 20;
/** Several odd values are rare if for each of them the column has at least this many values of the other type. */
const RARE = 10;
/**
 * A column has a warning only if it has at least this many values of the other type for each odd value. So a small table of texts gives
 * no warning.
 */
export const FEW = 3;

export interface Sighting {
  row: number;
  /** The value, shortened if it is long. */
  value: string;
}

/** Why a column is text although most of its values have one other type. */
export interface Oddity {
  /** The first odd value. */
  first: Sighting;
  /** The type of the other values. */
  type: InferredType;
  /** How many values are odd, and how many have the other type; undefined: they were not counted, because all values before the first odd one have the other type. */
  counts?: { odd: number; typed: number };
}

/** Counts values of a column that one type can store. One group begins with the class `OTHER` and counts the values that only text can store. */
class Group {
  /** The classes of the values (`seen.ts`), one bit for each class. */
  union: number;
  count = 0;
  first: Sighting | undefined;

  constructor(union: number) {
    this.union = union;
  }
}

/** Counts the values of one text column by the type that they would have, to find a few odd values among many of another type. */
export class OddValues {
  readonly #candidates = [new Group(NOTHING), new Group(NOTHING)] as const;
  readonly #others = new Group(OTHER);

  /** Counts a value. @returns true if it is the first value of its group: the caller must then call `show` with its place */
  count(found: number): boolean {
    return this.#groupOf(found).count++ === 0;
  }

  /** Keeps the place and the text of the first value of a group. */
  show(found: number, sighting: Sighting): void {
    this.#groupOf(found).first = sighting;
  }

  /** Returns whether the column is clearly text, so that counting can end. */
  get isText(): boolean {
    const typed = Math.max(this.#candidates[0].count, this.#candidates[1].count);
    const odd = this.#total - typed;
    return odd >= MANY_ODD_VALUES && odd * RARE > typed;
  }

  /** Returns why the column is text; undefined: the column has no odd values, or too many of them. */
  get oddity(): Oddity | undefined {
    const [one, two] = this.#candidates;
    const winner = two.count > one.count ? two : one;
    const odd = this.#total - winner.count;
    const typed = winner.count;
    if (odd === 0 || odd * FEW > typed || (odd > 1 && odd * RARE > typed)) return undefined;
    const loser = winner === one ? two : one;
    const first = earlier(loser.first, this.#others.first)!;
    return { first, type: typeOf(winner.union), counts: { odd, typed } };
  }

  get #total(): number {
    return this.#candidates[0].count + this.#candidates[1].count + this.#others.count;
  }

  #groupOf(found: number): Group {
    if (found === OTHER) return this.#others;
    const [one, two] = this.#candidates;
    if ((one.union & found) !== 0) return one;
    if ((two.union & found) !== 0) return two;
    for (const group of this.#candidates) {
      if (typeOf(group.union | found) === 'text') continue;
      group.union |= found;
      return group;
    }
    return this.#others;
  }
}

function earlier(one: Sighting | undefined, two: Sighting | undefined): Sighting | undefined {
  if (one === undefined || two === undefined) return one ?? two;
  return one.row < two.row ? one : two;
}
