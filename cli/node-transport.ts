/**
 * Sends requests with `node:http`. Unlike `fetch` it waits for the approval of the service before it sends a large body (`Expect:
 * 100-continue`), so that an early refusal arrives. It has no time limit for the answer, and it counts the sent bytes.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import process from 'node:process';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Transport, TransportAnswer, TransportRequest } from '../client/transport.ts';

// A normal import would read all exports of the module. One of them loads `fetch`, which takes longer than the start of Node.js.
const http = process.getBuiltinModule('node:http');

/** The largest body that is sent without waiting for `100 Continue`. curl has the same limit. */
const largeBodyBytes = 1024 * 1024;
/** How long to wait for `100 Continue` before the body is sent anyway. Servers that do not know the header `Expect` never answer with it. */
const continueMs = 1_000;

export const nodeTransport: Transport = (
  url,
  { method, headers, body, length: streamLength, signal, onSent },
) =>
  new Promise((resolve, reject) => {
    const length = streamLength ?? lengthOf(body);
    const isLarge = body !== undefined && (length === undefined || length > largeBodyBytes);
    const request = (url.startsWith('https:') ? process.getBuiltinModule('node:https') : http).request(url, {
      method,
      headers: {
        ...headers,
        ...(length !== undefined && { 'content-length': length }),
        ...(isLarge && { expect: '100-continue' }),
      },
      signal,
    });
    request.on('error', reject);
    request.on('response', (response) => {
      // `node:http` ignores its signal after the headers of the answer. The body may be a long stream of events, so it is aborted here.
      const stop = (): void => void response.destroy(new Error('aborted'));
      signal?.addEventListener('abort', stop);
      response.on('close', () => signal?.removeEventListener('abort', stop));
      resolve(answerOf(response));
    });
    const start = (): Promise<void> => send(request, body, onSent);
    if (isLarge) whenContinued(request, start);
    else if (onSent) whenConnected(request, start);
    else start();
  });

/** Returns the length in bytes; undefined: it is not known. */
function lengthOf(body: TransportRequest['body']): number | undefined {
  if (body === undefined || body instanceof ReadableStream) return undefined;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.size;
}

function whenContinued(request: ClientRequest, start: () => void): void {
  let isDone = false;
  const once = (startsNow: boolean): void => {
    clearTimeout(timer);
    if (!isDone && startsNow) start();
    isDone = true;
  };
  const timer = setTimeout(() => once(true), continueMs);
  request.on('continue', () => once(true));
  request.on('response', () => once(false));
  request.on('error', () => once(false));
  request.flushHeaders();
}

/** Calls `start` when the connection is open. Bytes that are written earlier are lost if connecting fails, and must not be counted as sent. */
function whenConnected(request: ClientRequest, start: () => void): void {
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', start);
    else start();
  });
}

async function send(
  request: ClientRequest,
  body: TransportRequest['body'],
  onSent?: (bytes: number) => void,
) {
  if (body === undefined || typeof body === 'string') {
    request.end(body);
    return;
  }
  const stream = body instanceof ReadableStream ? body : body.stream();
  let sent = 0;
  try {
    for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
      if (request.destroyed || request.writableEnded) return;
      const isWritten = written(request, chunk);
      sent += chunk.byteLength;
      onSent?.(sent);
      await isWritten;
    }
    request.end();
  } catch (error) {
    request.destroy(error as Error);
  }
}

/** Writes the chunk. Resolves when its buffer may be reused (see `ByteStream`), or when the request has ended. */
function written(request: ClientRequest, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      request.off('close', done);
      resolve();
    };
    request.on('close', done);
    request.write(chunk, done);
  });
}

/** Returns a plain object, because the class `Response` would load `fetch`. */
function answerOf(response: IncomingMessage): TransportAnswer {
  const { headersDistinct, statusCode: status = 0 } = response;
  let body: ReadableStream<Uint8Array> | undefined;
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => headersDistinct[name.toLowerCase()]?.join(', ') ?? null },
    get body() {
      body ??= Readable.toWeb(response) as ReadableStream<Uint8Array>;
      return body;
    },
    text: () => text(response),
  };
}
