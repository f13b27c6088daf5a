/**
 * Closes the connections of clients that do not read their answers. An answer stays in memory until its client has read it, and keeps its
 * connection, so without limits one client could take the memory and the connections of all.
 *
 * A client must always read something within `maxIdleMs`, and a long answer at `minBytesPerSecond`. All unread answers together have at most
 * `maxUnreadBytes`; beyond it the oldest one of the caller with the most bytes is given up. Streams of events have limits of their own.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { factsOf } from '../observing/access-log.ts';

/** The longest time in which a client reads nothing of its answer. */
const maxIdleMs = 30_000;
/** An answer of 16 MiB may take 17 minutes, as over the slowest mobile networks. */
const minBytesPerSecond = 16 * 1024;
const maxUnreadBytes = 256 * 1024 * 1024;
/** The kernel usually takes shorter answers at once. */
const shortBytes = 64 * 1024;
/** A younger answer is not given up for a new connection. */
const minAgeMs = 5000;

interface Unread {
  raw: ServerResponse;
  caller: string;
  bytes: number;
  sinceMs: number;
}

/** The long answers that their clients have not read, the oldest first. */
export class UnreadAnswers {
  readonly #all = new Set<Unread>();
  readonly #maxBytes: number;

  constructor(maxBytes = maxUnreadBytes) {
    this.#maxBytes = maxBytes;
  }

  add(answer: Unread): void {
    this.#all.add(answer);
    answer.raw.once('close', () => this.#all.delete(answer));
    let sum = 0;
    for (const { bytes } of this.#all) sum += bytes;
    if (sum > this.#maxBytes) this.#giveUp(this.#oldestOfLargest());
  }

  /** Closes the oldest connection whose client has had some seconds to read. @returns whether there was one */
  giveUpOldest(): boolean {
    const [oldest] = this.#all;
    if (oldest === undefined || performance.now() - oldest.sinceMs < minAgeMs) return false;
    this.#giveUp(oldest);
    return true;
  }

  #giveUp(answer: Unread): void {
    this.#all.delete(answer);
    answer.raw.destroy();
  }

  #oldestOfLargest(): Unread {
    const sums = new Map<string, number>();
    for (const { caller, bytes } of this.#all) sums.set(caller, (sums.get(caller) ?? 0) + bytes);
    const [largest] = [...sums].reduce((most, one) => (one[1] > most[1] ? one : most));
    return this.#all.values().find(({ caller }) => caller === largest)!;
  }
}

/** Watches all answers of the service. @param idleMs the longest time in which a client reads nothing */
export function closeUnreadAnswers(app: FastifyInstance, idleMs = maxIdleMs): UnreadAnswers {
  const unread = new UnreadAnswers();
  app.addHook('onSend', async (request, reply, payload) => {
    const { raw } = reply;
    // Node.js destroys the socket if it neither reads nor writes for so long.
    raw.setTimeout(idleMs);
    // This runs before Node.js sets the time for the next request. A request that has already arrived may take longer.
    raw.prependOnceListener('finish', () => raw.setTimeout(0));
    const bytes = Buffer.isBuffer(payload) || typeof payload === 'string' ? payload.length : 0;
    if (bytes <= shortBytes) return;
    const { subject, tokenDigest } = factsOf(request);
    unread.add({ raw, caller: subject ?? tokenDigest ?? '', bytes, sinceMs: performance.now() });
    const timer = setTimeout(() => raw.destroy(), idleMs + (bytes / minBytesPerSecond) * 1000);
    raw.once('close', () => clearTimeout(timer));
  });
  return unread;
}
