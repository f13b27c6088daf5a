/** How one request is sent. A program may pass its own transport, for example to report how much of a file was sent. */

export interface TransportRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Blob | ReadableStream<Uint8Array> | undefined;
  /** The length in bytes if the body is a stream whose length is known. */
  length?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called while the body is sent, if the transport can report it. */
  onSent?: ((bytes: number) => void) | undefined;
}

/** The part of a `Response` that the client reads. */
export type TransportAnswer = Pick<Response, 'ok' | 'status' | 'body' | 'text'> & {
  headers: Pick<Headers, 'get'>;
};

/** @throws an error of any kind if there is no answer */
export type Transport = (url: string, request: TransportRequest) => Promise<TransportAnswer>;

/** Sends a request with `fetch`. It reports the sent bytes only of streams, because `fetch` does not report those of other bodies. */
export const fetchTransport: Transport = (url, { onSent, body, length: _length, signal, ...request }) => {
  // Redirections are not followed, because that would lose the body or the token.
  const init: RequestInit & { duplex?: 'half' } = { ...request, redirect: 'manual' };
  if (signal) init.signal = signal;
  if (body instanceof ReadableStream) {
    init.body = onSent ? body.pipeThrough(counting(onSent)) : body;
    init.duplex = 'half';
  } else if (body !== undefined) {
    init.body = body;
  }
  return fetch(url, init);
};

function counting(onSent: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      onSent(bytes);
      controller.enqueue(chunk);
    },
  });
}
