/** Sends a request to the service, and sends it again after a failure that may pass, if that is safe. */
import { ConnectionError, ProblemError } from './problem-error.ts';
import { sleep } from './sleep.ts';
import type { Transport, TransportAnswer, TransportRequest } from './transport.ts';

export interface Connection {
  url: string;
  token: () => string | undefined | Promise<string | undefined>;
  transport: Transport;
  /** How long requests are repeated after a failure that may pass. 0: never. */
  retryMs: number;
  /** Called before each pause. */
  onRetry: ((error: Error, pauseMs: number) => void) | undefined;
}

/** The body of one attempt. */
export interface SentBody {
  content: NonNullable<TransportRequest['body']>;
  length?: TransportRequest['length'];
  /** Ends the source of a stream. Some runtimes do not, or only later. */
  close?: () => void;
  /** The error with which the source of a stream has failed. */
  failure?: () => { error: unknown } | undefined;
}

export interface SentRequest {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path after `/api/v1`. */
  path: string;
  query?: object | undefined;
  headers?: Record<string, string | undefined> | undefined;
  /** Opens the body for each attempt. Undefined: the body was read and cannot be read again. */
  open?: (() => SentBody | undefined) | undefined;
  signal?: AbortSignal | undefined;
  onSent?: TransportRequest['onSent'];
  /** The service does the work of this request once, however often it arrives. */
  isRepeatable: boolean;
}

/**
 * Returns what `read` makes of a successful answer. An answer that breaks off is a failure of the connection.
 *
 * @throws ProblemError if the service refuses the request
 * @throws ConnectionError if there is no answer
 * @throws the reason of `signal`, the error with which the source of the body has failed
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
    // The service still works on the same request, however long that takes.
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
    if (answer.ok) return { result: await read(answer) };
    return new ProblemError(answer.status, answer.headers, await answer.text(), redirectionOf(answer));
  } catch (cause) {
    // The result of `read`.
    if (cause instanceof ProblemError) return cause;
    // The service is not the reason, and the source would fail again.
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

/** Browsers hide where a redirection leads. */
function redirectionOf({ type, status, headers }: TransportAnswer): string | undefined {
  if (type !== 'opaqueredirect' && !(status >= 300 && status < 400)) return undefined;
  return `The address of the service redirects to ${headers.get('location') ?? 'another one'}. Use an address that does not redirect.`;
}

/** Returns the parameters as they are written in a URL. Members that are undefined are left out. */
function queryText(query: object = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = entries.map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`,
  );
  return text.length === 0 ? '' : `?${text.join('&')}`;
}

const firstPauseMs = 250;
const longestPauseMs = 5_000;

/** Returns how long to wait before the request is sent again; undefined: it would fail again. */
function pauseAfter(error: ProblemError | ConnectionError, attempt: number): number | undefined {
  const growing = Math.min(firstPauseMs * 2 ** attempt, longestPauseMs) * (0.75 + Math.random() / 2);
  if (error instanceof ConnectionError) return growing;
  const { status, code, retryAfter } = error;
  const mayPass = [429, 502, 503, 504].includes(status) || isInUse(error);
  if (!mayPass || code === 'storage-full') return undefined;
  return Math.max(growing, (retryAfter ?? 0) * 1000);
}

/** Returns the error of the connection, which `fetch` of Node.js wraps in `cause`. */
function reasonOf(cause: unknown): (Error & { code?: string }) | undefined {
  return ((cause as Error | undefined)?.cause ?? cause) as Error | undefined;
}

/** The codes of Node.js if there was no connection, so that nothing was sent. Browsers do not say why a connection failed. */
const unreached = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/;

/** Returns whether the service may have received the request and may do its work after this outcome of an attempt. */
function mayGoOn(error: ProblemError | ConnectionError): boolean {
  if (error instanceof ConnectionError) return !unreached.test(`${reasonOf(error.cause)?.code}`);
  return error.status >= 500 || isInUse(error);
}

/**
 * Returns whether a refusal says that no attempt of the same request has done the work. An upload gets the id of a load only then. Refusals that
 * the service keeps with the key (docs/loads.md) depend on the request alone, so an earlier attempt was refused, too.
 */
function endsRequest({ status, code, loadId }: ProblemError): boolean {
  // Another attempt has the key, or has used it with another body.
  if (code === undefined || status >= 500 || code.startsWith('idempotency-key')) return false;
  return loadId !== undefined || code === 'table-exists' || [400, 413, 422].includes(status);
}

function isInUse(error: ProblemError | ConnectionError): boolean {
  return error instanceof ProblemError && error.code === 'idempotency-key-in-use';
}
