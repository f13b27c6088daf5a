/**
 * Limits how many requests of a kind run at the same time. The other requests wait in a line of limited length, for a limited time.
 * Requests with the same key (a client, a table) can use only some of the places.
 *
 * A free place goes to the key that uses the fewest places. Among equal keys it goes to the request that has waited longest. If the
 * line is full and another key has more waiting requests than that of the new request, the newest of those requests is refused instead
 * of the new one.
 */

export interface LineOptions {
  /** The most requests that run at the same time. */
  places: number;
  /** The most running requests with the same key. */
  placesPerKey: number;
  /** The most waiting requests. */
  maxWaiting: number;
  waitMs: number;
  /** Returns the error for a refused request: the line is full, or the request has waited too long. */
  refusal: (reason: { hasPlaces: boolean; isLineFull: boolean }) => Error;
}

interface Waiting {
  key: string;
  goOn: () => void;
  /** Refuses the request, because the line is full. */
  giveUp: () => void;
}

export class WaitingLine {
  readonly #options: LineOptions;
  #taken = 0;
  readonly #takenByKey = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();

  constructor(options: LineOptions) {
    this.#options = options;
  }

  /** Returns whether all places are in use and a request waits. */
  get isFull(): boolean {
    return this.#waiting.size > 0 && this.#taken >= this.#options.places;
  }

  /** Returns the number of requests that run. */
  get runningCount(): number {
    return this.#taken;
  }

  /** Returns the number of requests that wait. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /**
   * Runs `work` in a place. The place is free again after `work` has ended or failed.
   *
   * @throws the error of `refusal`, or the signal's reason; in both cases `work` was not started
   */
  async use<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    if (this.#hasPlaceFor(key)) this.#take(key);
    else await this.#wait(key, signal);
    try {
      return await work();
    } finally {
      this.#giveBack(key);
    }
  }

  #hasPlaceFor(key: string): boolean {
    const { places, placesPerKey } = this.#options;
    return this.#taken < places && (this.#takenByKey.get(key) ?? 0) < placesPerKey;
  }

  #take(key: string): void {
    this.#taken++;
    this.#takenByKey.set(key, (this.#takenByKey.get(key) ?? 0) + 1);
  }

  #wait(key: string, signal: AbortSignal): Promise<void> {
    const { places, maxWaiting, waitMs, refusal } = this.#options;
    const refused = (isLineFull: boolean) => refusal({ hasPlaces: this.#taken < places, isLineFull });
    if (waitMs === 0) return Promise.reject(refused(maxWaiting === 0));
    if (this.#waiting.size >= maxWaiting && !this.#makeRoomFor(key)) return Promise.reject(refused(true));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#waiting.delete(waiting);
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    const waiting: Waiting = {
      key,
      goOn: () => {
        leave();
        this.#take(key);
        resolve();
      },
      giveUp: () => {
        leave();
        reject(refused(true));
      },
    };
    const timer = setTimeout(() => {
      leave();
      reject(refused(false));
    }, waitMs);
    const onAbort = (): void => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(waiting);
    return promise;
  }

  /**
   * Refuses the newest waiting request of the key that has the most of them, if it has at least two more than the given key.
   *
   * @returns whether there is room in the line now
   */
  #makeRoomFor(key: string): boolean {
    const counts = new Map<string, number>();
    for (const waiting of this.#waiting) counts.set(waiting.key, (counts.get(waiting.key) ?? 0) + 1);
    const most = Math.max(0, ...counts.values());
    if (most < (counts.get(key) ?? 0) + 2) return false;
    const newest = [...this.#waiting].findLast((waiting) => counts.get(waiting.key) === most);
    newest?.giveUp();
    return newest !== undefined;
  }

  #giveBack(key: string): void {
    this.#taken--;
    const left = this.#takenByKey.get(key)! - 1;
    if (left === 0) this.#takenByKey.delete(key);
    else this.#takenByKey.set(key, left);
    this.#next()?.goOn();
  }

  /** Returns the waiting request that gets a free place; undefined: none may use one. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const taken = this.#takenByKey.get(waiting.key) ?? 0;
      if (taken >= fewest || !this.#hasPlaceFor(waiting.key)) continue;
      next = waiting;
      fewest = taken;
    }
    return next;
  }
}
