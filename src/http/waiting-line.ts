/**
 * Limits how many requests of a kind run at the same time. The other requests wait in order, in a line of limited length, for a limited
 * time. Requests with the same key (a client, a table) can use only some of the places.
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
    const isLineFull = this.#waiting.size >= maxWaiting;
    const refused = () => refusal({ hasPlaces: this.#taken < places, isLineFull });
    if (isLineFull || waitMs === 0) return Promise.reject(refused());
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
    };
    const timer = setTimeout(() => {
      leave();
      reject(refused());
    }, waitMs);
    const onAbort = (): void => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(waiting);
    return promise;
  }

  /** Gives the place to the request that has waited longest and may use it. */
  #giveBack(key: string): void {
    this.#taken--;
    const left = this.#takenByKey.get(key)! - 1;
    if (left === 0) this.#takenByKey.delete(key);
    else this.#takenByKey.set(key, left);
    for (const waiting of this.#waiting) {
      if (!this.#hasPlaceFor(waiting.key)) continue;
      waiting.goOn();
      return;
    }
  }
}
