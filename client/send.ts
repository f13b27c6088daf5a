/** Sends a request to the service. After a temporary failure it sends the request again if repeating is safe. */
import { ConnectionError, ProblemError } from './problem-error.ts';
import { sleep } from './sleep.ts';
import type { Transport, TransportAnswer, TransportRequest } from './transport.ts';

export interface Connection {
  url: string;
  token: () => string | undefined | Promise<string | undefined>;
  transport: Transport;
  /** How long to repeat requests after temporary failures, in milliseconds. 0: never. */
  retryMs: number;
  /** Called before each pause between two attempts. */
  onRetry: ((error: Error, pauseMs: number) => void) | undefined;
}

/** The body of one attempt. */
export interface SentBody {
  content: NonNullable<TransportRequest['body']>;
  length?: TransportRequest['length'];
  /** Ends the source of a stream, because some runtimes do not do it, or only later. */
  close?: () => void;
  /** Returns the error of the source of a stream, if it has failed. */
  failure?: () => { error: unknown } | undefined;
}

export interface SentRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path after `/api/v1`. */
  path: string;
  query?: object | undefined;
  headers?: Record<string, string | undefined> | undefined;
  /** Opens the body for each attempt. It returns undefined if the body was already read and cannot be opened again. */
  open?: (() => SentBody | undefined) | undefined;
  signal?: AbortSignal | undefined;
  onSent?: TransportRequest['onSent'];
  /** true: the service does the work once, even if the request arrives several times. */
  isRepeatable: boolean;
}

/**
 * Returns the result of `read` for a successful answer. If the answer breaks off, the connection has failed.
 *
 * @throws ProblemError if the service refuses the request
 * @throws ConnectionError if there is no answer
 * @throws the reason of `signal`, or the error of the source of the body
 */
export async function send<Result>(
  connection: Connection,
  request: SentRequest,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<Result> {
  const { signal } = request;
  let endAt = Date.now() + connection.retryMs;
  let isAnswerLost = false;
  for (let attempt = 0; ; attempt++) {
    const outcome = await attemptOf(connection, request, read);
    if ('result' in outcome) return outcome.result;
    signal?.throwIfAborted();
    if (outcome instanceof ProblemError) outcome.followsLostAnswer = isAnswerLost && !endsRequest(outcome);
    isAnswerLost ||= mayGoOn(outcome);
    // The service is still working on an earlier attempt of this request. That may take any time, so the time limit starts anew.
    if (isInUse(outcome)) endAt = Date.now() + connection.retryMs;
    const pauseMs = pauseAfter(outcome, attempt);
    if (!request.isRepeatable || pauseMs === undefined || Date.now() + pauseMs > endAt) throw outcome;
    connection.onRetry?.(outcome, pauseMs);
    await sleep(pauseMs, signal);
  }
}

async function attemptOf<Result>(
  { url, token, transport }: Connection,
  { method = 'GET', path, query, headers, open, signal, onSent }: SentRequest,
  read: (answer: TransportAnswer) => Promise<Result>,
): Promise<{ result: Result } | ProblemError | ConnectionError> {
  const bearer = await token();
  const all = { ...(bearer && { authorization: `Bearer ${bearer}` }), ...headers };
  const sent = Object.entries(all).filter(([, value]) => value !== undefined);
  const body = open?.();
  const close = (): void => body?.close?.();
  signal?.addEventListener('abort', close);
  try {
    const answer = await transport(`${url}/api/v1${path}${queryText(query)}`, {
      method,
      headers: Object.fromEntries(sent) as Record<string, string>,
      body: body?.content,
      length: body?.length,
      signal,
      onSent,
    });
    const foreign = foreignTitle(answer);
    if (answer.ok && !foreign) return { result: await read(answer) };
    return new ProblemError(answer.status, answer.headers, await answer.text(), foreign);
  } catch (cause) {
    // `read` has thrown the refusal of the service.
    if (cause instanceof ProblemError) return cause;
    // The source of the body has failed, not the service. Another attempt would fail in the same way.
    const failure = body?.failure?.();
    if (failure && !signal?.aborted) throw failure.error;
    const reason = reasonOf(cause);
    const words = reason?.message ?? String(reason);
    return new ConnectionError(`The service at ${url} does not answer: ${words}.`, { cause });
  } finally {
    signal?.removeEventListener('abort', close);
    close();
  }
}

/** Returns what an answer is that a proxy wrote: the page of a login, or a redirection. Browsers show of a redirection only the status 0. */
function foreignTitle({ ok, status, headers }: TransportAnswer): string | undefined {
  if (ok)
    return /html/.test(headers.get('content-type')!) ? 'The answer is not from Tablewright.' : undefined;
  return status < 400
    ? `The address of the service redirects to ${headers.get('location') ?? 'another one'}. Use an address that does not redirect.`
    : undefined;
}

/** Returns the parameters as the query of a URL, without those that are undefined. */
function queryText(query: object = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = entries.map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`,
  );
  return text.length === 0 ? '' : `?${text.join('&')}`;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** Returns how long to wait before the next attempt; undefined: it would fail in the same way. */
function pauseAfter(error: ProblemError | ConnectionError, attempt: number): number | undefined {
  const growing = Math.min(firstPauseMs * 2 ** attempt, longestPauseMs) * (0.75 + Math.random() / 2);
  if (error instanceof ConnectionError) return growing;
  const { status, code, retryAfter } = error;
  const mayPass = [429, 502, 503, 504].includes(status) || isInUse(error);
  if (!mayPass || code === 'storage-full' || code === 'link-failed') return undefined;
  return Math.max(growing, (retryAfter ?? 0) * 1000);
}

/** Returns the actual error of the connection: `fetch` of Node.js puts it into `cause`. */
function reasonOf(cause: unknown): (Error & { code?: string }) | undefined {
  return ((cause as Error | undefined)?.cause ?? cause) as Error | undefined;
}

/** Error codes of Node.js for requests that were certainly not sent. Browsers do not report a reason. */
const unreached = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/;

/** Returns whether the service may have received the request, so that it may still do the work after this failure. */
function mayGoOn(error: ProblemError | ConnectionError): boolean {
  if (error instanceof ConnectionError) return !unreached.test(`${reasonOf(error.cause)?.code}`);
  return error.status >= 500 || isInUse(error);
}

/**
 * Returns whether the refusal proves that no attempt of this request has done the work. A load id proves it, because the load itself
 * was refused. The other refusals here depend only on the request (docs/loads.md), so an earlier attempt was refused as well.
 */
function endsRequest({ status, code, loadId }: ProblemError): boolean {
  // Another request uses this key, or has used it with another body.
  if (code === undefined || status >= 500 || code.startsWith('idempotency-key')) return false;
  return loadId !== undefined || code === 'table-exists' || [400, 413, 422].includes(status);
}

function isInUse(error: ProblemError | ConnectionError): boolean {
  return error instanceof ProblemError && error.code === 'idempotency-key-in-use';
}
