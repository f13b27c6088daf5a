/** What the two uploads have in common for the code that runs them: while their request lasts, or later from a stored body. */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import type { KeptAnswer, LoadFacts } from '../../loads/load-record.ts';
import type { LoadRun } from '../../loads/load-run.ts';
import type { HttpContext } from '../context.ts';
import { readBody } from '../wire/request-body.ts';
import type { UploadOrigin } from './answer-upload.ts';
import type { AdmittedUpload, UploadQuery } from './upload.ts';

/** The body of an upload with the headers that describe it. */
export interface UploadBody {
  headers: IncomingHttpHeaders;
  /** The names of the query parameters, because a part of a form with such a name is a common mistake. */
  parameters: readonly string[];
  /** Returns the unpacked body. */
  chunks: (signal: AbortSignal) => AsyncGenerator<Buffer>;
}

/** Returns the body of a request that runs. */
export function bodyOfRequest(request: FastifyRequest, { config, lines }: HttpContext): UploadBody {
  const othersWait = () => lines.uploads.isFull;
  const limits = { ...config.limits, setting: 'MAX_BODY_BYTES', othersWait } as const;
  const schema = request.routeOptions.schema?.querystring as TObject | undefined;
  const parameters = Object.keys(schema?.properties ?? {});
  return { headers: request.headers, parameters, chunks: (signal) => readBody(request, limits, signal) };
}

export interface UploadOperation<Query extends UploadQuery = UploadQuery> {
  name: LoadFacts['operation'];
  /** @throws AppError `invalid-parameter` */
  parseQuery: (query: unknown) => Query;
  /** Checks the parameters together with the headers, before the body is read. @throws AppError `invalid-parameter` */
  check: (query: Query, headers: IncomingHttpHeaders) => void;
  /** Waits for a place, loads the rows, and returns the answer. */
  load: (
    context: HttpContext,
    upload: AdmittedUpload,
    query: Query,
    body: UploadBody,
    origin: UploadOrigin,
    run: LoadRun | undefined,
  ) => Promise<KeptAnswer>;
  /** Reads the whole body into `upload.digest`. */
  digest: (context: HttpContext, upload: AdmittedUpload, body: UploadBody) => Promise<void>;
}
