/** The errors of the client: the service refused the request, or it did not answer. */
import type { components } from './api-types.ts';

export type Problem = components['schemas']['Problem'];
export type ProblemDocument = components['schemas']['ProblemDocument'];

/** The service refused the request. The members are those of the problem document (docs/errors.md). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly status: number;
  /** Undefined if the answer has no problem document, for example because a proxy wrote it. */
  readonly code: ProblemDocument['code'] | undefined;
  readonly title: string;
  readonly detail: string;
  /** The id of the request. The log of the service contains it, too. */
  readonly instance: string | undefined;
  /** The first problems, at most 100. `errorCount` counts all. */
  readonly errors: Problem[];
  /** The number of all problems. */
  readonly errorCount: number;
  readonly errorGroups: NonNullable<ProblemDocument['error_groups']>;
  readonly warnings: NonNullable<ProblemDocument['warnings']>;
  /** The id of the load, if the request was an upload and the service records loads. */
  readonly loadId: string | undefined;
  /** The number of seconds to wait before the request is sent again (`Retry-After`). */
  readonly retryAfter: number | undefined;
  /** The body of an answer that is not a problem document, for example CSV with all problems. */
  readonly text: string;
  /**
   * true: an earlier attempt of the request may have done the work (its answer was lost), and this refusal does not say whether it
   * did. The record of the load shows it.
   */
  followsLostAnswer = false;

  /** @param otherTitle the title if the answer has no problem document */
  constructor(status: number, headers: Pick<Headers, 'get'>, text: string, otherTitle?: string) {
    const document = isProblem(headers) ? parsed(text) : {};
    const title = document.title ?? otherTitle ?? `HTTP status ${status}`;
    super(document.detail ?? title);
    this.status = status;
    this.code = document.code;
    this.title = title;
    this.detail = this.message;
    this.instance = document.instance;
    this.errors = document.errors ?? [];
    this.errorCount = document.error_count ?? this.errors.length;
    this.errorGroups = document.error_groups ?? [];
    this.warnings = document.warnings ?? [];
    this.loadId = headers.get('load-id') ?? undefined;
    const seconds = headers.get('retry-after');
    this.retryAfter = seconds === null || !(Number(seconds) >= 0) ? undefined : Number(seconds);
    this.text = text;
  }
}

/** The service could not be reached, or the connection broke before the answer was complete. `cause` is the error of the connection. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

function isProblem(headers: Pick<Headers, 'get'>): boolean {
  return /^application\/problem\+json/.test(headers.get('content-type') ?? '');
}

function parsed(text: string): Partial<ProblemDocument> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
