/**
 * Limits how many requests of a kind run at the same time. The other requests wait in a line of limited length, for a limited time.
 * Requests of one caller can use only some of the places, and so can requests for one table.
 *
 * A free place goes to the caller that uses the fewest places, then to the table that uses the fewest. Among equals it goes to the request
 * that has waited longest. If the line is full and another caller has more waiting requests than that of the new request, the newest of
 * those requests is refused instead of the new one.
 *
 * A client can make some work last, for example by sending a body slowly. In a line of such work a request that waits ends the newest running
 * request of the caller that uses the most places, if that caller uses at least two more than its own.
 */

export interface LineOptions {
  /** The maximum number of requests that run at the same time. */
  places: number;
  /** The maximum number of running requests of the same caller. */
  placesPerCaller: number;
  /** The maximum number of running requests for the same table; default: as many as there are places. */
  placesPerTable?: number;
  /** The maximum number of waiting requests. */
  maxWaiting: number;
  waitMs: number;
  /** How long a request waits before it ends a running one, and before it ends another one; default: it ends none. */
  displaceAfterMs?: number;
  /** Returns the error for a refused request: the line is full, or the request has waited too long. */
  refusal: (reason: Refusal) => Error;
}

export interface Refusal {
  /** Whether other requests of the same caller are the reason. */
  isOwn: boolean;
  /** Whether a place is free, but not for this caller or this table. */
  hasPlaces: boolean;
  isLineFull: boolean;
}

/** The keys by which a request is counted. */
export interface LineKeys {
  caller: string;
  /** undefined: the request is counted by its caller only. */
  table?: string;
}

interface Running {
  caller: string;
  onDisplaced: () => void;
}

interface Waiting {
  keys: LineKeys;
  goOn: () => void;
  /** Refuses the request, because the line is full. */
  giveUp: () => void;
}

export class WaitingLine {
  readonly #options: LineOptions;
  #taken = 0;
  readonly #takenByCaller = new Counts();
  readonly #takenByTable = new Counts();
  /** The running requests that another one may end, the oldest one first. */
  readonly #displaceable = new Set<Running>();
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
   * @param onDisplaced must end the work soon, because a request of another caller needs the place; undefined: the work is never ended
   * @throws the error of `refusal`, or the signal's reason; in both cases `work` was not started
   */
  async use<Result>(
    keys: LineKeys,
    signal: AbortSignal,
    work: () => Promise<Result>,
    onDisplaced?: () => void,
  ): Promise<Result> {
    signal.throwIfAborted();
    if (this.#hasPlaceFor(keys)) this.#take(keys);
    else await this.#wait(keys, signal);
    const running = onDisplaced && { caller: keys.caller, onDisplaced };
    if (running) this.#displaceable.add(running);
    try {
      return await work();
    } finally {
      if (running) this.#displaceable.delete(running);
      this.#giveBack(keys);
    }
  }

  #hasPlaceFor({ caller, table }: LineKeys): boolean {
    const { places, placesPerCaller, placesPerTable = places } = this.#options;
    if (this.#taken >= places || this.#takenByCaller.of(caller) >= placesPerCaller) return false;
    return table === undefined || this.#takenByTable.of(table) < placesPerTable;
  }

  #take({ caller, table }: LineKeys): void {
    this.#taken++;
    this.#takenByCaller.add(caller, 1);
    if (table !== undefined) this.#takenByTable.add(table, 1);
  }

  #wait(keys: LineKeys, signal: AbortSignal): Promise<void> {
    const { places, placesPerCaller, maxWaiting, waitMs, refusal } = this.#options;
    const { caller } = keys;
    const refused = (isOwn: boolean, isLineFull: boolean) =>
      refusal({ isOwn, hasPlaces: this.#taken < places, isLineFull });
    const waitedTooLong = () => refused(this.#takenByCaller.of(caller) >= placesPerCaller, false);
    if (waitMs === 0) return Promise.reject(waitedTooLong());
    if (this.#waiting.size >= maxWaiting && !this.#makeRoomFor(caller)) {
      const isOwn = [...this.#waiting].some((one) => one.keys.caller === caller);
      return Promise.reject(refused(isOwn, true));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#waiting.delete(waiting);
      clearTimeout(timer);
      clearInterval(displacing);
      signal.removeEventListener('abort', onAbort);
    };
    const waiting: Waiting = {
      keys,
      goOn: () => {
        leave();
        this.#take(keys);
        resolve();
      },
      giveUp: () => {
        leave();
        reject(refused(true, true));
      },
    };
    const timer = setTimeout(() => {
      leave();
      reject(waitedTooLong());
    }, waitMs);
    const { displaceAfterMs } = this.#options;
    const displacing = displaceAfterMs && setInterval(() => this.#displaceFor(caller), displaceAfterMs);
    const onAbort = (): void => {
      leave();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(waiting);
    return promise;
  }

  /**
   * Refuses the newest waiting request of the caller that has the most of them, if it has at least two more than the given caller.
   *
   * @returns whether there is room in the line now
   */
  #makeRoomFor(caller: string): boolean {
    const counts = new Counts();
    for (const { keys } of this.#waiting) counts.add(keys.caller, 1);
    const { most } = counts;
    if (most < counts.of(caller) + 2) return false;
    const newest = [...this.#waiting].findLast(({ keys }) => counts.of(keys.caller) === most);
    newest?.giveUp();
    return newest !== undefined;
  }

  /** Ends the newest request of the caller that uses the most places, if all are in use and it uses at least two more than the given caller. */
  #displaceFor(caller: string): void {
    const { most } = this.#takenByCaller;
    if (this.#taken < this.#options.places || most < this.#takenByCaller.of(caller) + 2) return;
    const newest = [...this.#displaceable].findLast((one) => this.#takenByCaller.of(one.caller) === most);
    if (newest === undefined) return;
    this.#displaceable.delete(newest);
    newest.onDisplaced();
  }

  #giveBack({ caller, table }: LineKeys): void {
    this.#taken--;
    this.#takenByCaller.add(caller, -1);
    if (table !== undefined) this.#takenByTable.add(table, -1);
    // Several requests may continue: the end of one may free a place, and also the limits of its caller and its table.
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.goOn();
  }

  /** Returns the waiting request that gets the next free place; undefined: no waiting request may use one. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const { caller, table } = waiting.keys;
      const ofTable = table === undefined ? 0 : this.#takenByTable.of(table);
      // The places of the caller count more than those of the table: they are multiplied by a number that the places of a table never reach.
      const taken = this.#takenByCaller.of(caller) * this.#options.places + ofTable;
      if (taken >= fewest || !this.#hasPlaceFor(waiting.keys)) continue;
      next = waiting;
      fewest = taken;
    }
    return next;
  }
}

/**
 * Waits for a place.
 *
 * @returns a function that gives the place back
 * @throws the error of `refusal`, or the signal's reason
 */
export function enterLine(line: WaitingLine, keys: LineKeys, signal: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const hold = () => new Promise<void>((leave) => resolve(leave));
    line.use(keys, signal, hold).catch(reject);
  });
}

/** Counts by key. A count of 0 is removed, so that it takes no memory. */
class Counts {
  readonly #counts = new Map<string, number>();

  get most(): number {
    return Math.max(0, ...this.#counts.values());
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, count: 1 | -1): void {
    const sum = this.of(name) + count;
    if (sum === 0) this.#counts.delete(name);
    else this.#counts.set(name, sum);
  }
}
