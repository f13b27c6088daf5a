/**
 * The only place that writes error answers: `application/problem+json` (RFC 9457), or the answer that the error itself has.
 *
 * Every thrown value becomes an `AppError` first. An error that is not in the catalogue is a failure of the service (500): it is logged
 * with the request id and never shown.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import {
  AppError,
  type ErrorCode,
  errorCatalogue,
  type Problem,
  type ProblemGroup,
  type Warning,
} from '../../../core/errors.ts';
import { isForeignServerAway, toAppError } from '../../../postgres/sqlstate.ts';
import type { KeptAnswer } from '../../loads/load-record.ts';
import { factsOf } from '../observing/access-log.ts';

export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  errors?: Problem[];
  error_count?: number;
  error_groups?: ProblemGroup[];
  warnings?: Warning[];
}

export const problemContentType = 'application/problem+json';
export const jsonContentType = 'application/json; charset=utf-8';

/** The headers of an error answer. Caches must not store it, because it may contain values of the request. */
export const problemHeaders = { 'content-type': problemContentType, 'cache-control': 'no-store' };

/** Returns the body of the answer. Its `instance` is the request id, as in the log, in the form of a URN. */
export function problemDocument(error: AppError, requestId: string): ProblemDocument {
  const { status, title } = errorCatalogue[error.code];
  return {
    type: `/docs/errors/${error.code}`,
    title,
    status,
    detail: error.detail,
    instance: `urn:uuid:${requestId}`,
    code: error.code,
    ...(error.errors && { errors: error.errors, error_count: error.errorCount }),
    ...(error.errorGroups && { error_groups: error.errorGroups }),
    ...(error.warnings.length > 0 && { warnings: error.warnings }),
  };
}

export function sendProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.send(prepareProblem(thrown, request, reply));
}

/**
 * Sets the status and the headers of the answer, logs errors of the service itself, and returns the body to send.
 *
 * The body is bytes, because Fastify would add `; charset=utf-8` to a text, which the media type does not have (RFC 9457
 * section 6.1).
 */
export function prepareProblem(thrown: unknown, request: FastifyRequest, reply: FastifyReply): Buffer {
  const error = asAppError(thrown);
  logFailure(request.log, error, thrown, {}, 'request failed');
  factsOf(request).code = error.code;
  reply.code(error.status).headers({ ...problemHeaders, ...error.headers });
  if (error.body !== undefined) {
    reply.header('content-type', error.body.contentType);
    return error.body.bytes;
  }
  return Buffer.from(JSON.stringify(problemDocument(error, request.id)));
}

/** The codes of 5xx errors that only report the state of the service, or of the server of a link. They are in the access log, and not logged as failures. */
const states: ReadonlySet<ErrorCode> = new Set(['not-enabled', 'shutting-down', 'link-failed']);
/** The codes of errors that callers cause together, by too many requests or by locks. They are logged as warnings. */
const overload: ReadonlySet<ErrorCode> = new Set(['database-busy', 'service-busy']);

/**
 * Logs an error of the service itself or of the database with its stack. Overload is a warning without a stack, because every caller can
 * cause it, and so is a foreign server that is away, because the owner of the table chose it.
 */
export function logFailure(
  log: FastifyBaseLogger,
  error: AppError,
  thrown: unknown,
  facts: object,
  message: string,
): void {
  const { code, cause } = error;
  if (error.status < 500 || states.has(code)) return;
  if (overload.has(code) || isForeignServerAway(error))
    log.warn({ ...facts, code, sqlState: (cause as { code?: unknown })?.code }, message);
  else log.error({ ...facts, err: cause ?? thrown, code }, message);
}

/** Returns the answer to a request that failed, as the service stores it for the record of the load and for requests with the same Idempotency-Key. */
export function keptProblem(error: AppError, requestId: string): KeptAnswer {
  const { status, headers, body, code } = error;
  return {
    status,
    code,
    headers: { ...headers, 'content-type': body?.contentType ?? problemContentType },
    body: body?.bytes ?? Buffer.from(JSON.stringify(problemDocument(error, requestId))),
  };
}

/** Changes any thrown value into an error of the catalogue. */
export function asAppError(thrown: unknown): AppError {
  const known = toAppError(thrown);
  if (known instanceof AppError) return known;
  if (thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string') {
    const answer = knownErrors[thrown.code];
    if (answer) return answer(thrown);
    // Fastify's other errors with a status below 500 are about the request. They are not failures of the service.
    if (thrown.code.startsWith('FST_') && 'statusCode' in thrown && Number(thrown.statusCode) < 500)
      return new AppError('invalid-request', 'The request is not valid.', { cause: thrown });
  }
  return new AppError('internal-error', 'The request could not be completed. Its id is in `instance`.', {
    cause: thrown,
  });
}

/** The errors that Fastify, Node's HTTP parser and the operating system raise, by their codes. */
const knownErrors: Record<string, (error: Error) => AppError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => malformedMediaType(),
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: () => malformedMediaType(),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new AppError('invalid-parameter', 'A part of the path is too long: names have at most 63 bytes.'),
  FST_ERR_BAD_URL: () => new AppError('invalid-request', 'The URL contains a malformed percent-encoding.'),
  // A path below /docs/static that leads outside of that folder, or that is not a valid file name.
  FST_STATIC_FORBIDDEN_PATH: () =>
    new AppError('path-not-found', 'There is nothing at this path. The API reference is at /docs.'),
  // Neither the process nor the machine has a file descriptor left.
  EMFILE: () => outOfFiles(),
  ENFILE: () => outOfFiles(),
  HPE_HEADER_OVERFLOW: () => new AppError('headers-too-large', 'The request headers are over 16 KiB.'),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new AppError('request-timeout', 'The request headers did not arrive in time.'),
};

function outOfFiles(): AppError {
  const detail =
    'The service cannot open another file or connection now. Try again after the seconds in Retry-After. If it happens often, its operator must raise the limit of open files.';
  return new AppError('service-busy', detail, { headers: { 'retry-after': '5' } });
}

function malformedMediaType(): AppError {
  return new AppError(
    'unsupported-media-type',
    'The Content-Type is missing or malformed: send application/json, or multipart/form-data for a spreadsheet.',
  );
}

/**
 * Returns the error for an unsupported content type.
 *
 * @param contentType the header of the request
 * @param path the path of the route, with its parameters
 */
export function unsupportedMediaType(contentType: string | undefined, path = ''): AppError {
  const type = contentType?.split(';', 1).join().trim().slice(0, 100);
  const what = type ? `The content type "${type}" is not accepted here` : 'The request has no Content-Type';
  return new AppError('unsupported-media-type', `${what}: ${wantedBody(path)}.`);
}

function wantedBody(path: string): string {
  if (path.endsWith('/excel')) {
    return 'send multipart/form-data with the spreadsheet in a part named "file" (curl -F file=@workbook.xlsx)';
  }
  if (path.endsWith('/loads'))
    return 'send multipart/form-data with the part "plan" first, and then the files that it names';
  return path.endsWith('/json')
    ? 'send application/json with {"data": […]} or an array of rows, application/x-ndjson with a row on each line, or a spreadsheet or text file to upload/excel'
    : 'send application/json with {"table": {"columns": […]}}';
}
