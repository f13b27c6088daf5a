/**
 * Closes the connections of clients that do not read their answers. An answer stays in memory until its client has read it, and keeps its
 * connection, so without limits one client could take the memory and the connections of all.
 *
 * A client must read an answer at a least pace (`slowestPace`). All unread answers together have at most
 * `maxUnreadBytes`; beyond it the oldest one of the caller with the most bytes is given up. Streams of events have limits of their own.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { factsOf } from '../observing/access-log.ts';
import { whenClosed } from './when-closed.ts';

/** An answer of 16 MiB may take 17 minutes, as over the slowest mobile networks. */
export const slowestPace: ReadingPace = { startMs: 30_000, bytesPerSecond: 16 * 1024 };
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
    whenClosed(answer.raw, () => this.#all.delete(answer));
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

export interface ReadingPace {
  /** The time that a client has for the first bytes, and for any bytes of a stream. */
  startMs: number;
  bytesPerSecond: number;
}

/** Watches all answers of the service. */
export function closeUnreadAnswers(app: FastifyInstance, pace: ReadingPace = slowestPace): UnreadAnswers {
  const unread = new UnreadAnswers();
  app.addHook('onSend', async (request, reply, payload) => {
    const { raw } = reply;
    if (!Buffer.isBuffer(payload) && typeof payload !== 'string')
      return closeSlowStream(raw, request.raw.socket, pace);
    // Not the progress of the socket: the kernel takes megabytes at once, and then nothing for as long as a slow client reads them.
    const timer = setTimeout(
      () => raw.destroy(),
      pace.startMs + (payload.length / pace.bytesPerSecond) * 1000,
    );
    whenClosed(raw, () => clearTimeout(timer));
    if (payload.length <= shortBytes) return;
    const { subject, tokenDigest } = factsOf(request);
    const bytes = payload.length;
    unread.add({ raw, caller: subject ?? tokenDigest ?? '', bytes, sinceMs: performance.now() });
  });
  return unread;
}

/** Closes the connection if its client reads nothing of an answer whose length is not known, or reads it more slowly than others. */
function closeSlowStream(
  raw: ServerResponse,
  socket: Socket,
  { startMs, bytesPerSecond }: ReadingPace,
): void {
  // A client that reads as slowly as is allowed may take this long to empty the buffers of the kernel.
  const idleMs = startMs * 10;
  raw.setTimeout(idleMs);
  const bytesBefore = socket.bytesWritten;
  let waitedMs = 0;
  const timer = setInterval(() => {
    // The time that the database takes for the rows of an export does not count.
    if (raw.writableNeedDrain) waitedMs += startMs;
    const bytes = socket.bytesWritten - bytesBefore;
    if (waitedMs > idleMs + (bytes / bytesPerSecond) * 1000) raw.destroy();
  }, startMs);
  whenClosed(raw, () => clearInterval(timer));
  // This runs before Node.js sets the time for the next request. A request that has already arrived may take longer.
  raw.prependOnceListener('finish', () => raw.setTimeout(0));
}
