/** Notices bytes that arrive too slowly, of a body and of a file that the service fetches. */
import { limitDetail } from './limit-exceeded.ts';

export interface ArrivalLimits {
  bodyIdleTimeoutMs: number;
  /** The limit that applies while the service waits for the sender; 0: none. */
  minBodyBytesPerSecond: number;
  /** The limit for all bytes together that applies while `othersWait` returns true. */
  minBusyBodyBytesPerSecond: number;
  /** Returns whether other requests wait for this one to end. Default: never. */
  othersWait?: () => boolean;
}

/** `too-slow-for-others`: other requests wait for the place of this one. */
export type Slowness = 'too-slow' | 'too-slow-for-others';

/**
 * Adds up the time in which the service waits for bytes. Each time the sum reaches `bodyIdleTimeoutMs`, enough bytes must have arrived since the
 * last check. So one who sends a byte now and then cannot use a place for ever, also after fast bytes. From then on, all bytes together must have been
 * faster if other requests wait.
 */
export class ArrivalRate {
  readonly #limits: ArrivalLimits;
  #waitedMs = 0;
  #bytes = 0;
  #waitedInAllMs = 0;
  #bytesInAll = 0;

  constructor(limits: ArrivalLimits) {
    this.#limits = limits;
  }

  /** Adds a time in which the service waited. */
  wait(ms: number): void {
    this.#waitedMs += ms;
    this.#waitedInAllMs += ms;
  }

  /** Adds bytes that have arrived. @returns undefined if they are fast enough */
  add(bytes: number): Slowness | undefined {
    const { bodyIdleTimeoutMs, minBodyBytesPerSecond, minBusyBodyBytesPerSecond, othersWait } = this.#limits;
    this.#bytes += bytes;
    this.#bytesInAll += bytes;
    if (this.#waitedMs >= bodyIdleTimeoutMs) {
      if (this.#bytes < (minBodyBytesPerSecond * this.#waitedMs) / 1000) return 'too-slow';
      this.#bytes = 0;
      this.#waitedMs = 0;
    }
    if (this.#waitedInAllMs < bodyIdleTimeoutMs) return undefined;
    const isSlow = this.#bytesInAll < (minBusyBodyBytesPerSecond * this.#waitedInAllMs) / 1000;
    return isSlow && othersWait?.() ? 'too-slow-for-others' : undefined;
  }
}

/** Describes the error. @param what what is too slow, with its verb: `The body arrives` */
export function slownessDetail(slowness: Slowness, what: string, limits: ArrivalLimits): string {
  if (slowness === 'too-slow')
    return limitDetail(`${what} too slowly`, limits.minBodyBytesPerSecond, {
      setting: 'MIN_BODY_BYTES_PER_SECOND',
    });
  const detail = limitDetail(
    `${what} too slowly while other requests wait`,
    limits.minBusyBodyBytesPerSecond,
    {
      setting: 'MIN_BUSY_BODY_BYTES_PER_SECOND',
    },
  );
  return `${detail} Send the request again later.`;
}
