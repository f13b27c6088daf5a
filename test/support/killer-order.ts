/** Computes an order of values for which PostgreSQL's sort (sort_template.h) makes the most comparisons: McIlroy, A Killer Adversary for Quicksort. */

/** Returns a permutation of the numbers below `count`, and the number of comparisons that sorting it takes. */
export function killerOrder(count: number): { order: number[]; comparisons: number } {
  const adversary = new Adversary(count);
  new Quicksort(adversary).sort(0, count);
  const { ranks, comparisons } = adversary;
  return { order: [...ranks], comparisons };
}

/** Decides only when it must which of two values is greater, and then so that the pivot is one of the smallest. */
class Adversary {
  readonly ranks: Int32Array;
  comparisons = 0;
  /** The adversary answers that all values are in order so far, except the first pair. */
  looksSorted = false;
  readonly #undecided: number;
  #decided = 0;
  #candidate = -1;

  constructor(count: number) {
    this.ranks = new Int32Array(count).fill(count);
    this.#undecided = count;
  }

  compare(left: number, right: number): number {
    const { ranks } = this;
    this.comparisons++;
    if (ranks[left] === this.#undecided && ranks[right] === this.#undecided)
      ranks[left === this.#candidate && !this.looksSorted ? left : right] = this.#decided++;
    if (ranks[left] === this.#undecided) this.#candidate = left;
    else if (ranks[right] === this.#undecided) this.#candidate = right;
    return ranks[left]! - ranks[right]!;
  }
}

/** The sort of Bentley and McIlroy as PostgreSQL has it. */
class Quicksort {
  readonly #items: Int32Array;
  readonly #adversary: Adversary;

  constructor(adversary: Adversary) {
    this.#adversary = adversary;
    this.#items = Int32Array.from(adversary.ranks.keys());
  }

  /** Sorts the greater values in a loop, because there is a part of them for every few values. */
  sort(first: number, total: number): void {
    let start = first;
    let count = total;
    while (count >= 7 && !this.#isSorted(start, count)) {
      this.#swap(start, this.#pivotOf(start, count));
      const { smaller, greater } = this.#partition(start, count);
      if (smaller > 1) this.sort(start, smaller);
      start += count - greater;
      count = greater;
    }
    if (count < 7) this.#insert(start, count);
  }

  #compare(left: number, right: number): number {
    return this.#adversary.compare(this.#items[left]!, this.#items[right]!);
  }

  #swap(left: number, right: number): void {
    const item = this.#items[left]!;
    this.#items[left] = this.#items[right]!;
    this.#items[right] = item;
  }

  #insert(start: number, count: number): void {
    for (let next = start + 1; next < start + count; next++)
      for (let at = next; at > start && this.#compare(at - 1, at) > 0; at--) this.#swap(at, at - 1);
  }

  #isSorted(start: number, count: number): boolean {
    this.#adversary.looksSorted = true;
    let at = start + 1;
    while (at < start + count && this.#compare(at - 1, at) <= 0) at++;
    this.#adversary.looksSorted = false;
    return at === start + count;
  }

  #pivotOf(start: number, count: number): number {
    const middle = start + (count >> 1);
    const last = start + count - 1;
    if (count <= 7) return middle;
    if (count <= 40) return this.#median(start, middle, last);
    const step = count >> 3;
    return this.#median(
      this.#median(start, start + step, start + 2 * step),
      this.#median(middle - step, middle, middle + step),
      this.#median(last - 2 * step, last - step, last),
    );
  }

  #median(a: number, b: number, c: number): number {
    if (this.#compare(a, b) < 0) return this.#compare(b, c) < 0 ? b : this.#compare(a, c) < 0 ? c : a;
    return this.#compare(b, c) > 0 ? b : this.#compare(a, c) < 0 ? a : c;
  }

  /** All values differ, so none equals the pivot. */
  #partition(start: number, count: number): { smaller: number; greater: number } {
    let low = start + 1;
    let high = start + count - 1;
    for (;;) {
      while (low <= high && this.#compare(low, start) <= 0) low++;
      while (low <= high && this.#compare(high, start) >= 0) high--;
      if (low > high) break;
      this.#swap(low++, high--);
    }
    this.#swap(start, low - 1);
    return { smaller: low - 1 - start, greater: start + count - low };
  }
}
