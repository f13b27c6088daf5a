/**
 * A request's body as chunks: bounded in size, and in the time it may stand still.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { factsOf } from './access-log.ts';

export interface BodyLimits {
  maxBodyBytes: number;
  bodyIdleTimeoutMs: number;
  /** Of a client that is waited for; 0: none. */
  minBodyBytesPerSecond: number;
  /** The name of the setting that bounds the bytes. */
  setting: string;
}

/**
 * Reads the body chunk by chunk, at the reader's pace.
 *
 * A byte now and then would hold an upload's place for ever, so whenever the client has been waited for
 * `bodyIdleTimeoutMs` in all, enough must have come since the last such moment. The reader's own pauses count nothing.
 *
 * @throws AppError `limit-exceeded`, `request-timeout` (no byte for `bodyIdleTimeoutMs` while the reader waits, or too few);
 *   `ClientGone` when the connection breaks before the end; the reason of `stopping`, also while a chunk is awaited
 */
export async function* readBody(
  request: FastifyRequest,
  limits: BodyLimits,
  stopping: AbortSignal,
): AsyncGenerator<Buffer> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > limits.maxBodyBytes) throw tooLarge(limits);
  // Left before the end, the request must stay as it is: what follows is still to be read, to answer over it.
  const chunks = request.raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, undefined>;
  const facts = factsOf(request);
  continueBody(request.raw);
  let received = 0;
  let waitedMs = 0;
  let receivedMeanwhile = 0;
  try {
    for (;;) {
      stopping.throwIfAborted();
      const waitsSince = performance.now();
      const chunk = await nextChunk(request, chunks, limits.bodyIdleTimeoutMs, stopping);
      if (chunk === undefined) return;
      waitedMs += performance.now() - waitsSince;
      received += chunk.length;
      facts.bytes = received;
      receivedMeanwhile += chunk.length;
      if (waitedMs >= limits.bodyIdleTimeoutMs) {
        if (receivedMeanwhile < (limits.minBodyBytesPerSecond * waitedMs) / 1000) throw tooSlow(limits);
        waitedMs = 0;
        receivedMeanwhile = 0;
      }
      if (received > limits.maxBodyBytes) throw tooLarge(limits);
      yield chunk;
    }
  } finally {
    // Not waited for: while a chunk is awaited, which may never come, an iterator does not end.
    chunks.return?.().catch(() => {});
  }
}

/** Clients that wait for `100 Continue` (RFC 9110 section 10.1.1) before they send the body, with the answer to be continued. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Lets a client that sends `Expect: 100-continue` wait until the body is read. Node would tell it at once to go on; this way a
 * client learns of a refusal, such as a missing token, before it has sent its rows.
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, response);
    server.emit('request', request, response);
  });
}

function continueBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** The client closed the connection in the middle of its body; nobody is left to answer. */
export class ClientGone extends Error {
  override name = 'ClientGone';
  constructor() {
    super('the client closed the connection before the end of its request');
  }
}

async function nextChunk(
  request: FastifyRequest,
  chunks: AsyncIterator<Buffer>,
  idleTimeoutMs: number,
  stopping: AbortSignal,
): Promise<Buffer | undefined> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const seconds = idleTimeoutMs / 1000;
    reject(new AppError('request-timeout', `No byte of the body arrived for ${seconds} seconds.`));
  }, idleTimeoutMs);
  const onStop = (): void => reject(stopping.reason);
  stopping.addEventListener('abort', onStop);
  try {
    const next = await Promise.race([chunks.next(), givenUp]);
    return next.done ? undefined : next.value;
  } catch (error) {
    throw request.raw.errored || request.raw.destroyed ? new ClientGone() : error;
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
}

function tooSlow({ minBodyBytesPerSecond }: BodyLimits): AppError {
  return new AppError(
    'request-timeout',
    `The body arrives at less than ${minBodyBytesPerSecond} bytes per second (MIN_BODY_BYTES_PER_SECOND).`,
  );
}

function tooLarge({ maxBodyBytes, setting }: BodyLimits): AppError {
  return new AppError('limit-exceeded', `The body is over the limit of ${maxBodyBytes} bytes (${setting}).`);
}
