/**
 * Sends a file while it is made. If it cannot be finished, the connection is reset, because that is the only sign of an error that a client sees after the
 * first bytes.
 *
 * A client must read at a least pace. While it reads, the service keeps a connection to PostgreSQL and a snapshot of the table, so a client that
 * stopped reading would keep them for ever.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { type ReadingPace, slowestPace } from '../wire/unread-answers.ts';

export interface SentFile {
  contentType: string;
  fileName: string;
  bytes: AsyncIterable<Buffer>;
}

/**
 * Sends a file. Waits for its first bytes before the answer begins, so that an error before them can still be answered. HEAD gets the headers only.
 *
 * @param signal aborted when the client disconnects
 * @returns the number of bytes, and the function that ends the answer. What is noted about the file before it is called is in the line of the access log
 * @throws the errors of `bytes`, the reason of the signal
 */
export async function sendFile(
  reply: FastifyReply,
  { contentType, fileName, bytes }: SentFile,
  signal: AbortSignal,
  pace = slowestPace,
): Promise<{ sentBytes: number; end: () => void }> {
  const { raw } = reply;
  const chunks = bytes[Symbol.asyncIterator]();
  const patience = new Patience(raw, pace);
  let sentBytes = 0;
  for (let next = await chunks.next(); ; next = await chunks.next()) {
    signal.throwIfAborted();
    if (!raw.headersSent) {
      reply.headers({ 'content-type': contentType, 'content-disposition': attachment(fileName) });
      reply.hijack();
      raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    }
    if (next.done) break;
    sentBytes += next.value.length;
    patience.noteWritten(next.value.length);
    if (!raw.write(next.value)) await patience.untilRead(signal);
  }
  const end = () => {
    raw.end();
    patience.untilClosed();
  };
  return { sentBytes, end };
}

/** Sends a file, and breaks the answer off if the file cannot be finished. @throws the errors before its first bytes */
export async function sendOrBreakOff(
  reply: FastifyReply,
  file: SentFile,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { end } = await sendFile(reply, file, signal);
    end();
  } catch (error) {
    if (!reply.raw.headersSent) throw error;
    breakOff(reply.raw);
  }
}

/** Ends an answer so that its client sees that it is not complete. Closing the connection would look like its end to a client of HTTP/1.0. */
export function breakOff({ socket, destroyed }: ServerResponse): void {
  if (!destroyed) socket?.resetAndDestroy();
}

/**
 * How long the client may still make the service wait. Each byte adds some time. It is limited, because a client that has read quickly
 * may not stop for hours, and large enough for the buffers of the kernel, which take megabytes at once and then nothing for a while.
 */
class Patience {
  readonly #raw: ServerResponse;
  readonly #pace: ReadingPace;
  #leftMs: number;

  constructor(raw: ServerResponse, pace: ReadingPace) {
    this.#raw = raw;
    this.#pace = pace;
    this.#leftMs = pace.startMs;
  }

  noteWritten(bytes: number): void {
    const { startMs, bytesPerSecond } = this.#pace;
    this.#leftMs = Math.min(this.#leftMs + (bytes / bytesPerSecond) * 1000, startMs * 10);
  }

  async untilRead(signal: AbortSignal): Promise<void> {
    const timer = this.#breakOffLater();
    const beganAt = performance.now();
    try {
      await once(this.#raw, 'drain', { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      this.#leftMs -= performance.now() - beganAt;
    }
  }

  /** Limits the time in which the client reads the end. */
  untilClosed(): void {
    if (this.#raw.closed) return;
    const timer = this.#breakOffLater();
    this.#raw.once('close', () => clearTimeout(timer));
  }

  #breakOffLater(): NodeJS.Timeout {
    return setTimeout(() => breakOff(this.#raw), Math.max(this.#leftMs, 0));
  }
}

/** Returns the header with the name of the file (RFC 6266): in ASCII, and for other names also in UTF-8 (RFC 8187). */
function attachment(fileName: string): string {
  const ascii = fileName.replaceAll(/[^\w .()-]/g, '_');
  if (ascii === fileName) return `attachment; filename="${ascii}"`;
  // A folder in the name is not part of it.
  const name = fileName.toWellFormed().replaceAll(/[/\\\p{Cc}]/gu, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
