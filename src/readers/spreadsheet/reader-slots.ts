/**
 * Limits how many reader processes run at the same time, because each may take more than a gigabyte. Other uploads wait in the order in
 * which they came. `MAX_UPLOADS` limits their number.
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
   * @returns a function that gives the slot back; it may be called once
   * @throws the signal's reason if it is aborted; no slot is taken then
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

  /** Gives the slot to the upload that has waited longest. */
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
