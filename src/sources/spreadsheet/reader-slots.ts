/**
 * How many reader processes run at the same time: each may take more than a gigabyte. Uploads beyond that wait in line,
 * in the order in which they came; `MAX_UPLOADS` limits how many there are.
 */
export class ReaderSlots {
  readonly #max: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Waits for a slot, which the caller must give back.
   *
   * @returns gives the slot back; may be called once
   * @throws the signal's reason once it is aborted; no slot is taken then
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#taken < this.#max) this.#taken++;
    else await this.#waitInLine(signal);
    return () => this.#giveBack();
  }

  #waitInLine(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(goOn);
        reject(signal.reason);
      };
      const goOn = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      this.#waiting.add(goOn);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Hands the slot to who has waited longest. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
