/**
 * The error catalogue: every error code of the service, its HTTP status and its title.
 *
 * Other code throws an `AppError`. Only `http/answers/problem-json.ts` changes it into an answer (RFC 9457). To add an error, add a
 * line here and a section in `docs/errors.md`. A test compares the two.
 */

import type { ProblemCode } from './problem-codes.ts';
import type { WarningCode } from './warning-codes.ts';

export const errorCatalogue = {
  'invalid-json': { status: 400, title: 'The body is not valid JSON' },
  'invalid-multipart': { status: 400, title: 'The body is not valid multipart/form-data' },
  'invalid-file': { status: 400, title: 'The file is broken' },
  'invalid-content-encoding': { status: 400, title: 'The body is not encoded as Content-Encoding says' },
  'invalid-request': { status: 400, title: 'The request is not valid HTTP' },
  'missing-token': { status: 401, title: 'An access token is needed' },
  'invalid-token': { status: 401, title: 'The access token is not valid' },
  'insufficient-scope': { status: 403, title: 'The access token lacks a scope' },
  'schema-forbidden': { status: 403, title: 'The request may not use the schema' },
  'permission-denied': { status: 403, title: 'The PostgreSQL role lacks a privilege' },
  'profile-not-owned': { status: 403, title: 'The profile belongs to another subject' },
  'path-not-found': { status: 404, title: 'No such path' },
  'schema-not-found': { status: 404, title: 'No such schema' },
  'table-not-found': { status: 404, title: 'No such table' },
  'load-not-found': { status: 404, title: 'No such load' },
  'no-faulty-rows': { status: 404, title: 'No faulty rows' },
  'webhook-not-found': { status: 404, title: 'No such webhook' },
  'profile-not-found': { status: 404, title: 'No such profile' },
  'method-not-allowed': { status: 405, title: 'The path does not support this method' },
  'not-acceptable': { status: 406, title: 'The service answers only JSON' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'table-exists': { status: 409, title: 'The table already exists' },
  'dependent-objects': { status: 409, title: 'Other objects depend on the table' },
  'write-conflict': { status: 409, title: 'A concurrent transaction conflicts with the request' },
  'loses-data': { status: 409, title: 'The change would lose a part of the table' },
  'lock-too-long': { status: 409, title: 'The change would lock the table for too long' },
  'load-ended': { status: 409, title: 'The load has ended' },
  'load-cancelled': { status: 409, title: 'The load was cancelled' },
  'idempotency-key-in-use': { status: 409, title: 'A request with the key is still running' },
  'events-removed': { status: 410, title: 'Events after the last one have been removed' },
  'precondition-failed': { status: 412, title: 'The version is not the one that If-Match names' },
  'limit-exceeded': { status: 413, title: 'The upload is over a limit' },
  'unsupported-media-type': { status: 415, title: 'The content type is not accepted' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'invalid-parameter': { status: 422, title: 'A parameter is not valid' },
  'invalid-definition': { status: 422, title: 'The table definition is not valid' },
  'distribution-unavailable': { status: 422, title: 'The database cannot distribute tables' },
  'invalid-data': { status: 422, title: 'The data does not fit the table' },
  'nothing-to-load': { status: 422, title: 'The upload has neither a definition nor rows' },
  'password-required': { status: 422, title: 'The workbook is encrypted' },
  'wrong-password': { status: 422, title: 'The password does not open the workbook' },
  'unsupported-file': { status: 422, title: 'The file cannot be read as a spreadsheet' },
  'link-refused': { status: 422, title: 'The link cannot be used' },
  'idempotency-key-reused': { status: 422, title: 'Another request has used the key' },
  'invalid-webhook': { status: 422, title: 'The webhook is not valid' },
  'invalid-profile': { status: 422, title: 'The profile is not valid' },
  'too-many-uploads': { status: 429, title: 'Too many uploads are running' },
  'too-many-requests': { status: 429, title: 'Too many requests of one caller' },
  'queue-full': { status: 429, title: 'Too many asynchronous uploads wait' },
  'headers-too-large': { status: 431, title: 'The request headers are too large' },
  'internal-error': { status: 500, title: 'The service failed' },
  'not-enabled': { status: 501, title: 'The service has no schema of its own' },
  'link-failed': { status: 502, title: 'The file of the link cannot be fetched' },
  'database-unavailable': { status: 503, title: 'The database cannot be reached' },
  'database-busy': { status: 503, title: 'The table was locked or the statement took too long' },
  'token-keys-unavailable': { status: 503, title: 'The keys of the identity provider cannot be fetched' },
  'storage-full': { status: 503, title: 'The service has no room left for the upload' },
  'service-busy': { status: 503, title: 'The service has no free place for the request' },
  'shutting-down': { status: 503, title: 'The service is starting or stopping' },
} as const;

export type ErrorCode = keyof typeof errorCatalogue;

/** An entry of `errors` (docs/errors.md): one problem of a request, its place, and the value that was found there. */
export interface Problem {
  /** In a load of several tables: the number of the table in the plan, from 1. */
  part?: number;
  /** JSON Pointer (RFC 6901) into the request body, for JSON. */
  pointer?: string;
  /** The line of the body, from 1, for newline-delimited JSON. */
  line?: number;
  /** The name of the sheet, for spreadsheets. */
  sheet?: string;
  /** The cell as Excel writes it, `Orders!C1483`, for spreadsheets. */
  cell?: string;
  /** The number of the data row, from 1. */
  row?: number;
  /** For a row of an existing table: the columns of its key with their values, shortened. */
  key?: Record<string, string>;
  column?: string;
  /** The name of the parameter in the path or the query, or of the part of the form. */
  parameter?: string;
  /** The value with the problem, shortened. */
  value?: string;
  /** Stable, kebab-case. */
  code: ProblemCode;
  /** What is wrong and, unless it is obvious, what to do. It is written for the person who must fix it. */
  detail: string;
}

/** Problems of one code in one column, or in no column. */
export interface ProblemGroup {
  /** In a load of several tables: the number of the table in the plan, from 1. */
  part?: number;
  column?: string;
  code: string;
  count: number;
  /** The place and the value of the first problem. */
  first: Pick<Problem, 'pointer' | 'line' | 'sheet' | 'cell' | 'row' | 'value'>;
}

/** An entry of `warnings`: something that did not stop the request but may be unexpected. */
export interface Warning {
  /** In a load of several tables: the number of the table in the plan, from 1. */
  part?: number;
  /** Stable, kebab-case. */
  code: WarningCode;
  detail: string;
  column?: string;
  /** What the caller may send instead, if the warning names it. Each choice is enough alone, except for `mixed-column`. */
  choices?: Choice[];
}

/** A way to send the same data again, which a warning suggests. */
export interface Choice {
  /** The parameters of the query to send besides the others, with their values before they are escaped. */
  parameters: Record<string, string>;
  /** The type of the column, for a definition. */
  type?: string;
}

/** An answer in another media type than `application/problem+json`. */
export interface ErrorBody {
  contentType: string;
  bytes: Buffer;
}

export interface AppErrorOptions {
  /** The problems, at most 100 of them. */
  errors?: Problem[] | undefined;
  /** The number of all problems; default: the length of `errors`. */
  errorCount?: number;
  /** All problems, grouped by column and code, at most 100 groups. */
  errorGroups?: ProblemGroup[] | undefined;
  headers?: Record<string, string>;
  /** The warnings that were found before the request was refused. */
  warnings?: Warning[] | undefined;
  /** The answer in another media type that the client prefers. */
  body?: ErrorBody | undefined;
  /** The original error. It is logged and never part of the answer. */
  cause?: unknown;
  /** true: it is not known whether the changes of the request were kept. */
  isOutcomeUnknown?: boolean;
}

/** An error of the catalogue. The caller sees `detail`, so it contains no SQL, no stack and no path. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: Problem[] | undefined;
  readonly errorCount: number;
  readonly errorGroups: ProblemGroup[] | undefined;
  readonly headers: Record<string, string>;
  readonly warnings: Warning[];
  readonly body: ErrorBody | undefined;
  /** Whether the changes of the request may have been kept. With every other error nothing was changed. */
  readonly isOutcomeUnknown: boolean;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.detail = detail;
    this.errors = options.errors;
    this.errorCount = options.errorCount ?? options.errors?.length ?? 0;
    this.errorGroups = options.errorGroups;
    this.headers = options.headers ?? {};
    this.warnings = options.warnings ?? [];
    this.body = options.body;
    this.isOutcomeUnknown = options.isOutcomeUnknown ?? false;
  }

  /** Returns this error with another text, with warnings, with another answer, or with an unknown outcome. */
  with({
    detail = this.detail,
    warnings = this.warnings,
    body = this.body,
    isOutcomeUnknown = this.isOutcomeUnknown,
  }: {
    detail?: string;
    warnings?: Warning[];
    body?: ErrorBody | undefined;
    isOutcomeUnknown?: boolean;
  }): AppError {
    const { errors, errorCount, errorGroups, headers } = this;
    return new AppError(this.code, detail, {
      errors,
      errorCount,
      errorGroups,
      headers,
      warnings,
      body,
      isOutcomeUnknown,
      cause: this,
    });
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }
}

/** The maximum number of problems that an answer lists (docs/errors.md). */
export const maxListedProblems = 100;

const maxShownValue = 100;

/**
 * Returns the error of one parameter, or of one part of a form.
 *
 * @param fault a more specific code, and the value that was given, which is shown shortened
 */
export function wrongParameter(
  name: string,
  detail: string,
  { code = 'invalid-parameter', value }: { code?: ProblemCode; value?: string } = {},
): AppError {
  const shown = value === undefined ? {} : { value: value.slice(0, maxShownValue) };
  return new AppError('invalid-parameter', detail, { errors: [{ parameter: name, ...shown, code, detail }] });
}
