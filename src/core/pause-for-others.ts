/**
 * Shares the turns of the event loop among all work that takes long: the rows of uploads and large definitions. Even if many
 * requests work at the same time, a turn lasts only a little longer than `TURN_MS`, so that other requests are answered between
 * turns.
 */

const TURN_MS = 5;

/** Whether the next turn has already been scheduled. */
let isSharing = false;
let turnEndsAt = 0;
/** The work that waits for a turn, in the order in which it began to wait. */
const waiting: (() => void)[] = [];

/** Call this between parts of long work. It returns a promise if the work must wait for its next turn. */
export function pauseForOthers(): Promise<void> | undefined {
  if (!isSharing) {
    isSharing = true;
    turnEndsAt = performance.now() + TURN_MS;
    setImmediate(nextTurn);
    return undefined;
  }
  if (performance.now() < turnEndsAt) return undefined;
  return new Promise((resolve) => waiting.push(resolve));
}

/** Lets the work that has waited longest continue. Work whose input arrives may use the rest of the turn. */
function nextTurn(): void {
  const goOn = waiting.shift();
  isSharing = goOn !== undefined;
  if (goOn === undefined) return;
  turnEndsAt = performance.now() + TURN_MS;
  setImmediate(nextTurn);
  goOn();
}

/** After this many items the clock is read. */
const ITEMS_PER_LOOK = 8;
/** The weight of an item that takes milliseconds. The clock is read after each such item. */
export const HEAVY = ITEMS_PER_LOOK;
/** Work on a list need not wait for turns in its first millisecond. So work on a short list never waits, however busy the service is. */
const FREE_MS = 1;

/** Decides when the work on a list of items pauses. For a short list it only counts. */
export class Pace {
  #items = 0;
  #freeUntil = 0;

  /**
   * Call this after each item. It returns a promise if the work must wait for its next turn.
   *
   * @param weight how many ordinary items the item counts for
   */
  pause(weight = 1): Promise<void> | undefined {
    this.#items += weight;
    if (this.#items < ITEMS_PER_LOOK) return undefined;
    this.#items = 0;
    const now = performance.now();
    if (this.#freeUntil === 0) this.#freeUntil = now + FREE_MS;
    return now < this.#freeUntil ? undefined : pauseForOthers();
  }
}

/** Maps the items like `items.map`, in turns. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  convert: (item: Item, index: number) => Result,
  weigh?: (item: Item) => number,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachInTurns(items, (item, index) => results.push(convert(item, index)), weigh);
  return results;
}

/**
 * Calls `work` for each item like `items.forEach`, in turns.
 *
 * @param weigh returns how many ordinary items an item counts for
 */
export async function forEachInTurns<Item>(
  items: readonly Item[],
  use: (item: Item, index: number) => void,
  weigh?: (item: Item) => number,
): Promise<void> {
  const pace = new Pace();
  // `items.entries()` would make an array for each item.
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index]!;
    use(item, index);
    const pause = pace.pause(weigh?.(item));
    if (pause) await pause;
  }
}
