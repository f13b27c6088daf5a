/** Sends a request with XMLHttpRequest, because `fetch` does not say how much of a file was sent. */
import type { Transport } from '../client/client.ts';

export const xhrTransport: Transport = (url, { method, headers, body, signal, onSent }) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = 'blob';
    if (onSent) request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => resolve(answerOf(request));
    request.onerror = () => reject(new Error('the connection failed'));
    request.onabort = () => reject(signal?.reason ?? new Error('the request was stopped'));
    signal?.addEventListener('abort', () => request.abort(), { once: true });
    if (signal?.aborted) reject(signal.reason);
    else request.send((body as XMLHttpRequestBodyInit | undefined) ?? null);
  });

function answerOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const [name, value] = line.split(/:\s*(.*)/s);
    if (name) headers.append(name, value ?? '');
  }
  const { status, response } = request;
  return new Response([204, 205, 304].includes(status) ? null : (response as Blob), { status, headers });
}
