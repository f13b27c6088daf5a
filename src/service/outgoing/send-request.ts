/** Sends a request to a URL that a caller has chosen. It connects only to addresses that were checked, and follows no redirect. */
import type { LookupAddress } from 'node:dns';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { joinSmallChunks } from '../../core/join-small-chunks.ts';
import { request as requestHttp } from '../../core/node-http.ts';
import { skipRead } from '../../core/stop-parser.ts';
import { type AllowedAddresses, RefusedAddress } from './allowed-addresses.ts';

export interface OutgoingRequest {
  method: 'GET' | 'POST';
  headers: OutgoingHttpHeaders;
  body?: Buffer;
}

/** The maximum number of interim answers (with a status below 200), and of all their headers. Each takes time, and a receiver may send them endlessly. */
const maxInterimAnswers = 10;
const maxInterimHeaders = 100;

/**
 * Returns the answer as soon as its headers have arrived. The caller must read it or destroy it.
 *
 * @param signal ends the look-up, the connection and the answer
 * @throws RefusedAddress; the errors of the look-up and the connection, for `connectionFailure`
 */
export async function sendRequest(
  url: URL,
  addresses: AllowedAddresses,
  { method, headers, body }: OutgoingRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  signal.throwIfAborted();
  const lookup = lookupIn(await addresses.resolve(url, signal));
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options = {
    method,
    agent: false,
    lookup,
    signal,
    headers: { ...headers, 'user-agent': 'Tablewright' },
  };
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options);
  let answer: IncomingMessage | undefined;
  // An error in the middle of the answer is reported to the request. The reader of the answer needs it.
  request.on('error', (error) => (answer ? answer.destroy(error) : reject(error)));
  const end = (error: Error): void => {
    skipRead(request.socket);
    request.destroy(error);
  };
  let interimAnswers = 0;
  let interimHeaders = 0;
  request.on('information', ({ rawHeaders }) => {
    interimAnswers += 1;
    interimHeaders += rawHeaders.length / 2;
    if (interimAnswers > maxInterimAnswers || interimHeaders > maxInterimHeaders)
      end(new Error('there is no end of interim answers'));
  });
  // If the connection closes without an answer and without an error, for example after 101 Switching Protocols, the request has failed.
  request.on('close', () => reject(new Error('the connection was closed without an answer')));
  request.on('response', (response) => {
    answer = response;
    // Without a listener, a connection that breaks before the caller reads would end the process.
    response.on('error', () => {});
    joinSmallChunks(response, () => end(new TooTinyChunks()));
    skipAfterEnd(response);
    resolve(response);
  });
  request.end(body);
  return promise;
}

/** Lets the parser skip what follows the answer, because a server may send thousands of further answers at once. */
function skipAfterEnd(response: IncomingMessage): void {
  const push = response.push.bind(response);
  response.push = (chunk: Buffer | null) => {
    if (chunk === null) skipRead(response.socket);
    return push(chunk);
  };
}

class TooTinyChunks extends Error {
  constructor() {
    super('the answer comes in too many tiny chunks');
  }
}

/** Returns a look-up function for the connection that returns only these addresses, which were checked before. */
function lookupIn(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) callback(null, addresses);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  };
}

/** Describes why there is no answer. It has the error's code instead of its message, because the message may contain an address of a private network. */
export function connectionFailure(error: unknown): string {
  if (error instanceof RefusedAddress || error instanceof TooTinyChunks) return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `the connection failed (${code})` : 'the connection failed';
}
