/**
 * Reads the body of a request as chunks: unpacks it, and limits its size and the time in which no byte arrives.
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import {
  type ArrivalLimits,
  ArrivalRate,
  type Slowness,
  slownessDetail,
} from '../../../core/arrival-rate.ts';
import { AppError } from '../../../core/errors.ts';
import { limitExceeded, limitInWords } from '../../../core/limit-exceeded.ts';
import { factsOf } from '../observing/access-log.ts';
import { refusalOf } from './chunked-body.ts';
import { parseContentEncoding, type UnpackLimits, unpackBody, unpackRecognized } from './content-encoding.ts';

export interface BodyLimits extends UnpackLimits, ArrivalLimits {}

/**
 * Reads the body chunk by chunk, at the reader's pace, and unpacks it if it has a `Content-Encoding` or begins like a packed file.
 *
 * @throws the errors of `receiveBody` and `unpackBody`
 */
export function readBody(
  request: FastifyRequest,
  limits: BodyLimits,
  stopping: AbortSignal,
): AsyncGenerator<Buffer> {
  const codings = parseContentEncoding(request.headers['content-encoding']);
  const received = receiveBody(request, limits, stopping);
  return codings.length === 0 ? unpackRecognized(received, limits) : unpackBody(received, codings, limits);
}

/**
 * Receives the body without unpacking it.
 *
 * Bytes must arrive fast enough (`ArrivalRate`). Pauses of the reader do not count.
 *
 * @throws AppError `limit-exceeded`, `request-timeout` (no byte for `bodyIdleTimeoutMs` while the reader waits, or too few),
 * `invalid-request` (too many tiny chunks); `ClientGone` when the connection breaks before the end; the reason of `stopping`,
 * also while a chunk is awaited
 */
async function* receiveBody(
  request: FastifyRequest,
  limits: BodyLimits,
  stopping: AbortSignal,
): AsyncGenerator<Buffer> {
  const stated = Number(request.headers['content-length'] ?? 0);
  if (stated > limits.maxBodyBytes) throw tooLarge(limits);
  const arrivals = new Arrivals(request.raw, limits.bodyIdleTimeoutMs, stopping);
  const facts = factsOf(request);
  continueBody(request.raw);
  const rate = new ArrivalRate(limits);
  let received = 0;
  try {
    for (;;) {
      stopping.throwIfAborted();
      let chunk = request.raw.read() as Buffer | null;
      if (chunk === null) {
        if (request.raw.readableEnded) return;
        const waitsSince = performance.now();
        await arrivals.next();
        rate.wait(performance.now() - waitsSince);
        chunk = request.raw.read() as Buffer | null;
        if (chunk === null) continue;
      }
      received += chunk.length;
      facts.bytes = received;
      const slowness = rate.add(chunk.length);
      if (slowness !== undefined) throw tooSlow(slowness, limits);
      if (received > limits.maxBodyBytes) throw tooLarge(limits);
      yield chunk;
    }
  } finally {
    // Only the listeners are removed. The request stays open, because the rest of the body may have to be read before the client gets the answer.
    arrivals.end();
  }
}

/** Waits for bytes of a body. It uses one timer and one set of listeners for the whole body, not for each chunk. */
class Arrivals {
  readonly #request: IncomingMessage;
  readonly #idleTimeoutMs: number;
  readonly #stopping: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(request: IncomingMessage, idleTimeoutMs: number, stopping: AbortSignal) {
    this.#request = request;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#stopping = stopping;
    this.#timer = setTimeout(this.#onTimeout, idleTimeoutMs);
    for (const event of arrivalEvents) request.on(event, this.#wake);
    stopping.addEventListener('abort', this.#wake);
  }

  /**
   * Waits until bytes or the end can be read.
   *
   * @throws AppError `request-timeout`, or the reason for which the request was refused; `ClientGone`; the reason of `stopping`
   */
  async next(): Promise<void> {
    if (!this.#isGone()) {
      this.#waiting = Promise.withResolvers();
      this.#timer.refresh();
      await this.#waiting.promise;
    }
    this.#stopping.throwIfAborted();
    if (this.#isGone()) throw refusalOf(this.#request) ?? new ClientGone();
  }

  /** Removes the timer and the listeners. The caller must call it once. */
  end(): void {
    clearTimeout(this.#timer);
    for (const event of arrivalEvents) this.#request.off(event, this.#wake);
    this.#stopping.removeEventListener('abort', this.#wake);
    // This listener stays, because a later error without a listener would end the process.
    this.#request.on('error', () => {});
  }

  #isGone(): boolean {
    return this.#request.destroyed && !this.#request.readableEnded;
  }

  readonly #wake = (): void => {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  };

  readonly #onTimeout = (): void => {
    const limit = limitInWords(this.#idleTimeoutMs, { setting: 'BODY_IDLE_TIMEOUT_MS' });
    this.#waiting?.reject(new AppError('request-timeout', `No byte of the body arrived for ${limit}.`));
    this.#waiting = undefined;
  };
}

const arrivalEvents = ['readable', 'end', 'error', 'close'];

/**
 * The requests of clients that wait for `100 Continue` (RFC 9110 section 10.1.1), with the responses through which they are
 * continued.
 */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Lets a client that sends `Expect: 100-continue` wait until the body is read. Node would answer `100 Continue` at once. This way the
 * client gets a refusal, for example for a missing token, before it sends its rows.
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

/** Reports that the client disconnected in the middle of its body. Nobody gets an answer. */
export class ClientGone extends Error {
  override name = 'ClientGone';
  constructor() {
    super('the client closed the connection before the end of its request');
  }
}

function tooSlow(slowness: Slowness, limits: BodyLimits): AppError {
  return new AppError('request-timeout', slownessDetail(slowness, 'The body arrives', limits));
}

function tooLarge({ maxBodyBytes, setting }: BodyLimits): AppError {
  return limitExceeded('The body is too long', maxBodyBytes, { setting });
}
