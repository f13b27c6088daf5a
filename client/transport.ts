/** Sends one request. A program may pass its own transport, for example one that reports how much of a file was sent. */

export interface TransportRequest {
  method: string;
  headers: Record<string, string>;
  body?: string | Blob | ReadableStream<Uint8Array> | undefined;
  /** The length in bytes of a body that is a stream, if it is known. */
  length?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called while the body is sent, if the transport can tell. */
  onSent?: ((bytes: number) => void) | undefined;
}

/** The part of a `Response` that the client reads. */
export type TransportAnswer = Pick<Response, 'ok' | 'status' | 'type' | 'body' | 'text'> & {
  headers: Pick<Headers, 'get'>;
};

/** @throws an error of any kind if there is no answer */
export type Transport = (url: string, request: TransportRequest) => Promise<TransportAnswer>;

/** Sends a request with `fetch`. It reports the sent bytes of streams only, because `fetch` does not tell those of other bodies. */
export const fetchTransport: Transport = (url, { onSent, body, length: _length, signal, ...request }) => {
  // A redirection would lose the body or the token.
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
