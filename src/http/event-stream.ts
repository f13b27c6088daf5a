/**
 * Sends server-sent events (WHATWG HTML, section 9.2).
 *
 * A stream ends by itself after a while, so that a token that has expired or was withdrawn reads no further. Clients connect again
 * and continue after the last event.
 */
import { once } from 'node:events';
import type { FastifyReply } from 'fastify';

/** The longest time of one stream. */
const maxStreamMs = 15 * 60_000;
/** A comment is sent this long after the last event, so that proxies keep the connection open. */
const pauseMs = 15_000;
/** How long clients wait before they connect again. */
const retryMs = 2000;

export interface ServerSentEvent {
  /** The client sends it as `Last-Event-ID` when it connects again; undefined: it sends the one before. */
  id?: string;
  event: string;
  /** JSON in one line. */
  data: string;
}

/**
 * Sends events until there are no more, the time is over, or the signal aborts. The caller's generator must yield at least once a
 * second; `undefined` means that nothing has happened.
 */
export async function sendEventStream(
  reply: FastifyReply,
  signal: AbortSignal,
  events: AsyncIterable<ServerSentEvent | undefined>,
): Promise<void> {
  const { raw } = reply;
  reply.type('text/event-stream; charset=utf-8');
  reply.hijack();
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  const endsAtMs = performance.now() + maxStreamMs;
  let sentAtMs = performance.now();
  raw.write(`retry: ${retryMs}\n\n`);
  try {
    for await (const event of events) {
      const now = performance.now();
      if (signal.aborted || now > endsAtMs) break;
      if (event === undefined && now - sentAtMs < pauseMs) continue;
      sentAtMs = now;
      // A slow client makes the service read more slowly.
      if (!raw.write(event === undefined ? ':\n\n' : textOf(event))) await once(raw, 'drain', { signal });
    }
  } catch (error) {
    // The answer has begun, so an error can only end it. The client connects again.
    if (!signal.aborted) reply.log.warn({ err: error }, 'a stream of events ended early');
  } finally {
    raw.end();
  }
}

function textOf({ id, event, data }: ServerSentEvent): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}
