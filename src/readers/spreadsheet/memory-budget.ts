/**
 * Limits the memory that all files take together while they are read: the shared strings of workbooks, and the processes that read .xls
 * workbooks and Parquet files.
 * A file claims the most that a part of it can take before it reads the part, and gives the rest back when it knows more. So it never waits
 * in the middle of a part.
 *
 * A claim that finds no room waits. Room goes to the subject with the fewest readers, then to the one that holds the least memory, then to
 * the claim that has waited longest. No claim overtakes one of another subject that comes first in this order and needs the same room, so a large
 * claim is not kept waiting by many small ones. Each claim waits for a limited time, so files that
 * hold memory and wait for more cannot wait for each other forever.
 */

export interface BudgetOptions {
  maxBytes: number;
  /** The maximum number of processes that read files. */
  maxReaders: number;
  waitMs: number;
  /** Returns the error for a claim that has waited too long. */
  refusal: (wanted: 'memory' | 'reader') => Error;
}

/** The memory that one file has claimed. */
export interface FileMemory {
  /** The largest claim. */
  readonly maxBytes: number;
  /**
   * Waits for memory. The claim is given back at the latest by `close`.
   *
   * @throws the error of `refusal`, or the signal's reason
   */
  claim(bytes: number, signal: AbortSignal): Promise<Claim>;
  /** Waits, as `claim` does, for the memory of a process that reads a file, and for a place among these processes (`MAX_LEGACY_READERS`). */
  claimReader(bytes: number, signal: AbortSignal): Promise<Claim>;
  /** @param free frees memory that was claimed */
  onClose(free: () => void): void;
  /** Gives back all claims. */
  close(): void;
}

export interface Claim {
  /** Gives back everything except this many bytes, including the place of a reader. */
  keep(bytes: number): void;
}

interface Amount {
  bytes: number;
  readers: number;
}

interface Waiting {
  subject: string;
  wanted: Amount;
  goOn: () => void;
}

/** Claims below this size are not counted, so that ordinary workbooks never wait. Their number is limited by `MAX_UPLOADS`. */
const freeBytes = 16 * 1024 * 1024;

export class MemoryBudget {
  readonly #options: BudgetOptions;
  readonly #taken: Amount = { bytes: 0, readers: 0 };
  readonly #takenBy = new Map<string, Amount>();
  readonly #waiting = new Set<Waiting>();

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** @param subject the key of the subject that sends the file */
  forFile(subject: string): FileMemory {
    const claims = new Set<Claim>();
    const frees: (() => void)[] = [];
    const claim = async (wanted: Amount, signal: AbortSignal): Promise<Claim> => {
      const made = await this.#claim(subject, wanted, signal);
      claims.add(made);
      return made;
    };
    return {
      maxBytes: this.#options.maxBytes,
      claim: async (bytes, signal) => (bytes <= freeBytes ? uncounted : claim({ bytes, readers: 0 }, signal)),
      claimReader: (bytes, signal) => claim({ bytes, readers: 1 }, signal),
      onClose: (free) => frees.push(free),
      close: () => {
        for (const free of frees.splice(0)) free();
        for (const made of claims) made.keep(0);
      },
    };
  }

  async #claim(subject: string, wanted: Amount, signal: AbortSignal): Promise<Claim> {
    signal.throwIfAborted();
    if (this.#hasRoom(subject, wanted)) this.#add(subject, wanted.bytes, wanted.readers);
    else await this.#wait(subject, wanted, signal);
    let { bytes: held, readers } = wanted;
    return {
      keep: (bytes) => {
        const kept = Math.min(bytes, held);
        this.#add(subject, kept - held, -readers);
        held = kept;
        readers = 0;
        this.#grantWaiting();
      },
    };
  }

  /** @param place the place of the claim in the line; undefined: the claim is new, so it comes after all others */
  #hasRoom(subject: string, wanted: Amount, place?: Waiting): boolean {
    const { maxBytes, maxReaders } = this.#options;
    if (this.#taken.bytes + wanted.bytes > maxBytes || this.#taken.readers + wanted.readers > maxReaders)
      return false;
    if (!this.#maySubjectTake(subject, wanted)) return false;
    const own = this.#heldBy(subject);
    let isEarlier = true;
    for (const waiting of this.#waiting) {
      if (waiting === place) isEarlier = false;
      const { subject: other, wanted: theirs } = waiting;
      if (other === subject || !this.#isLaterWith(wanted, theirs)) continue;
      const held = this.#heldBy(other);
      const isFirst = hasLess(held, own) || (isEarlier && !hasLess(own, held));
      if (isFirst && this.#maySubjectTake(other, theirs)) return false;
    }
    return true;
  }

  /** Returns whether a waiting claim would have to wait longer if another claim were granted before it. */
  #isLaterWith(granted: Amount, waiting: Amount): boolean {
    return (
      this.#taken.bytes + granted.bytes + waiting.bytes > this.#options.maxBytes ||
      (granted.readers > 0 && waiting.readers > 0)
    );
  }

  /** Leaves something for other subjects: a quarter of the memory, and a reader if there are more than two. A first claim may be larger. */
  #maySubjectTake(subject: string, { bytes, readers }: Amount): boolean {
    const { maxBytes, maxReaders } = this.#options;
    const held = this.#heldBy(subject);
    const mostReaders = maxReaders > 2 ? maxReaders - 1 : maxReaders;
    if (held.readers + readers > mostReaders) return false;
    return held.bytes === 0 || held.bytes + bytes <= maxBytes * 0.75;
  }

  #heldBy(subject: string): Amount {
    return this.#takenBy.get(subject) ?? nothing;
  }

  #add(subject: string, bytes: number, readers: number): void {
    this.#taken.bytes += bytes;
    this.#taken.readers += readers;
    const held = this.#heldBy(subject);
    const sum = { bytes: held.bytes + bytes, readers: held.readers + readers };
    if (sum.bytes === 0 && sum.readers === 0) this.#takenBy.delete(subject);
    else this.#takenBy.set(subject, sum);
  }

  #wait(subject: string, wanted: Amount, signal: AbortSignal): Promise<void> {
    const { waitMs, refusal } = this.#options;
    const refused = (): Error => refusal(wanted.readers > 0 ? 'reader' : 'memory');
    if (waitMs === 0) return Promise.reject(refused());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#waiting.delete(waiting);
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    // The claim leaves the line. It may have kept later claims from being served, so they are tried again.
    const giveUp = (error: unknown): void => {
      leave();
      reject(error);
      this.#grantWaiting();
    };
    const goOn = (): void => {
      leave();
      this.#add(subject, wanted.bytes, wanted.readers);
      resolve();
    };
    const waiting: Waiting = { subject, wanted, goOn };
    const timer = setTimeout(() => giveUp(refused()), waitMs);
    const onAbort = (): void => giveUp(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.add(waiting);
    return promise;
  }

  #grantWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.goOn();
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting.subject, waiting.wanted, waiting)) continue;
      if (next === undefined || hasLess(this.#heldBy(waiting.subject), this.#heldBy(next.subject)))
        next = waiting;
    }
    return next;
  }
}

const nothing: Amount = { bytes: 0, readers: 0 };
const uncounted: Claim = { keep: () => {} };

function hasLess(one: Amount, other: Amount): boolean {
  return one.readers < other.readers || (one.readers === other.readers && one.bytes < other.bytes);
}
