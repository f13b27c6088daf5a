/** Notices bytes that arrive too slowly, of a body and of a file that the service fetches. */
import type { LimitsConfig } from './settings/config.ts';

/**
 * Adds up the time in which the service waits for bytes. Each time the sum reaches `bodyIdleTimeoutMs`, enough bytes must have arrived since the
 * last check. So one who sends a byte now and then cannot use a place for ever, also after fast bytes.
 */
export class ArrivalRate {
  readonly #limits: Pick<LimitsConfig, 'bodyIdleTimeoutMs' | 'minBodyBytesPerSecond'>;
  #waitedMs = 0;
  #bytes = 0;

  constructor(limits: Pick<LimitsConfig, 'bodyIdleTimeoutMs' | 'minBodyBytesPerSecond'>) {
    this.#limits = limits;
  }

  /** Adds a time in which the service waited. */
  wait(ms: number): void {
    this.#waitedMs += ms;
  }

  /** Adds bytes that have arrived, and returns whether those since the last check took too long. */
  isTooSlow(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#waitedMs < this.#limits.bodyIdleTimeoutMs) return false;
    const isSlow = this.#bytes < (this.#limits.minBodyBytesPerSecond * this.#waitedMs) / 1000;
    this.#bytes = 0;
    this.#waitedMs = 0;
    return isSlow;
  }
}
