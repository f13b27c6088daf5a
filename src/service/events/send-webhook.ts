/** Sends one event to the URL of a webhook, signed according to the specification Standard Webhooks. */
import type { LookupAddress } from 'node:dns';
import type { ClientRequest } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { request as requestHttp } from '../../core/node-http.ts';
import { RefusedAddress, type WebhookAddresses } from './webhook-addresses.ts';

export interface Message {
  url: string;
  secret: string;
  eventId: string;
  /** The event as JSON. */
  json: string;
}

/** How an attempt ended. */
export interface Outcome {
  /** The status of the answer; undefined: there was none. */
  status?: number;
  /** Why there was no answer, in a few words. */
  error?: string;
}

/** The time limit for the whole attempt: look-up, connection and answer. */
const timeoutMs = 10_000;
/** How much of the body of an answer is read before the connection is closed, and how long. */
const maxAnswerBytes = 1024;
const answerBodyMs = 1000;
/** The maximum number of interim answers (with a status below 200). Each takes time, and a receiver may send them endlessly. */
const maxInterimAnswers = 10;

/**
 * Sends the event. Redirects are not followed. It never throws: the outcome has the error.
 *
 * @param stopping ends the attempt
 */
export async function sendWebhook(
  message: Message,
  addresses: WebhookAddresses,
  stopping: AbortSignal,
): Promise<Outcome> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, timeoutMs);
  stopping.addEventListener('abort', end);
  try {
    stopping.throwIfAborted();
    const url = new URL(message.url);
    const found = await addresses.resolve(url, ending.signal);
    return { status: await post(url, found, message, ending.signal) };
  } catch (error) {
    if (ending.signal.aborted) return { error: `no answer within ${timeoutMs / 1000} s` };
    return { error: inWords(error) };
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', end);
  }
}

/** Returns the status of the answer. */
function post(
  url: URL,
  addresses: LookupAddress[],
  { secret, eventId, json }: Message,
  signal: AbortSignal,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const body = Buffer.from(json);
  const now = new Date();
  const request: ClientRequest = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method: 'POST',
    agent: false,
    lookup: lookupIn(addresses),
    signal,
    headers: {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'content-length': body.length,
      'user-agent': 'Tablewright',
      'webhook-id': eventId,
      'webhook-timestamp': Math.floor(now.getTime() / 1000),
      'webhook-signature': new Webhook(secret).sign(eventId, now, json),
    },
  });
  let status: number | undefined;
  // If the status has arrived, it is the result, whatever happens to the body.
  const end = (error: Error) => (status === undefined ? reject(error) : resolve(status));
  request.on('error', end);
  let interimAnswers = 0;
  request.on('information', () => {
    if (++interimAnswers > maxInterimAnswers)
      request.destroy(new Error('there is no end of interim answers'));
  });
  // If the connection closes without an answer and without an error, for example after 101 Switching Protocols, the attempt has failed.
  request.on('close', () => end(new Error('the connection was closed without an answer')));
  request.on('response', (response) => {
    status = response.statusCode!;
    const timer = setTimeout(() => response.destroy(), answerBodyMs);
    response.on('close', () => clearTimeout(timer));
    let received = 0;
    response.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > maxAnswerBytes) response.destroy();
    });
    response.on('error', () => {});
  });
  request.end(body);
  return promise;
}

/** Returns a look-up function for the connection that returns only these addresses, which were checked before. */
function lookupIn(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all) callback(null, addresses);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  };
}

/** Returns the error's code instead of its message, because the message may contain an address of a private network. */
function inWords(error: unknown): string {
  if (error instanceof RefusedAddress) return error.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `the connection failed (${code})` : 'the connection failed';
}
