/** A transport for pages that show the progress of an upload: `createClient({ url, token, transport: xhrTransport })`. */
import { fetchTransport, type Transport } from './transport.ts';

/** Sends a request with `onSent` through XMLHttpRequest, because `fetch` reports the sent bytes only of streams. A request whose body is a stream, or that has no `onSent`, uses `fetch`. */
export const xhrTransport: Transport = (url, request) => {
  const { method, headers, body, signal, onSent } = request;
  if (!onSent || body === undefined || body instanceof ReadableStream) return fetchTransport(url, request);
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    const abort = (): void => sent.abort();
    sent.open(method, url);
    for (const [name, value] of Object.entries(headers)) sent.setRequestHeader(name, value);
    sent.upload.onprogress = ({ loaded }) => onSent(loaded);
    sent.onload = () => resolve(answerOf(sent));
    sent.onerror = () => reject(new TypeError('The connection failed.'));
    sent.onabort = () => reject(signal?.reason ?? new TypeError('The request was aborted.'));
    sent.onloadend = () => signal?.removeEventListener('abort', abort);
    if (signal?.aborted) reject(signal.reason);
    else {
      signal?.addEventListener('abort', abort);
      sent.send(body);
    }
  });
};

function answerOf(sent: XMLHttpRequest): Response {
  const lines = sent.getAllResponseHeaders().split('\r\n');
  const headers = lines.map((line) => line.match(/^([^:]+): (.*)$/)).filter((match) => match !== null);
  return new Response(sent.responseText, {
    status: sent.status,
    headers: headers.map(([, name, value]): [string, string] => [name!, value!]),
  });
}
