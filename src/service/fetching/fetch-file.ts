/**
 * Fetches the file of a link that a caller has sent. The link may be a secret, because whoever has a presigned link may read the file.
 * So nothing but its host and the last part of its path is ever shown, and nothing of the caller is sent on.
 */
import type { IncomingMessage } from 'node:http';
import { type ArrivalLimits, ArrivalRate, type Slowness, slownessDetail } from '../../core/arrival-rate.ts';
import { AppError } from '../../core/errors.ts';
import { limitExceeded, limitInWords } from '../../core/limit-exceeded.ts';
import type { LimitsConfig } from '../../core/settings/config.ts';
import { isCoding, unpack } from '../../readers/unpack.ts';
import { type AllowedAddresses, RefusedAddress } from '../outgoing/allowed-addresses.ts';
import { connectionFailure, sendRequest } from '../outgoing/send-request.ts';
import { nameOfFile } from './name-of-file.ts';

export interface FetchOptions {
  addresses: AllowedAddresses;
  limits: Pick<LimitsConfig, 'maxBodyBytes' | 'maxUnpackRatio'> & ArrivalLimits;
  /** Called with the length of each piece that arrives, before it is unpacked. */
  onBytes?: (bytes: number) => void;
}

export interface FetchedFile {
  /** The host of the link, with its port. */
  host: string;
  /** The name of the file, without folders. */
  name: string;
  /** The unpacked content. It must be read to its end or be ended, because it holds the connection. */
  chunks: AsyncGenerator<Buffer>;
}

export const maxLinkLength = 8192;
const maxRedirects = 5;
const redirects = [301, 302, 303, 307, 308];

/**
 * Requests the file, and returns it as soon as its content can be read.
 *
 * @param signal ends everything, also the reading
 * @throws AppError `link-refused` (422), `link-failed` (502), `limit-exceeded`; the reason of the signal. Reading `chunks` throws the same
 */
export async function fetchFile(
  link: string,
  { addresses, limits, onBytes = () => {} }: FetchOptions,
  signal: AbortSignal,
): Promise<FetchedFile> {
  const url = checkedLink(link);
  const idle = new IdleTime(limits, url.host, signal);
  try {
    const answer = await follow(url, addresses, idle);
    try {
      const codings = checkedCodings(answer, url, limits);
      const received = receive(answer, url.host, idle, limits, onBytes);
      const name = nameOfFile(url, answer.headers['content-disposition']);
      const broken = (coding: string, what: string) =>
        failed(url.host, `sends the file with Content-Encoding: ${coding}, and its ${coding} data ${what}`);
      const { maxBodyBytes: maxBytes, maxUnpackRatio: maxRatio } = limits;
      const bounds = { maxBytes, maxRatio, setting: 'MAX_BODY_BYTES' } as const;
      const chunks =
        codings.length === 0 ? received : unpack(received, codings, bounds, { subject: 'file', broken });
      return { host: url.host, name, chunks };
    } catch (error) {
      answer.destroy();
      throw error;
    }
  } catch (error) {
    idle.end();
    throw idle.errorOf(error);
  }
}

/** @throws AppError `link-refused`, which does not show the link */
function checkedLink(link: string, subject = 'The link'): URL {
  const url = link.length > maxLinkLength ? null : URL.parse(link);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refused(
      `${subject} must be an absolute URL of at most ${maxLinkLength} characters that begins with https.`,
    );
  }
  if (url.username !== '' || url.password !== '')
    throw refused(`${subject} must have no user name and no password.`);
  return url;
}

/** Sends the request, and follows redirects. Each target is checked like the link itself. */
async function follow(link: URL, addresses: AllowedAddresses, idle: IdleTime): Promise<IncomingMessage> {
  let url = link;
  const headers = { accept: '*/*', 'accept-encoding': 'identity' };
  for (let hops = 0; ; hops++) {
    idle.begin();
    const answer = await sendRequest(url, addresses, { method: 'GET', headers }, idle.signal);
    const {
      statusCode: status = 0,
      headers: { location },
    } = answer;
    if (status === 200) return answer;
    answer.destroy();
    if (!redirects.includes(status) || location === undefined) throw unexpected(link.host, status);
    if (hops === maxRedirects)
      throw refused(`The server ${link.host} of the link redirects more than ${maxRedirects} times.`);
    const subject = `The URL to which the server ${link.host} redirects`;
    const target = checkedLink(URL.parse(location, url.href)?.href ?? '', subject);
    if (url.protocol === 'https:' && target.protocol !== 'https:')
      throw refused(`${subject} must begin with https.`);
    url = target;
  }
}

/** Returns the codings of the answer. @throws AppError if the file is too long, or if a file that is cut off would look complete */
function checkedCodings(
  { headers }: IncomingMessage,
  { host }: URL,
  limits: FetchOptions['limits'],
): string[] {
  if (Number(headers['content-length'] ?? 0) > limits.maxBodyBytes) throw tooLong(limits);
  const codings = (headers['content-encoding'] ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (codings.length > 1 || !codings.every(isCoding))
    throw refused(`The server ${host} of the link sends the file with a Content-Encoding that is not known.`);
  // Members of gzip and frames of zstd may follow each other, so a coding does not say where the file ends.
  const coding = headers['transfer-encoding']?.trim().toLowerCase();
  const hasEnd = coding === undefined ? headers['content-length'] !== undefined : coding === 'chunked';
  if (!hasEnd) {
    throw refused(
      `The server ${host} of the link does not say how long the file is, so a file that is cut off could not be noticed.`,
    );
  }
  return codings;
}

/** Yields the bytes of the answer. The time in which the reader handles a piece does not count as waiting. */
async function* receive(
  answer: IncomingMessage,
  host: string,
  idle: IdleTime,
  limits: FetchOptions['limits'],
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const rate = new ArrivalRate(limits);
  let received = 0;
  try {
    for (let since = idle.begin(); ; since = idle.begin()) {
      const chunk = await nextChunk(answer);
      idle.pause();
      rate.wait(performance.now() - since);
      if (chunk === undefined) return;
      received += chunk.length;
      onBytes(chunk.length);
      if (received > limits.maxBodyBytes) throw tooLong(limits);
      const slowness = rate.add(chunk.length);
      if (slowness !== undefined) throw tooSlow(slowness, host, limits);
      yield chunk;
    }
  } catch (error) {
    throw idle.errorOf(error);
  } finally {
    idle.end();
    answer.destroy();
  }
}

/** Returns the next bytes; undefined: the whole answer has arrived. @throws Error if the connection breaks before */
async function nextChunk(answer: IncomingMessage): Promise<Buffer | undefined> {
  for (;;) {
    const chunk = answer.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (answer.readableEnded && answer.complete) return undefined;
    if (answer.destroyed) throw answer.errored ?? new Error('the connection was closed too early');
    const { promise, resolve } = Promise.withResolvers<void>();
    const events = ['readable', 'end', 'close'];
    for (const event of events) answer.on(event, resolve);
    await promise;
    for (const event of events) answer.off(event, resolve);
  }
}

/** Aborts its signal if nothing has arrived for BODY_IDLE_TIMEOUT_MS since `begin`, or if the signal of the caller aborts. */
class IdleTime {
  readonly #ending = new AbortController();
  readonly #host: string;
  readonly #outer: AbortSignal;
  readonly #idleMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ bodyIdleTimeoutMs }: FetchOptions['limits'], host: string, outer: AbortSignal) {
    this.#idleMs = bodyIdleTimeoutMs;
    this.#host = host;
    this.#outer = outer;
    if (outer.aborted) this.#onAbort();
    outer.addEventListener('abort', this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Begins or restarts the time in which something must arrive. @returns the present time in milliseconds (`performance.now`) */
  begin(): number {
    this.#timer ??= setTimeout(() => {
      this.#ending.abort(this.#silence());
      this.end();
    }, this.#idleMs);
    this.#timer.refresh();
    return performance.now();
  }

  /** Stops the time until the next `begin`. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  end(): void {
    this.pause();
    this.#outer.removeEventListener('abort', this.#onAbort);
  }

  /** Returns the error for the caller: why the signal was aborted, or what was thrown. */
  errorOf(error: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof AppError) return error;
    if (error instanceof RefusedAddress) return refused(error.message);
    return failed(this.#host, `did not send the whole file: ${connectionFailure(error)}`);
  }

  readonly #onAbort = (): void => this.#ending.abort(this.#outer.reason);

  #silence(): AppError {
    const limit = limitInWords(this.#idleMs, { setting: 'BODY_IDLE_TIMEOUT_MS' });
    return failed(this.#host, `sent nothing for ${limit}`);
  }
}

/** Returns the error for a status: `link-failed` if the same request may succeed later, otherwise `link-refused`. */
function unexpected(host: string, status: number): AppError {
  const answers = `answers ${status} instead of the file`;
  if (status >= 500 || status === 429 || status === 408) return failed(host, answers);
  return refused(
    `The server ${host} of the link ${answers}. Check that the link has not expired, and that it opens the file without a sign-in.`,
  );
}

function refused(detail: string): AppError {
  return new AppError('link-refused', detail);
}

function failed(host: string, what: string): AppError {
  return new AppError('link-failed', `The server ${host} of the link ${what}.`);
}

function tooLong({ maxBodyBytes }: FetchOptions['limits']): AppError {
  return limitExceeded('The file of the link is too long', maxBodyBytes, { setting: 'MAX_BODY_BYTES' });
}

function tooSlow(slowness: Slowness, host: string, limits: FetchOptions['limits']): AppError {
  const what = `The server ${host} sends the file of the link`;
  return new AppError('link-failed', slownessDetail(slowness, what, limits));
}
