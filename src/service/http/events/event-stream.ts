/**
 * Sends server-sent events (WHATWG HTML, section 9.2).
 *
 * A stream ends when its token is no longer valid. It also ends by itself after a while, so that a client whose token was withdrawn gets
 * no further events. Clients connect again and continue after the last event.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { StreamDisplaced } from '../admission/stream-places.ts';

/** The longest time of one stream. */
const maxStreamMs = 15 * 60_000;
/** Something is sent at least this often, so that proxies keep the connection open. */
const pauseMs = 15_000;
/** A new id without an event is sent at most this often. */
const idPauseMs = 1000;
/** How long a client may read nothing. After this time its connection is closed. */
const maxDrainMs = 30_000;
/** How long clients wait before they connect again. */
const retryMs = 2000;
/** The last line of a stream that ended because another caller got its place. It is a comment for people: clients ignore it and connect again. */
const displacedNote =
  ': This stream ended because all places are in use and this caller has the most streams.\n\n';

export interface ServerSentEvent {
  /** The client sends this id as `Last-Event-ID` when it connects again; undefined: it then sends the id of an earlier event. */
  id?: string;
  event: string;
  /** JSON in one line. */
  data: string;
}

/** Reports that nothing has happened. A client that connects again after this gets the events after `id`. */
export interface Pause {
  id?: string;
  event?: undefined;
}

export interface StreamOptions {
  /** The time, in milliseconds since 1970, at which the stream ends at the latest. */
  validUntilMs: number;
  /** The client sends it as `Last-Event-ID` if it connects again before the first event. */
  startId?: string;
  /** The longest time in which the client reads nothing. */
  drainMs?: number;
}

/**
 * Sends events until there are no more, the time is over, the signal aborts, or the client does not read. The caller's generator must
 * yield at least once a second.
 */
export async function sendEventStream(
  reply: FastifyReply,
  signal: AbortSignal,
  events: AsyncIterable<ServerSentEvent | Pause>,
  { validUntilMs, startId, drainMs = maxDrainMs }: StreamOptions,
): Promise<void> {
  const { raw } = reply;
  reply.type('text/event-stream; charset=utf-8');
  // Without this header nginx would collect the events before it sends them on.
  reply.header('x-accel-buffering', 'no');
  reply.hijack();
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  // HEAD gets the headers only, so no events are awaited.
  if (reply.request.method === 'HEAD') {
    raw.end();
    return;
  }
  const endsAtMs = performance.now() + maxStreamMs;
  let sentAtMs = performance.now();
  let sentId = startId;
  raw.write(`${idLine(startId)}retry: ${retryMs}\n\n`);
  try {
    for await (const item of events) {
      const now = performance.now();
      if (signal.aborted || now > endsAtMs || Date.now() >= validUntilMs) break;
      const restMs = item.id === sentId ? pauseMs : idPauseMs;
      if (item.event === undefined && now - sentAtMs < restMs) continue;
      sentAtMs = now;
      sentId = item.id;
      // If the client reads slowly, the next event is read only when the client has caught up.
      if (!raw.write(textOf(item))) await drained(raw, signal, drainMs);
    }
  } catch (error) {
    // The answer has already begun, so the error can only end it. The client connects again.
    if (!signal.aborted) reply.log.warn({ err: error }, 'a stream of events ended early');
  } finally {
    raw.end(signal.reason instanceof StreamDisplaced ? displacedNote : undefined);
    closeUnread(raw, drainMs);
  }
}

/** Waits until the client has read. If this takes too long, the connection is closed, and the signal aborts. */
async function drained(raw: ServerResponse, signal: AbortSignal, drainMs: number): Promise<void> {
  const timer = setTimeout(() => raw.destroy(), drainMs);
  try {
    await once(raw, 'drain', { signal });
  } finally {
    clearTimeout(timer);
  }
}

/** Closes the connection after a while if the client does not read the end of the stream. */
function closeUnread(raw: ServerResponse, drainMs: number): void {
  // If the connection is already closed, no `close` event follows to remove the timer, which would keep a stopped process alive.
  if (raw.closed) return;
  const timer = setTimeout(() => raw.destroy(), drainMs);
  raw.once('close', () => clearTimeout(timer));
}

/** Returns the text of an event or a pause. For a pause it has only an id: a client stores it and reports no event. */
function textOf(item: ServerSentEvent | Pause): string {
  const { id, event } = item;
  if (event !== undefined) return `${idLine(id)}event: ${event}\ndata: ${item.data}\n\n`;
  return id === undefined ? ':\n\n' : `${idLine(id)}\n`;
}

function idLine(id: string | undefined): string {
  return id === undefined ? '' : `id: ${id}\n`;
}
