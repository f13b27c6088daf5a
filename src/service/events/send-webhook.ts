/** Sends one event to the URL of a webhook, signed according to the specification Standard Webhooks. */
import { Webhook } from 'standardwebhooks';
import type { AllowedAddresses } from '../outgoing/allowed-addresses.ts';
import { connectionFailure, sendRequest } from '../outgoing/send-request.ts';

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

/**
 * Sends the event. Redirects are not followed. It never throws: the outcome has the error.
 *
 * @param stopping ends the attempt
 */
export async function sendWebhook(
  message: Message,
  addresses: AllowedAddresses,
  stopping: AbortSignal,
): Promise<Outcome> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, timeoutMs);
  stopping.addEventListener('abort', end);
  try {
    stopping.throwIfAborted();
    return { status: await post(message, addresses, ending.signal) };
  } catch (error) {
    if (ending.signal.aborted) return { error: `no answer within ${timeoutMs / 1000} s` };
    return { error: connectionFailure(error) };
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', end);
  }
}

/** Returns the status of the answer. It counts as soon as it has arrived, whatever happens to the body. */
async function post(
  { url, secret, eventId, json }: Message,
  addresses: AllowedAddresses,
  signal: AbortSignal,
): Promise<number> {
  const body = Buffer.from(json);
  const now = new Date();
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'content-length': body.length,
    'webhook-id': eventId,
    'webhook-timestamp': Math.floor(now.getTime() / 1000),
    'webhook-signature': new Webhook(secret).sign(eventId, now, json),
  };
  const answer = await sendRequest(new URL(url), addresses, { method: 'POST', headers, body }, signal);
  const timer = setTimeout(() => answer.destroy(), answerBodyMs);
  let received = 0;
  answer.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxAnswerBytes) answer.destroy();
  });
  if (!answer.closed) await new Promise((resolve) => answer.on('close', resolve));
  clearTimeout(timer);
  return answer.statusCode!;
}
